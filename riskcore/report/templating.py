"""Pages of HTML from templates, in which all text is escaped.

Names and categories come from files and must not steer the page: a template writes text
as one line of printable characters, escaped unless it was made here.
"""

from __future__ import annotations

import base64
import hashlib
import math
import os
import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files as resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from riskcore.common import html
from riskcore.common.html import all_digits, readable
from riskcore.common.needs import need
from riskcore.common.version import __version__
from riskcore.common.words import Number, counted, printable, sentence, shortened
from riskcore.data.files import replace
from riskcore.report.provenance import now

if TYPE_CHECKING:
    from jinja2 import Environment

# Longer labels are cut; those of SPSS have at most 256 letters.
_LONGEST_LABEL = 256
# Suffixes of files that a browser does not take for a page.
_NOT_PAGES = (".docx", ".pdf", ".png", ".svg", ".xlsx")
_NONE = "'none'"  # of a policy
# A number with a decimal point, and its unit.
_DECIMAL = re.compile(r"(-?[0-9,]*\.[0-9]+(?:e[-+]?[0-9]+)?)( ?%?)")


def need_reports(*paths: Path | None) -> None:
    """Refuse reports that cannot be made, before any work."""
    for path in paths:
        if path is not None and path.suffix.lower() in _NOT_PAGES:
            raise ValueError(f"{path}: a report is a page of HTML; name an .html file")
    need("reports", "jinja2")
    now()


def write_page(
    path: str | os.PathLike[str],
    make: Callable[[], str],
    *,
    overwrite: bool,
    private: bool = True,
) -> None:
    """Make a page and write it whole; only the owner can read a private page."""
    target = Path(path)
    replace.refuse_existing(target, overwrite)
    page = make()
    with replace.replacing_all(overwrite) as create:
        create(target, private=private).write(page.encode())


def render(
    template: str, *, moving: bool = False, printed: bool = False, **values: Any
) -> str:
    """Return a page; one that is made to be printed has no script."""
    need("reports", "jinja2")
    style = element("style.css") + (element("form.css") if printed else "")
    theme = "" if printed else element("theme.js")
    chart = element("chart.js") if moving else ""
    scripts = [script for script in (theme, chart) if script]
    page = environment("riskcore.report").get_template(template)
    return page.render(
        policy=_policy([style], scripts),
        version=__version__,
        style=style,
        theme_script=theme,
        chart_code=chart,
        **values,
    )


def element(name: str) -> str:
    """Return the text of a style or script element."""
    path = resources("riskcore.report").joinpath("templates", name)
    return f"\n{path.read_text('utf-8')}"


def _policy(styles: Sequence[str], scripts: Sequence[str]) -> str:
    """Return the rule that a browser runs the scripts of the page and loads nothing."""
    style, script = (
        " ".join(
            f"'sha256-{base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()}'"
            for part in parts
        )
        for parts in (styles, scripts)
    )
    return (
        f"default-src 'none'; style-src {style}; "
        f"script-src {script or _NONE}; base-uri 'none'; form-action 'none'"
    )


@cache
def environment(*packages: str) -> Environment:
    """Return the environment of the templates of packages; the first has precedence."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=finalized,
    )
    environment.filters |= {
        "label": _label,
        "cell": _cell,
        "figure": _figure,
        "three": three_digits,
        "percent": html.percent,
        "thousands": "{:,}".format,
        "told": str,
        "capital": lambda text: text[:1].upper() + text[1:],
    }
    environment.globals |= {"counted": counted, "sentence": sentence}
    # Without spaces and sorting, as the data of a chart are long.
    environment.policies["json.dumps_kwargs"] = {
        "allow_nan": False,
        "separators": (",", ":"),
    }
    return environment


def finalized(value: Any) -> Any:
    """Return a value for a template: text on one line, and HTML unchanged."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return printable(value)
    return value


def _label(value: Any) -> Any:
    """Return a name or category in an element that keeps its direction of writing."""
    from markupsafe import Markup

    if value is None:
        return shortened(None, _LONGEST_LABEL)
    return Markup(html.label(shortened(value, _LONGEST_LABEL)))


def _cell(item: Any) -> Any:
    """Return a cell of a table: a number with all digits, or a label."""
    if not is_number(item):
        return _label(item)
    if isinstance(item, int | np.integer):
        return f"{item:,}"
    return all_digits(float(item)) if math.isfinite(item) else str(item)


def _figure(item: int | float) -> str:
    """Return a rounded figure; whole numbers keep all digits."""
    whole = isinstance(item, int | np.integer)
    return f"{item:,}" if whole else readable(float(item))


def three_digits(text: str) -> str:
    """Return a number with a decimal point rounded to three digits, or the text."""
    found = _DECIMAL.fullmatch(text)
    if found is None:
        return text
    shown = readable(float(found[1].replace(",", ""))) + found[2]
    return Number(shown) if len(shown) < len(text) else text


def is_number(item: Any) -> bool:
    """Return whether a cell is a number."""
    number = isinstance(item, int | float | np.integer | np.floating)
    return number and not isinstance(item, bool)
