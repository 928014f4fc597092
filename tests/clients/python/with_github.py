"""Dashboards that read issues with PyGithub, and one that opens an issue. Arguments: the address; a key that may write."""

import json
import sys

from github import Auth, Github

address, key = sys.argv[1:]


def dashboard():
    return Github(base_url=address, auth=Auth.Token(key), timeout=20, retry=None, seconds_between_requests=0, per_page=2)


def titles(hub):
    return [issue.title for issue in hub.get_repo("garden/yard", lazy=True).get_issues(state="open")]


calls = 0
for _ in range(10):
    hub = dashboard()
    assert hub.get_user("gardener").name == "The Gardener"
    assert titles(hub) == ["Leak", "Frost", "Moss"], titles(hub)
    # The user, and two pages of issues.
    calls += 3

opened = dashboard().get_repo("garden/yard", lazy=True).create_issue("Moles", body="Everywhere.")
assert (opened.number, opened.title) == (4, "Moles")
assert titles(dashboard()) == ["Leak", "Frost", "Moss", "Moles"], "what was written is read"
print(json.dumps({"calls": calls + 3}))
