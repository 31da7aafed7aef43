"""Where the app keeps its sessions."""

import sys
from pathlib import Path

from riskcore.app.user_folder import user_folder


def test_where_the_folder_is(monkeypatch):
    for name in ("RISKCORE_CONFIG_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for platform, name, value, folder in (
        ("linux", "HOME", "/home/me", "/home/me/.config/riskcore"),
        ("linux", "XDG_CONFIG_HOME", "relative", "/home/me/.config/riskcore"),
        ("linux", "XDG_CONFIG_HOME", "/else", "/else/riskcore"),
        ("darwin", "HOME", "/home/me", "/home/me/Library/Application Support/riskcore"),
        ("win32", "LOCALAPPDATA", "/local", "/local/riskcore"),
        ("win32", "RISKCORE_CONFIG_DIR", "/chosen", "/chosen"),
    ):
        monkeypatch.setattr(sys, "platform", platform)
        monkeypatch.setenv(name, value)
        assert user_folder() == Path(folder)
