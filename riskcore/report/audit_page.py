"""The pages of an audit: for internal use, and for publication."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from riskcore.auditing.attributes import AttributeGuesses
from riskcore.auditing.claims import IdentityClaims
from riskcore.auditing.result import Audit
from riskcore.common.sheet import Part, Sheet
from riskcore.common.words import counted, listed, on_one_line, printable
from riskcore.report.provenance import Provenance
from riskcore.report.sheet_charts import part_charts
from riskcore.report.sheet_page import sheet_page
from riskcore.report.templating import need_jinja, render

# Shares of right claims that a public page gives: the next of them above.
_CLASSES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)
_FEWEST = 100  # guesses of which a public page gives the share of right ones


def audit_page(
    found: Audit, *, title: str, top: int = 0, provenance: Provenance | None = None
) -> str:
    """Return an audit as HTML, for internal use; with the ``top`` riskiest claims."""
    sheet, riskiest = found._sheet(), [*_riskiest(found, top)]
    of_claims, *others = sheet.parts
    chart, *charts = part_charts(found)
    return sheet_page(
        replace(sheet, parts=[of_claims, *riskiest, *others]),
        title=title,
        charts=[chart, *[None for _ in riskiest], *charts],
        provenance=provenance,
    )


def _riskiest(found: Audit, top: int) -> Iterator[Part]:
    """Yield a table of the claims that are most probably right."""
    rows = found.riskiest(top)
    if not rows:
        return
    head = [*(printable(str(name)) for name in found.keys), "record", "in the original"]
    table = [[*head, "probably right"]]
    for row in rows:
        *keys, record, frequency, right = row.values()
        record = "-" if record is None else f"{record:,}"
        shown = [on_one_line(value) for value in keys]
        table.append([*shown, record, f"{frequency:,}", f"{right:.4g}"])
    sides = "<" * len(found.keys) + ">"
    yield Part("Claims that are most probably right", rows=table, sides=sides)


def public_audit_page(found: Audit, *, title: str) -> str:
    """Return an audit as HTML for publication: the answer in rounded figures.

    Numbers of records of the original, exact expectations and records are left out.

    Parameters
    ----------
    found : Audit
    title : str

    Returns
    -------
    str

    Raises
    ------
    ImportError
        If Jinja2 is not installed.

    Examples
    --------
    >>> import riskcore
    >>> found = riskcore.audit({"age": [31, 47]}, {"age": [47, 50]}, ["age"])
    >>> "at most 50 are expected" in public_audit_page(found, title="Our file")
    True
    """
    need_jinja()
    facts = [
        ("released", counted(found.records[1], "record")),
        ("known of a person", " x ".join(printable(str(one)) for one in found.keys)),
    ]
    rows = [["what an intruder may do", "of the original's people", "beside others"]]
    claims = "claim that a record is a person"
    rows.append([claims, _right(found), _beside(found.identity)])
    for one in found.attributes:
        name = printable(str(one.target))
        rows.append([f"guess {name}", _percent(one), _beside(one)])
    if found.copies is not None:
        share = found.copies.share
        known = "unknown" if math.isnan(share) else f"at most {_class(share)} %"
        beside = "not compared" if math.isnan(found.copies.excess) else "as many"
        beside = "more" if "copies" in found.more_than_others else beside
        rows.append(["find records that look like copies", known, beside])
    verdict = _right(found, sentence=True)
    part = Part("What the file tells of the people behind it", rows=rows)
    return render(
        "sheet.html",
        title=title,
        verdict=verdict,
        sheet=Sheet("Audit", facts, [part], verdict),
        charts=(),
        facts=[],
        command="",
        public=True,
        says="in rounded figures what the file tells of the people behind it",
    )


def _right(found: Audit, *, sentence: bool = False) -> str:
    """Return the share of right claims, rounded up to a class."""
    share = found.expected_right_claims / found.claims if found.claims else 0.0
    most = _class(share)
    if not sentence:
        return f"at most {most} % right"
    more = found.more_than_others
    than = ""
    if more:
        than = (
            f" The file tells more of these people than of others, by {listed(more)}."
        )
    if not found.claims:
        return f"No released record is unique by the keys.{than}"
    return (
        "Of 100 claims that a released record is a certain person, at most "
        f"{most} are expected to be right.{than}"
    )


def _class(share: float) -> str:
    """Return the next class above a share, in per cent."""
    most = next(one for one in _CLASSES if share <= one * (1.0 + 1e-12))
    return f"{100 * most:.3g}"


def _beside(found: IdentityClaims | AttributeGuesses) -> str:
    """Return whether more is right than about other people, in words."""
    low, _ = found.excess_interval()
    if math.isnan(low):
        return "not compared"
    return "more often" if low > 0.0 else "as often"


def _percent(one: AttributeGuesses) -> str:
    """Return the share of right guesses in whole percents, if there are many."""
    if one.guessed < _FEWEST:
        return f"fewer than {_FEWEST} guesses"
    return f"{round(100 * one.share)} % right"
