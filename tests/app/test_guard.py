"""Attacks on the app from other sites, other users and with hostile requests."""

import asyncio
import json

import pytest

from riskcore.app import guard as guards
from riskcore.app.guard import Guard
from tests.app.served import FORM, SECRET, read_all

JS = "/static/app.js"
NAVIGATED = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


def test_the_token_ends_in_a_cookie_and_leaves_the_address(app):
    got = app.ask("GET", f"/?token={app.token}", {"Sec-Fetch-Site": "none"})
    assert (got.status, got.headers["location"], got.text) == (303, "/", "")
    cookie, *rules = got.headers["set-cookie"].split("; ")
    assert rules == ["Path=/", "HttpOnly", "SameSite=Strict"]
    name, _, value = cookie.partition("=")
    assert name == f"riskcore-{app.port}"
    assert len(value) == 43
    assert value != app.token
    assert app.ask("GET", "/", {"Cookie": cookie}).status == 200
    assert app.ask("GET", JS, {"Cookie": f"other=1; {cookie}"}).text == "1;"


def test_a_browser_that_a_file_sent_here_goes_on_from_a_page_of_ours(app):
    # It would keep the new cookie to itself if it were redirected.
    sent = {"Sec-Fetch-Site": "cross-site", **NAVIGATED}
    got = app.ask("GET", f"/?token={app.token}", sent)
    assert (got.status, got.headers["location"]) == (200, None)
    assert 'http-equiv="refresh" content="0; url=/"' in got.text
    assert got.headers["referrer-policy"] == "no-referrer"  # it would hold the token
    assert app.token not in got.text
    cookie = {"Cookie": got.headers["set-cookie"].partition(";")[0]}
    assert app.ask("GET", "/", cookie).status == 200


def test_the_token_works_again_and_gives_each_browser_a_cookie_of_its_own(app):
    first, second = app.enter(), app.enter()
    assert first != second
    csrf = [app.ask("GET", "/", each).text for each in (first, second, first)]
    assert csrf[0] == csrf[2] != csrf[1]
    again = app.ask("GET", f"/?token={app.token}", first)
    assert (again.status, again.headers["set-cookie"]) == (303, None)


@pytest.mark.parametrize("path", ["/", JS, "/status", "/no-such-page", "/fail"])
def test_without_the_cookie_nothing_is_shown(app, path):
    for headers in (
        {},
        {"Cookie": f"riskcore-{app.port}={app.token}"},
        {"Cookie": f"riskcore-{app.port}="},
        {"Cookie": app.enter()["Cookie"].replace("riskcore", "other")},
        {"Cookie": app.enter()["Cookie"][:-1]},
        {"Authorization": f"token {app.token}"},
    ):
        got = app.ask("GET", path, headers)
        assert got.status == 403
        assert "Open the address that the command printed" in got.text


def test_a_cookie_of_another_session_is_worth_nothing(app, start):
    other = start()
    value = other.enter()["Cookie"].partition("=")[2]
    assert app.ask("GET", "/", {"Cookie": f"riskcore-{app.port}={value}"}).status == 403
    assert app.ask("GET", f"/?token={other.token}").status == 403


@pytest.mark.parametrize(
    "query",
    ["token=", "token=x", "token=%C3%A9", "token=%ff%00", "token", "token=x&token={}"],
)
def test_wrong_tokens_do_not_open(app, query):
    got = app.ask("GET", f"/?{query.format(app.token)}")
    assert (got.status, got.headers["set-cookie"]) == (403, None)


def test_a_wrong_token_does_not_open_even_with_the_cookie(app):
    assert app.ask("GET", "/?token=x", app.enter()).status == 403


def test_the_token_opens_the_first_page_only(app):
    for path in ("/status", JS, "/form"):
        got = app.ask("GET", f"{path}?token={app.token}")
        assert (got.status, got.headers["set-cookie"]) == (403, None)
    assert app.ask("POST", f"/?token={app.token}", FORM, "a=1").status == 403


