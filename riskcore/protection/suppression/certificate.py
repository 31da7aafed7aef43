"""How good a plan is, and how much it counts on the blanks of others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riskcore.assessment.result import Assessment
from riskcore.common.warn import warn
from riskcore.common.words import counted
from riskcore.protection.settings import Settings
from riskcore.protection.suppression.rounds import (
    Aim,
    Mask,
    Masks,
    costs_of_sets,
    margins_of,
    tally,
)

# What the lower bound of each plan bounds.
_LEAST = {
    "record": "planning each record by itself",
    "restore": "putting values back from the plan by record",
}
# Warn if more than this share of the unsafe records leans on others.
_MANY = 0.5


class CountsOnOthers(UserWarning):
    """Most unsafe records are safe only because values of others are blanked."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """How good a plan is, and how much it counts on others' blanks.

    Attributes
    ----------
    plan : str
    cost : float
        The sum of the costs of the blanked keys; where each costs the same, their
        number.
    lower_bound : float or None
        The least that a plan of this kind can cost, at these costs; for "restore" the
        least that putting values back from this plan by record can reach. Other costs
        give another plan by record, from which more values may be put back. None if it
        is not known.
    optimal : bool
        Whether the plan is proven to cost no more than that.
    by_record : int
        The number of values that the plan by record blanks.
    unsafe : int
        The number of records that were unsafe before.
    leaning : int
        The number of records that are safe only because values of others are blanked.

    Examples
    --------
    >>> Certificate("restore", 10.0, 9.0, False, 20, 15, 5).gap
    0.1
    """

    plan: str
    cost: float
    lower_bound: float | None
    optimal: bool
    by_record: int
    unsafe: int
    leaning: int

    @property
    def gap(self) -> float | None:
        """The share of the cost that is not proven to be needed."""
        if self.lower_bound is None:
            return None
        return (self.cost - self.lower_bound) / self.cost if self.cost else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON; they are not for publication."""
        return {
            "plan": self.plan,
            "cost": self.cost,
            "lower_bound": self.lower_bound,
            "gap": self.gap,
            "optimal": self.optimal,
            "values_by_record": self.by_record,
            "unsafe_records": self.unsafe,
            "leaning_records": self.leaning,
        }


def certificate_facts(figures: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return in words what `Certificate.to_dict` gives; not for publication."""
    values, unsafe = figures["values_by_record"], figures["unsafe_records"]
    facts = [
        ("plan", f"{figures['plan']}; {counted(values, 'value')} record by record")
    ]
    cost, bound = figures["cost"], figures["lower_bound"]
    words = f"{cost:,.10g}"
    least = _LEAST[figures["plan"]]
    if figures["optimal"]:
        words += f", proven to be the least that {least} can reach"
    elif bound is not None:
        gap = 100 * figures["gap"]
        words += f"; {least} can reach {bound:,.10g} at the least (gap {gap:.2g} %)"
    facts.append(("cost of the plan", words))
    words = "no record: each one is safe by its own blanks"
    if figures["leaning_records"]:
        count = figures["leaning_records"]
        verb = "is" if count == 1 else "are"
        words = f"{count:,} of {counted(unsafe, 'unsafe record')} {verb} safe only by "
        words += "others' blanks"
    return [*facts, ("counting on others", words)]


def warn_of_leaning(certificate: Certificate) -> None:
    """Warn if most unsafe records are safe only by the blanks of others."""
    count, unsafe = certificate.leaning, certificate.unsafe
    if count > _MANY * unsafe:
        warn(
            f"plan={certificate.plan!r}: {count:,} of "
            f"{counted(unsafe, 'unsafe record')} {'is' if count == 1 else 'are'} safe "
            "only because values of other records are blanked; an intruder who "
            "does not count on these finds them as before. plan='record' blanks more "
            "and relies less on others, and so does an alpha below 1",
            CountsOnOthers,
        )


def unsafe_rows(aims: Sequence[Aim], assessments: Sequence[Assessment]) -> Mask:
    """Return the mask of the rows that are unsafe by any set of keys."""
    pairs = zip(aims, assessments, strict=True)
    either: Mask = np.logical_or.reduce([aim.unsafe(one) for aim, one in pairs])
    return either


def of_record(
    masks: Masks,
    settings: Settings,
    recoded: Sequence[Assessment],
    aims: Sequence[Aim],
    *,
    optimal: bool,
) -> Certificate:
    """Return the certificate of a plan by record: no record relies on others."""
    suppressed = _counts(masks, recoded)
    cost = _cost(masks, settings, recoded)
    unsafe = recoded[0].cells.count_of(unsafe_rows(aims, recoded))
    bound, values = cost if optimal else None, sum(suppressed.values())
    return Certificate("record", cost, bound, optimal, values, unsafe, 0)


def of_whole(
    masks: Masks,
    by_record: Masks,
    settings: Settings,
    recoded: Sequence[Assessment],
    aims: Sequence[Aim],
    still_unsafe: Mask,
    lower_bound: float | None,
    *,
    optimal: bool,
) -> Certificate:
    """Return the certificate of a plan by record less the values put back."""
    return Certificate(
        settings.plan,
        _cost(masks, settings, recoded),
        lower_bound,
        optimal,
        sum(_counts(by_record, recoded).values()),
        recoded[0].cells.count_of(unsafe_rows(aims, recoded)),
        leaning(recoded, aims, masks, still_unsafe),
    )


def _counts(masks: Masks, recoded: Sequence[Assessment]) -> dict[Any, int]:
    count_of = recoded[0].cells.count_of
    return {name: count_of(mask) for name, mask in masks.items()}


def _cost(masks: Masks, settings: Settings, recoded: Sequence[Assessment]) -> float:
    """Return the sum of the costs of the blanked keys."""
    cells = recoded[0].cells
    each: dict[Any, Any] = {}
    for one, costs in zip(recoded, costs_of_sets(recoded, settings), strict=True):
        each |= dict(zip(one.cells.keys, costs.T, strict=True))
    return math.fsum(
        count * cost
        for key, costs in each.items()
        if (mask := masks[key]).any()
        for cost, count in tally(
            np.broadcast_to(costs, mask.shape)[mask],
            None if cells.counted is None else cells.counted.records[mask],
        )
    )


def leaning(
    assessments: Sequence[Assessment],
    aims: Sequence[Aim],
    masks: Masks,
    still_unsafe: Mask,
) -> int:
    """Return how many records would be unsafe if only their own values were blanked."""
    leans = np.zeros(len(still_unsafe), bool)
    for assessment, aim in zip(assessments, aims, strict=True):
        cells, margins = assessment.cells, margins_of(assessment, aim)
        limit = aim.limit(assessment)
        own = np.zeros(len(cells.rows), np.uint64)
        for k, key in enumerate(cells.keys):
            own |= masks[key].astype(np.uint64) << np.uint64(k)
        at = np.flatnonzero((aim.unsafe(assessment) | (own != 0)) & ~still_unsafe)
        for mask in np.unique(own[at]).tolist():
            rows = at[own[at] == mask]
            risk = margins.risk(margins.all_keys & ~mask, cells.rows[rows])
            leans[rows] |= risk >= limit[rows]
    return assessments[0].cells.count_of(leans)
