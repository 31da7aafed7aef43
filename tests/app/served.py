"""A tiny application behind the guard, served in a thread, and raw requests to it."""

import http.client
import json
import queue
import re
import socket
import threading
from contextlib import suppress
from types import SimpleNamespace

from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from riskcore.app.guard import Guard
from riskcore.app.serve import serve

# Seconds after which something that should have happened did not.
LONG = 60
SECRET = "value 4711 of the data"


async def show(request):
    return JSONResponse({"csrf": request.state.csrf, "method": request.method})


async def take(request):
    return JSONResponse(request.state.form)


async def body(request):
    return PlainTextResponse(await request.body())


async def fail(request):
    try:
        int(SECRET)
    except ValueError:
        raise KeyError(SECRET) from None


async def fail_late(request):
    async def parts():
        yield b"begun"
        raise KeyError(SECRET)

    return StreamingResponse(parts())


async def say_failed(request):
    return PlainTextResponse(SECRET, 503)


async def loose(request):
    headers = {"Content-Security-Policy": "default-src *", "Server": "old/1.0"}
    return PlainTextResponse("x", headers={**headers, "Cache-Control": "public"})


def tiny(folder):
    """Return an application with a page, a form, files and failures."""
    return Starlette(
        routes=[
            Route("/", show),
            Route("/status", show),
            Route("/form", take, methods=["POST"]),
            Route("/body", body, methods=["POST"]),
            Route("/fail", fail),
            Route("/fail-late", fail_late),
            Route("/say-failed", say_failed),
            Route("/loose", loose),
            Mount("/static", StaticFiles(directory=folder)),
        ]
    )


class Clock:
    """Seconds that pass when a test says so."""

    now = 1000.0

    def __call__(self):
        return self.now


class Served:
    """An application that is served in a thread."""

    def __init__(self, app, *, guard=None, **options):
        self.clock, self.lines, self.logged = Clock(), queue.Queue(), []
        self.returned = queue.Queue()
        self._app, self._guarding = app, guard or {}
        options = {"browser": False, **options}
        threading.Thread(target=self._serve, args=(options,)).start()
        self.address = self.lines.get(timeout=LONG)
        self.warning = self.lines.get(timeout=LONG)
        port, self.token = re.fullmatch(
            r"http://(?:127\.0\.0\.1:(\d+)|localhost:PORT)/\?token=([\w-]{43})",
            self.address,
        ).groups()
        self.port = int(port or 0)
        self.host = f"127.0.0.1:{self.port}"

    def _serve(self, options):
        self.returned.put(serve(self._make, said=self.lines.put, **options))

    def _make(self, hosts, token):
        self.guard = Guard(
            self._app, hosts, token, clock=self.clock, said=self.logged.append,
            **self._guarding,
        )  # fmt: skip
        return self.guard

    def end(self):
        """Let the time pass after which it ends; return its status."""
        self.clock.now += 1e6
        return self.returned.get(timeout=LONG)

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=LONG)

    def raw(self, *parts):
        """Send bytes and return the whole answer, to the end of the connection."""
        with self.connect() as connection:
            # At once: what comes after a refusal would take its answer away.
            with suppress(ConnectionError):
                connection.sendall(b"".join(parts))
            return read_all(connection)

    def ask(self, method, path, headers=None, body=None, **options):
        """Return status, headers and text of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONG)
        connection.request(method, path, body, headers or {}, **options)
        got = connection.getresponse()
        text = got.read().decode()
        connection.close()
        return SimpleNamespace(status=got.status, headers=got.headers, text=text)

    def enter(self, **headers):
        """Return the headers of a browser that came in."""
        got = self.ask("GET", f"/?token={self.token}", headers)
        return {"Cookie": got.headers["set-cookie"].partition(";")[0]}

    def ours(self):
        """Return the headers of a script in a page of ours, in a browser of its own."""
        cookie = self.enter()
        csrf = json.loads(self.ask("GET", "/", cookie).text)["csrf"]
        return {**cookie, "Origin": f"http://{self.host}", "X-CSRF": csrf, **FORM}


FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def read_all(connection):
    """Return what comes to the end of a connection, or until it is reset."""
    got = b""
    with suppress(ConnectionResetError):
        while part := connection.recv(1 << 16):
            got += part
    return got