def test_who_guesses_is_told_of_and_cannot_lock_the_owner_out(start):
    app = start()
    statuses = [app.ask("GET", f"/?token={n}").status for n in range(25)]
    assert statuses == [403] * 20 + [429] * 5
    assert [line[:26] for line in app.logged] == ["20 wrong tokens were tried"]
    assert app.ask("GET", f"/?token={app.token}").status == 303


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "evil.example:{port}", "127.0.0.1", "localhost", "",
        "127.0.0.1:1", "127.0.0.1.evil.example:{port}", "127.0.0.2:{port}",
        "[::1]:{port}", "0.0.0.0:{port}", "x@127.0.0.1:{port}", "127.0.0.1:{port} x",
        "127.0.0.1:{port},evil.example", "127.0.0.1:0{port}", "localhost.:{port}",
    ],
)  # fmt: skip
def test_a_host_of_another_name_gets_no_page(app, host):
    # A page of evil.example whose name now leads to this machine.
    host = host.format(port=app.port)
    for path in ("/", JS, f"/?token={app.token}"):
        got = app.ask("GET", path, {**app.enter(), "Host": host})
        assert got.status == 421
        assert got.headers["set-cookie"] is None
        assert "evil" not in f"{got.text}{got.headers}"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST"])
def test_both_names_of_this_machine_are_ours(app, host):
    cookie = app.enter()
    assert app.ask("GET", "/", {**cookie, "Host": f"{host}:{app.port}"}).status == 200


def test_at_the_end_of_a_tunnel_any_port_is_ours_but_no_other_name():
    tunnel = Guard(None, {"localhost:*"}, "t")
    assert tunnel._check_host({b"host": b"localhost:9000"}) == "localhost:9000"
    for host in (b"localhost", b"localhost:", b"localhost:*", b"evil.example:9000"):
        with pytest.raises(guards.RefusedError, match="421"):
            tunnel._check_host({b"host": host})


@pytest.mark.parametrize(
    "lines",
    [
        b"Host: evil.example\r\nHost: %(ours)s",
        b"Host: %(ours)s\r\nHost: evil.example",
        b"Host: %(ours)s\r\n Host: evil.example",
        b"Host: %(ours)s\rX: 1",
        b"Host: %(ours)s\nX: 1\x00",
        b"Host : %(ours)s",
        b"X: 1",
    ],
)
def test_headers_cannot_be_smuggled_in(app, lines):
    cookie = app.enter()["Cookie"].encode()
    lines = lines % {b"ours": app.host.encode()}
    got = app.raw(b"GET / HTTP/1.1\r\n" + lines + b"\r\nCookie: " + cookie, b"\r\n" * 2)
    assert got.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 421 "))
    assert b"csrf" not in got


def test_old_http_without_a_host_gets_no_page(app):
    cookie = app.enter()["Cookie"].encode()
    got = app.raw(b"GET / HTTP/1.0\r\nCookie: " + cookie + b"\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 421 ")


@pytest.mark.parametrize(
    "without", [["Origin"], ["X-CSRF"], ["Cookie"], ["Origin", "X-CSRF"]]
)
def test_a_change_needs_origin_csrf_and_cookie(app, without):
    ours = app.ours()
    assert app.ask("POST", "/form", ours, "a=1").text == '[["a","1"]]'
    for name in without:
        del ours[name]
    assert app.ask("POST", "/form", ours, "a=1").status == 403


@pytest.mark.parametrize(
    "origin",
    [
        "null", "http://evil.example", "http://127.0.0.1", "https://127.0.0.1:{port}",
        "http://localhost:{port}", "http://127.0.0.1:1", "http://127.0.0.1:{port}/",
        "", "http://127.0.0.1:{port}.evil.example",
    ],
)  # fmt: skip
def test_foreign_origins_change_nothing(app, origin):
    ours = {**app.ours(), "Origin": origin.format(port=app.port)}
    assert app.ask("POST", "/form", ours, "a=1").status == 403
    # Nor may a script of theirs read.
    assert app.ask("GET", "/", ours).status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none", "new-site"])
