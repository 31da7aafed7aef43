"""What a protection has made: records, masks and the risks before and after."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.assessment import Assessment
from riskcore.common.arrays import Mask
from riskcore.data.columns import Records, without_columns
from riskcore.data.engines.registry import engine_of
from riskcore.data.files.labels import Labels
from riskcore.data.frame_types import DataT_co, OfData, cached_frame
from riskcore.data.household_rows import HouseholdRows
from riskcore.data.profile import ColumnProfile, profile, profile_on_engine
from riskcore.data.source import Source
from riskcore.protection.records.in_memory import released_records
from riskcore.protection.records.on_engine import OnEngine
from riskcore.protection.records.treated import Treated, numbers_of
from riskcore.protection.records.units import Prepared
from riskcore.protection.settings.settings import Settings
from riskcore.protection.suppression.key_sets import KeySet, present
from riskcore.protection.suppression.suppress import Masks

# What columns tell is counted in 32 bits.
MOST_SHOWN = 1 << 31


@dataclass(frozen=True, eq=False, repr=False)
class ProtectedRecords(OfData[DataT_co]):
    """The protected records and the risks before and after: see `Protected`."""

    source: Source
    settings: Settings
    prepared: Prepared
    rows: Records
    sets: tuple[KeySet, ...]
    masks: Masks
    on_engine: OnEngine | None = None
    units: HouseholdRows | None = None  # what is planned, if it is not records
    secret: str | None = None

    @property
    def treated(self) -> Treated | None:
        """The treated columns before and after; None if no column was treated."""
        return self.prepared.treated

    @cached_property
    def numbers(self) -> Mapping[Any, NDArray[np.float64]]:
        """The columns with the role "numeric", and the weights, of data in memory."""
        if self.on_engine is not None:
            return {}
        records = self.source.records
        found = {
            name: numbers_of(self.source, records, name)
            for name in self.settings.with_role("numeric")
        }
        if self.settings.weight is not None:
            assert self.prepared.coded.weights is not None
            found[self.settings.weight] = self.prepared.coded.weights
        return found

    @cached_frame
    def data(self) -> Any:
        """The protected records, of the type of the input, as they may be released.

        Columns with the role "identifier" are left out; for a path they are all others.
        The household column has new ids, numbered by the first record of each
        household. An index of pandas, which may name persons, is replaced by 0, 1, ...,
        with a warning; to keep it, make it a column (``reset_index``) and give it a
        role. The records keep the order of the input. For data on an engine they are as
        lazy as the input, in an order that the engine chooses.
        """
        if self.on_engine is None:
            return released_records(self.rows.data, self.source, self.settings)
        identifiers = self.settings.with_role("identifier")
        return without_columns(self.on_engine.given, identifiers)

    @cached_property
    def before(self) -> Records:
        """The rows before protection."""
        if self.on_engine is None:
            return self.source.records
        return self.on_engine.rows

    @property
    def n(self) -> int:
        """Number of records."""
        return (
            self.sets[0].protected.cells.n if self.units is None else len(self.units.of)
        )

    @property
    def suppressed(self) -> dict[Any, int]:
        """The number of values suppressed, by column."""
        count_of = self.sets[0].protected.cells.count_of
        return {name: count_of(mask) for name, mask in self.masks.items()}

    @property
    def suppressed_rows(self) -> dict[Any, int]:
        """The number of rows, records or households, that lost a value, by column."""
        if self.units is None:
            return self.suppressed
        # A household counts if any member lost a value.
        masks = self.masks.items()
        of = self.units.of
        return {name: len(np.unique(of[mask])) for name, mask in masks}

    @property
    def household_of(self) -> NDArray[np.int64] | None:
        """The household of each record as a number from 0; None without households."""
        if self.units is not None:
            return self.units.of
        groups = self.sets[0].protected.households
        return None if groups is None else groups.inverse

    @cached_property
    def unsafe(self) -> Mask:
        """Mask of the records still unsafe from any set of keys, shape (n,).

        Raises
        ------
        TypeError
            For data on an engine.
        """
        counted = self.sets[0].protected.cells.counted
        if counted is not None:
            raise counted.refuse_single("which records are unsafe")
        either: Mask = np.logical_or.reduce([key_set.unsafe for key_set in self.sets])
        return either if self.units is None else either[self.units.of]

    @property
    def goals_met(self) -> bool:
        """Whether no risk reaches its threshold, from any set of keys."""
        return all(key_set.safe for key_set in self.sets)

    @property
    def numbers_known(self) -> tuple[Hashable, ...]:
        """Columns of numbers that an intruder is taken to know.

        They have the role "numeric", or are treated and have no role.
        """
        settings = self.settings
        numbers = settings.with_role("numeric")
        if self.treated is None:
            return numbers
        others = {*settings.roles_of_columns} | self.treated.categorical
        return (*numbers, *(name for name in self.treated.after if name not in others))

    @cached_property
    def profiles(self) -> list[ColumnProfile]:
        """The profiles of the weight and of all columns that have no role."""
        roles, weight = self.settings.roles_of_columns, self.settings.weight
        known_columns = {x for x in roles if x != weight} | {*self.numbers_known}
        names = [column for column in self.source.names if column not in known_columns]
        if self.on_engine is not None:
            return [*self._profiles_on_engine(self.on_engine, names)]
        decimal, labels = self.source.reading.decimal, self.source.labels
        household = self.household_of
        return profile(self.rows, names, household, decimal=decimal, labels=labels)

    def _profiles_on_engine(
        self, held: OnEngine, names: Sequence[Hashable]
    ) -> Iterator[ColumnProfile]:
        """Yield profiles; of columns that were recoded or blanked, those after it."""
        changed = {*self.settings.recodings, *self.settings.suppressible}
        after = engine_of(held.given) or held.engine
        for name in names:
            engine = after if name in changed else held.engine
            yield from profile_on_engine(engine, [name])

    @property
    def hidden(self) -> bool:
        """Whether anything was suppressed or recoded."""
        return bool(self.settings.recodings) or any(self.suppressed.values())

    @property
    def not_checked(self) -> tuple[Hashable, ...]:
        """The columns not checked for whether they reveal suppressed values.

        For data on an engine, the columns without a role in the protection, or all
        columns if a column that is not a key is recoded. The order of records is not
        checked, either. Identifiers are left out.
        """
        if self.on_engine is None or not self.hidden:
            return ()
        exempt_columns = {*self.settings.with_role("identifier")}
        if self.n < MOST_SHOWN and not self._recoded_apart:
            exempt_columns |= {*self.settings.suppressible}
        return tuple(name for name in self.source.names if name not in exempt_columns)

    @property
    def _recoded_apart(self) -> list[Hashable]:
        """Recoded columns that are not among the rows on an engine."""
        suppressible = self.settings.suppressible
        return [name for name in self.settings.recodings if name not in suppressible]

    @property
    def labels(self) -> Labels | None:
        """Labels of codes in an SPSS, Stata or SAS file, without recoded columns."""
        form = self.source.format
        if form is None or form.labels is None:
            return None
        return form.labels.without_codes_of([str(n) for n in self.settings.recodings])

    @property
    def original(self) -> Assessment:
        """The assessment before protection, if there is one set of keys."""
        return self._only().original

    @property
    def recoded(self) -> Assessment:
        """The assessment after recoding, if there is one set of keys."""
        return self._only().recoded

    @property
    def protected(self) -> Assessment:
        """The assessment of the protected file, if there is one set of keys."""
        return self._only().protected

    def _only(self) -> KeySet:
        if len(self.sets) > 1:
            raise ValueError(f"there are {len(self.sets)} sets of keys: use .sets")
        return self.sets[0]

    @cached_property
    def blanked_share(self) -> dict[Any, float]:
        """The share of values that were suppressed, by column; 0 if no value was."""
        shares = {}
        for name, count in self.suppressed.items():
            left = self._with_a_value(name) if count else 0
            shares[name] = count / (count + left) if count else 0.0
        return shares

    def _with_a_value(self, name: Hashable) -> int:
        """Return the number of records that still have a value in a column."""
        for key_set in self.sets:
            if name in key_set.keys and self.units is None:
                cells = key_set.protected.cells
                return int(cells.records[cells.present(key_set.keys.index(name))].sum())
        return self.sets[0].protected.cells.count_of(present(self.rows, name))


def finite(threshold: float) -> float | None:
    """Return a threshold, or None for an infinite one."""
    return threshold if threshold < np.inf else None
