"""Workers with a session of `requests` each, which all want the same few things. Arguments: the address; the key that they believe in."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

import requests

address, key = sys.argv[1:]


def work(number):
    with requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {key}"
        tasks, url = [], f"{address}/tasks?page=1"
        calls = 0
        while url:
            answer = session.get(url, timeout=20)
            answer.raise_for_status()
            calls += 1
            tasks += answer.json()
            url = answer.links.get("next", {}).get("url")
        assert [task["id"] for task in tasks] == [1, 2, 3, 4], tasks
        one = session.get(f"{address}/tasks/1", timeout=20)
        same = session.get(f"{address}/tasks/1", headers={"If-None-Match": one.headers["ETag"]}, timeout=20)
        assert (one.status_code, same.status_code, same.content) == (200, 304, b"")
        missing = session.get(f"{address}/tasks/99", timeout=20)
        assert (missing.status_code, missing.json()) == (404, {"message": "Not Found"})
        return calls + 3


with ThreadPoolExecutor(20) as workers:
    print(json.dumps({"calls": sum(workers.map(work, range(20)))}))
