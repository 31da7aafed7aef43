"""Words of a command, quoted for a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterable


def shell_line(words: Iterable[str]) -> str:
    r"""Return a command line to copy into a shell, with control characters escaped.

    Examples
    --------
    >>> print(shell_line(["riskcore", "my file.csv", "it's\x1b[2J\n\u202e"]))
    riskcore 'my file.csv' $'it\'s\x1b[2J\x0a\u202e'
    """
    return " ".join(
        shlex.quote(word)
        if word.isprintable()
        else f"$'{''.join(map(_ansi_escaped, word))}'"
        for word in words
    )


def _ansi_escaped(character: str) -> str:
    """Return a character as bash, zsh and POSIX of 2024 read it, printable."""
    if character in "\\'":
        return f"\\{character}"
    if character.isprintable():
        return character
    code = ord(character)
    # Python keeps a byte of a name that is not text as half a surrogate pair.
    if code < 0x80 or 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code & 0xFF:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
