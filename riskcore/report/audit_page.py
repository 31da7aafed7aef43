"""The pages of an audit: for internal use, and for publication."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from riskcore.common.sheet import Part, Sheet
from riskcore.common.words import counted, listed, on_one_line, printable
from riskcore.disclosure.attributes import AttributeGuesses
from riskcore.disclosure.audit_result import Audit
from riskcore.disclosure.claims import IdentityClaims
from riskcore.report.provenance import Provenance
from riskcore.report.sheet_page import part_charts, public_sheet_page, sheet_page

# Shares of right claims that a public page gives: the next of them above.
CLASSES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)
_FEWEST = 100  # claims, or released records, of which a public page says anything
_FEWEST_GUESSES = 1_000  # of which it gives a share: one moves it by 0.1 % at most


def audit_page(
    audit: Audit, *, title: str, top: int = 0, provenance: Provenance | None = None
) -> str:
    """Return an audit as HTML, for internal use; with the ``top`` riskiest claims."""
    sheet, riskiest = audit._sheet(), [*_riskiest(audit, top)]
    of_claims, *others = sheet.parts
    chart, *charts = part_charts(audit)
    return sheet_page(
        replace(sheet, parts=[of_claims, *riskiest, *others]),
        title=title,
        charts=[chart, *[None for _ in riskiest], *charts],
        provenance=provenance,
    )


def _riskiest(audit: Audit, top: int) -> Iterator[Part]:
    """Yield a table of the claims that are most probably right."""
    rows = audit.riskiest(top)
    if not rows:
        return
    head = [*(printable(str(name)) for name in audit.keys), "record", "in the original"]
    table = [[*head, "probably right"]]
    for row in rows:
        *keys, record, frequency, right = row.values()
        record = "-" if record is None else f"{record:,}"
        shown = [on_one_line(value) for value in keys]
        table.append([*shown, record, f"{frequency:,}", f"{right:.4g}"])
    sides = "<" * len(audit.keys) + ">"
    yield Part("Claims that are most probably right", rows=table, sides=sides)


def public_audit_page(
    found: Audit, *, title: str = "Audit of the released file"
) -> str:
    """Return an audit as HTML for publication: the answer in rounded figures."""
    # Numbers of records of the original, exact expectations and records are left out;
    # of few claims, guesses or records all is, as it would be about single people.
    keys = " x ".join(printable(str(name)) for name in found.keys)
    released = counted(found.records[1], "record")
    facts = [("released", released), ("known of a person", keys)]
    rows = [["what an intruder may do", "of the original's people", "beside others"]]
    more = found.more_than_others
    claims = "claim that a record is a person"
    beside = _beside(found.identity, "claims" in more)
    rows.append([claims, _right(found), beside if _many(found) else "not said"])
    for attribute in (*found.attributes, *found.learned):
        if attribute.guessed < _FEWEST_GUESSES:
            told = f"fewer than {_FEWEST_GUESSES:,} guesses", "not said"
        else:
            right = "surely right" if attribute.learner else "right"
            share = f"{round(100 * attribute.share)} % {right}"
            told = share, _beside(attribute, f"guesses of {attribute.label}" in more)
        rows.append([f"guess {attribute.label}", *told])
    if found.copies is not None and found.records[1] >= _FEWEST:
        low, high = found.copies.interval()
        extent = "unknown" if math.isnan(high) else f"at most {_class(high)} %"
        extent = "not seen" if low == 0.0 else extent
        beside = "not compared" if math.isnan(found.copies.excess) else "as many"
        beside = "more" if "copies" in more else beside
        rows.append(["find records that look like copies", extent, beside])
    part = Part("What the file tells of the people behind it", rows=rows)
    sheet = Sheet("Audit", facts, [part], _verdict(found))
    says = "in rounded figures what the file tells of the people behind it"
    return public_sheet_page(sheet, title, says)


def _many(audit: Audit) -> bool:
    """Return whether what is said of claims is not about few people."""
    return not 0 < audit.claims < _FEWEST


def _share(audit: Audit) -> str:
    """Return the share of right claims, rounded up to a class."""
    share = audit.expected_right_claims / audit.claims if audit.claims else 0.0
    return _class(share)


def _right(audit: Audit) -> str:
    """Return the share of right claims in words, if there are many."""
    few = f"fewer than {_FEWEST} claims"
    return f"at most {_share(audit)} % right" if _many(audit) else few


def _verdict(audit: Audit) -> str:
    """Return the answer in a sentence or two; nothing of what few people tell."""
    few = {
        f"guesses of {guess.label}"
        for guess in (*audit.attributes, *audit.learned)
        if guess.guessed < _FEWEST_GUESSES
    }
    if not _many(audit):
        return (
            f"Fewer than {_FEWEST} released records are unique by the keys. How often "
            "claims about them are right would be about single people, and is not said."
        )
    than, more = "", [guess for guess in audit.more_than_others if guess not in few]
    if more:
        than = (
            f" The file tells more of these people than of others, by {listed(more)}."
        )
    if not audit.claims:
        return f"No released record is unique by the keys.{than}"
    return (
        "Of 100 claims that a released record is a certain person, at most "
        f"{_share(audit)} are expected to be right.{than}"
    )


def _class(share: float) -> str:
    """Return the next class above a share, in per cent."""
    most = next(bound for bound in CLASSES if share <= bound * (1.0 + 1e-12))
    return f"{100 * most:.3g}"


def _beside(claims: IdentityClaims | AttributeGuesses, more: bool) -> str:
    """Return whether more is right than about other people, in words."""
    if math.isnan(claims.excess_interval()[0]):
        return "not compared"
    return "more often" if more else "as often"