def test_a_change_comes_from_our_pages(app, site):
    ours = {**app.ours(), "Sec-Fetch-Site": site}
    assert app.ask("POST", "/form", ours, "a=1").status == 403
    del ours["Origin"]
    assert app.ask("POST", "/form", ours, "a=1").status == 403
    ours["Sec-Fetch-Site"] = "same-origin"
    assert app.ask("POST", "/form", ours, "a=1").status == 200


def test_the_csrf_token_may_be_a_field(app):
    ours = app.ours()
    csrf = ours.pop("X-CSRF")
    got = app.ask("POST", "/form", ours, f"a=%C3%A9&csrf={csrf}&a=")
    assert json.loads(got.text) == [["a", "é"], ["csrf", csrf], ["a", ""]]
    for wrong in ("", csrf[:-1], f"{csrf}0", "%C3%A9", csrf.upper() + "G"):
        assert app.ask("POST", "/form", ours, f"a=1&csrf={wrong}").status == 403


def test_the_csrf_token_of_another_browser_is_worth_nothing(app):
    ours, theirs = app.ours(), app.ours()
    ours["X-CSRF"] = theirs["X-CSRF"]
    assert app.ask("POST", "/form", ours, "a=1").status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("path", ["/status", JS, f"{JS}?x=1"])
@pytest.mark.parametrize("dest", ["image", "script", "iframe", "document", "empty"])
def test_other_sites_can_neither_embed_nor_probe(app, site, path, dest):
    mode = "navigate" if dest in {"iframe", "document"} else "no-cors"
    fetched = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
    got = app.ask("GET", path, {**app.enter(), **fetched})
    none = app.ask("GET", f"{path}-not-there", {**app.enter(), **fetched})
    assert (got.status, got.text) == (none.status, none.text) == (403, got.text)


def test_other_sites_may_bring_a_window_to_the_first_page_only(app):
    sent = {**app.enter(), "Sec-Fetch-Site": "cross-site", **NAVIGATED}
    assert app.ask("GET", "/", sent).status == 200
    assert app.ask("GET", "/", {**sent, "Sec-Fetch-Dest": "iframe"}).status == 403
    assert app.ask("GET", "/", {**sent, "Sec-Fetch-Mode": "no-cors"}).status == 403
    del sent["Sec-Fetch-Dest"]
    assert app.ask("GET", "/", sent).status == 403


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"), ("GET", JS), ("HEAD", "/"), ("GET", "/no-such-page"),
        ("GET", "/fail"), ("GET", "/loose"), ("DELETE", "/"), ("GET", "/?token=x"),
    ],
)  # fmt: skip
def test_every_answer_forbids_storing_framing_and_strangers(app, method, path):
    headers = app.ask(method, path, app.enter()).headers
    assert headers.get_all("cache-control") == ["no-store"]
    assert headers.get_all("content-security-policy") == [
        "default-src 'none'; script-src 'self'; style-src 'self'; "
        "img-src 'self' data:; connect-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ]
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["referrer-policy"] in {"same-origin", "no-referrer"}
    assert "camera=()" in headers["permissions-policy"]
    assert headers["server"] is None
    assert headers["date"] is None
    assert not any(name.startswith("access-control") for name in headers)


@pytest.mark.parametrize(
    "method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "X", "get"]
)
def test_unknown_methods_are_refused(app, method):
    got = app.ask(method, "/", app.ours())
    assert got.status == 405
    assert got.headers["allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../secret.txt", "/static/../../secret.txt",
        "/static/%2e%2e/secret.txt", "/static/..%2fsecret.txt",
        "/static/%2e%2e%2f%2e%2e%2fsecret.txt",
        "/static/..%5csecret.txt", "/static/%252e%252e/secret.txt", "/static/..",
        "/static//etc/passwd", "/static/%2fetc/passwd", "/static/app.js%00.txt",
        "/static/", "//etc/passwd",
    ],
)  # fmt: skip
def test_no_file_beside_the_static_ones_is_served(app, path):
    got = app.ask("GET", path, app.enter())
    assert got.status in {400, 404}
    assert SECRET not in got.text
    assert "root:" not in got.text


