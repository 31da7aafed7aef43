"""The risks of a file by each set of keys that an intruder may know."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from riskcore.assessment.assess import Counting, assess_coded
from riskcore.assessment.assessment import Assessment
from riskcore.assessment.released import ReleasedAssessment
from riskcore.assessment.reported_figures import of_model
from riskcore.common.arrays import Mask
from riskcore.common.warn import warn
from riskcore.common.words import counted
from riskcore.data.cells import Cells
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import Records, code_column, plain_value
from riskcore.protection.settings.settings import Settings
from riskcore.protection.suppression.suppress import Aim

# The figures of the cells that are compared before and after.
_COUNTS = ("cells", "sample_uniques", "k_anonymity", "below")


def assess_key_sets(
    data: Any,
    coded: CodedRecords,
    settings: Settings,
    original: Sequence[Assessment] | None = None,
) -> list[Assessment]:
    """Return the assessments by each set of keys; a model in ``original`` is kept."""
    # Without an original no choice is kept.
    kept = [assessment.model is not None for assessment in original or ()]
    kept = kept or [False] * len(settings.keys)
    how = Counting(settings.counted_by, settings.method, settings.missing)
    return [
        assess_coded(data, coded, keys, how, kept=keep)
        for keys, keep in zip(settings.keys, kept, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class KeySet:
    """The file as it looks to an intruder who knows one set of keys.

    Attributes
    ----------
    keys : tuple of column names
    aim : Aim
        The thresholds.
    original, recoded : Assessment
        The file before protection, and after recoding (``original`` if nothing was
        recoded).
    protected : ReleasedAssessment
        The file after protection: its records among the recoded ones.
    """

    keys: tuple[Hashable, ...]
    aim: Aim
    original: Assessment
    recoded: Assessment
    protected: Assessment

    @property
    def crossed(self) -> str:
        """The names of the keys in words."""
        return " x ".join(map(str, self.keys))

    @property
    def unsafe(self) -> Mask:
        """Mask of the rows that are still unsafe, shape (n,).

        Rows are records; of data on an engine, cells of all keys.
        """
        return self.aim.unsafe(self.protected)

    @property
    def safe(self) -> bool:
        """Whether no record or household reaches its threshold or has an f below k."""
        return not self.unsafe.any() and not self.aim.unsafe_households(self.protected)

    @property
    def stages(self) -> dict[str, Assessment]:
        """The assessments by stage; "recoded" only if something was recoded."""
        stages = {"original": self.original, "recoded": self.recoded}
        if self.recoded is self.original:
            del stages["recoded"]
        return {**stages, "protected": self.protected}

    @property
    def without_keys(self) -> int:
        """Number of records that have lost their last key by suppression."""
        before, after = (
            int(cells.records[~_some_key(cells, self.aim.strata)].sum())
            for cells in (self.recoded.cells, self.protected.cells)
        )
        return after - before

    def _of_each_goal(self, stage: Assessment) -> dict[str, Any]:
        """Return how many are unsafe by each goal, if there are several goals."""
        aim, facts = self.aim, dict[str, Any]()
        if aim.k is not None:
            facts["below_k"] = asdict(stage.below(aim.k))
        several = aim.k is not None or bool(aim.goals)
        if aim.of_households or (several and aim.threshold < np.inf):
            facts["at_risk_threshold"] = stage.unsafe_count(aim.threshold)
        if aim.of_households:
            facts["unsafe_households"] = aim.unsafe_households(stage)
        if stage.households is not None:
            facts["max_household_risk"] = float(stage.households.risk.max())
            facts["household_reidentification_rate"] = (
                stage.household_reidentification_rate
            )
        if isinstance(stage, ReleasedAssessment) and stage.measured:
            facts["measured"] = [
                {
                    "rule": goal.rule,
                    "sensitive": goal.sensitive,
                    "found": goal.worst(figures),
                }
                for goal, figures in stage.measured
            ]
        return facts

    def _by_model(self, stage: Assessment) -> dict[str, int]:
        """Return how many records the model beside the weights calls unsafe."""
        # The model is fitted to the recoded file.
        fitted = stage is not self.original or self.recoded is self.original
        estimate = stage.by_model if fitted and self.aim.has_threshold else None
        if estimate is None:
            return {}
        return {"unsafe_by_model": stage.cells.count_of(self.aim.unsafe(estimate))}

    @property
    def unsafe_by_model(self) -> int:
        """Number of records of the protected file that only the model calls unsafe.

        The model is the one beside the weights; without it, 0.
        """
        estimate = self.protected.by_model if self.aim.has_threshold else None
        if estimate is None:
            return 0
        return self.protected.cells.count_of(self.aim.unsafe(estimate) & ~self.unsafe)

    @property
    def unknown_by_model(self) -> str:
        """Why there is no model although the weights tell little; else empty."""
        beside = self.protected.beside if self.aim.has_threshold else None
        return "" if beside is None else beside.failure

    def comparison(self) -> dict[str, dict[str, Any]]:
        """Return the figures of each stage by name, before and after protection."""
        return {name: {**figures} for name, figures in self._comparison.items()}

    @cached_property
    def _comparison(self) -> dict[str, dict[str, Any]]:
        return {
            name: {
                **{name: stage.counts[name] for name in _COUNTS},
                "reidentification_rate": stage.reidentification_rate,
                "capped_rate": stage.distribution.capped_rate(self.aim.threshold),
                "expected_reidentifications": stage.expected_reidentifications,
                "max_risk": stage.max_risk,
                "unsafe_records": stage.cells.count_of(self.aim.unsafe(stage)),
                **{name: stage.counts[name] for name in of_model(stage.counts)},
                **self._by_model(stage),
                **self._of_each_goal(stage),
            }
            for name, stage in self.stages.items()
        }


class ModelDisagrees(UserWarning):
    """The weights and the model beside them disagree about what is safe."""


def warn_of_model(sets: Sequence[KeySet]) -> None:
    """Warn if records that are safe by the weights are not so by the model."""
    for key_set in sets:
        left, stages = key_set.unsafe_by_model, key_set.comparison()
        if not left:
            continue
        before = stages.get("recoded", stages["original"])
        has = "has" if left == 1 else "have"
        warn(
            f"with the keys {' x '.join(map(str, key_set.keys))} the weights and the "
            "latent-class model disagree about what is safe: "
            f"{counted(left, 'record')} of the protected file {has} a risk at or above "
            "the threshold by the model but not by the weights "
            f"(before suppression {before['unsafe_by_model']:,} records were unsafe by "
            f"the model and {before['unsafe_records']:,} by the weights). Many "
            "records are alone in their cell, where the model is the one to believe: "
            "protect by it with population='auto'; population='weights' asks for the "
            "weights alone",
            ModelDisagrees,
        )


class StratumBelowK(UserWarning):
    """A stratum has fewer than k records, so that blanks cannot make them safe."""


def warn_of_small_strata(cells: Cells, aim: Aim) -> None:
    """Warn of strata that lose all their keys and stay unsafe."""
    if not aim.strata or aim.k is None:
        return
    columns = [cells.keys.index(name) for name in aim.strata]
    there = np.logical_and.reduce([*map(cells.present, columns)])
    codes = np.stack([cells.codes[i][there] for i in columns]).astype(np.int64)
    strata, of = np.unique(codes, axis=1, return_inverse=True)
    records = np.bincount(of.reshape(-1), cells.records[there])
    small = np.flatnonzero(records < aim.k)
    if not small.size:
        return
    values = [
        f"{cells.keys[i]}={plain_value(cells.categories[i][code])}"
        for i, code in zip(columns, strata[:, small[0]], strict=True)
    ]
    warn(
        f"strata: {counted(small.size, 'stratum', 'strata')} of fewer than k={aim.k} "
        f"records, such as {', '.join(values)} ({records[small[0]]:.0f}): they lose all"
        " keys and stay unsafe; join them with others by recodings, lower k, or leave "
        "them out",
        StratumBelowK,
    )


def _some_key(cells: Cells, strata: Sequence[Hashable]) -> Mask:
    """Return the mask of the cells that have a key which is not a stratum."""
    keys = [i for i, key in enumerate(cells.keys) if key not in strata]
    either: Mask = np.logical_or.reduce([*map(cells.present, keys)])
    return either


def present(rows: Records, name: Hashable) -> Mask:
    """Return the mask of the records that have a value of the column."""
    column = code_column(rows, name)
    return np.not_equal(column.codes, len(column.labels))
