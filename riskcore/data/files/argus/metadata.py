"""The metadata files of mu-Argus: variables and missing codes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path, PureWindowsPath
from typing import Any

from riskcore.data.files.argus.encoding import ignoring_case, text_lines

# The rest of a line up to the end of its next token; a comment ends the line.
_TOKEN = re.compile(r'[ \t]*(?://.*|("[^"]*"?|[,|()]|[^ \t]+))')

_FLAGS = {
    "<RECODABLE>": "recodable",
    "<RECODEABLE>": "recodable",
    "<TRUNCABLE>": "truncable",
    "<NUMERIC>": "numeric",
    "<WEIGHT>": "weight",
    "<HOUSE_ID>": "household_id",
    "<HOUSEHOLD>": "household",
}
_NUMBERS = {
    "<IDLEVEL>": "id_level",
    "<DECIMALS>": "decimals",
    "<SUPPRESSWEIGHT>": "suppress_weight",
    "<SUPPRESSPRIORITY>": "suppress_weight",
}

# Suffixes of metadata by that of the data. R's own data files are called ".rds", too.
_METADATA = {
    ".asc": (".rda", ".rds"),
    ".dat": (".rda", ".rds"),
    ".saf": (".rds", ".rda"),
}


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable of a mu-Argus file."""

    name: str
    # Position of its first character in the record, counted from 0 (the file counts
    # from 1); None in free format.
    start: int | None
    width: int  # characters in the record, or of the longest code in free format
    missing: tuple[str, ...] = ()  # at most two codes; a blank field is always missing
    recodable: bool = False
    codelist: Path | None = None  # with the labels of the codes; it need not exist
    id_level: int = 0  # identification level: 0 not identifying, 1 most identifying
    truncable: bool = False
    numeric: bool = False
    decimals: int = 0  # to print; the data carry their own decimal points
    weight: bool = False  # whether it is the sampling weight
    household_id: bool = False  # whether it is the household's number
    household: bool = False  # whether it is equal for all members of a household
    suppress_weight: int = 50  # priority in local suppression, 0 to 100 for keep
    related: str | None = None  # variable suppressed together with this one


@dataclass(frozen=True, slots=True)
class Metadata:
    """The content of a metadata file of mu-Argus."""

    path: Path
    variables: tuple[Variable, ...]  # in the order of the file
    separator: str | None = None  # between fields in free format; None if fixed
    names_in_front: bool = False  # whether the first line of the data has the names
    spss: bool = False  # whether the data are in an SPSS system file

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(variable.name for variable in self.variables)

    @property
    def weight(self) -> str | None:
        """Name of the sampling weight."""
        return next((v.name for v in self.variables if v.weight), None)

    @property
    def household_id(self) -> str | None:
        """Name of the household's number."""
        return next((v.name for v in self.variables if v.household_id), None)


def metadata_beside(path: str | Path) -> Path | None:
    """Return the metadata next to a data file, in any case, see `_METADATA`."""
    path = Path(path)
    suffixes = _METADATA.get(path.suffix.lower(), (".rda",))
    candidates = (ignoring_case(path.with_suffix(suffix)) for suffix in suffixes)
    return next(filter(None, candidates), None)


def metadata_of(
    path: str | Path, metadata: Metadata | str | Path | None = None
) -> Metadata:
    """Return the metadata given, else the metadata next to the data file."""
    if isinstance(metadata, Metadata):
        return metadata
    source = metadata or metadata_beside(path)
    if source is None:
        raise FileNotFoundError(f"{path}: no metadata {Path(path).stem}.rda next to it")
    return read_metadata(source)


def read_metadata(path: str | Path) -> Metadata:
    r"""Read a mu-Argus metadata file (``.rda``, ``.rds``)."""
    path = Path(path)
    variables: list[Variable] = []
    header: dict[str, Any] = {}
    for number, line in enumerate(text_lines(path), 1):
        tokens = line_tokens(line)
        if not tokens:
            continue
        tag = tokens[0].upper()
        try:
            if not tag.startswith("<"):
                variables.append(_variable(tokens, free="separator" in header))
            elif variables:
                variables[-1] = _tagged(variables[-1], tag, tokens[1:], path.parent)
            else:
                header |= _header(tag, tokens[1:])
        except ValueError as error:
            text = line.strip()[:80]
            raise ValueError(f"{path}, line {number}: {error}: {text!r}") from None
    metadata = Metadata(path, tuple(variables), **header)
    _check(metadata)
    return metadata