@pytest.mark.parametrize("target", ["http://evil.example/", "*", "evil.example:80"])
def test_targets_that_are_not_paths_are_refused(app, target):
    head = f"GET {target} HTTP/1.1\r\nHost: {app.host}\r\n"
    got = app.raw(f"{head}Cookie: {app.enter()['Cookie']}\r\n\r\n".encode())
    assert got.startswith(b"HTTP/1.1 400 ")


def sent(app, headers, *parts, path="/form", method="POST"):
    """Send a request with raw headers and parts of a body; return the answer."""
    ours = {**app.ours(), **headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in ours.items() if value)
    head = f"{method} {path} HTTP/1.1\r\nHost: {app.host}\r\n{lines}\r\n"
    return app.raw(head.encode(), *parts)


CHUNKED = {"Transfer-Encoding": "chunked"}


def test_a_huge_body_is_refused_before_it_is_sent(app):
    got = sent(app, {"Content-Length": str(1 << 40)})
    assert got.startswith(b"HTTP/1.1 413 ")
    got = sent(app, {"Content-Length": str(1 << 40), "Expect": "100-continue"})
    assert got.startswith(b"HTTP/1.1 413 ")


def test_an_endless_body_without_a_length_is_ended(app):
    with app.connect() as connection:
        lines = "".join(f"{k}: {v}\r\n" for k, v in {**app.ours(), **CHUNKED}.items())
        head = f"POST /form HTTP/1.1\r\nHost: {app.host}\r\n{lines}\r\n"
        connection.sendall(head.encode())
        chunk = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
        with pytest.raises(OSError, match=r"reset|pipe"):
            _ = [connection.sendall(chunk) for _ in range(1000)]  # 64 MB


def test_a_body_of_the_largest_size_passes_and_one_more_byte_does_not(start):
    app = start(guard={"largest": 20})
    end = b"\r\n0\r\n\r\n"
    assert app.ask("POST", "/body", app.ours(), "a" * 20).text == "a" * 20
    assert app.ask("POST", "/body", app.ours(), "a" * 21).status == 413
    close = {**CHUNKED, "Connection": "close"}
    got = sent(app, close, b"14\r\n" + b"a" * 20 + end, path="/body")
    assert got.endswith(b"\r\n\r\n" + b"a" * 20)
    got = sent(app, close, b"14\r\n" + b"a" * 20 + b"\r\n1\r\na" + end)
    assert got.startswith(b"HTTP/1.1 413 ")


def test_a_slow_body_is_ended(start):
    app = start(guard={"patience": 0.01})
    got = sent(app, {"Content-Length": "10"}, b"a=1")
    assert got.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in got


def test_many_fields_are_refused(start):
    app = start(guard={"most_fields": 3})
    assert app.ask("POST", "/form", app.ours(), "a&b&c").status == 200
    assert app.ask("POST", "/form", app.ours(), "a&b&c&d").status == 413


@pytest.mark.parametrize(
    "kind", ["multipart/form-data; boundary=x", "application/json", "text/plain", "x"]
)
def test_only_plain_forms_are_read(app, kind):
    body = '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n'
    got = app.ask("POST", "/form", {**app.ours(), "Content-Type": kind}, body)
    assert got.status == 415


def test_a_change_may_have_no_fields(app):
    ours = app.ours()
    del ours["Content-Type"]
    assert app.ask("POST", "/form", ours).text == "[]"


@pytest.mark.parametrize("form", [b"a=\xff", b"a=%FF", b"\x00\xc3"])
def test_a_form_is_text(app, form):
    assert app.ask("POST", "/form", app.ours(), form).status == 400


