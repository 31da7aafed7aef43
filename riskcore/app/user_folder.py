"""The folder of the user's settings, which keeps the sessions of the app."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def user_folder() -> Path | None:
    """Return the folder of the user's settings; None if the user has no home."""
    chosen = os.environ.get("RISKCORE_CONFIG_DIR")
    if chosen:
        return Path(chosen)
    local, xdg = os.environ.get("LOCALAPPDATA"), os.environ.get("XDG_CONFIG_HOME")
    if sys.platform == "win32" and local:
        return Path(local) / "riskcore"
    # Relative paths are to be ignored, says the XDG specification.
    if sys.platform not in ("win32", "darwin") and xdg and Path(xdg).is_absolute():
        return Path(xdg) / "riskcore"
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "riskcore"
    return home / ".config" / "riskcore"
