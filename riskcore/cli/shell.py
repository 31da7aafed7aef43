"""Command lines that a person can copy into a shell."""

from __future__ import annotations

import re
from collections.abc import Sequence

from riskcore.common.shell_line import shell_line

# The width of a printed command, and the pattern of a line that may be cut anywhere.
_WIDTH = 88
_PLAIN_LIST = re.compile(r"[\w%+,./:=@ -]*")


def shell_lines(words: Sequence[str]) -> str:
    r"""Return a command on several lines, each with one option and its values.

    Examples
    --------
    >>> words = ["riskcore", "protect", "s.csv", "--keys", "A", "B", "--k", "3"]
    >>> print(shell_lines(words))
    riskcore protect s.csv --keys A B --k 3
    >>> print(shell_lines([*words, "--recode", f"A=map:{'1=a,' * 20}2=b"]))
    riskcore protect s.csv \
        --keys A B \
        --k 3 \
        --recode A=map:1=a,1=a,1=a,1=a,1=a,1=a,1=a,1=a,1=a,1=a,1=a,1=a,1=a,1=a,1=a,1=a,\
    1=a,1=a,1=a,1=a,2=b
    """
    line = shell_line(words)
    if len(line) <= _WIDTH:
        return line
    options: list[list[str]] = [[]]
    for word in words:
        if word.startswith("--") and len(word) > 2:
            options.append([])
        options[-1].append(word)
    lines = [shell_line(option) for option in options]
    return " \\\n    ".join(_cut(line) for line in lines)


def _cut(line: str) -> str:
    """Return an option whose long list of plain words is broken after commas."""
    if len(line) <= _WIDTH - 6 or not _PLAIN_LIST.fullmatch(line):
        return line
    parts = line.replace(",", ",\0").split("\0")
    cut = [""]
    room = _WIDTH - 6
    for part in parts:
        if cut[-1] and len(cut[-1]) + len(part) > room:
            cut.append("")
            room = _WIDTH - 2
        cut[-1] += part
    return "\\\n".join(cut)
