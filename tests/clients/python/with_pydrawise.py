"""A watering script on pydrawise's client for the v1 API. Arguments: the address; a key that may water."""

import json
import sys

from pydrawise import legacy

address, key = sys.argv[1:]
# The address is a constant of the library's.
legacy.REST_URL = address

calls = 0
for _ in range(10):
    yard = legacy.LegacyHydrawise(key)
    calls += 2
    assert (yard.name, yard.num_relays, yard.controller_id) == ("Yard", 2, 7)
    assert yard.relays[0]["time"] == 3600, yard.relays

answer = yard.run_zone(5, zone=1)
assert answer["message_type"] == "info", answer
yard.update_controller_info()
assert yard.relays[0]["time"] == 1, "the zone that was started is read as running"
print(json.dumps({"calls": calls + 3}))
