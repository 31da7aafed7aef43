"""Parts of which the report pages are made: the frame, sections, tables, text."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files as resources
from typing import Any

import numpy as np

from riskcore import __version__
from riskcore.common import html
from riskcore.common.html import escape, short
from riskcore.protection.settings import Settings
from riskcore.report.text import (
    METHOD_NAMES,
    MISSING_NAMES,
    printable,
    shortened,
)

Pairs = Iterable[tuple[str, Any]]

# Longer labels are cut, settings are not; of more lines than these, one says how many.
_LONGEST_LABEL = 80
_MOST_LINES = 12
# What the bars in a table of suppressed values are scaled to.
BAR_TITLE = "Relative to the largest"


def framed(
    *,
    title: str,
    lead: str,
    use: str,
    verdict: str,
    sections: Iterable[str],
    footer: str,
    chart: str = "",
) -> str:
    """Return a page of HTML with the style of all reports.

    Parameters
    ----------
    title, verdict : str
        Text; the verdict may be empty.
    lead, use, footer : str
        HTML: what the page is of, for whom it is, and what it holds.
    sections : iterable of str
        HTML; empty ones are left out.
    chart : str, optional
        Elements of script for the chart.

    Returns
    -------
    str
        The same arguments give the same text.
    """
    template = _resource("page.html")
    return _filled(
        template,
        {
            "policy": _policy(template + chart),
            "version": __version__,
            "title": text(title),
            "lead": lead,
            "use": f'<p class="use">{use}</p>\n',
            "verdict": f'<p class="verdict">{text(verdict)}</p>\n' if verdict else "",
            "sections": "\n".join(filter(None, sections)),
            "footer": footer,
            "chart": chart,
        },
    )


def chart_script(data: str) -> str:
    """Return the elements that make the chart of the office's report move."""
    return (
        f'\n<script type="application/json" id="curves">{data}</script>\n'
        f"<script>\n{_resource('page.js')}</script>"
    )


def _resource(name: str) -> str:
    return resources("riskcore.report").joinpath(name).read_text("utf-8")


def _filled(template: str, values: dict[str, str]) -> str:
    """Replace {{name}} in the template; what is put in is not read again."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], template)


def _policy(template: str) -> str:
    """Return the rule that lets a browser load nothing and run the page's scripts."""
    style, script = (
        " ".join(
            f"'sha256-{base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()}'"
            for part in re.findall(rf"<{tag}>(.*?)</{tag}>", template, re.DOTALL)
        )
        for tag in ("style", "script")
    )
    return (
        f"default-src 'none'; style-src {style}; "
        f"script-src {script}; base-uri 'none'; form-action 'none'"
    )


# Text and numbers


def text(value: Any) -> str:
    """Return text on one line, escaped."""
    return escape(printable(str(value)))


def label(value: Any) -> str:
    """Return a name or category; what would steer the lines around it is contained."""
    if value is None:
        return "(missing)"
    return html.label(shortened(value, _LONGEST_LABEL))


def value(item: Any) -> str:
    """Return a cell of a table: numbers in figures, all else as a label."""
    if isinstance(item, bool | str) or item is None:
        return label(item)
    if isinstance(item, int | np.integer):
        return f"{item:,}"
    if isinstance(item, float | np.floating):
        return short(float(item)) if math.isfinite(item) else str(item)
    return label(item)


def is_number(item: Any) -> bool:
    """Whether `value` writes it in figures."""
    number = isinstance(item, int | float | np.integer | np.floating)
    return number and not isinstance(item, bool)


def crossed(keys: Iterable[Any]) -> str:
    """Return the names of key variables, as the terminal and a verdict write them."""
    return " x ".join(map(label, keys))


def section(name: str, title: str, body: str) -> str:
    """Return a section with its title."""
    return (
        f'<section aria-labelledby="{name}-title">\n'
        f'<h2 id="{name}-title">{title}</h2>\n{body}\n</section>'
    )


def table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: Sequence[bool],
) -> str:
    """Lay out cells of HTML, the first of each row its head; numbers to the right."""
    kinds = [' class="number"' if number else ' class="text"' for number in numbers]
    titles = "".join(
        f'<th scope="col"{kind}>{cell}</th>'
        for cell, kind in zip(head, kinds, strict=True)
    )
    body = "\n".join(
        "<tr>"
        + "".join(
            f'<th scope="row"{kind}>{cell}</th>' if k == 0 else f"<td{kind}>{cell}</td>"
            for k, (cell, kind) in enumerate(zip(row, kinds, strict=True))
        )
        + "</tr>"
        for row in rows
    )
    name = re.sub("</?bdi>", "", caption)
    made = (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{name}"><table>'
        f"<caption>{caption}</caption><thead><tr>{titles}</tr></thead>\n"
        f"<tbody>{body}</tbody></table></div>"
    )
    return made.replace('<td class="text"><svg', '<td class="bar"><svg')


def bar(share: float) -> str:
    """Return a bar for a cell of a table, of a share of its width."""
    width = f"{100 * share:.2f}%"
    return f'<svg aria-hidden="true"><rect width="{width}" height="100%"/></svg>'


# Settings


def settings_section(facts: Pairs) -> str:
    """Return the section that lists settings, empty if there are none."""
    rows = [[text(name), _setting(str(value))] for name, value in facts]
    if not rows:
        return ""
    body = table("How the figures were made", ["Setting", "Value"], rows, [False] * 2)
    return section("settings", "Settings", body)


def _setting(value: str) -> str:
    """Return a setting whole, each of its lines on one of the page."""
    lines = value.split("\n")
    shown = "<br>".join(html.label(printable(line)) for line in lines)
    if len(lines) <= _MOST_LINES:
        return shown
    return f"<details><summary>{len(lines):,} lines</summary>{shown}</details>"


def role_facts(weight: Any, household: Any) -> list[tuple[str, str]]:
    """Return the columns of weights and households, for the office's own report."""
    roles = {"weight": weight, "household": household}
    return [(f"column of the {of}", str(x)) for of, x in roles.items() if x is not None]


def related_facts(settings: Settings) -> list[tuple[str, str]]:
    """Return what is blanked together."""
    facts = []
    if settings.household_keys:
        keys = ", ".join(map(str, settings.household_keys))
        facts.append(("equal within households", keys))
    for key, others in settings.related.items():
        facts.append(
            (f"blanked with {printable(str(key))}", ", ".join(map(str, others)))
        )
    return facts


def method_facts(method: str, missing: str, alpha: float) -> list[tuple[str, str]]:
    """Return how the risk was computed, for the settings of a report."""
    facts = [("individual risk", METHOD_NAMES[method])]
    if missing != "refuse":
        facts.append(("missing keys", MISSING_NAMES[missing]))
    if missing == "wildcard":
        facts.append(("alpha", f"{alpha:g}"))
    return facts


SUPPRESSION_NAMES = {
    "exact": "the cheapest keys of each record",
    "argus": "by the rules of mu-Argus",
}
RISK_DEFINITION = (
    "The individual risk of a record is the expected value of 1/<i>F</i> given "
    "<i>f</i>, where <i>f</i> records of the file and <i>F</i> of the population "
    "have its values of the key variables. The re-identification rate is the mean "
    "risk of the records."
)
HOUSEHOLD_DEFINITION = (
    "The risk of a household is that of re-identifying at least one of its "
    "members; its rate counts a household once for every member."
)