def line_tokens(line: str) -> list[str]:
    """Split a line as mu-Argus does; quoted tokens keep their quotes."""
    return [token for token in _TOKEN.findall(line.strip()) if token]


def unquoted(token: str) -> str:
    """Return a token without its quotes; the closing quote may be missing."""
    return token[1:].removesuffix('"') if token.startswith('"') else token


def _header(tag: str, tokens: list[str]) -> dict[str, Any]:
    """Read a tag before the first variable."""
    if tag == "<SPSS>":
        return {"spss": True}
    if tag == "<NAMESINFRONT>":
        return {"names_in_front": True}
    if tag != "<SEPARATOR>":
        return {}
    separator = unquoted(tokens[0]) if tokens else ""
    if len(separator) != 1 or separator in '\r\n"':
        raise ValueError("the separator must be one character")
    return {"separator": separator}


def _variable(tokens: list[str], *, free: bool) -> Variable:
    """Read ``name [start] width [missing [missing]]``, the start in fixed format."""
    name = unquoted(tokens[0])
    if not name:
        raise ValueError("a variable needs a name")
    if not free and len(tokens) == 2:
        raise ValueError(
            "width must be a whole number behind the start; for free format add "
            '<SEPARATOR> "," above (and <NAMESINFRONT>, if the data begin with names)'
        )
    begin = None if free else _integer(tokens, 1, "start position", least=1) - 1
    width = _integer(tokens, 1 if free else 2, "width", least=1)
    missing = missing_codes(tokens[2 if free else 3 :])
    return Variable(name, begin, width, missing)


def missing_codes(tokens: list[str]) -> tuple[str, ...]:
    """Read missing codes, which in practice may have commas between them."""
    codes: list[str] = []
    for token in tokens:
        quoted = token.startswith('"')
        codes += [unquoted(token)] if quoted else token.split(",")
    codes = [code.strip() for code in codes if code.strip()]
    if len(codes) > 2:
        raise ValueError("more than two missing codes")
    return tuple(codes)


def _tagged(variable: Variable, tag: str, tokens: list[str], folder: Path) -> Variable:
    """Return the variable as one tag changes it."""
    change: dict[str, Any] = {}
    if tag in _FLAGS:
        change = {_FLAGS[tag]: True}
    elif tag in _NUMBERS:
        change = {_NUMBERS[tag]: _integer(tokens, 0, tag)}
    elif tag in ("<CODELIST>", "<RELATED>"):
        if not tokens:
            raise ValueError(f"{tag} needs a name")
        name = unquoted(tokens[0])
        change = {"related": name}
        if tag == "<CODELIST>":
            change = {"codelist": folder / PureWindowsPath(name).as_posix()}
    return replace(variable, **change)


def _integer(tokens: list[str], position: int, what: str, least: int = 0) -> int:
    """Return the whole number in a token."""
    text = unquoted(tokens[position]) if position < len(tokens) else ""
    if not re.fullmatch("[0-9]{1,9}", text) or int(text) < least:
        raise ValueError(f"{what} must be a whole number of at least {least}")
    return int(text)


def _check(metadata: Metadata) -> None:
    """Refuse metadata that contradict themselves."""
    names = metadata.names
    problems = {
        "declares no variable": not names,
        "declares a name twice": len(set(names)) < len(names),
        "declares two weights": sum(v.weight for v in metadata.variables) > 1,
        "declares two household numbers": (
            sum(v.household_id for v in metadata.variables) > 1
        ),
        'has <NAMESINFRONT> but no <SEPARATOR>; add the line <SEPARATOR> ","': (
            metadata.names_in_front and metadata.separator is None
        ),
        "relates a variable to one it does not declare": any(
            v.related and v.related not in names for v in metadata.variables
        ),
    }
    for problem, flag in problems.items():
        if flag:
            raise ValueError(f"{metadata.path}: {problem}")
