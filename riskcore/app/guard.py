"""Who may use the app: browsers that know the token, from the app's own pages.

Everything else is refused before the application sees it: other names of the host
(DNS rebinding), other users of the machine, requests from other sites, large and slow
uploads. Every answer forbids to be stored, framed or read by another site.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import math
import secrets
import sys
import time
import traceback
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    MutableMapping,
)
from functools import partial
from http import HTTPStatus
from typing import Any, TypeAlias
from urllib.parse import parse_qs, parse_qsl

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers: TypeAlias = dict[bytes, bytes]
Form: TypeAlias = list[tuple[str, str]]

_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_OFF = "accelerometer camera clipboard-read geolocation gyroscope magnetometer"
_OFF += " microphone midi payment usb"
# With no-referrer browsers would call the origin of our own forms "null".
_REFERRER = b"referrer-policy"
_ALWAYS: Headers = {
    b"cache-control": b"no-store",
    b"content-security-policy": _CSP.encode(),
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": ", ".join(f"{each}=()" for each in _OFF.split()).encode(),
    _REFERRER: b"same-origin",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
}
# A page that the app has written runs its own scripts, but is nobody's: it can read
# nothing of the app and ask nothing of it.
SANDBOX = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_POLICY = b"content-security-policy"
_NO_REFERRER = (_REFERRER, b"no-referrer")
_CLOSE = (b"connection", b"close")
_HTML = (b"content-type", b"text/html; charset=utf-8")

_SAFE = {"GET", "HEAD"}
_METHODS = {*_SAFE, "POST"}
_FORM = b"application/x-www-form-urlencoded"
_FILE = b"application/octet-stream"
# Headers on which decisions rest: a second one could mean something else to others.
_ONCE = {
    b"host", b"origin", b"sec-fetch-site", b"sec-fetch-mode", b"sec-fetch-dest",
    b"content-type", b"content-length", b"transfer-encoding", b"x-csrf",
}  # fmt: skip
# Wrong tokens after which the terminal is told, and wrong ones get another status.
_MANY = 20

_OPEN_AGAIN = "Open the address that the command printed, with its token."
_TEXTS = {
    400: "The request is not one that a page of the app makes.",
    403: _OPEN_AGAIN,
    405: "The app knows GET, HEAD and POST.",
    408: "The request took too long.",
    413: "The request is too large.",
    415: "The app reads forms, and files that its pages send.",
    421: "The app does not answer under this name. Open the address that the command "
    "printed; through a tunnel use the same port on both sides.",
    429: f"Too many wrong tokens. {_OPEN_AGAIN}",
    500: "The app failed at this step; the terminal names the place in the program. "
    "Go back and try another way; your earlier steps are kept.",
}
_ENTER = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>riskcore</title>'
    '<meta http-equiv="refresh" content="0; url=/">'
    '<main><h1>riskcore</h1><p><a href="/">Open the app</a></p></main></html>'
)


class RefusedError(Exception):
    """A request that is answered with a fixed page."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Guard:
    """Let only requests of the app's own pages, in browsers that know the token, pass.

    In ``scope["state"]`` the application finds ``"csrf"``, the token of its forms, and
    ``"form"``, the fields of a form that was sent. ``hosts`` are the addresses served,
    such as ``"127.0.0.1:8000"``; ``"localhost:*"`` stands for any port, for a socket at
    the end of a tunnel. ``token`` is the secret in the printed address. A form may have
    ``largest`` bytes and ``most_fields`` fields, and must arrive in ``patience``
    seconds. A file, which only a script of our pages can send, may have
    ``largest_file`` bytes and must not pause longer than that. For ``watching`` seconds
    a browser that asked something is a viewer. ``said`` gets lines for the terminal; by
    default they go to stderr.
    """

    def __init__(
        self,
        app: App,
        hosts: Collection[str],
        token: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        largest: int = 1 << 20,
        largest_file: int = 0,
        most_fields: int = 10_000,
        patience: float = 30.0,
        watching: float = 90.0,
        said: Callable[[str], object] | None = None,
    ) -> None:
        self._app, self._hosts, self._token = app, frozenset(hosts), token.encode()
        self._clock, self._watching = clock, watching
        self._largest, self._most_fields = largest, most_fields
        self._largest_file = largest_file
        self._patience = patience
        self._said = said or partial(print, file=sys.stderr)
        self._key = secrets.token_bytes()
        # When each browser was last seen, by the digest of its cookie: how long a
        # search takes says nothing about the cookie.
        self._seen: dict[bytes, float] = {}
        self._used = clock()
        self._wrong = 0

    def viewers(self) -> int:
        """Return how many browsers asked something in the last seconds."""
        since = self._clock() - self._watching
        return sum(seen >= since for seen in list(self._seen.values()))

    def leave(self, csrf: str) -> None:
        """Count a browser, by the token of its forms, no longer until it asks again."""
        for session in self._seen:
            if self._csrf(session) == csrf:
                self._seen[session] = -math.inf

    def idle(self) -> float:
        """Return the seconds since a person last used the app."""
        return self._clock() - self._used

    def renew(self) -> None:
        """Count this moment as a use, as while long work runs."""
        self._used = self._clock()

    def entered(self) -> bool:
        """Return whether any browser has come in with the token."""
        return bool(self._seen)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it to the application."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, _Answer(send))
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _answer(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        """Answer a request, whatever happens."""
        try:
            await self._admit(scope, receive, answer)
            if answer.failed or not answer.started:
                await answer.refuse(500)
        except RefusedError as refusal:
            await answer.refuse(refusal.status)
        except Exception as error:
            self._said("\n".join(places(error)))
            if answer.started and not answer.ended:
                raise ConnectionAbortedError from None  # so that the server hangs up
            await answer.refuse(500)

    async def _admit(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        """Hand a request to the application if it is one of our pages'."""
        headers = _read_headers(scope["headers"])
        host = self._check_host(headers)
        _check_form_of_request(scope, headers)
        _check_site(scope, headers, f"http://{host}")
        cookie = f"riskcore-{host.rpartition(':')[2]}"
        session = self._session(headers, cookie)
        token = _token(scope)
        if token is not None:
            await self._enter(token, session, cookie, headers, answer)
            return
        if session is None:
            raise RefusedError(403)
        self._note(session, poll=headers.get(b"x-poll") == b"1")
        state = scope.setdefault("state", {})
        state["csrf"] = self._csrf(session)
        if scope["method"] not in _SAFE and _kind(headers) == _FILE:
            self._check_file(headers, state["csrf"])
            receive = self._counted(receive)
        elif scope["method"] not in _SAFE:
            body = await self._body(headers, receive, state["csrf"])
            state["form"] = self._form(body)
            _check_csrf(headers, state["form"], state["csrf"])
            receive = _again(body, receive)
        await self._app(scope, receive, answer)

    def _check_host(self, headers: Headers) -> str:
        """Return the host that the browser asked for, if it is ours."""
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name, _, port = host.rpartition(":")
        any_port = f"{name}:*" if port.isascii() and port.isdigit() else ""
        if "*" in host or not {host, any_port} & self._hosts:
            raise RefusedError(421)
        return host

    async def _enter(
        self,
        token: bytes,
        session: bytes | None,
        cookie: str,
        headers: Headers,
        answer: _Answer,
    ) -> None:
        """Let a browser in whose token is right, and clear its address of the token."""
        if not secrets.compare_digest(token, self._token):
            raise RefusedError(self._count_wrong())
        more = [_NO_REFERRER]
        if session is None:
            value = secrets.token_urlsafe(32)
            session = _digest(value.encode())
            rules = "Path=/; HttpOnly; SameSite=Strict"
            more.append((b"set-cookie", f"{cookie}={value}; {rules}".encode()))
        self._note(session, poll=False)
        if headers.get(b"sec-fetch-site", b"none") in {b"none", b"same-origin"}:
            await answer.page(303, "", [*more, (b"location", b"/")])
        else:
            # Redirected from a file or another site, a browser keeps our new cookie
            # to itself; a page of our own may go on with it.
            await answer.page(200, _ENTER, more)

    def _count_wrong(self) -> int:
        """Count a wrong token and return the status of the answer.

        The right token always works: otherwise anyone could lock its owner out, and
        256 bits are not guessed however often one tries.
        """
        self._wrong += 1
        if self._wrong == _MANY:
            self._said(
                f"{_MANY} wrong tokens were tried: someone on this machine, or a page "
                "in your browser, is guessing"
            )
        return 403 if self._wrong <= _MANY else 429

    def _session(self, headers: Headers, cookie: str) -> bytes | None:
        """Return the digest of the cookie that the browser got from us, if any."""
        for pair in headers.get(b"cookie", b"").split(b";"):
            name, _, value = pair.strip().partition(b"=")
            if name == cookie.encode() and _digest(value) in self._seen:
                return _digest(value)
        return None

    def _note(self, session: bytes, *, poll: bool) -> None:
        """Remember that a browser asked something, by a person or by itself."""
        self._seen[session] = self._clock()
        if not poll:
            self.renew()

    def _csrf(self, session: bytes) -> str:
        """Return the token that a browser's forms must bring."""
        return hmac.digest(self._key, session, "sha256").hex()

    def _check_file(self, headers: Headers, csrf: str) -> None:
        """Refuse a file that is too large, or without the token of our pages."""
        length = headers.get(b"content-length")
        if length is None or int(length) > self._largest_file:
            raise RefusedError(413)
        _check_csrf({b"x-csrf": b"", **headers}, [], csrf)

    def _counted(self, receive: Receive) -> Receive:
        """Return a receive that ends with a browser that pauses or hangs up."""

        async def part() -> Message:
            try:
                async with asyncio.timeout(self._patience):
                    message = await receive()
            except TimeoutError:
                raise RefusedError(408) from None
            if message["type"] == "http.disconnect":
                raise RefusedError(400)
            self.renew()
            return message

        return part

    async def _body(self, headers: Headers, receive: Receive, csrf: str) -> bytes:
        """Return the body of a form, which arrives soon and is small."""
        if _kind(headers) != _FORM:
            raise RefusedError(415)
        if int(headers.get(b"content-length", b"0")) > self._largest:
            raise RefusedError(413)
        if headers.get(b"x-csrf", csrf.encode()) != csrf.encode():
            raise RefusedError(403)
        try:
            async with asyncio.timeout(self._patience):
                return await _read(receive, self._largest)
        except TimeoutError:
            raise RefusedError(408) from None

    def _form(self, body: bytes) -> Form:
        """Return the fields of a form."""
        if body.count(b"&") >= self._most_fields:
            raise RefusedError(413)
        try:
            return parse_qsl(
                body.decode("ascii"), keep_blank_values=True, errors="strict"
            )
        except ValueError:
            raise RefusedError(400) from None


class _Answer:
    """What is sent to the browser: with our headers, and without words of failures."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.started = self.ended = self.failed = False

    async def __call__(self, message: Message) -> None:
        """Send a part of the application's answer."""
        if message["type"] == "http.response.start":
            # Frameworks answer with words of their own before they raise.
            self.failed = message["status"] >= 500
        if not self.failed:
            await self._pass_on(message)

    async def page(
        self, status: int, text: str, headers: Iterable[tuple[bytes, bytes]]
    ) -> None:
        """Send a page of our own."""
        body = text.encode()
        length = (b"content-length", str(len(body)).encode())
        start = {"status": status, "headers": [_HTML, length, *headers]}
        await self._pass_on({"type": "http.response.start", **start})
        await self._pass_on({"type": "http.response.body", "body": body})

    async def refuse(self, status: int) -> None:
        """Send the fixed page of a refusal, after which the connection ends."""
        if self.ended:
            return
        title = HTTPStatus(status).phrase
        text = (
            '<!doctype html><html lang="en"><meta charset="utf-8">'
            f"<title>riskcore: {title}</title>"
            f"<main><h1>{title}</h1><p>{_TEXTS[status]}</p></main></html>"
        )
        more = [_NO_REFERRER, _CLOSE]
        if status == 405:
            more.append((b"allow", ", ".join(sorted(_METHODS)).encode()))
        await self.page(status, text, more)

    async def _pass_on(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            message = {**message, "headers": [*_guarded(message.get("headers", ()))]}
        elif message["type"] == "http.response.body":
            self.ended = not message.get("more_body", False)
        await self._send(message)


def _guarded(headers: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the headers of an answer; our own always stay."""
    guarded = dict(_ALWAYS)
    for name, value in headers:
        if (name.lower(), value) == _NO_REFERRER:
            guarded[_REFERRER] = value
        elif (name.lower(), value) == (_POLICY, SANDBOX.encode()):
            guarded[_POLICY] = value
            # Browsers refuse a page in a sandbox that asks for a group of its own.
            del guarded[b"cross-origin-opener-policy"]
        elif name.lower() not in {*_ALWAYS, b"server"}:
            yield name, value
    yield from guarded.items()


def _read_headers(pairs: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Return the headers of a request by their names in lower case."""
    headers: Headers = {}
    for name, value in pairs:
        if name in headers and name in _ONCE:
            raise RefusedError(400)
        before = headers.get(name, b"") if name == b"cookie" else b""
        headers[name] = before + b"; " + value if before else value
    return headers


def _check_form_of_request(scope: Scope, headers: Headers) -> None:
    """Refuse requests that no browser makes for our pages."""
    if scope["method"] not in _METHODS:
        raise RefusedError(405)
    path = scope["path"]
    odd = "\\" in path or not path.isprintable() or ".." in path.split("/")
    if odd or not path.startswith("/"):
        raise RefusedError(400)
    length = headers.get(b"content-length", b"0")
    both = b"content-length" in headers and b"transfer-encoding" in headers
    if both or not length.isdigit() or len(length) > 18:
        raise RefusedError(400)
    if scope["method"] in _SAFE and (int(length) or b"transfer-encoding" in headers):
        raise RefusedError(400)


def _check_site(scope: Scope, headers: Headers, ours: str) -> None:
    """Refuse requests of pages that are not ours; another port is another site."""
    origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site")
    if origin is not None and origin != ours.encode():
        raise RefusedError(403)
    if scope["method"] not in _SAFE:
        if site != b"same-origin" and (site is not None or origin is None):
            raise RefusedError(403)
    elif site not in {None, b"none", b"same-origin"}:
        mode, dest = (headers.get(b"sec-fetch-" + x) for x in (b"mode", b"dest"))
        if (scope["path"], mode, dest) != ("/", b"navigate", b"document"):
            raise RefusedError(403)


def _token(scope: Scope) -> bytes | None:
    """Return the token in the address, which only the first page may have."""
    if scope["path"] != "/" or scope["method"] not in _SAFE:
        return None
    fields = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    return fields["token"][0].encode() if "token" in fields else None


async def _read(receive: Receive, largest: int) -> bytes:
    """Return the body of a request; a body above the limit is refused."""
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RefusedError(400)
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > largest:
            raise RefusedError(413)
    return bytes(body)


def _again(body: bytes, receive: Receive) -> Receive:
    """Return a receive that gives a body that was already read."""
    parts = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def again() -> Message:
        return next(parts, None) or await receive()

    return again


def _kind(headers: Headers) -> bytes:
    """Return the type of what is sent."""
    return headers.get(b"content-type", _FORM).partition(b";")[0].strip().lower()


def _check_csrf(headers: Headers, form: Form, csrf: str) -> None:
    """Refuse a form without the token that our pages put into it."""
    token = headers.get(b"x-csrf")
    if token is None:
        token = dict(form).get("csrf", "").encode()
    if not secrets.compare_digest(token, csrf.encode()):
        raise RefusedError(403)


def _digest(value: bytes) -> bytes:
    return hashlib.sha256(value).digest()


def places(error: BaseException | None) -> Iterator[str]:
    """Yield what failed where; messages of errors may hold values of the data."""
    seen_ids: set[int] = set()
    while error is not None and id(error) not in seen_ids:
        seen_ids.add(id(error))
        yield f"the app failed: {type(error).__name__}"
        for frame, line in traceback.walk_tb(error.__traceback__):
            module = frame.f_globals.get("__name__", "?")
            yield f"  {module}:{line} {frame.f_code.co_name}"
        error = error.__cause__ or error.__context__
