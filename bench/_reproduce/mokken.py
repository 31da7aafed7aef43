"""Mokken, Kooiman, Pannekoek, Willenborg (1992): the intruder."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from bench._reproduce.comparison import Comparison, Row, exact, lacking
from riskcore.intruder import (
    acquaintances_distribution,
    betas_for_unique_fraction,
    disclosure_risk,
    unique_fraction,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Mokken, Kooiman, Pannekoek, Willenborg (1992)"

N, K, UNIQUE = 63_624, 1108, 0.001  # section 3.2: the smallest safe subpopulation
SIZES = (31_812, 63_624, 127_248)
CIRCLES = (30, 300, 1000)

# Table 1, times 1000: rows (f, a), columns the sizes.
_FRACTIONS = ("2.17", "1.00", "0.46")
_RISKS = {
    (0.001, 30): ("0.07", "0.03", "0.01"), (0.001, 300): ("0.65", "0.30", "0.14"),
    (0.001, 1000): ("2.17", "1.00", "0.46"), (0.01, 30): ("0.65", "0.30", "0.14"),
    (0.01, 300): ("6.49", "3.00", "1.38"), (0.01, 1000): ("21.48", "9.95", "4.59"),
}  # fmt: skip
_SECTION_4 = "Section 4: f = 0.001, N = 63,624, f_u = 0.001"
_SAMPLE = 0.001 * N  # of section 4, not a whole number
_ONE = {30: "0.00003", 300: "0.0003", 1000: "0.001"}  # for m = 1
_THOUSAND = {300: "0.061143", 1000: "0.061672"}  # for m = 1000


def compare() -> Comparison:
    """Return the numbers of the paper."""
    rows = [*_table_1(), *_section_4(), *_table_3()]
    return Comparison("mokken", TITLE, tuple(rows), {"mokken-figure-1": figure_1})


def _table_1() -> list[Row]:
    row = partial(exact, "Table 1: risk x 1000")
    smaller, beta = betas_for_unique_fraction(UNIQUE, N, K)
    fractions = unique_fraction(SIZES, K, beta)
    others = unique_fraction(SIZES, K, smaller)
    chosen = f"beta = {beta:.7g} is chosen for it"
    rows = [
        row(f"f_u x 1000, N = {size:,}", text, 1000 * f_u, chosen if size == N else "")
        for size, text, f_u in zip(SIZES, _FRACTIONS, fractions, strict=True)
    ]
    rows += [
        row(
            f"f_u x 1000, N = {size:,}",
            "",
            1000 * f_u,
            "by the smaller beta, errata 6.5",
        )
        for size, f_u in zip(SIZES, others, strict=True)
        if size != N
    ]
    sizes = np.array(SIZES)
    for (f, a), printed in _RISKS.items():
        risks = disclosure_risk(f * sizes, sizes, a, fractions, form="binomial")
        rows += [
            row(f"f = {f:g}, a = {a}, N = {size:,}", text, 1000 * risk)
            for size, text, risk in zip(SIZES, printed, risks, strict=True)
        ]
    first = SIZES[0]
    rounded = disclosure_risk(0.01 * first, first, 1000, 0.00217, form="binomial")
    item = f"f = 0.01, a = 1000, N = {first:,}"
    return [*rows, row(item, "", 1000 * rounded, "from f_u as printed")]


def _section_4() -> list[Row]:
    row = partial(exact, _SECTION_4)
    rows = [row(f"a = {a}, m = 1", printed, _risk(a, 1)) for a, printed in _ONE.items()]
    for a, printed in _THOUSAND.items():
        whole = disclosure_risk(64, N, a, UNIQUE, 1000, form="binomial")
        limit = disclosure_risk(_SAMPLE, N, a, UNIQUE, 1000, form="exponential")
        item = f"a = {a}, m = 1000"
        rows += [
            row(item, printed, _risk(a, 1000), "(5), (19)"),
            row(item, "", whole, "n = 64 records, errata 6.3"),
            row(item, "", limit, "by (6), errata 6.3"),
        ]
    distribution = acquaintances_distribution(N, 300, 1000)
    mean = distribution.disclosure_risk(_SAMPLE, UNIQUE, "binomial")
    everybody = disclosure_risk(_SAMPLE, N, N, UNIQUE, form="binomial")
    return [
        *rows,
        row(
            "a = 300, m = 1000", "", mean, "exact distribution of a_m (20), errata 6.2"
        ),
        row("maximum, E a_m = N", "0.061672", everybody),
    ]


def _risk(a: int, m: int) -> float:
    return float(disclosure_risk(_SAMPLE, N, a, UNIQUE, m, form="binomial"))


def _table_3() -> list[Row]:
    largest = ("0.007", "0.544", "2.925", "6.524", "12.272", "13.139")  # of each column
    return [
        lacking(
            "Table 3: total risk x 1000",
            f"{keys} key variable{'s' if keys > 1 else ''}, largest",
            printed,
            "the survey is not published",
        )
        for keys, printed in enumerate(largest, 1)
    ]


def figure_1() -> Figure:
    """Draw figure 1: the risk by the number of investigators."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    figure = Figure((6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    m = np.arange(1, 1001)
    for a, shade in zip(CIRCLES, colormaps["viridis"]([0.0, 0.45, 0.8]), strict=True):
        risks = disclosure_risk(_SAMPLE, N, a, UNIQUE, m, form="binomial")
        axes.plot(m, risks, color=shade, label=f"a = {a}")
    for a, printed in _THOUSAND.items():
        label = "printed in the text" if a == 1000 else None
        axes.plot(1000, float(printed), "o", color="black", mfc="none", label=label)
    axes.set(xlim=(0, 1030), ylim=(0, 0.07), xlabel="number of investigators m")
    axes.set_ylabel("risk $R'_m$")
    axes.set_title("N = 63,624, f$_u$ = 0.001, f = 0.001", fontsize="medium")
    axes.legend(frameon=False)
    return figure
