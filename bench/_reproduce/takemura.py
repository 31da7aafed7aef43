"""Takemura on additive models of cell probabilities: size indices and estimates."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from bench._reproduce.comparison import Comparison, Row, exact, lacking, within
from riskcore.models import Ewens, Pitman, SizeIndices

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Takemura, additive modeling of cell probabilities"

n, N = 9809, 4_867_000
CATEGORIES = (14, 2, 91, 5, 14, 7, 2, 5, 2, 10)
COUNTS = dict(enumerate((2249, 521, 275, 132, 104, 60, 59, 34, 46, 19), 1))
LARGE_CELLS = 124  # with 11 records or more

# Estimates for lambda = 0, 0.2, ..., 1.
_RAW = ("885.02", "480.27", "372.82", "315.93", "278.88", "252.13")
_RENORMALISED = ("885.02", "482.94", "403.46", "376.21", "362.50", "354.68")
_NEGATIVE = ("0", "0.013", "0.193", "0.465", "0.758", "1.065")
_EWENS, _PITMAN = "5.88", "213.96"

_START = "closed form, start of ML"


def compare() -> Comparison:
    """Return the numbers of the paper."""
    rows = [*_table(), *_ewens(), *_pitman(), *_additive()]
    figures = {"takemura-estimates": estimates}
    return Comparison("takemura", TITLE, tuple(rows), figures)


def equal_tail() -> SizeIndices:
    """Return size indices with equal large cells."""
    small, extra = divmod(_large_records(), LARGE_CELLS)
    tail = {small: LARGE_CELLS - extra, small + 1: extra}
    return SizeIndices({**COUNTS, **tail})


def giant_tail() -> SizeIndices:
    """Return size indices with one large cell, while the others have 11 records."""
    giant = _large_records() - 11 * (LARGE_CELLS - 1)
    return SizeIndices({**COUNTS, 11: LARGE_CELLS - 1, giant: 1})


def _large_records() -> int:
    return n - sum(size * count for size, count in COUNTS.items())


def _table() -> list[Row]:
    row = partial(exact, "The example: 10 key variables, n = 9809")
    pairs = 10 * math.comb(10, 2) * 10
    own = sum(a * b for i, a in enumerate(CATEGORIES) for b in CATEGORIES[:i])
    return [
        row("cells", "249,704,000", math.prod(CATEGORIES)),
        row("pair cells, 10 variables of 10", "4500", pairs),
        row("pair cells of the example", "", own, "errata 4.4"),
        row("occupied cells", "", sum(COUNTS.values()) + LARGE_CELLS),
        row("records in the 124 cells of 11 or more", "", _large_records()),
    ]


def _ewens() -> list[Row]:
    row = partial(exact, "Ewens")
    sizes = equal_tail()
    moments, likely = (Ewens.fit(sizes, method) for method in ("moments", "ml"))
    by_moments = f"theta = {moments.theta:.10g}"
    by_ml = f"theta = {likely.theta:.7g}, errata 4.1"
    return [
        row("moments, E S1", _EWENS, moments.tau(sizes, N), by_moments),
        row("ML", "", likely.tau(sizes, N), by_ml),
        row("ML, not given the s1", "", _unconditional(likely), by_ml),
    ]


def _pitman() -> list[Row]:
    exhibit = "Pitman"
    equal, giant = equal_tail(), giant_tail()
    models = {
        "E S1, E K": (Pitman.fit(equal, "moments"), equal),
        _START: (_closed_form(equal), equal),
        "sigma = s1/u, theta = 0": (Pitman(0.0, COUNTS[1] / equal.u), equal),
    }
    models["ML, equal large cells"] = Pitman.fit(equal), equal
    models["ML, one giant cell"] = Pitman.fit(giant), giant
    low, high = (Pitman.fit(sizes).tau(sizes, N) for sizes in (equal, giant))
    rows = [within(exhibit, "ML, any large cells", _PITMAN, low, high, "errata 4.2")]
    for text, (model, sizes) in models.items():
        why = f"theta = {model.theta:.5g}, sigma = {model.sigma:.5f}"
        rows.append(exact(exhibit, text, "", model.tau(sizes, N), why))
    for text, (model, _) in models.items():
        if model.method == "ml" or text == _START:
            item = f"{text}, not given the s1"
            rows.append(exact(exhibit, item, "", _unconditional(model)))
    rounded = Pitman(0.0, round(COUNTS[1] / equal.u, 3))
    item = f"sigma = {rounded.sigma}, theta = 0"
    why = "s1/u rounded, a guess at what is printed, errata 4.2"
    return [*rows, exact(exhibit, item, "", rounded.tau(equal, N), why)]


def _closed_form(sizes: SizeIndices) -> Pitman:
    """Return the usual start of the iteration (Hoshino 2001), C = s_1 (s_1 - 1)/s_2."""
    u, s1 = sizes.u, sizes[1]
    c = s1 * (s1 - 1) / sizes[2]
    above, below = n * u * c - s1 * (n - 1) * (2 * u + c), 2 * s1 * u + s1 * c - n * c
    theta = above / below
    return Pitman(theta, (theta * (s1 - n) + (n - 1) * s1) / (n * u))


def _unconditional(model: Ewens | Pitman) -> float:
    """Return the expected number not given the sample: all uniques times n/N."""
    return model.population_uniques(N) * n / N


def _additive() -> list[Row]:
    exhibit = "Additive model by lambda"
    no_data = "the microdata are not published"
    raw, negative, renormalized = [], [], []
    for i, (plain, new, below) in enumerate(
        zip(_RAW, _RENORMALISED, _NEGATIVE, strict=True)
    ):
        item = f"lambda = {i / 5:.1f}"
        raw.append(lacking(exhibit, f"{item}, no renormalization", plain, no_data))
        if i == 0:
            same = exact(exhibit, f"{item}, renormalized", new, float(plain), "c = 1")
            renormalized.append(same)
            continue
        negative.append(lacking(exhibit, f"{item}, negative sum", f"-{below}", no_data))
        low, high = _renormalized_range(float(plain), float(below))
        renormalized.append(
            within(exhibit, f"{item}, renormalized", new, low, high, _JENSEN)
        )
    return [*raw, *renormalized, *negative]


_JENSEN = "from the two other rows, errata 4.5"


def _renormalized_range(raw: float, negative: float) -> tuple[float, float]:
    """Return the range of the estimate after all p are divided by c = 1 + negative.

    (1 - p/c)^M is a concave and rising function of (1-p)^M: the sum is largest if all
    sample uniques have the same p. It is at least the sum for c = 1.
    """
    half, M = 0.005, N - n
    c = 1.0 + negative + 0.0005
    uniques = COUNTS[1]
    p = -math.expm1(math.log((raw + half) / uniques) / M)
    return raw - half, uniques * math.exp(M * math.log1p(-p / c))


def estimates() -> Figure:
    """Draw the estimates of all models and the printed ones."""
    from matplotlib.figure import Figure

    rows = [row for row in [*_ewens(), *_pitman()] if not row.low <= row.high]
    names = [f"{row.exhibit}: {row.item}" for row in rows]
    figure = Figure((7.6, 4.6), layout="constrained")
    axes = figure.subplots()
    at = np.arange(len(rows))
    axes.plot([row.computed for row in rows], at, "o", color="C0", label="computed")
    for value, style in ((_EWENS, ":"), (_PITMAN, "--")):
        name = "Ewens" if value == _EWENS else "Pitman"
        axes.axvline(
            float(value), color="black", lw=1, ls=style, label=f"printed, {name}"
        )
    axes.set_yticks(at, names, fontsize="small")
    axes.invert_yaxis()
    axes.set(xscale="log", xlim=(3, 1000))
    axes.set_xlabel("population uniques among the 2249 sample uniques")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.legend(frameon=False, loc="center", bbox_to_anchor=(0.38, 0.5))
    return figure
