"""Stands in for httpx: writes down what would have been posted, in the file that HTTP_RECORD names."""
import json
import os


class AsyncClient:
    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        return None

    async def post(self, url, json=None, timeout=None):
        record(url, json)


def record(url, body):
    with open(os.environ["HTTP_RECORD"], "a") as file:
        file.write(json.dumps({"url": url, "body": body}) + "\n")
