"""How to run a file of rules again: as a line of the shell, and as a Python program.

Both make the same safe file, byte for byte, if they are given the private record of an
earlier run: it has the secret behind the order, new ids, ties and treatments. Neither
holds the secret itself.
"""

from __future__ import annotations

import os
from pathlib import Path

from riskcore.common.shell_line import shell_line as line_of
from riskcore.protection.release.program_text import Source, call_text, protect_text
from riskcore.protection.release.rules import Release

StrPath = str | os.PathLike[str]

# Arguments of `Protected.write` that a file of rules may have, in their order.
_WRITTEN = (
    "allow_unsafe",
    "drop",
    "shuffle",
    "renumber",
    "guard_formulas",
    "record",
    "public_record",
    "report",
    "report_public",
    "report_title",
)


def shell_line(
    release: Release,
    *,
    replay: StrPath | None = None,
    output: StrPath | None = None,
    overwrite: bool = False,
) -> str:
    """Return the line of a shell that runs a file of rules, by its path.

    ``replay`` is the private record of an earlier run, ``output`` another name for the
    safe file.

    >>> rules = Release.parse("format = 1", "my rules.toml")
    >>> print(shell_line(rules, replay="safe.csv.private.json"))
    riskcore run 'my rules.toml' --replay safe.csv.private.json
    """
    words = ["riskcore", "run", _word(release.path or "release.toml")]
    for option, path in (("--replay", replay), ("--output", output)):
        words += [] if path is None else [option, _word(path)]
    return line_of([*words, *(["--overwrite"] if overwrite else [])])


def python_script(
    release: Release,
    *,
    replay: StrPath | None = None,
    output: StrPath | None = None,
    overwrite: bool = False,
) -> str:
    r"""Return a Python program that writes the safe file of rules, records and reports.

    The arguments are those of `shell_line`.

    >>> rules = Release.of("survey.csv", ["SEX"], k=3, output="safe.csv")
    >>> print(python_script(rules), end="")
    import riskcore
    <BLANKLINE>
    safe = riskcore.protect(
        'survey.csv',
        keys=['SEX'],
        k=3,
    )
    safe.write('safe.csv')
    """
    wanted = release.output()
    if output is None:
        output = release.file("output")
    secret = {} if replay is None else {"secret": Source("secret")}
    data = repr(os.fspath(release.file("data")))
    given = {**release.arguments(), **secret}
    written = {
        **{name: wanted[name] for name in _WRITTEN if name in wanted},
        **({"overwrite": True} if overwrite else {}),
        **secret,
    }
    return "\n".join(
        [
            *_imports(replay),
            protect_text(data, given, release._reading()),
            call_text("safe.write", [repr(os.fspath(output))], written),
            "",
        ]
    )


def _word(path: StrPath) -> str:
    """Return a path as a word that is not taken for an option."""
    text = os.fspath(path)
    return f"./{text}" if text.startswith("-") else text


def _imports(replay: StrPath | None) -> list[str]:
    """Return the first lines of a program, which also read the secret of a record."""
    if replay is None:
        return ["import riskcore", ""]
    record = repr(os.fspath(Path(replay)))
    return [
        *("import json", "from pathlib import Path", ""),
        *("import riskcore", ""),
        f"record = json.loads(Path({record}).read_bytes())",
        'secret = record["output"]["secret"]  # of the order, ids, ties and treatments',
    ]
