"""The texts of the app: one file, a table a page."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files as resources
from typing import Any

from riskcore.common.words import printable


@cache
def load_texts() -> dict[str, dict[str, str]]:
    """Return all texts, by page and name."""
    path = resources("riskcore.app").joinpath("texts.toml")
    texts: dict[str, dict[str, str]] = tomllib.loads(path.read_text("utf-8"))
    return texts


def said(page: str, name: str, **values: Any) -> str:
    """Return a text with values in it, on one line."""
    return printable(load_texts()[page][name].format(**values))
