"""Facts of a protection as plain data, for JSON and reports."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from riskcore.assessment.weight_figures import WeightFigures, weight_remarks
from riskcore.common.words import counted, printable
from riskcore.protection.leaks.examination import Examination
from riskcore.protection.records.numbers import numbers_of
from riskcore.protection.records.protected_records import ProtectedRecords, finite
from riskcore.protection.release.evidence import verdict_of
from riskcore.protection.treatments.rules import Treatment


def facts_of(result: ProtectedRecords, examined: Examination) -> dict[str, Any]:
    """Return the plain data of `Protected.to_dict`."""
    intake, engine = result.source.intake, result.on_engine
    return {
        "settings": result.settings.to_dict(),
        "records": result.n,
        "weight_remarks": remarks_of(result),
        "intake": None if intake is None else intake.to_dict(),
        "missing_values": {
            str(key): count
            for key_set in result.sets
            for key, count in zip(
                key_set.keys, key_set.original.cells.missing_values, strict=True
            )
        },
        **verdict_facts(result, examined),
        "sets": [
            {
                "keys": list(key_set.keys),
                "k": key_set.aim.k,
                "threshold": finite(key_set.aim.threshold),
                "household_threshold": finite(key_set.aim.household_threshold),
                "records_without_keys": key_set.without_keys,
                "risk": key_set.comparison(),
            }
            for key_set in result.sets
        ],
        "suppressed": result.suppressed,
        "treated": treatment_facts(result),
        "blanked_share": result.blanked_share,
        **({} if engine is None else {"not_checked": list(result.not_checked)}),
    }


def treatment_facts(result: ProtectedRecords) -> dict[str, Any] | None:
    """Return what became of the treated columns, None if no column was treated."""
    treated = result.treated
    if treated is None:
        return None
    return {
        "rules": [
            {
                "columns": list(map(str, names)),
                "rules": [
                    *(rule.describe(public=False) for rule in rules),
                    *_totals_lost(result, names, rules),
                ],
                "alters": any(rule.alters for rule in rules),
            }
            for names, rules in result.settings.treat.items()
        ],
        "values": {
            str(name): int((~np.isnan(values)).sum())
            for name, values in treated.before.items()
        },
        "altered": {
            str(name): int(treated.altered(name).sum()) for name in treated.after
        },
        **treated.effects(),
        "told": treated.told,
    }


def _totals_lost(
    result: ProtectedRecords, names: Sequence[Hashable], rules: Iterable[Treatment]
) -> Iterator[str]:
    """Yield how far suppression took weights from the totals they were raked to."""
    assert result.treated is not None
    for name in (name for rule in rules if rule.last for name in rule.needs):
        mask = result.masks.get(name)
        if mask is None or not mask.any():
            continue
        weights = result.treated.after[names[0]]
        codes = result.prepared.codes(name)
        lost = np.bincount(codes[mask], weights[mask], int(codes.max()) + 1)
        total = np.bincount(codes[codes >= 0], weights[codes >= 0])
        lost, total = lost[total > 0], total[total > 0]
        yield (
            f"suppression took {counted(int(mask.sum()), 'value')} of "
            f"{printable(str(name))}, so that its weighted totals are up to "
            f"{100 * float(np.max(lost / total)):.3g} % too low (at a cost of never it "
            "is not blanked)"
        )


def remarks_of(result: ProtectedRecords) -> list[str]:
    """Return what is doubtful in the original weights."""
    weight, fraction = result.settings.weight, result.settings.sampling_fraction
    if weight is None:
        return weight_remarks(None, fraction)
    if result.on_engine is not None:
        weighed = result.on_engine.engine.weigh(result.on_engine.question)
        total = result.sets[0].original.cells.totals.population
        figures = WeightFigures.on_engine(weighed, total)
    else:
        weights = numbers_of(result, weight)
        figures = WeightFigures.of(weights, math.fsum(weights))
    return weight_remarks(replace(figures, scale=result.source.scale), fraction)


def verdict_facts(
    result: ProtectedRecords, examined: Examination, dropped: Collection[Hashable] = ()
) -> dict[str, Any]:
    """Return the verdict on the file, and the risk from its numbers."""
    verdict = verdict_of(result, examined, dropped).to_dict()
    return {**examined.to_dict(), **verdict}
