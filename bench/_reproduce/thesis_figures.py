"""Figures of the thesis: size indices of simulated files, and the likelihood."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from riskcore.models import DirichletMultinomial, SizeIndices
from riskcore.simulate import populations, samples

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Population = Callable[[float | None, np.random.Generator], NDArray[np.int64]]

_LARGEST = 40  # sizes of cells that are drawn
_SPREAD_OUT = 1.3  # exponent of appendix A


def figures(
    population: Population, share: float, seed: int
) -> dict[str, Callable[[], Figure]]:
    """Return functions that draw the figures, by name."""
    both = partial(_population_and_sample, population, share, seed)
    return {
        "thesis-figure-2.1": lambda: _likelihood(both(None)[1]),
        "thesis-figure-3.1": lambda: _pair(
            ("Zipf, s = 0.9", both(0.9)[0]),
            ("Dirichlet-multinomial, $\\alpha$ = 1", both(None)[0]),
        ),
        "thesis-figure-3.2": lambda: _pair(
            *(
                (f"Dirichlet-multinomial, $\\alpha$ = {alpha}", _model(alpha, seed))
                for alpha in (0.1, 1.99)
            )
        ),
        "thesis-figures-5.3-5.4": lambda: _pair(
            *zip(("Zipf, s = 0.7: population", "sample"), both(0.7), strict=True)
        ),
        "thesis-figures-5.5-5.6": lambda: _pair(
            *zip(
                ("Dirichlet-multinomial, $\\alpha$ = 1: population", "sample"),
                both(None),
                strict=True,
            )
        ),
        "thesis-figures-A.1-A.2": lambda: _power_law(both(_SPREAD_OUT)[0]),
    }


def _population_and_sample(
    population: Population, share: float, seed: int, s: float | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the cells of a population and of a sample of it."""
    rng = np.random.default_rng(seed)
    frequencies = population(s, rng)
    n = round(share * int(frequencies.sum()))
    return frequencies, samples.sample(frequencies, n, rng)


def _model(alpha: float, seed: int) -> NDArray[np.int64]:
    """Return the cells of a Dirichlet-multinomial population."""
    rng = np.random.default_rng(seed)
    return populations.dirichlet_multinomial_population(1_000_000, 20_000, alpha, rng)


def _pair(*parts: tuple[str, NDArray[np.int64]]) -> Figure:
    """Draw the size indices of two files side by side."""
    from matplotlib.figure import Figure

    figure = Figure((9.0, 3.6), layout="constrained")
    for axes, (title, frequencies) in zip(figure.subplots(1, 2), parts, strict=True):
        cells = np.bincount(frequencies, minlength=_LARGEST + 1)
        axes.bar(np.arange(1, _LARGEST + 1), cells[1 : _LARGEST + 1], color="C0")
        beyond = int(cells[_LARGEST + 1 :].sum())
        note = f"{beyond:,} cells of more than {_LARGEST}, {cells[0]:,} empty"
        axes.set_title(f"{title}\n{note}", fontsize="medium")
        axes.set(xlabel="records in the cell", ylabel="cells")
    return figure


def _likelihood(sampled: NDArray[np.int64]) -> Figure:
    """Draw the log-likelihood of alpha, less its maximum."""
    from matplotlib.figure import Figure

    sizes, K = SizeIndices.from_frequencies(sampled), len(sampled)
    best = DirichletMultinomial.fit(sizes, K=K)
    alphas = best.alpha * np.geomspace(0.5, 2.0, 121)
    heights = [
        DirichletMultinomial(K, float(alpha)).log_probability(sizes) for alpha in alphas
    ]
    figure = Figure((6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    axes.plot(alphas, np.array(heights) - best.log_likelihood, color="C0")
    error = best.standard_errors["alpha"]
    label = f"maximum at {best.alpha:.4f}, s.e. {error:.4f}"
    axes.plot(best.alpha, 0.0, "o", color="black", label=label)
    axes.set(xlabel="$\\alpha$", ylabel="log-likelihood less its maximum")
    axes.set_title(
        f"Dirichlet-multinomial, $\\alpha$ = 1, K = {K:,}, n = {sizes.n:,}",
        fontsize="medium",
    )
    axes.legend(frameon=False, loc="lower center")
    return figure


def _power_law(frequencies: NDArray[np.int64]) -> Figure:
    """Draw people by the rank of their cell, on both scales."""
    from matplotlib.figure import Figure

    N, rank = int(frequencies.sum()), np.arange(1, len(frequencies) + 1)
    law = rank**-_SPREAD_OUT
    expected = N * law / math.fsum(law)
    figure = Figure((9.0, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.bar(rank[:30], frequencies[:30], color="C0", label="simulated")
    left.plot(rank[:30], expected[:30], ".-", color="black", lw=1, label="N p$_k$")
    occupied = frequencies > 0
    right.plot(rank[occupied], frequencies[occupied], ".", ms=3, color="C0")
    right.plot(rank, expected, color="black", lw=1)
    right.set(xscale="log", yscale="log")
    for axes in (left, right):
        axes.set(xlabel="cell (rank k)", ylabel="people")
        axes.set_title(f"Zipf, s = {_SPREAD_OUT}", fontsize="medium")
    left.legend(frameon=False)
    return figure


def table_4_3(
    spread: Mapping[float, tuple[Any, Any, Any]],
    printed: Mapping[float, tuple[float, float]],
) -> Figure:
    """Draw tau and its estimates by the exponent of Zipf's law."""
    from matplotlib.figure import Figure

    figure = Figure((7.0, 4.4), layout="constrained")
    axes = figure.subplots()
    labels = ("$\\tau$, the truth", "estimate by Theorem 1", "$\\tau_1$, asymptotic")
    s = np.array(list(spread))
    for k, (label, style) in enumerate(zip(labels, ("o-", "s--", "^:"), strict=True)):
        means = [np.mean(values[k]) for values in spread.values()]
        deviations = [np.std(values[k], ddof=1) for values in spread.values()]
        color = ("black", "C0", "C1")[k]
        axes.errorbar(
            s, means, deviations, fmt=style, color=color, ms=4, lw=1, label=label
        )
    _draw_printed(axes, printed)
    axes.set(xlabel="exponent s of Zipf's law", ylabel="sample and population uniques")
    axes.legend(frameon=False, fontsize="small")
    return figure


def _draw_printed(axes: Axes, printed: Mapping[float, tuple[float, float]]) -> None:
    """Draw the printed tau and tau_1."""
    for k, (name, color) in enumerate((("$\\tau$", "black"), ("$\\tau_1$", "C1"))):
        heights = [values[k] for values in printed.values()]
        label = f"{name} as printed, one run"
        axes.plot(list(printed), heights, "x", ms=8, color=color, label=label)
