"""Many tasks of one `httpx.AsyncClient`, each of which reads a list and what it names. Arguments: the address; the key."""

import asyncio
import json
import sys

import httpx

address, key = sys.argv[1:]


async def work(client):
    listed = await client.get("tasks", params={"page": 1})
    listed.raise_for_status()
    calls = 1
    for task in listed.json():
        one = await client.get(f"tasks/{task['id']}")
        assert one.raise_for_status().json() == task, one.text
        calls += 1
    return calls


async def main():
    own = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=address, headers=own, timeout=20, trust_env=False) as client:
        print(json.dumps({"calls": sum(await asyncio.gather(*(work(client) for _ in range(50))))}))


asyncio.run(main())
