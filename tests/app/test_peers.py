"""Connections of other users of the machine are turned away where Linux tells them."""

import os
import socket

import pytest

from riskcore.app import peers
from tests import needs
from tests.app.served import LONG, read_all

HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt\n"
ROW = "   0: {} {} {} 00000000:00000000 00:00000000 00000000 {} 0 5 1 0 20 4 30 10 -1\n"
CLIENT, SERVER = ("127.0.0.1", 40000), ("127.0.0.1", 8000)


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Let the system tell what a test says."""
    paths = tmp_path / "tcp", tmp_path / "tcp6"
    monkeypatch.setattr(peers, "_TABLES", paths)
    monkeypatch.setattr("sys.byteorder", "little")

    def write(*rows, version=4):
        lines = (ROW.format(*row) for row in rows)
        paths[version == 6].write_text(HEADER + "".join(lines))

    return write


def test_the_user_of_a_connection_is_found(table):
    ours = ("0100007F:9C40", "0100007F:1F40")
    table((*ours[::-1], "01", 7), ("0100007F:9C41", ours[1], "01", 8), (*ours, "01", 9))
    assert peers.user_of(CLIENT, SERVER) == 9
    assert peers.user_of(SERVER, CLIENT) == 7
    assert peers.user_of(CLIENT, ("127.0.0.2", 8000)) is None


def test_a_connection_that_is_closed_is_nobodys(table):
    table(("0100007F:9C40", "0100007F:1F40", "05", 0))
    assert peers.user_of(CLIENT, SERVER) is None


def test_connections_by_ipv6_to_ipv4_are_found(table):
    zeros = "0000000000000000FFFF0000"
    ours = (f"{zeros}0100007F:9C40", f"{zeros}0100007F:1F40")
    table((*ours, "01", 9), version=6)
    assert peers.user_of(CLIENT, SERVER) == 9


def test_a_system_that_does_not_tell_admits_all(table, monkeypatch):
    monkeypatch.setattr("os.getuid", lambda: 1000)
    admits = peers.own_processes(pytest.fail)
    assert admits(CLIENT, SERVER)


def test_others_are_told_of_once(table, monkeypatch):
    monkeypatch.setattr("os.getuid", lambda: 1000)
    monkeypatch.setattr(peers, "_is_told", lambda: True)
    said = []
    admits = peers.own_processes(said.append)
    for user, admitted in ((1000, True), (0, True), (1001, False), (1002, False)):
        table(("0100007F:9C40", "0100007F:1F40", "01", user))
        assert admits(CLIENT, SERVER) is admitted
    assert [line[:20] for line in said] == ["another user of this"]
    table()
    assert not admits(CLIENT, SERVER)


@needs.linux
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_linux_tells(family):
    host = "127.0.0.1" if family == socket.AF_INET else "::ffff:127.0.0.1"
    listening = socket.create_server(("127.0.0.1", 0))
    with listening as listener, socket.socket(family) as client:
        client.connect((host, listener.getsockname()[1]))
        accepted, address = listener.accept()
        with accepted:
            user = peers.user_of(address, accepted.getsockname())
    assert user == os.getuid()


@needs.root
@needs.linux
def test_another_user_is_turned_away_with_cookie_and_token(start, monkeypatch):
    monkeypatch.setattr("os.getuid", lambda: 1000)
    monkeypatch.setattr(peers, "_is_told", lambda: True)
    app = start()
    ask = f"GET /?token={app.token} HTTP/1.1\r\nHost: {app.host}\r\n\r\n".encode()
    with app.connect() as ours:  # root's
        ours.sendall(ask)
        assert ours.recv(12) == b"HTTP/1.1 303"
    with socket.socket() as theirs:
        os.fchown(theirs.fileno(), 1001, -1)  # as if that user had made it
        theirs.connect(("127.0.0.1", app.port))
        theirs.sendall(ask)
        assert read_all(theirs) == b""
    assert app.lines.get(timeout=LONG).startswith("another user of this machine tried")
