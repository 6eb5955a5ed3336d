"""Stands in for httpx: remembers two things, and writes down what it is told, in the file that HTTP_RECORD names."""
import json as _json
import os


class Response:
    def __init__(self, body):
        self._body = body

    def json(self):
        return self._body


def post(url, json=None, timeout=None):
    with open(os.environ["HTTP_RECORD"], "a") as file:
        file.write(_json.dumps({"url": url, "body": json}) + "\n")
    return Response({"results": [{"text": "Ada likes short answers"}, {"text": "It rains"}]})
