"""Whose process connects: Linux tells it, so that other users are turned away.

A browser sends the cookie of one port of this machine to all its ports, also to one on
which another user listens. Without this check the cookie would then let that user in.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

Address: TypeAlias = tuple[str, int]
Admits: TypeAlias = Callable[[Address, Address], bool]

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ESTABLISHED = "01"
_IPV4_IN_IPV6 = bytes(10) + b"\xff\xff"


def own_processes(said: Callable[[str], object]) -> Admits:
    """Return whether a connection is of this user or root, as (client, server).

    All are if the system does not tell, and if root runs the app: for whom is unknown.
    """
    if not hasattr(os, "getuid") or os.getuid() == 0 or not _is_told():
        return lambda client, server: True
    ours, told = {0, os.getuid()}, [False]

    def admits(client: Address, server: Address) -> bool:
        user = user_of(client, server)
        if user is not None and user not in ours and not told[0]:
            told[0] = True
            said("another user of this machine tried to connect, and was turned away")
        return user in ours

    return admits


def user_of(client: Address, server: Address) -> int | None:
    """Return the number of the user whose process connected, if the system tells."""
    for table, (ours, theirs) in zip(
        _TABLES, zip(_written(client), _written(server), strict=True), strict=True
    ):
        for _, local, remote, state, _, _, _, user, *_ in _rows(table):
            # Of a closed connection the owner is forgotten, and root's number given.
            if (local, remote, state) == (ours, theirs, _ESTABLISHED):
                return int(user)
    return None


def _rows(table: Path) -> Iterator[list[str]]:
    """Yield the words of each connection in a table."""
    with suppress(OSError), table.open() as lines:
        next(lines, None)
        yield from map(str.split, lines)


def _written(address: Address) -> tuple[str, str]:
    """Return an address as the two tables write it."""
    host, port = socket.inet_aton(address[0]), address[1]
    return _words(host, port), _words(_IPV4_IN_IPV6 + host, port)


def _words(host: bytes, port: int) -> str:
    """Return an address in words of the machine's byte order."""
    words = (host[i : i + 4] for i in range(0, len(host), 4))
    numbers = (int.from_bytes(word, sys.byteorder) for word in words)
    return f"{''.join(f'{number:08X}' for number in numbers)}:{port:04X}"


def _is_told() -> bool:
    """Return whether the system tells that a connection of ours is ours."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as ours,
    ):
        return user_of(ours.getsockname(), ours.getpeername()) == os.getuid()
