"""Protect a file in which each household is one row, and give the result to members.

Keys that all members share, such as the size or the tenure of the household, are
counted once for each household, with its weight.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.data.coded import CodedRecords
from riskcore.data.household_rows import HouseholdRows
from riskcore.protection.settings.settings import Settings
from riskcore.protection.suppression.suppress import Mask, Masks, blanked_with


@dataclass(frozen=True, slots=True, eq=False)
class Units(HouseholdRows):
    """The households of a file, one row for each."""

    @classmethod
    def found(cls, coded: CodedRecords, settings: Settings) -> Units:
        """Return the households of a file, whose members must agree in the keys."""
        assert coded.households is not None
        columns: dict[Hashable, NDArray[Any]] = {
            name: coded.columns[name].codes for name in settings.variables
        }
        if settings.weight is not None:
            assert coded.weights is not None
            columns[settings.weight] = coded.weights
        return cls.agreeing(coded.households, columns)

    def row_codes(self, coded: CodedRecords) -> CodedRecords:
        """Return the coded first record of each household, with the labels of all."""
        columns = {
            name: replace(
                one,
                codes=one.codes[self.first],
                missing=int(np.count_nonzero(one.codes[self.first] == len(one.labels))),
            )
            for name, one in coded.columns.items()
        }
        weights = None if coded.weights is None else coded.weights[self.first]
        return CodedRecords(len(self.first), columns, coded.weight, weights)

    def spread(self, masks: Masks, present: Masks, settings: Settings) -> Masks:
        """Return the masks of the records from the masks of households."""
        wide: dict[Any, Mask] = {name: mask[self.of] for name, mask in masks.items()}
        for name in settings.variables:
            for other in blanked_with(name, settings):
                wide[other] = wide[other] | masks[name][self.of]
        return {name: mask & present[name] for name, mask in wide.items()}
