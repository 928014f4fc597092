"""What schemathesis has to know of the demonstration: names that are there, and tokens to change things with. One token may change a few
things a second: each change has the next one, so that the rate is in nobody's way."""

import itertools
import os

import schemathesis

TOKENS = itertools.cycle(os.environ["LARDER_TOKENS"].split())
KNOWN = {
    "connection": ["yard", "field"],
    "target": ["controller", "zones"],
    "command": ["run-zone"],
    "job": ["1", "2"],
    "webhook": ["house"],
}
TURN = itertools.count()


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    """Most of the time something that is there; sometimes what was made up."""
    turn = next(TURN)
    if path_parameters and turn % 4:
        for name, values in KNOWN.items():
            if name in path_parameters:
                path_parameters[name] = values[turn % len(values)]
    return path_parameters


@schemathesis.hook
def before_call(context, case, kwargs):
    case.headers["Authorization"] = f"Bearer {next(TOKENS)}"
