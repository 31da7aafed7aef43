"""Read small files whole."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def read_small(path: Path, largest: int) -> bytes:
    """Return the bytes of a regular file; a pipe is not waited for."""
    if path.is_dir():
        raise IsADirectoryError(f"{path}: a directory, not a file")
    with open(path, "rb", opener=_at_once) as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise OSError(f"{path}: a device or pipe, not a file")
        if about.st_size > largest:
            raise OSError(f"{path}: more than {largest >> 20} MiB")
        return file.read()


def _at_once(path: str, flags: int) -> int:
    """Open a file without waiting."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
