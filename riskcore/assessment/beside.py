"""The model of the population that decides, or is shown beside the weights.

Weights do not tell rare cells from common ones. Where records are alone in their cell,
the latent-class model, fitted to the same cells, says how large the risk is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from riskcore.assessment.assess_settings import LATENT_CLASS
from riskcore.common.progress import silent
from riskcore.common.words import sentence
from riskcore.data.cells import Cells
from riskcore.data.engine_cells import HeldCells, are_many
from riskcore.data.sample_design import SampleDesign

if TYPE_CHECKING:
    from riskcore.models.cell_model import CellModel

# Sample uniques, and people for each record: from these on a model is fitted. No share
# of the records is asked: a few diverse people may be hidden among many that are alike.
MANY_UNIQUES, FEW_SAMPLED = 20, 1.25
# Figures differ where one is at least so many times the other.
APART = 1.25


def weights_tell_little(cells: Cells) -> bool:
    """Return whether the weights may say little about the population frequencies."""
    # Where records are alone and people outside, the model came nearer to the truth.
    totals = cells.totals
    return bool(
        cells.weighted
        and totals.uniques >= MANY_UNIQUES
        and totals.population >= FEW_SAMPLED * totals.records
    )


def apart(estimate: float, other: float) -> bool:
    """Return whether two estimates differ by a quarter or more."""
    low, high = sorted((estimate, other))
    return high >= APART * low and high > 0.0


@dataclass(frozen=True, eq=False)
class Beside:
    """The model beside the weights, fitted to cells when it is first asked for."""

    cells: Cells  # those of a file before values were suppressed
    design: SampleDesign | None = None
    kept: bool = False  # whether it is needed anyhow: it decided before a recoding
    single: bool = True  # whether its risk of each record is used, not figures alone

    @cached_property
    def needed(self) -> bool:
        """Whether the weights of the cells may tell little."""
        return self.kept or weights_tell_little(self.cells)

    @cached_property
    def _found(self) -> tuple[CellModel | None, str]:
        from riskcore.assessment.population import drawn_model, model_of

        cells = self.cells
        try:
            if self._draws:
                return drawn_model(cells), ""
            return model_of(LATENT_CLASS, cells.keys, cells, silent, self.design), ""
        except ValueError as error:
            return None, str(error)

    @property
    def _draws(self) -> bool:
        """Whether it is fitted to some of the cells, as they are many."""
        if isinstance(self.cells, HeldCells):
            return are_many(self.cells)
        if self.single or self.cells.shared or self.cells.windows is not None:
            return False
        return self.design is None and are_many(self.cells)

    @property
    def model(self) -> CellModel | None:
        """The fitted model; None if it is not needed, or the fit failed."""
        return self._found[0] if self.needed else None

    @property
    def failure(self) -> str:
        """Why there is no model although it is needed; empty if there is one."""
        return self._found[1] if self.needed else ""


def which_to_believe(figures: dict[str, Any]) -> str:
    """Return in a sentence which figure to believe where the two differ."""
    by_model = figures["by_model"]
    if by_model["failure"]:
        return sentence(
            "neither: the model has no estimate ({why}), and the weights may say far "
            "too little",
            by_model["failure"],
        )
    return sentence(
        "the model: {n} records are alone in their cell, and weights cannot tell how "
        "rare it is",
        figures["sample_uniques"],
    )
