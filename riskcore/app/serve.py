"""Serve the app to this machine only, until Ctrl-C or an hour without use."""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
import shutil
import signal
import socket as sockets
import stat
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TypeAlias

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from riskcore.app.guard import Guard
from riskcore.app.peers import Admits, own_processes

# Makes the guarded application for the addresses it is served at and its token.
MakeApp: TypeAlias = Callable[[set[str], str], Guard]

_HOME = "127.0.0.1"
_PRIVATE = 0o600
_OTHERS_WRITE = 0o022
# Connections at a time, and seconds in which a connection must say what it wants.
_CONNECTIONS = 200
_PATIENCE = 10.0


def serve(
    make_app: MakeApp,
    *,
    port: int = 0,
    socket: str | os.PathLike[str] | None = None,
    browser: bool = True,
    idle: float = 3600.0,
    said: Callable[[str], object] = print,
) -> int:
    """Serve an application to this machine until it is idle; port 0 is any free one."""
    token = secrets.token_urlsafe(32)
    with ExitStack() as ending:
        if socket is None:
            listener = _listen(port)
            port = listener.getsockname()[1]
            suffix = "" if port == 80 else f":{port}"  # as browsers write it
            hosts = {f"{_HOME}{suffix}", f"localhost{suffix}"}
            address = f"http://{_HOME}{suffix}/?token={token}"
        else:
            listener = _listen_on_socket(Path(socket), ending)
            hosts = {"localhost:*", f"{_HOME}:*"}
            address = f"http://localhost:PORT/?token={token}"
        ending.callback(listener.close)
        server = _Server(make_app(hosts, token), idle, ending)
        server.config.admits = own_processes(said)
        said(address)
        said("Whoever has this address sees the file. Ctrl-C ends the app.")
        if browser and socket is None:
            server.opened = _open(address, said)
            ending.callback(server.opened)
        server.run([listener])
    return _status(server, said)


def _status(server: _Server, said: Callable[[str], object]) -> int:
    """Return the exit status, or raise what a signal is to raise."""
    if server.signals:
        signal.raise_signal(server.signals[0])
        return 128 + server.signals[0]
    if server.is_idle:
        said(f"ended after {server.idle / 60:.0f} minutes without use")
    return 0


def _listen(port: int) -> sockets.socket:
    """Return a socket that listens on a port of this machine."""
    if not 0 <= port <= 65535:
        raise ValueError(f"port={port}: give a port from 0 to 65535; 0 for a free one")
    # The protocol is named, or asyncio would leave Nagle's delay of 40 ms on.
    tcp = sockets.IPPROTO_TCP
    listener = sockets.socket(sockets.AF_INET, sockets.SOCK_STREAM, tcp)
    try:
        if os.name == "posix":  # elsewhere it would share the port with others
            listener.setsockopt(sockets.SOL_SOCKET, sockets.SO_REUSEADDR, 1)
        listener.bind((_HOME, port))
        listener.listen(_CONNECTIONS)
    except OSError as error:
        listener.close()
        in_use = error.errno == errno.EADDRINUSE
        reason = "in use" if in_use else f"not to be had ({error.strerror})"
        raise OSError(
            f"port {port} is {reason}; give another one, or 0 for a free one"
        ) from None
    return listener


def _listen_on_socket(path: Path, ending: ExitStack) -> sockets.socket:
    """Return a Unix socket at a path that only its owner can open."""
    if not hasattr(sockets, "AF_UNIX") or os.name != "posix":
        raise OSError("this system has no Unix sockets; serve on a port")
    _refuse_open_folder(path)
    remove_dead(path)
    listener = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
    before = os.umask(0o777 & ~_PRIVATE)
    try:
        listener.bind(os.fspath(path))
    except OSError as error:
        listener.close()
        raise OSError(f"{path} cannot be a socket: {error.strerror or error}") from None
    finally:
        os.umask(before)
    ours = path.lstat()
    ending.callback(_remove, path, (ours.st_dev, ours.st_ino))
    listener.listen(_CONNECTIONS)
    return listener


def _refuse_open_folder(path: Path) -> None:
    """Refuse a folder in which others could put a socket of theirs in our place."""
    folder = path.absolute().parent.stat()
    open_to_all = folder.st_mode & _OTHERS_WRITE and not folder.st_mode & stat.S_ISVTX
    if open_to_all or folder.st_uid not in {0, os.getuid()}:
        raise OSError(
            f"{path}: other users can change this folder; choose a folder of your own"
        )


