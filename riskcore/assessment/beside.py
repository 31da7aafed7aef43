"""The model of the population that is shown beside the weights.

Where many records are alone in their cell, weights do not tell rare cells from common
ones. There the latent-class model, fitted to the same cells, says how large the risk
is; the risk by the weights stays what it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from riskcore.assessment.settings_table import LATENT_CLASS
from riskcore.common.progress import silent
from riskcore.data.cells import Cells
from riskcore.data.engine_cells import MANY_CELLS, HeldCells
from riskcore.data.sample_design import SampleDesign

if TYPE_CHECKING:
    from riskcore.models.cell_model import CellModel

# Sample uniques, their share of the records, and people for each record: from these on
# the weights say little about the risk (notes/calibration_of_cells.md).
MANY_UNIQUES, SHARE_OF_UNIQUES, FEW_SAMPLED = 50, 0.05, 1.25


def weights_tell_little(cells: Cells) -> bool:
    """Return whether the weights say little about the population frequencies.

    A rule of thumb: many records are alone in their cell, and people are left outside
    the sample. In such samples of known populations the model came nearer to the truth.
    """
    totals = cells.totals
    return bool(
        cells.weighted
        and totals.uniques >= MANY_UNIQUES
        and totals.uniques >= SHARE_OF_UNIQUES * totals.records
        and totals.population >= FEW_SAMPLED * totals.records
    )


@dataclass(frozen=True, eq=False)
class Beside:
    """The model beside the weights, fitted to cells when it is first asked for.

    Attributes
    ----------
    cells : Cells
        The cells to fit; those of a file before values were suppressed.
    design : SampleDesign or None
        The clusters and strata of the records.
    """

    cells: Cells
    design: SampleDesign | None = None

    @cached_property
    def needed(self) -> bool:
        """Whether the weights of the cells tell little."""
        return weights_tell_little(self.cells)

    @cached_property
    def _found(self) -> tuple[CellModel | None, str]:
        from riskcore.assessment.population import model_of

        cells = self.cells
        if isinstance(cells, HeldCells) and len(cells) > MANY_CELLS:
            return None, (
                f"{len(cells):,} cells stay on the engine; population='latent-class' "
                "collects them"
            )
        try:
            return model_of(LATENT_CLASS, cells.keys, cells, silent, self.design), ""
        except ValueError as error:
            return None, str(error)

    @property
    def model(self) -> CellModel | None:
        """The fitted model; None if it is not needed, or the fit failed."""
        return self._found[0] if self.needed else None

    @property
    def failure(self) -> str:
        """Why there is no model although it is needed; empty if there is one."""
        return self._found[1] if self.needed else ""


def which_to_believe(figures: dict[str, Any]) -> str:
    """Return in a sentence which figure to believe where the weights tell little."""
    found = figures["by_model"]
    if found["failure"]:
        return (
            f"neither: the model has no estimate ({found['failure']}), and the weights "
            "may say far too little"
        )
    alone = figures["sample_uniques"] / figures["records"]
    return (
        f"the model: {100 * alone:.3g} % of the records are alone in their cell, and "
        "weights cannot tell how rare it is"
    )
