"""The line of a shell that runs a file of rules again."""

from __future__ import annotations

import os

from riskcore.common.shell_line import shell_line as line_of
from riskcore.protection.rules import Release

StrPath = str | os.PathLike[str]


def shell_line(
    release: Release,
    *,
    secret: StrPath | None = None,
    output: StrPath | None = None,
    overwrite: bool = False,
) -> str:
    """Return the line of a shell that runs a file of rules, by its path.

    ``secret`` is the private record of an earlier run, ``output`` another name for the
    safe file.

    >>> rules = Release.parse("format = 1", "my rules.toml")
    >>> print(shell_line(rules, secret="safe.csv.private.json"))
    riskcore run 'my rules.toml' --secret safe.csv.private.json
    """
    words = ["riskcore", "run", _word(release.path or "release.toml")]
    for option, path in (("--secret", secret), ("--output", output)):
        words += [] if path is None else [option, _word(path)]
    return line_of([*words, *(["--overwrite"] if overwrite else [])])


def _word(path: StrPath) -> str:
    """Return a path as a word that is not taken for an option."""
    text = os.fspath(path)
    return f"./{text}" if text.startswith("-") else text
