"""Draw and tabulate the errors of the published forms for bench/results/accuracy.md.

    python -m bench.atlas

Three sections: Figure 1 of the CASC guidelines, the rule for the order of the series
against the smallest sufficient order, and maps of the errors of each form over f and
p. Exact values are those of riskcore.accuracy.reference; where a truncated series is
so near that a difference of doubles would be rounding, its error is the sum of the
terms left out.
"""

import math
import textwrap
from importlib.metadata import version

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from scipy.special import hyp2f1

from bench._common import RESULTS, command, replace, table
from riskcore import accuracy, individual_risk
from riskcore.core import published_forms as forms

PAGE = RESULTS / "accuracy.md"
ENDS = 1e-8  # maps go from p = ENDS to 1 - ENDS


def save(figure, name):
    """Write a picture; return the Markdown that shows it."""
    path = RESULTS / "figures" / f"{name}.png"
    path.parent.mkdir(exist_ok=True)
    # Without the library's version: the same figures give the same bytes.
    figure.savefig(path, dpi=150, metadata={"Software": None})
    return f"figures/{name}.png"


def shades(count):
    return colormaps["viridis"](np.linspace(0, 0.88, count))


def short(x, digits=1):
    """Write 3e-9 and not 3e-09, but 0.5 and 350 as they are."""
    if x == 0 or 0.1 <= abs(x) < 1000:
        return f"{x:.{max(digits, 2)}g}" if abs(x) < 100 else f"{x:.0f}"
    mantissa, exponent = f"{x:.{digits - 1}e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def paragraph(text):
    """Break a text into lines, but not at a sign of equality or per cent."""
    glued = " ".join(text.split()).replace(" = ", "\0=\0").replace(" %", "\0%")
    return textwrap.fill(glued, 88).replace("\0", " ")


# --- the error of a truncated series ------------------------------------------------


def left_out(f, p, order):
    """Return r - r_J and (r - r_J)/r, to 8 digits, for arrays of one shape."""
    r = individual_risk(f, p)
    relative = (r - forms.truncated(f, p, order)) / r
    near = np.flatnonzero(relative < 1e-6)  # there the difference is half rounding
    relative[near] = tail(f[near], 1 - p[near], order[near]) * p[near]
    relative[near] /= f[near] * r[near]
    return relative * r, relative


def tail(f, q, order):
    """Return sum_{n > J} n! q^n/(f+1)_n; all terms are positive."""
    term = np.ones_like(q)
    for n in range(1, int(order.max(initial=0)) + 2):
        term *= np.where(n <= order + 1, n * q / (f + n), 1.0)
    n, total = order + 1, term.copy()
    while True:
        n = n + 1
        term = term * n * q / (f + n)
        spread = f + n - (n + 1) * q
        if np.all(term * (f + n) <= 1e-10 * total * spread):
            return total
        total += term


# --- Figure 1 of the guidelines -----------------------------------------------------

ORDERS = range(1, 8)
EQUATIONS = {
    1: "Polettini (2003, eq. 10)",
    2: "Polettini (2003, eq. 9), Polettini and Seri (2004, eq. 13)",
    7: "Polettini and Seri (2004, eq. 14)",
}
PANELS = ((4, "a"), (50, "b"))


