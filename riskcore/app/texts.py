"""The texts of the app, a file a language and a table a page, and who reads them.

The table ``package`` has sentences of the package by their English template; what is
not there is said in English.
"""

from __future__ import annotations

import re
import tomllib
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib.resources import files as resources
from typing import Any

from riskcore.app.forms import FORMATS, NumberFormat
from riskcore.common.words import Number, Sentence, printable, retold

LANGUAGES = ("en", "de", "fr", "es")


@cache
def texts_in(language: str) -> dict[str, dict[str, str]]:
    """Return all texts of a language, by page and name."""
    path = resources("riskcore.app").joinpath("texts", f"{language}.toml")
    texts: dict[str, dict[str, str]] = tomllib.loads(path.read_text("utf-8"))
    return texts


@dataclass(frozen=True, slots=True)
class Reader:
    """The language of the person at a browser, and how that person writes numbers."""

    language: str = LANGUAGES[0]
    numbers: NumberFormat = FORMATS["en"]

    @classmethod
    def of(cls, language: str | None, numbers: str | None, accepted: str) -> Reader:
        """Return the reader of what was chosen, or of the languages of a browser."""
        asked = [language or "", *re.split("[,;-]", accepted.lower())]
        names = [name.strip() for name in asked]
        chosen = next((name for name in names if name in LANGUAGES), LANGUAGES[0])
        usual = texts_in(chosen)["frame"]["number_format"]
        return cls(chosen, FORMATS.get(numbers or "", FORMATS[usual]))


# Set for each request, and copied into the jobs that it starts.
_USUAL = Reader()
READER: ContextVar[Reader] = ContextVar("reader", default=_USUAL)


def load_texts() -> dict[str, dict[str, str]]:
    """Return all texts in the language of the reader."""
    return texts_in(READER.get().language)


def told(value: Any) -> Any:
    """Return text of the package as the reader writes it, and other values as is."""
    if not isinstance(value, Sentence | Number):
        return value
    return retold(value, load_texts()["package"], READER.get().numbers.write)


def step_told(line: str) -> str:
    """Return a step of long work as the reader is told of it."""
    told_line: str = load_texts()["package"].get(line, told(line))
    return told_line


def capital(value: Any) -> str:
    """Return what `told` does, with a capital letter at the start."""
    text: str = told(value)
    return text[:1].upper() + text[1:]


def said(page: str, name: str, **values: Any) -> str:
    """Return a text with values in it, on one line."""
    return printable(told(Sentence(load_texts()[page][name], values)))