SECOND = b"GET /status HTTP/1.1\r\nHost: %b\r\nCookie: %b\r\n\r\n"


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Length": "4", **CHUNKED},
        {"Content-Length": "4", "Transfer-Encoding": "identity"},
        {"Transfer-Encoding": "chunked, chunked"},
        {"Transfer-Encoding": "xchunked"},
        {"Transfer-Encoding": "chunked", "transfer-encoding": "x"},
        {"Content-Length": "4", "content-length": "5"},
        {"Content-Length": "+4"},
        {"Content-Length": "-1"},
        {"Content-Length": "4 4"},
        {"Content-Length": "9" * 4000},
    ],
)
@pytest.mark.parametrize("method", ["POST", "GET"])
def test_no_second_request_hides_in_a_body(app, headers, method):
    second = SECOND % (app.host.encode(), app.enter()["Cookie"].encode())
    got = sent(app, headers, b"0\r\n\r\n", second, path="/", method=method)
    assert got.count(b"HTTP/1.1 ") == 1
    assert got[:12] in {b"HTTP/1.1 400", b"HTTP/1.1 501", b"HTTP/1.1 413"}
    assert b"csrf" not in got


def test_after_a_refusal_the_connection_ends(app):
    second = SECOND % (app.host.encode(), app.enter()["Cookie"].encode())
    got = app.raw(b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n" + second)
    assert got.startswith(b"HTTP/1.1 421 ")
    assert got.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize(
    "lines",
    [
        "".join(f"X-{n}: {'a' * 50}\r\n" for n in range(1000)),
        f"X: {'a' * 100_000}\r\n",
        f"Cookie: {'riskcore=1; ' * 10_000}\r\n",
    ],
    ids=["many", "long", "cookies"],
)
def test_many_and_long_headers_are_refused(app, lines):
    got = app.raw(f"GET / HTTP/1.1\r\nHost: {app.host}\r\n{lines}".encode())
    assert got.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 431 ")) or got == b""
    assert app.ask("GET", "/", app.enter()).status == 200


@pytest.mark.parametrize("path", ["/fail", "/say-failed"])
def test_no_words_of_a_failure_are_shown(start, path, capfd, caplog):
    app = start()
    got = app.ask("GET", path, app.enter())
    assert got.status == 500
    assert "the terminal names the place" in got.text
    assert app.ask("GET", "/", app.enter()).status == 200
    assert_silent(app, got.text, capfd, caplog)
    if path == "/fail":
        assert app.logged[0].startswith("the app failed: KeyError\n  riskcore.app.guar")
        assert "\n  tests.app.served:" in app.logged[0]
        assert "the app failed: ValueError" in app.logged[0]


def assert_silent(app, text, capfd, caplog):
    """Check that a value of the data is neither shown nor logged, nor a traceback."""
    out, err = capfd.readouterr()
    seen = "\n".join([text, out, err, caplog.text, *app.logged])
    assert "4711" not in seen
    assert "Traceback" not in seen
    assert app.token not in seen


def test_a_failure_in_the_middle_of_an_answer_ends_it(start, capfd, caplog):
    app = start()
    head = f"GET /fail-late HTTP/1.1\r\nHost: {app.host}\r\n"
    got = app.raw(f"{head}Cookie: {app.enter()['Cookie']}\r\n\r\n".encode()).decode()
    assert got.startswith("HTTP/1.1 200 ")
    assert got.endswith("\r\n5\r\nbegun\r\n")  # not the last chunk
    assert app.ask("GET", "/", app.enter()).status == 200
    assert_silent(app, got, capfd, caplog)
    assert app.logged[0].startswith("the app failed: KeyError\n")


def test_a_failure_goes_to_stderr_by_default(capsys):
    async def fail(scope, receive, send):
        raise ZeroDivisionError(SECRET)

    guard = Guard(fail, {"localhost:1"}, "t")
    entry = asgi(guard, "/", query=b"token=t")
    cookie = dict(entry[0]["headers"])[b"set-cookie"].partition(b";")[0]
    assert asgi(guard, "/", cookie=cookie)[0]["status"] == 500
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("the app failed: ZeroDivisionError\n")
    assert err.endswith(" fail\n")
    assert "4711" not in err


def asgi(guard, path, query=b"", cookie=b"", kind="http"):
    """Return what the guard sends for a request."""
    sent = []

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "http.disconnect"}

    headers = [(b"host", b"localhost:1"), (b"cookie", cookie)]
    scope = {"type": kind, "method": "GET", "path": path, "query_string": query}
    asyncio.run(guard({**scope, "headers": headers}, receive, send))
    return sent


