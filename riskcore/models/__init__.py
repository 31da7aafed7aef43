"""Models of the population: uniques from cell sizes, risks from keys.

Superpopulation models know only the sizes of the sample's cells. Models of cells know
the keys: each cell has a probability and a prior of its population frequency.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from riskcore.models.cell_model import CellModel as CellModel
    from riskcore.models.cell_model import CellPrior as CellPrior
    from riskcore.models.cell_table import CellTable as CellTable
    from riskcore.models.dirichlet_multinomial import (
        DirichletMultinomial as DirichletMultinomial,
    )
    from riskcore.models.ewens import Ewens as Ewens
    from riskcore.models.known_population import KnownPopulation as KnownPopulation
    from riskcore.models.lancaster import Lancaster as Lancaster
    from riskcore.models.latent_class import LatentClass as LatentClass
    from riskcore.models.log_linear import LogLinear as LogLinear
    from riskcore.models.overdispersion import Overdispersion as Overdispersion
    from riskcore.models.pitman import Pitman as Pitman
    from riskcore.models.poisson_binomial import PoissonBinomial as PoissonBinomial
    from riskcore.models.poisson_gamma import PoissonGamma as PoissonGamma
    from riskcore.models.size_indices import SizeIndices as SizeIndices

_HOMES = {
    "CellModel": "cell_model",
    "CellPrior": "cell_model",
    "CellTable": "cell_table",
    "DirichletMultinomial": "dirichlet_multinomial",
    "Ewens": "ewens",
    "KnownPopulation": "known_population",
    "Lancaster": "lancaster",
    "LatentClass": "latent_class",
    "LogLinear": "log_linear",
    "Overdispersion": "overdispersion",
    "Pitman": "pitman",
    "PoissonBinomial": "poisson_binomial",
    "PoissonGamma": "poisson_gamma",
    "SizeIndices": "size_indices",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        home = import_module(f"riskcore.models.{_HOMES[name]}")
        globals()[name] = getattr(home, name)
        return globals()[name]
    raise AttributeError(f"module 'riskcore.models' has no attribute {name!r}")


def __dir__() -> list[str]:
    special = [name for name in globals() if name.startswith("__")]
    return sorted([*special, *__all__])
