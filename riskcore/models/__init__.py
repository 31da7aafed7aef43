"""Superpopulation models: population uniques from the sizes of the sample's cells."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from riskcore.models.dirichlet_multinomial import (
        DirichletMultinomial as DirichletMultinomial,
    )
    from riskcore.models.ewens import Ewens as Ewens
    from riskcore.models.lancaster import Lancaster as Lancaster
    from riskcore.models.pitman import Pitman as Pitman
    from riskcore.models.poisson_gamma import PoissonGamma as PoissonGamma
    from riskcore.models.size_indices import SizeIndices as SizeIndices

_HOMES = {
    "DirichletMultinomial": "dirichlet_multinomial",
    "Ewens": "ewens",
    "Lancaster": "lancaster",
    "Pitman": "pitman",
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