def test_there_are_no_websockets(app):
    guard = Guard(None, {"localhost:1"}, "t")
    assert asgi(guard, "/", kind="websocket") == [
        {"type": "websocket.close", "code": 1008}
    ]
    lines = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: eA==\r\n"
    got = app.raw(f"GET / HTTP/1.1\r\nHost: {app.host}\r\n{lines}\r\n".encode())
    assert got.startswith(b"HTTP/1.1 403 ")


def test_the_browsers_that_look_are_counted(start):
    app = start(guard={"watching": 90.0}, idle=1e5)
    assert app.guard.viewers() == 0
    assert not app.guard.entered()
    first, second = app.enter(), app.enter()
    assert app.guard.entered()
    assert app.guard.viewers() == 2
    app.clock.now += 60
    app.ask("GET", "/status", {**first, "X-Poll": "1"})
    app.ask("GET", "/status")  # a stranger
    assert app.guard.viewers() == 2
    app.clock.now += 60
    assert app.guard.viewers() == 1
    app.ask("GET", "/", second)
    assert app.guard.viewers() == 2


def test_a_browser_that_left_is_counted_when_it_asks_again(start):
    app = start(idle=1e5)
    ours, _ = app.ours(), app.enter()
    app.guard.leave(ours["X-CSRF"])
    assert app.guard.viewers() == 1
    app.guard.leave("of nobody")
    assert app.guard.viewers() == 1
    assert app.ask("GET", "/status", {**ours, "X-Poll": "1"}).status == 200
    assert app.guard.viewers() == 2


def test_only_a_persons_requests_count_as_use(start):
    app = start(idle=1e5)
    ours = app.ours()
    app.clock.now += 50
    app.ask("GET", "/status", {**ours, "X-Poll": "1"})
    app.ask("GET", "/")
    app.ask("GET", "/?token=x")
    app.ask("POST", "/form", FORM, "a=1")
    app.ask("GET", "/", {**ours, "Host": "evil.example"})
    assert app.guard.idle() == 50
    app.ask("POST", "/form", ours, "a=1")
    assert app.guard.idle() == 0
    app.clock.now += 50
    app.guard.renew()
    assert app.guard.idle() == 0


@pytest.mark.parametrize("first", [b"", b"GET / HTTP/1.1\r\nHost: "])
def test_connections_that_say_nothing_are_ended(start, monkeypatch, first):
    monkeypatch.setattr("riskcore.app.serve._PATIENCE", 0.0)
    with start().connect() as connection:
        connection.sendall(first)
        assert read_all(connection) == b""


def test_connections_that_begin_another_request_and_stop_are_ended(start, monkeypatch):
    app = start()
    head = f"GET / HTTP/1.1\r\nHost: {app.host}\r\nCookie: {app.enter()['Cookie']}\r\n"
    with app.connect() as connection:
        for _ in range(2):  # it may be used again
            connection.sendall(f"{head}\r\n".encode())
            while not connection.recv(1 << 16).endswith(b"}"):
                pass
        monkeypatch.setattr("riskcore.app.serve._PATIENCE", 0.0)
        connection.sendall(head.encode())
        assert read_all(connection) == b""


def test_half_open_connections_keep_nobody_out(app):
    cookie = app.enter()
    silent = []
    for number in range(260):
        connection = app.connect()
        connection.sendall(b"GET / HTTP/1.1\r\n" if number % 2 else b"")
        silent.append(connection)
        if number % 50 == 49:
            assert app.ask("GET", "/", cookie).status == 200
    assert app.ask("GET", "/", cookie).status == 200
    for connection in silent:
        connection.close()
