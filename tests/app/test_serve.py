"""The server: its address, its browser, its end, and what it leaves behind."""

import errno
import http.client
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from riskcore.app import serve as serving
from riskcore.app.serve import serve
from tests import needs
from tests.app.served import LONG, read_all

WARNING = "Whoever has this address sees the file. Ctrl-C ends the app."
# What it prints and leaves is looked at from outside; it ends by signals.
PROGRAM = """
import sys
from riskcore.app.guard import Guard
from riskcore.app.serve import serve

async def app(scope, receive, send):
    if scope["path"] == "/fail":
        raise ValueError("value 4711 of the data")
    if scope["path"] == "/wait":
        import anyio.to_thread, threading
        print("waiting", flush=True)
        await anyio.to_thread.run_sync(threading.Event().wait)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"shown"})

def said(text):
    print(text, flush=True)

sys.exit(serve(lambda hosts, token: Guard(app, hosts, token), said=said, OPTIONS))
"""
# The same in the command, which raises at signals and does not wait for long.
IN_THE_COMMAND = """
import signal, sys
from riskcore import cli

signal.signal(signal.SIGINT, signal.default_int_handler)
cli._run = lambda _: exec(PROGRAM, {})
sys.argv = ["riskcore"]
sys.exit(cli.main())
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Serve in a process of its own; return it and the address it printed."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    running = []

    def begin(options, code=PROGRAM):
        served = PROGRAM.replace("OPTIONS", options)
        code = served if code is PROGRAM else code.replace("PROGRAM", repr(served))
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        running.append(process)
        address, warning = process.stdout.readline(), process.stdout.readline()
        assert warning == f"{WARNING}\n"
        return process, address.strip()

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def get(port, path, **headers):
    """Return an answer with its text read."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    answer.text = answer.read().decode()
    connection.close()
    return answer


def opened(address):
    """Return the port and the cookie of a browser that opened an address."""
    port, token = re.fullmatch(r"http://127.0.0.1:(\d+)/(\?token=.*)", address).groups()
    answer = get(int(port), f"/{token}")
    return int(port), answer.headers["Set-Cookie"].partition(";")[0]


def test_it_listens_on_this_machine_only(start):
    app = start()
    assert app.ask("GET", "/", app.enter()).status == 200
    for name, family in (("127.0.0.2", socket.AF_INET), ("::1", socket.AF_INET6)):
        with socket.socket(family) as asked:
            assert asked.connect_ex((name, app.port)) != 0
    assert app.warning == WARNING


