"""Messages that are written for Python, in terms of the options of the command."""

from __future__ import annotations

import re

from riskcore.assessment.assess_settings import AssessSettings, CheckSettings
from riskcore.cli.settings import option_of
from riskcore.common.settings import Flag, settings_of
from riskcore.protection.settings.settings_table import ProtectSettings, WriteSettings

_TABLES = (AssessSettings, CheckSettings, ProtectSettings, WriteSettings)
_SETTINGS = {
    name: setting for table in _TABLES for name, setting in settings_of(table).items()
}
# Arguments that are in no table, and their options.
_OTHERS = (
    *("cells", "columns", "decimal", "delimiter", "encoding", "fraction", "holdout"),
    *("household", "household_file", "keys", "max_size", "original", "population"),
    *("rate", "sheet", "unsafe", "weight"),
)
# Arguments of functions as messages name them, and the options they come from.
_OPTIONS = {
    name: f"--{option.replace('_', '-')}"
    for name, option in {
        **dict(zip(_OTHERS, _OTHERS, strict=True)),
        **{name: option_of(name, setting) for name, setting in _SETTINGS.items()},
        "earlier": "with",
        "missing_codes": "na",
        "models": "model",
        "roles": "role",
        "tables": "table",
    }.items()
}
_SWITCHES = {n for n, one in _SETTINGS.items() if isinstance(one, Flag)}
_NAME = f"(?:{'|'.join(sorted(_OPTIONS, key=len, reverse=True))})"
# The name of a setting with its value, or with nothing behind the sign. A column that
# is treated may have such a name.
_ARGUMENT = re.compile(
    rf"(?<!treat )(?<!['\w+.-])({_NAME})="
    r"('[^']*'|\{[^}]*\}|\[[^]]*\]|[^\s',;:)?]+|(?=[\s,;:)?]|\Z))"
)
# Names without a value: alone, or in a list.
_NAMES = re.compile(
    rf"(?<!['\w=.-]){_NAME}(?:(?:, | and | or ){_NAME})*(?!['\w=-])(?=(: | of ')?)"
)
_READING = re.compile(r"riskcore\.Reading\((\w+)=\.\.\.\)")
# What is only of use in Python.
_PYTHON = re.compile(r" \(in Python: ([^()]|\([^()]*\))*\)")


def in_options(message: str) -> str:
    """Return a message in terms of the options of the command."""
    message = re.sub(r"\Atreat (?=\S)", "--treat ", message)
    said = _READING.sub(r"\1=", _PYTHON.sub("", message))
    return _NAMES.sub(_as_options, _ARGUMENT.sub(_as_option, said))


def _as_option(match: re.Match[str]) -> str:
    """Return the option of a setting, with its value as it is typed."""
    name, value = match.groups()
    if not value or (name in _SWITCHES and value in ("True", "False")):
        return _OPTIONS[name]
    word = re.sub(r"\A\{(\w+): '(\w+)'\}\Z", r"\1=\2", value).strip("'")
    shown = word if re.fullmatch(r"[\w=-]+", word) else value
    return f"{_OPTIONS[name]} {shown}"


def _as_options(match: re.Match[str]) -> str:
    """Return the options of the first names of a message, and of those with `_`."""
    begins = match.start() == 0 and match[1] is not None
    if not (begins or "_" in match[0]):
        return match[0]
    return re.sub(_NAME, lambda name: _OPTIONS[name[0]], match[0])
