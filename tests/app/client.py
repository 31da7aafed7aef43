"""A browser without a network: requests to the application and its cookies."""

import asyncio
import re
from http.cookies import SimpleCookie
from urllib.parse import urlencode

from riskcore.app.desk import Desk
from riskcore.app.server import Server

HOST = "127.0.0.1:8000"
TOKEN = "t" * 43


class Answer:
    """What came back."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def text(self):
        return self.body.decode()

    def field(self, name):
        return re.search(f'name="{name}" value="([^"]*)"', self.text)[1]


class Client:
    """One browser in front of a workbench, or of a desk."""

    def __init__(self, bench, **headers):
        is_desk = isinstance(bench, Desk)
        self.server = Server(bench if is_desk else Desk(bench.path.parent, bench))
        self.application = self.server.application({HOST}, TOKEN)
        self.cookies, self.headers = {}, headers
        assert self.get(f"/?token={TOKEN}").status == 200

    def get(self, path):
        """Return the answer to GET, after redirections."""
        answer = self._ask("GET", path, b"")
        if answer.status == 303:
            return self.get(answer.headers["location"])
        return answer

    def post(self, path, fields=(), page="columns"):
        """Send a form as a browser does, with the secret of the last page."""
        csrf = self.get(f"/{page}").field("csrf")
        pairs = [("csrf", csrf), ("back", page), *dict(fields).items()]
        body = urlencode(pairs).encode()
        answer = self._ask("POST", path, body)
        if answer.status == 303:
            return self.get(answer.headers["location"])
        return answer

    def _ask(self, method, path, body, more=()):
        """Ask the application."""
        return asyncio.run(self._answer(self.scope(method, path, body, more), body))

    def scope(self, method, path, body, more=()):
        """Return a request as the server hands it on."""
        path, _, query = path.partition("?")
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = {"host": HOST, "cookie": cookie, **self.headers}
        if method == "POST":
            headers |= {
                "origin": f"http://{HOST}",
                "content-type": "application/x-www-form-urlencoded",
                "content-length": str(len(body)),
            }
        headers |= dict(more)
        return {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(),
            "query_string": query.encode(), "scheme": "http", "http_version": "1.1",
            "server": ("127.0.0.1", 8000), "client": ("127.0.0.1", 1), "root_path": "",
            "headers": [(k.encode(), v.encode()) for k, v in headers.items()],
        }  # fmt: skip

    async def _answer(self, scope, body):
        """Run the application for one request."""
        events = []

        bodies = [body]

        async def receive():
            if not bodies:  # a browser that waits for the answer
                await asyncio.sleep(3600)
            return {"type": "http.request", "body": bodies.pop(), "more_body": False}

        async def send(event):
            events.append(event)

        await self.application(scope, receive, send)
        headers = {k.decode(): v.decode() for k, v in events[0]["headers"]}
        for name, one in SimpleCookie(headers.get("set-cookie", "")).items():
            self.cookies[name] = one.value
        found = b"".join(event.get("body", b"") for event in events)
        return Answer(events[0]["status"], headers, found)