def test_answers_are_not_held_back(start, monkeypatch):
    # A socket whose protocol is not named keeps Nagle's delay: 40 ms for each answer.
    delays = []

    class Watched(serving.Connection):
        def connection_made(self, transport):
            super().connection_made(transport)
            made = transport.get_extra_info("socket")
            delays.append(made.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    monkeypatch.setattr(serving, "Connection", Watched)
    app = start()
    assert app.ask("GET", "/", app.enter()).status == 200
    assert delays
    assert all(delays)


def test_a_port_in_use_is_named(start):
    app = start()
    with pytest.raises(OSError, match=rf"^port {app.port} is in use; give another one"):
        serve(None, port=app.port)
    with pytest.raises(ValueError, match="port=65536: give a port from 0 to 65535"):
        serve(None, port=65536)


def test_it_ends_after_a_time_without_use(start):
    app = start(idle=3600.0)
    cookie = app.enter()
    app.clock.now += 3599
    assert app.ask("GET", "/status", {**cookie, "X-Poll": "1"}).status == 200
    assert app.returned.empty()
    app.clock.now += 1
    assert app.returned.get(timeout=LONG) == 0
    assert app.lines.get(timeout=LONG) == "ended after 60 minutes without use"
    app.returned.put(0)
    with pytest.raises(ConnectionRefusedError):
        app.connect()


def test_an_end_in_the_middle_of_an_answer_waits_for_nobody(start):
    app = start()
    with app.connect() as begun, app.connect() as silent:
        begun.sendall(b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le")
        assert app.end() == 0
        app.returned.put(0)
        assert read_all(begun) == read_all(silent) == b""


def test_an_application_that_cannot_be_made_leaves_no_socket(tmp_path):
    def fail(hosts, token):
        raise ValueError("no such file")

    for options in ({}, {"socket": tmp_path / "s"}):
        with pytest.raises(ValueError, match="no such file"):
            serve(fail, **options)
    assert [*tmp_path.iterdir()] == []


# A browser that tells a test what it was given and what it sees.
BROWSER = """\
#!{python}
import json, os, socket, sys, urllib.request
from pathlib import Path
page = Path(urllib.request.url2pathname(sys.argv[1].removeprefix("file://")))
seen = [sys.argv[1:], dict(os.environ), str(page), page.read_text()]
modes = [each.stat().st_mode & 0o777 for each in (page, page.parent)]
with socket.create_connection(("127.0.0.1", {port})) as told:
    told.sendall(json.dumps([*seen, *modes]).encode())
"""


@pytest.fixture
def browser(tmp_path, monkeypatch):
    """Make a browser; return what waits for what it tells."""
    path = tmp_path / "browser"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(LONG)
        port = listener.getsockname()[1]
        path.write_text(BROWSER.format(python=sys.executable, port=port))
        path.chmod(0o700)
        monkeypatch.setenv("BROWSER", str(path))

        def told():
            with listener.accept()[0] as connection:
                return json.loads(read_all(connection))

        yield told


def wait_until(happened):
    """Wait for something that is about to happen."""
    for _ in range(LONG * 1000):
        if happened():
            return
        time.sleep(0.001)
    raise AssertionError("it did not happen")


def end(process, number=signal.SIGINT):
    """End a process by a signal; return its status, output and errors."""
    process.send_signal(number)
    out, err = process.communicate(timeout=LONG)
    return process.returncode, out, err


@needs.posix
def test_the_browser_gets_a_private_file_without_the_token(program, browser, tmp_path):
    _, address = program("")
    given, environment, page, text, mode, mode_of_folder = browser()
    token = address.partition("token=")[2]
    assert given == [Path(page).as_uri()]
    assert token not in json.dumps([given, environment])
    assert f'content="0; url={address}"' in text
    assert (mode, mode_of_folder) == (0o600, 0o700)
    assert Path(page).parent.parent == tmp_path
    port, cookie = opened(address)
    wait_until(lambda: not Path(page).parent.exists())
    assert get(port, "/", cookie=cookie).text == "shown"


@needs.posix
def test_the_file_for_the_browser_is_gone_at_the_end(program, browser):
    process, _ = program("")
    page = Path(browser()[2])
    assert page.exists()
    assert end(process)[0] == -signal.SIGINT
    assert not page.parent.exists()


def test_without_a_browser_it_says_so(start, monkeypatch):
    monkeypatch.setattr("webbrowser.open", lambda _: False)
    app = start(browser=True)
    said = "no browser could be opened; open the address yourself"
    assert app.lines.get(timeout=LONG) == said


def test_the_token_and_values_are_in_no_line_but_the_address(program):
    process, address = program("browser=False")
    port, cookie = opened(address)
    token = address.partition("token=")[2]
    assert get(port, "/fail", cookie=cookie).status == 500
    assert get(port, f"/fail?token={token}").status == 403
    assert get(port, f"/?token={token[:-1]}").status == 403
    assert get(port, f"/?token={token}", host="evil.example").status == 421
    with socket.create_connection(("127.0.0.1", port), timeout=LONG) as connection:
        connection.sendall(f"GET /?token={token} HTTP/9.9\r\n{token}\r\n\r\n".encode())
        assert read_all(connection).startswith(b"HTTP/1.1 400 ")
    _, out, err = end(process)
    assert out == ""
    *lines, last = err.split("Traceback")[0].splitlines()
    assert lines[0] == "the app failed: ValueError"
    assert re.fullmatch(r"  __main__:\d+ app", last)
    assert "4711" not in err
    assert token not in err
    assert cookie.partition("=")[2] not in err


@needs.posix
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
@pytest.mark.parametrize("busy", [False, True], ids=["free", "busy"])
def test_signals_end_the_command_at_once(program, tmp_path, number, status, busy):
    path = tmp_path / "socket"
    process, address = program(f"socket={str(path)!r}", IN_THE_COMMAND)
    cookie = over(path, "/?" + address.partition("?")[2]).partition("riskcore-")[2]
    with socket.socket(socket.AF_UNIX) as connection:
        if busy:
            connection.connect(str(path))
            line = f"Cookie: riskcore-{cookie.partition(';')[0]}"
            head = f"GET /wait HTTP/1.1\r\nHost: localhost:9\r\n{line}\r\n\r\n"
            connection.sendall(head.encode())
            assert process.stdout.readline() == "waiting\n"
        assert end(process, number) == (status, "", "riskcore: interrupted\n")
    # On a machine so busy that a second thread ended the process, a dead one is left.
    with socket.socket(socket.AF_UNIX) as again:
        assert again.connect_ex(str(path)) in (errno.ENOENT, errno.ECONNREFUSED)


def over(path, target, *lines):
    """Return an answer over a Unix socket, at the end of a tunnel."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(LONG)
        connection.connect(str(path))
        head = [f"GET {target} HTTP/1.1", "Host: localhost:9", "Connection: close"]
        connection.sendall("\r\n".join([*head, *lines, "", ""]).encode())
        return read_all(connection).decode()


@needs.posix
def test_a_unix_socket_is_private_from_its_first_moment(start, tmp_path, monkeypatch):
    path, modes = tmp_path / "socket", []

    class Watched(socket.socket):
        def bind(self, address):
            super().bind(address)
            modes.append(stat.S_IMODE(path.lstat().st_mode))

    monkeypatch.setattr(socket, "socket", Watched)
    before = os.umask(0)
    try:
        app = start(socket=path)
        assert os.umask(0) == 0  # as it was
    finally:
        os.umask(before)
    assert modes == [0o600]
    assert stat.S_IMODE(path.lstat().st_mode) == 0o600
    entry = over(path, f"/?token={app.token}")
    assert entry.startswith("HTTP/1.1 303 ")
    cookie = re.search(r"set-cookie: (riskcore-9=[^;]*);", entry)[1]
    assert "csrf" in over(path, "/", f"Cookie: {cookie}")
    assert over(path, "/").startswith("HTTP/1.1 403 ")
    assert app.end() == 0
    app.returned.put(0)
    assert not path.exists()


@needs.posix
def test_a_socket_of_others_is_not_removed_at_the_end(start, tmp_path):
    path = tmp_path / "socket"
    app = start(socket=path)
    path.unlink()
    path.write_text("theirs")
    assert app.end() == 0
    app.returned.put(0)
    assert path.read_text() == "theirs"


@needs.posix
def test_only_a_dead_socket_of_ours_is_replaced(start, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "folder").mkdir()
    start(socket=tmp_path / "served")
    for name in ("file", "link", "folder", "served"):
        with pytest.raises(FileExistsError, match=f"{name} exists; give a path"):
            serve(None, socket=tmp_path / name)
    assert (tmp_path / "file").read_text() == "mine"
    assert over(tmp_path / "served", "/").startswith("HTTP/1.1 403 ")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "dead"))
    start(socket=tmp_path / "dead")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "theirs"))
    monkeypatch.setattr("os.getuid", lambda: 4711)
    with pytest.raises(FileExistsError, match="theirs exists"):
        serving.remove_dead(tmp_path / "theirs")


@needs.posix
def test_a_folder_that_others_can_change_is_refused(start, tmp_path, monkeypatch):
    tmp_path.chmod(0o777)
    with pytest.raises(OSError, match="other users can change this folder"):
        serve(None, socket=tmp_path / "socket")
    tmp_path.chmod(0o1777)
    start(socket=tmp_path / "socket")
    tmp_path.chmod(0o700)
    monkeypatch.setattr("os.getuid", lambda: 4711)
    if tmp_path.stat().st_uid:  # root's folders are fine
        with pytest.raises(OSError, match="other users can change this folder"):
            serve(None, socket=tmp_path / "another")


@needs.posix
def test_a_path_that_cannot_be_a_socket_is_named(tmp_path):
    with pytest.raises(OSError, match="x cannot be a socket: AF_UNIX path too long"):
        serve(None, socket=tmp_path / ("x" * 200))
    with pytest.raises(FileNotFoundError):
        serve(None, socket=tmp_path / "no such folder" / "socket")


def test_the_server_needs_no_framework():
    # The guard and the server stay checkable without what the pages need.
    code = "import sys, riskcore.app.serve; print('starlette' in sys.modules)"
    got = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert got.stdout == b"False\n"
