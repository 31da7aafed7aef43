"""Read recode files of mu-Argus (``.grc``): one rule a line, then tags."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from riskcore.data.files.argus.encoding import text_lines
from riskcore.data.files.argus.metadata import (
    Variable,
    line_tokens,
    missing_codes,
    unquoted,
)
from riskcore.data.recode import Recoding, Rule, refuse_backwards

# Quoted text, a mark of a rule, or text up to a mark or blank.
_TOKEN = re.compile(r'"[^"]*"?|[:,-]|[^":,\s-]+')
_MARKS = (":", ",", "-")


def read_recoding(path: str | Path, variable: Variable | None = None) -> Recoding:
    r"""Read a mu-Argus recode file (``.grc``).

    A line is ``new: item, item, ...``; an item is a code, a range ``low-high``, or a
    range with an open end, ``-high`` or ``low-``. Quotes protect blanks, commas, colons
    and hyphens; lines with the same new code add up; a code without a rule stays.
    ``<MISSING>`` has the missing codes of the recoded variable, separated by blanks or
    commas, ``<CODELIST>`` the file of labels; tags may be in any case.

    Parameters
    ----------
    path : str or pathlib.Path
        The case of the name does not matter.
    variable : Variable, optional
        The variable to be recoded, from the metadata of the data: then codes wider
        than it, and rules that would turn a missing code into a valid one, are refused.

    Returns
    -------
    Recoding
        New codes that are missing codes become missing.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If a line cannot be understood, a range runs backwards, a tag is unknown, the
        file has no rules, or the rules do not suit ``variable``. The message names
        the file and the line.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "Age.grc"
    ...     _ = path.write_text("1: -29\n2: 30-59, 99\n3: 60-\n<missing> 8, 9\n")
    ...     age = read_recoding(path)
    >>> print(age)
    line 1: (-inf, '29'] -> '1'
    line 2: ['30', '59'] -> '2'
    line 2: '99' -> '2'
    line 3: ['60', inf) -> '3'
    >>> age.missing_codes, age.apply(["9", "30", "100"]).codes
    (('8', '9'), ('1', '2', '3'))
    """
    path = Path(path)
    rules: list[Rule] = []
    tags: dict[str, Any] = {}
    for number, line in enumerate(text_lines(path), 1):
        text = line.strip()
        if not text or text.startswith("//"):
            continue
        try:
            if text.startswith("<"):
                tag = _tag(text)
                if tag.keys() & tags.keys():
                    raise ValueError("the tag appears twice")
                tags |= tag
            else:
                rules += _rules(text, number, variable)
        except ValueError as error:
            # It may be another file than was meant: its text is not shown.
            raise ValueError(f"{path}, line {number}: {error}") from None
    if not rules:
        raise ValueError(f"{path}: no rules")
    name, missing = (variable.name, variable.missing) if variable else ("", ())
    absent = tags.get("missing_codes") or missing
    rules = [replace(r, to=None) if r.to in absent else r for r in rules]
    for rule in rules:
        if rule.to is not None and (rule.low in missing or rule.high in missing):
            raise ValueError(
                f"{path}, line {rule.line}: a missing code of {name} "
                "would become valid; name the new code after <MISSING>"
            )
    return Recoding(tuple(rules), padded=True, source=path.name, **tags)


def _tag(text: str) -> dict[str, Any]:
    """Read a tag line."""
    tag, *tokens = line_tokens(text.replace(">", "> ", 1))
    if tag.upper() == "<MISSING>":
        return {"missing_codes": missing_codes(tokens)}
    if tag.upper() != "<CODELIST>":
        raise ValueError("recode files have no such tag")
    if not tokens:
        raise ValueError("the name of the file is missing")
    return {"codelist": unquoted(tokens[0])}


def _rules(text: str, line: int, variable: Variable | None) -> list[Rule]:
    """Read ``new: item, item, ...``."""
    tokens = _TOKEN.findall(text)
    if len(tokens) < 2 or tokens[0] in _MARKS or tokens[1] != ":":
        raise ValueError(
            "a line is 'new: code, low-high, ...', with quotes around unusual codes; "
            "a hierarchy is given as hierarchy:FILE:LEVEL"
        )
    new = _code(tokens[0])
    items: list[list[str]] = [[]]
    for token in tokens[2:]:
        if token == ",":
            items.append([])
        else:
            items[-1].append(token)
    rules = [Rule(new, *_ends(item), line=line) for item in items]
    for rule in rules:
        try:
            refuse_backwards(rule, padded=True)
        except ValueError:
            raise ValueError("a range runs backwards") from None
        _refuse_wide(rule, variable)
    return rules


def _ends(item: list[str]) -> tuple[str | None, str | None]:
    """Read a code or a range; an open end is None."""
    if not item:
        raise ValueError("a code is missing")
    if item == ["-"]:
        raise ValueError("a hyphen without a code")
    if item.count("-") > 1:
        raise ValueError("two hyphens; quote codes that have one")
    if ":" in item:
        raise ValueError("two colons; quote codes that have one")
    dash = item.index("-") if "-" in item else None
    sides = [item] if dash is None else [item[:dash], item[dash + 1 :]]
    if any(len(side) > 1 for side in sides):
        raise ValueError("a comma is missing, or the quotes around a code with blanks")
    codes = [_code(side[0]) if side else None for side in sides]
    return codes[0], codes[-1]


def _code(token: str) -> str:
    """Return the code of a token, without quotes and outer blanks."""
    if token.startswith('"') and (len(token) == 1 or not token.endswith('"')):
        raise ValueError("a quote is not closed")
    code = unquoted(token).strip(" ")
    if not code:
        raise ValueError("an empty code")
    return code


def _refuse_wide(rule: Rule, variable: Variable | None) -> None:
    """Refuse a rule with a code wider than the variable."""
    width = max(len(end) for end in (rule.low, rule.high) if isinstance(end, str))
    if variable is not None and width > variable.width:
        raise ValueError(
            f"a code of {width} characters, {variable.name} has {variable.width}"
        )