def remove_dead(path: Path) -> None:
    """Remove a socket of ours that nobody serves; refuse anything else at the path."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISSOCK(found.st_mode) and found.st_uid == os.getuid():
        with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM) as asked:
            if asked.connect_ex(os.fspath(path)) == errno.ECONNREFUSED:
                path.unlink()
                return
    raise FileExistsError(f"{path} exists; give a path where nothing is")


def _remove(path: Path, ours: tuple[int, int]) -> None:
    """Remove a socket if it is still the one we made."""
    with suppress(OSError):
        status = path.lstat()
        if (status.st_dev, status.st_ino) == ours:
            path.unlink()


def _open(address: str, said: Callable[[str], object]) -> Callable[[], object]:
    """Open an address in a browser; return what removes the file that leads there.

    The command line of a browser can be read by other users of the machine, so it
    names a file that only the owner can read.
    """
    folder = Path(tempfile.mkdtemp(prefix="riskcore-"))
    page = folder / "open.html"
    with open(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE), "w") as to:
        to.write(
            '<!doctype html><html lang="en"><meta charset="utf-8">'
            '<title>riskcore</title><meta name="referrer" content="no-referrer">'
            f'<meta http-equiv="refresh" content="0; url={address}">'
            f'<p><a href="{address}">Open riskcore</a></p></html>'
        )

    def show() -> None:
        with suppress(OSError, webbrowser.Error):
            if webbrowser.open(page.as_uri()):
                return
        said("no browser could be opened; open the address yourself")

    threading.Thread(target=show, daemon=True).start()
    return lambda: shutil.rmtree(folder, ignore_errors=True)


class _Config(uvicorn.Config):
    """Settings of a server that asks whose each connection is."""

    admits: Admits


class Connection(H11Protocol):
    """A connection that ends at once if it is another user's."""

    config: _Config
    since = 0.0  # when it was made, or owed no request last

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Hang up on other users of the machine; a Unix socket has no addresses.

        Of too many connections the oldest ends that has not said what it wants.
        """
        super().connection_made(transport)
        self.since = time.monotonic()
        theirs, ours = (transport.get_extra_info(f"{e}name") for e in ("peer", "sock"))
        if isinstance(theirs, tuple) and not self.config.admits(theirs, ours):
            transport.abort()
        elif len(self.connections) > _CONNECTIONS:
            others = [x for x in self.connections if isinstance(x, Connection)]
            silent = [x for x in others if x is not self and x.is_asking()]
            if silent:
                min(silent, key=lambda x: x.since).transport.abort()

    def is_asking(self) -> bool:
        """Return whether a request is due: the first one, or one that has begun."""
        due = self.cycle is None or self.conn.trailing_data[0]
        return bool(due) and self.conn.their_state is h11.IDLE

    def hang_up_if_slow(self) -> None:
        """End a connection that does not say what it wants."""
        now = time.monotonic()
        if not self.is_asking():
            self.since = now
        elif now - self.since > _PATIENCE:
            self.transport.abort()


class _Server(uvicorn.Server):
    """A server that ends at once, and when it is no longer used."""

    config: _Config

    def __init__(self, guard: Guard, idle: float, ending: ExitStack) -> None:
        config = _Config(
            guard,
            http=Connection,
            loop="asyncio",
            ws="none",
            lifespan="off",
            # It adds and logs nothing of its own: its warnings help nobody, its errors
            # hold messages of the application's.
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            limit_concurrency=2 * _CONNECTIONS,
            timeout_keep_alive=65,  # longer than pages wait before they ask again
            h11_max_incomplete_event_size=1 << 14,
            workers=1,
        )
        super().__init__(config)
        self.guard, self.idle, self.ending = guard, idle, ending
        self.opened: Callable[[], object] | None = None
        self.is_idle = False
        self.signals: list[int] = []

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Keep signals until the server has cleaned up."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {x: signal.signal(x, self.handle_exit) for x in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Remember a signal."""
        self.signals.append(sig)
        self.should_exit = True

    async def on_tick(self, counter: int) -> bool:
        """Look after the connections, ten times a second; return whether to end."""
        if self.opened is not None and self.guard.entered():
            self.opened()
            self.opened = None
        for connection in list(self.server_state.connections):
            if isinstance(connection, Connection):
                connection.hang_up_if_slow()
        self.is_idle = self.guard.idle() >= self.idle
        return await super().on_tick(counter) or self.is_idle

    async def shutdown(self, sockets: list[sockets.socket] | None = None) -> None:
        """Hang up, and remove what was made before unfinished work is waited for."""
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        self.ending.close()