def figure_1():
    figure = Figure((9.6, 4.6), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    q = np.linspace(0.005, 0.9999, 400)
    dots = accuracy.grid(0.02, 0.98, 33)
    names = [f"truncated:{order}" for order in ORDERS]
    for axes, (f, letter) in zip(panels, PANELS, strict=True):
        computed = accuracy.error_table(names, f, 1 - dots)
        for order, shade in zip(ORDERS, shades(len(ORDERS)), strict=True):
            full = np.full_like(q, f), 1 - q, np.full_like(q, order)
            axes.plot(q, left_out(*full)[1], color=shade, label=f"{order}")
            chosen = computed["form"] == f"truncated:{order}"
            axes.plot(
                1 - computed["sampling_fraction"][chosen],
                np.abs(computed["relative_error"][chosen]),
                ".", color=shade, ms=4,
            )  # fmt: skip
        axes.axhline(2.0**-53, color="0.5", lw=0.8, ls="--", zorder=0)
        axes.set(yscale="log", ylim=(1e-18, 1), xlim=(0, 1))
        axes.set(xlabel="q = 1 - p", title=f"({letter})  f = {f}")
    panels[0].set_ylabel("relative error (r - r$_J$)/r")
    panels[0].annotate("half an ulp", (0.99, 2.0**-53), ha="right", va="bottom",
                       fontsize="small", color="0.4")  # fmt: skip
    panels[1].legend(title="order J", loc="upper left", ncols=4, frameon=False)
    return save(figure, "casc-figure-1")


def figure_1_table():
    points = np.array([0.1, 0.5, 0.9, 0.99])
    rows = []
    for f, _ in PANELS:
        for order in ORDERS:
            shape = np.full(4, float(f)), 1 - points, np.full(4, float(order))
            name = f"f = {f}, J = {order}"
            name += f", {EQUATIONS[order]}" if order in EQUATIONS else ""
            limit = 1 / math.comb(f + order, order + 1)
            rows.append([name, *(short(x, 3) for x in (*left_out(*shape)[1], limit))])
    return table(["", *(f"q = {q:g}" for q in points), "q -> 1"], rows)


def guidelines():
    end = f"""
    As the guidelines say, the series is more accurate for large f and small q. But
    order 7, which they recommend for every f, is low by up to
    1/165 = {100 / math.comb(11, 8):.2f} % at f = 4, only three times nearer than order
    4, while at f = 50 order 4 is right to {short(1 / math.comb(54, 5))} everywhere."""
    return f"""\
![Relative error of the truncated series for f = 4 and f = 50]({figure_1()})

Lines are the series in exact arithmetic, dots what doubles give: below the dashed line
there is nothing but rounding. The limit for q -> 1, the largest error over all q, is
1/C(f+J, J+1).

{figure_1_table()}

{paragraph(end)}"""


# --- the rule for the order ---------------------------------------------------------

EPSILONS = (1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-15)
FREQUENCIES = np.arange(2.0, 1001)
FRACTIONS = accuracy.grid(1e-14, 0.99, 500, "logit")
DRAWN = 1e-6  # epsilon of the orders in the picture


def errors_of_rule(epsilon, f=FREQUENCIES):
    """Return the absolute errors of the rule's orders, f by FRACTIONS."""
    f, p = (x.ravel() for x in np.meshgrid(f, FRACTIONS, indexing="ij"))
    absolute, _ = left_out(f, p, forms.published_order(f, epsilon))
    return absolute.reshape(-1, len(FRACTIONS))


def needed(f, p, epsilon):
    """Return the least order with an absolute error of at most epsilon."""
    relative = epsilon / individual_risk(f, p)
    orders = forms.sufficient_order(f, p, np.minimum(relative, 0.999))
    return np.where(relative >= 1, 0, orders)


def rule_row(epsilon):
    error = errors_of_rule(epsilon)
    i, j = np.unravel_index(error.argmax(), error.shape)
    f, p = FREQUENCIES[i], FRACTIONS[j]
    fails = FREQUENCIES[(error > epsilon).any(axis=1)]
    asked = forms.published_order(FREQUENCIES, epsilon)
    # The largest relative error over all p is 1/C(f+J, J+1).
    limits = [
        math.comb(int(g + order), int(order) + 1)
        for g, order in zip(FREQUENCIES, asked, strict=True)
    ]
    relative = FREQUENCIES[np.array([1 / limit for limit in limits]) > epsilon]
    return [
        short(epsilon), spelled(fails), short(error.max() / epsilon, 2), f"{f:.0f}",
        f"{p:.2g}", f"{asked[i]:.0f}", f"{needed(f, p, epsilon):.0f}",
        f"f = {relative.max():.0f}",
    ]  # fmt: skip


def spelled(f):
    if not f.size:
        return "no f"
    if f.size == 1:
        return f"f = {f[0]:.0f}"
    if f.size == f[-1] - f[0] + 1:
        return f"f = {f[0]:.0f} to {f[-1]:.0f}"
    return f"{f.size} values up to f = {f[-1]:.0f}"


def figure_of_rule():
    figure = Figure((10.4, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_domain(figure, left)
    draw_orders(right)
    return save(figure, "order-rule")


def draw_domain(figure, axes):
    """Color each point by the largest epsilon for which the rule fails there."""
    f = np.arange(2.0, 101)
    largest = np.zeros((len(f), len(FRACTIONS)))
    for rank, epsilon in enumerate(reversed(EPSILONS), start=1):
        largest[errors_of_rule(epsilon, f) > epsilon] = rank
    count = len(EPSILONS)
    colors = ListedColormap(
        ["white", *colormaps["viridis_r"](np.linspace(0.1, 1, count))]
    )
    norm = BoundaryNorm(np.arange(-0.5, count + 1), count + 1)
    cells = axes.pcolormesh(
        FRACTIONS, f, largest, cmap=colors, norm=norm, rasterized=True
    )
    axes.set(xscale="logit", yscale="log", xlim=(FRACTIONS[0], FRACTIONS[-1]))
    axes.set(xlabel="sampling fraction p", ylabel="sample frequency f")
    axes.set_title("largest $\\varepsilon$ for which the rule fails")
    axes.yaxis.set_major_formatter("{x:g}")
    bar = figure.colorbar(cells, ax=axes, ticks=range(count + 1))
    bar.ax.set_yticklabels(["holds", *(short(e) for e in reversed(EPSILONS))])


def draw_orders(axes):
    f = accuracy.grid(1, 1000, 200, "whole")
    fractions = (1e-4, 0.01, 0.1, 0.5, 0.9)
    for p, shade in zip(fractions, shades(len(fractions)), strict=True):
        axes.step(f, needed(f, p, DRAWN), color=shade, where="mid", label=f"p = {p:g}")
    asked = forms.published_order(f, DRAWN)
    axes.step(f, asked, color="black", lw=2, where="mid", label="the rule")
    axes.set(xscale="log", yscale="log", xlim=(1, 1000))
    axes.set(xlabel="sample frequency f", ylabel="order J")
    axes.set_title(f"orders for an error of $\\varepsilon$ = {short(DRAWN)}")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
    axes.legend(title="smallest sufficient", frameon=False)


def rule():
    asked, enough = forms.published_order(2, DRAWN), needed(2, 0.95, DRAWN)
    header = [
        "epsilon", "error above epsilon for", "worst error/epsilon", "at f", "at p",
        "order asked", "order needed", "as relative error fails up to",
    ]  # fmt: skip
    end = f"""
    Over f = 2 to 1000 and {len(FRACTIONS)} values of p from {short(FRACTIONS[0])} to
    {FRACTIONS[-1]:g}; for the other f up to 1000 the rule holds at every p. The last
    column is for all p, by the limit 1/C(f+J, J+1) of the relative error. At f = 1 the
    rule gives no order. For small q it wastes terms: at f = 2, p = 0.95 and epsilon =
    {short(DRAWN)} it asks for order {asked:.0f} where {enough:.0f} is enough."""
    return f"""\
Polettini (2003, section 3) asks for the least order j > -log(epsilon)/log(f), for an
absolute error below epsilon. The rule knows neither p nor the factorial in the term
j! q^j/(f+1)_j, and is no bound.

![Where the rule fails, and the orders it asks for]({figure_of_rule()})

Left: the largest epsilon of the table for which the error is above it; where it is
white the rule holds for all. Right: the orders of the rule and the smallest sufficient
ones (`forms.sufficient_order`; a line that leaves the picture goes to order 0). Where a
colored line is above the black one the rule fails for that p, where it is below the
rule wastes terms.

{table(header, [rule_row(epsilon) for epsilon in EPSILONS])}

{paragraph(end)}"""


# --- maps of the errors -------------------------------------------------------------


def scipy_printed(f, p):
    """Return the published 2F1, as it is printed, with SciPy's."""
    return p**f / f * hyp2f1(f, f, f + 1, 1 - p)


PRINTED = "scipy, as printed"
MAPPED = {
    "series7": "series7", "franconi": "franconi", "closed_form": "closed_form",
    "binomial_sum": "binomial_sum", "log_form": "log_form", "scipy": "scipy",
    PRINTED: scipy_printed,
}  # fmt: skip
COMPARED = {
    **MAPPED,
    "gauss_series": "gauss_series",
    "continued_fraction": "continued_fraction",
    "individual_risk": "individual_risk",
}
F_GROUPS = {
    "1": (1, 1), "2, 3": (2, 3), "4 to 10": (4, 10), "11 to 100": (11, 100),
    "101 to 1000": (101, 1000),
}  # fmt: skip
P_GROUPS = {
    "p < 0.01": (0, 0.01),
    "0.01 to 0.5": (0.01, 0.5),
    "0.5 to 0.99": (0.5, 0.99),
    "p > 0.99": (0.99, 1),
}
HALF_THE_DIGITS, ALL = 1e-8, 0.1


class Errors:
    """The error table of the maps, to be asked for its largest errors."""

    def __init__(self):
        f = accuracy.grid(1, 1000, 85, "whole")
        p = accuracy.grid(ENDS, 1 - ENDS, 131, "logit")
        self.points = f"{len(f)} values of f from 1 to 1000 and {len(p)} of p"
        self.table = accuracy.error_table(COMPARED, f, p)

    def of(self, form, f=(1, 1000), p=(0, 1)):
        """Return the rows of a form with f and p between bounds."""
        table = self.table
        x, y = table["sample_frequency"], table["sampling_fraction"]
        chosen = (table["form"] == form) & (x >= f[0]) & (x <= f[1])
        chosen &= (y >= p[0]) & (y < p[1])
        return {name: values[chosen] for name, values in table.items()}

    def worst(self, form, f=(1, 1000), p=(0, 1)):
        """Return the largest relative error, its f and p, and the share not finite."""
        found = accuracy.summary(self.of(form, f, p))
        names = (
            "largest_relative_error", "sample_frequency", "sampling_fraction",
            "share_not_finite",
        )  # fmt: skip
        return [float(found[name][0]) for name in names]

    def percent(self, form, f):
        return f"{100 * self.worst(form, (f, f))[0]:+.2g} % at f = {f}"

    def size(self, form, f, p=(0, 1)):
        return short(abs(self.worst(form, (f, f), p)[0]))

    def lost_at(self, form, f, error):
        """Return the least p above 1/2 with an error that large or larger."""
        rows = self.of(form, (f, f), (0.5, 1))
        p = rows["sampling_fraction"][np.abs(rows["relative_error"]) >= error]
        return f"p = {p.min():.3g}"

    def not_finite(self, form):
        """Return the f and p of the values that are not finite."""
        rows = self.of(form)
        lost = ~np.isfinite(rows["value"])
        return rows["sample_frequency"][lost], rows["sampling_fraction"][lost]


def draw(errors, form):
    table = errors.of(form, f=(1, 3)) if form == "closed_form" else errors.of(form)
    figure = accuracy.plot(table)
    name = form.replace(",", "").replace(" ", "-").replace("_", "-")
    return f"![Relative error of {form} over f and p]({save(figure, f'map-{name}')})"


def cell(worst):
    error, _, _, lost = worst
    if math.isnan(error):
        return "not finite"
    size = short(abs(error)) if abs(error) < 10 else "> 10"
    return size + (f", {100 * lost:.0f} % not finite" if lost else "")


def regions(errors):
    rows = []
    for form in COMPARED:
        for name, f in F_GROUPS.items():
            if form == "closed_form" and f[0] > 3:
                continue  # it has no value there
            cells = [cell(errors.worst(form, f, p)) for p in P_GROUPS.values()]
            rows.append([f"{form}, f = {name}", *cells])
    return table(["largest relative error", *P_GROUPS], rows)


# --- what the maps show -------------------------------------------------------------


def read_series7(errors):
    beyond = next(f for f in range(4, 100) if math.comb(f + 7, 8) > 1e6)
    return f"""
    Closed forms for f <= 3, order 7 beyond. The series leaves out positive terms, so
    that from f = 4 on every risk is too low: {errors.percent("series7", 4)},
    {errors.percent("series7", 5)}, {errors.percent("series7", 10)}, below 1e-6 from
    f = {beyond}. The bands lie flat because the error hardly depends on a small p; to
    the right the terms left out vanish like q^8. Below f = 4 the closed forms lose
    digits from p = 1/2 on: at f = 3 the error reaches {errors.size("series7", 3)} times
    the risk."""


def read_franconi(errors):
    error, f, p, _ = errors.worst("franconi")
    return f"""
    Closed forms for f <= 2, p/(f-q) beyond, which is an upper bound: too high
    everywhere, for large f by about p q/f^2. Worst is {100 * error:+.2g} % at
    f = {f:.0f}, p = {p:.2g}; then {errors.percent("franconi", 4)},
    {errors.percent("franconi", 10)}, {errors.percent("franconi", 100)}. It is best for
    small p, where series7 is worst."""


def read_closed_form(errors):
    sizes = [errors.size("closed_form", f) for f in (1, 2, 3)]
    return f"""
    Right for p < 1/2. For p -> 1 the error grows like 2^-53/q at f = 1 (by the rounding
    of 1/p in log(1/p)) and at f = 2, like 2^-53/q^2 at f = 3. Largest: {sizes[0]},
    {sizes[1]} and {sizes[2]} times the risk."""


def read_binomial_sum(errors):
    f, p = errors.not_finite("binomial_sum")
    return f"""
    Polettini and Seri (2004, eq. 7). For small p it keeps its digits until p^(1-f)
    overflows: hatched on the left, from f = {f[p < 0.5].min():.0f} at
    p = {short(ENDS)} on; (p/q)^f underflows just before. Towards p = 1 and for
    large f its terms cancel: at f = 10 half of the digits are lost at
    {errors.lost_at("binomial_sum", 10, HALF_THE_DIGITS)} and all at
    {errors.lost_at("binomial_sum", 10, ALL)}. f = 1 is a logarithm alone."""


def read_log_form(errors):
    return f"""
    The closed form reached from f = 1 by contiguity, r(f+1) = (p/q)(1/f - r(f)). A step
    multiplies the error by p/q: right for p < 1/2 at every f, soon nothing but error
    above. At f = 10 half of the digits are lost at
    {errors.lost_at("log_form", 10, HALF_THE_DIGITS)}, all at
    {errors.lost_at("log_form", 10, ALL)}."""


def read_scipy(errors):
    f, p = errors.not_finite("scipy")
    return f"""
    (p/f) hyp2f1(1, 1, f+1, 1-p) of SciPy {version("scipy")}. Right where it is finite,
    but for f = 1, where the rounding of 1-p costs up to {errors.size("scipy", 1)}. From
    f = {f.min():.0f} on and for p < 0.1 (here up to {p.max():.3g}) every value is inf
    or nan."""


def read_printed(errors):
    f, _ = errors.not_finite(PRINTED)
    smallest = 0, 10 * ENDS
    return f"""
    (p^f/f) hyp2f1(f, f, f+1, 1-p), Polettini (2003, eq. 6) and Polettini and Seri
    (2004, eq. 9), which the guidelines call stable.
    For small p this 2F1 grows like p^(1-f) and feels the rounding of 1-p: for p below
    {short(smallest[1])} errors of {errors.size(PRINTED, 2, smallest)} at f = 2 and
    {errors.size(PRINTED, 10, smallest)} at f = 10. From f = {f.min():.0f} on it
    overflows for the smallest p."""


READINGS = {
    "series7": read_series7, "franconi": read_franconi, "closed_form": read_closed_form,
    "binomial_sum": read_binomial_sum, "log_form": read_log_form, "scipy": read_scipy,
    PRINTED: read_printed,
}  # fmt: skip


def maps():
    errors = Errors()
    sections = [
        paragraph(
            f"""Over {errors.points} from {short(ENDS)} to 1 - {short(ENDS)}, evenly in
            log(p/q). White is right but for rounding (below 1e-15), in black no digit
            is right."""
        )
    ]
    for form, read in READINGS.items():
        sections.append(
            f"### {form}\n\n{draw(errors, form)}\n\n{paragraph(read(errors))}"
        )
    sections.append(
        f"### The largest errors by region\n\n{regions(errors)}\n\n"
        f"gauss_series gives nan where it would need more than {forms.MAX_TERMS} terms."
    )
    return "\n\n".join(sections)


def main():
    for name, section in (("figure", guidelines), ("rule", rule), ("maps", maps)):
        text = f"`{command()}`\n\n{section()}"
        print(text)
        replace(PAGE, name, text)


if __name__ == "__main__":
    main()
