"""Text of mu-Argus files: characters, encoding and lines."""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
LINE_END = re.compile(r"\r\n|\r|\n")


def characters_in(path: Path) -> Array:
    """Return the character codes of a text file, or its bytes if it is ASCII."""
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file")
    if path.stat().st_size == 0:
        raise ValueError(f"{path}: the file is empty")
    raw: Array = np.memmap(path, np.uint8, "r").view(np.ndarray)
    if raw.max() < 128 and raw.min() > 0:
        return raw
    codes = _read_text(path).encode("utf-32-le")
    return np.frombuffer(codes, "<u4").astype(np.uint32)


def decoded(characters: Array) -> str:
    """Return the text of characters."""
    return characters.astype("<u4").tobytes().decode("utf-32-le")


def text_lines(path: Path) -> list[str]:
    """Return the lines of a text file, found by its name in any case."""
    return LINE_END.split(_read_text(ignoring_case(path) or path))


def encoding_of(path: Path) -> str:
    """Return the encoding in which a text file is read: UTF-8 or Windows-1252."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        try:
            for part in iter(lambda: file.read(1 << 20), b""):
                decoder.decode(part)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "cp1252"
    return "utf-8"


def encodes(text: str, encoding: str) -> bool:
    """Return whether text can be written in an encoding."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _read_text(path: Path) -> str:
    """Read a text file, UTF-8 or else Windows-1252."""
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise OSError(f"{path}: a device or pipe, not a file")
    raw = path.read_bytes()
    zero = raw.find(0)
    if zero >= 0:
        raise ValueError(f"{path}: not a text file (zero byte at offset {zero})")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    try:
        return raw.decode("cp1252")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}: neither UTF-8 nor Windows-1252 (byte offset {error.start})"
        ) from None


def ignoring_case(path: Path) -> Path | None:
    """Return the file of this name, or of a name that differs only in case, or None."""
    if path.exists():
        return path
    wanted = path.name.casefold()
    try:
        names = sorted(path.parent.iterdir())
    except OSError:
        return None
    return next((name for name in names if name.name.casefold() == wanted), None)
