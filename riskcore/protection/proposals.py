"""A first file of rules: the role that each column seems to have, to be confirmed."""

from __future__ import annotations

import os
from pathlib import Path

from riskcore.assessment.describe import DescribedColumn, Description
from riskcore.common.toml_text import toml_of
from riskcore.common.words import printable
from riskcore.data.columns import code_column
from riskcore.data.proposed_ladder import rungs_of
from riskcore.data.source import Source
from riskcore.protection.release_toml import Release

# The goal of k-anonymity that is proposed.
_K = 3
_HEAD = """\
# Proposals by riskcore describe, from the names, labels and values of the columns.
# An intruder may know other columns: check each role, choose your goal in [safe], and
# then delete the line "confirmed = false". Until then riskcore run refuses the rules.
#
"""
_LADDERS = """
# How each key may become coarser, from fine to coarse, for riskcore best. Change the
# recodings as you like; riskcore run does not use them.
[ladder]
"""


def proposed_rules(source: Source, description: Description, path: Path) -> str:
    """Return a file of rules, to stand at ``path``, with given and proposed roles."""
    columns: dict[str, list[str]] = {}
    for column in description.columns:
        role = column.role or column.proposed.role
        if role is not None:
            columns.setdefault(role, []).append(str(column.name))
    keys = [*columns.pop("key", []), *columns.pop("household key", [])]
    if not keys:
        raise ValueError("no column seems to be a key variable; name them with --keys")
    weights, households = columns.pop("weight", []), columns.pop("household", [])
    roles = {name: role for role, names in columns.items() for name in names}
    folder = path.parent
    assert source.path is not None
    release = Release.of(
        Path(os.path.relpath(str(source.path), str(folder))).as_posix(),
        keys,
        weights[0] if weights else None,
        households[0] if households else None,
        k=_K,
        roles={name: roles[name] for name in map(str, source.names) if name in roles},
        reading=source.reading._with_files(lambda x: Path(os.path.relpath(x, folder))),
    )
    left = {*weights[1:], *households[1:]}
    said = "".join(
        f"# {printable(str(column.name))}: {_said(column, str(column.name) in left)}\n"
        for column in description.columns
    )
    first, rest = release.to_toml().split("\n", 1)
    ladders = "".join(_ladder(source, name) for name in keys)
    return f"{_HEAD}{said}{first}\nconfirmed = false\n{rest}{_LADDERS}{ladders}"


def _ladder(source: Source, name: str) -> str:
    """Return the ladder that a key suggests, with the values that each rung leaves."""
    rungs = rungs_of(code_column(source.records, name))
    values, *left = (f"{len({*codes}):,}" for codes in rungs.codes)
    line = toml_of({name: [*rungs.ladder.rules]})
    return f"# {printable(name)}: {values} values become {', '.join(left)}\n{line}"


def _said(column: DescribedColumn, is_second: bool) -> str:
    """Return the role of a column and the reason for it, in words."""
    if column.role is not None:
        return f"{column.role} (given)"
    role = column.proposed.role
    reason = f" ({printable(column.reason)})" if column.reason else ""
    if role is None or is_second:
        seems = f"seems to be another {role}; " if role else ""
        return (
            f"{seems}NO ROLE YET{reason}: name it in [roles] as numeric, sensitive, "
            "identifier or harmless, or among the keys"
        )
    return f"{role}{reason}"
