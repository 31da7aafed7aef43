"""The page of the study of models of cells: goals, misses, tables."""

import math
from importlib.metadata import version
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

import riskcore
from bench import _riskutility
from bench._cell_kinds import FAMILY, KINDS, PART, TAKE, N
from bench._common import command, reached, table
from bench.atlas import paragraph

# The classes as `assess` has them; without clusters; with the weights as they are.
BEST, NO_CLUSTERS, OWN_WEIGHTS = "classes", "no clusters", "own weights"
PEERS = tuple(f"riskutility, {name}" for name in ("Pitman", "Zayatz", "SNB"))
METHODS = ("weights", "Pitman-Yor", "pairs", OWN_WEIGHTS, NO_CLUSTERS, BEST)
COVERED, WORST_COVERED = 0.88, 0.8
# Designs by words in the names of their kinds; the first that has one.
DESIGNS = {
    "clusters": ("whole", "stages", "areas"),
    "weights with noise": ("noise", "raked", "trimmed"),
    "non-response": ("non-response", "adjusted"),
    "unequal rates": ("rates", "strata", "provinces", "one of"),
    "simple": ("",),
}
TENTH = 1.5  # factor, in tenths with 100 records


class Figure(NamedTuple):
    """What is estimated: its name, its fields in scores and outcomes, its goals."""

    name: str
    estimate: str
    low: str
    high: str
    truth: str
    goal: float  # of the mean ratio, from 5 % on
    small_goal: float  # at 500 and 1,000 records

    def goal_of(self, size):
        return self.small_goal if size >= 1 else self.goal


RISKS = Figure("sum of risks", "risks", "risks_low", "risks_high", "risks", 0.1, 0.25)
TAU = Figure("tau", "tau", "low", "high", "truth", 0.2, 0.35)
FIGURES = (RISKS, TAU)


# --- numbers of a kind and size ------------------------------------------------------


def ratio(found, what, method=BEST):
    """Return the mean estimate over the mean truth, and the spread of a sample's.

    nan where less than half of the samples have an estimate.
    """
    estimate = np.array([value_of(one, method, what.estimate) for one in found])
    truth = np.array([getattr(one, what.truth) for one in found], float)
    known = ~np.isnan(estimate)
    mean = truth[known].mean() if known.any() else 0.0
    if 2 * known.sum() < len(found) or not mean:
        return math.nan, math.nan
    spread = (estimate - truth)[known].std(ddof=1) if known.sum() > 1 else math.nan
    return float(estimate[known].mean() / mean), float(spread / mean)


def value_of(outcome, method, what):
    return (
        getattr(outcome.scores[method], what) if method in outcome.scores else math.nan
    )


def covered(found, what, method=BEST):
    """Return for each sample whether the interval holds the truth; none without one."""
    ends = [
        (getattr(one, what.truth), value_of(one, method, what.low), one.scores[method])
        for one in found
        if method in one.scores
    ]
    return [
        low <= truth <= getattr(score, what.high)
        for truth, low, score in ends
        if not math.isnan(low)
    ]


def covered_in(results, what, method=BEST):
    """Return the same for the samples of all kinds."""
    return [one for found in results.values() for one in covered(found, what, method)]


def worst_tenth(found):
    """Return the true over the predicted risk that is furthest from 1 in a tenth."""
    predicted, true, number = sum(one.tenths for one in found)
    ratios = true[number >= 100] / predicted[number >= 100]
    if not len(ratios):
        return math.nan
    return float(ratios[np.argmax(np.abs(np.log(ratios)))])


def mean_of(found, method, what):
    values = [value_of(one, method, what) for one in found]
    values = [value for value in values if not math.isnan(value)]
    return float(np.mean(values)) if values else math.nan


# --- words ---------------------------------------------------------------------------


def size_name(size):
    return f"{size:,}" if size >= 1 else f"{100 * size:g} %"


def cell(value, digits=2):
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def percent(inside):
    return f"{100 * np.mean(inside):.0f}" if inside else "-"


def spread_cell(found, what):
    mean, spread = ratio(found, what)
    return "-" if math.isnan(mean) else f"{mean:.2f} ± {spread:.2f}"


# --- goals ---------------------------------------------------------------------------


def goals(results):
    """Return a table of the goals, and what the classes reach."""
    rows = []
    for what in FIGURES:
        for small in (False, True):
            rows.append(goal_of_ratio(results, what, small))
    for what in FIGURES:
        rows += goals_of_coverage(results, what)
    rows.append(goal_of_tenths(results))
    return table(["goal", "reached in", "range", ""], rows)


def goal_of_ratio(results, what, small):
    goal = what.small_goal if small else what.goal
    found = [
        ratio(f, what)[0] for (_, size), f in results.items() if (size >= 1) == small
    ]
    good = sum(abs(one - 1.0) <= goal for one in found)
    sizes = "500 and 1,000 records" if small else "5 and 20 %"
    return [
        f"{what.name} within {100 * goal:.0f} % of the truth, {sizes}",
        f"{good} of {len(found)}",
        f"{min(found):.2f} to {max(found):.2f}" if found else "-",
        reached(good == len(found)),
    ]


def goals_of_coverage(results, what):
    each = {key: covered(found, what) for key, found in results.items()}
    shares = [float(np.mean(inside)) for inside in each.values() if inside]
    by_size = [
        percent([x for (_, of), one in each.items() if of == size for x in one])
        for size in dict.fromkeys(size for _, size in each)
    ]
    every = covered_in(results, what)
    good = sum(share >= WORST_COVERED for share in shares)
    return [
        [
            f"{what.name}: coverage of {100 * COVERED:.0f} % over all kinds",
            f"{percent(every)} %",
            f"{', '.join(by_size)} %",
            reached(np.mean(every) >= COVERED),
        ],
        [
            f"{what.name}: coverage of {100 * WORST_COVERED:.0f} % in each kind",
            f"{good} of {len(shares)}",
            f"{100 * min(shares):.0f} to {100 * max(shares):.0f} %",
            reached(good == len(shares)),
        ],
    ]


def goal_of_tenths(results):
    tenths = [worst_tenth(found) for found in results.values()]
    tenths = [one for one in tenths if not math.isnan(one)]
    good = sum(1 / TENTH <= one <= TENTH for one in tenths)
    return [
        f"true over predicted risk within a factor of {TENTH} in each tenth",
        f"{good} of {len(tenths)}",
        f"{min(tenths):.2f} to {max(tenths):.2f}" if tenths else "-",
        reached(good == len(tenths)),
    ]


def misses_of(found, size):
    """Return what a kind and size misses, in words."""
    said = []
    for what in FIGURES:
        mean, _ = ratio(found, what)
        if not abs(mean - 1.0) <= what.goal_of(size):
            said.append(f"{what.name} {mean:.2f}")
        inside = covered(found, what)
        if inside and np.mean(inside) < WORST_COVERED:
            said.append(f"coverage of {what.name} {percent(inside)} %")
    tenth = worst_tenth(found)
    if tenth < 1 / TENTH or tenth > TENTH:
        said.append(f"a tenth {tenth:.2f}")
    return said


def misses(results):
    """Return a line for each kind that misses a goal."""
    lines = []
    for name in KINDS:
        said = [
            f"{size_name(size)}: {', '.join(missed)}"
            for (kind, size), found in results.items()
            if kind == name and (missed := misses_of(found, size))
        ]
        if said:
            lines.append(f"- **{name}**. {'; '.join(said)}")
    return "\n".join(lines) or "None."


def design_table(results):
    """Return a table of what each group of designs reaches, small samples apart."""
    rows = []
    for design in DESIGNS:
        for small in (True, False):
            some = {
                (name, size): found
                for (name, size), found in results.items()
                if design_of(name) == design and (size >= 1) == small
            }
            if some:
                size = "500 and 1,000" if small else "5 and 20 %"
                rows.append([f"{design}, {size}", *group_cells(some)])
    header = ["design", "samples"]
    for what in FIGURES:
        header += [what.name, "coverage", f"{OWN_WEIGHTS}, {NO_CLUSTERS}"]
    return table(header, rows)


def design_of(name):
    """Return the group of designs of a kind."""
    return next(
        each for each, words in DESIGNS.items() if any(w in name for w in words)
    )


def group_cells(results):
    cells = [f"{sum(map(len, results.values()))}"]
    for what in FIGURES:
        found = [ratio(one, what)[0] for one in results.values()]
        others = [percent(covered_in(results, what, m)) for m in METHODS[3:5]]
        cells += [
            f"{min(found):.2f} to {max(found):.2f}",
            percent(covered_in(results, what)),
            ", ".join(others),
        ]
    return cells


# --- tables ------------------------------------------------------------------------


def by_kind(results):
    """Return the results of each kind by size."""
    kinds = {}
    for (name, size), found in results.items():
        kinds.setdefault(name, {})[size] = found
    return kinds


def joined(sizes, figure):
    return " ".join(figure(found) for found in sizes.values())


def figure_table(results, what):
    """Return a table of one figure by the classes: ratios, coverage."""
    kinds = by_kind(results)
    sizes = list(dict.fromkeys(size for _, size in results))
    header = ["kind", *map(size_name, sizes), "coverage, %"]
    rows = [
        [
            name,
            *(spread_cell(found, what) for found in of.values()),
            joined(of, lambda found: percent(covered(found, what))),
            *([joined(of, lambda f: cell(worst_tenth(f)))] if what is RISKS else []),
        ]
        for name, of in kinds.items()
    ]
    return table([*header, "worst tenth"] if what is RISKS else header, rows)


def method_table(results, what, methods):
    """Return a table of the mean ratios by method."""
    rows = [
        [name, *(ratios(of, what, method) for method in methods)]
        for name, of in by_kind(results).items()
    ]
    return table(["kind", *methods], rows)


def ratios(sizes, what, method):
    return joined(sizes, lambda found: cell(ratio(found, what, method)[0]))


def setting_table(results, method):
    """Return a table of the kinds that a setting concerns: the classes without it."""
    rows = [
        [
            name,
            *(ratios(of, what, one) for what in FIGURES for one in (method, BEST)),
            *(joined(of, lambda f: percent(covered(f, w, method))) for w in FIGURES),  # noqa: B023
        ]
        for name, of in by_kind(results).items()
        if any(method in one.scores for found in of.values() for one in found)
    ]
    header = ["kind"]
    for what in FIGURES:
        header += [f"{what.name}, {method}", BEST]
    return table([*header, *(f"coverage, {what.name}" for what in FIGURES)], rows)


def method_summary(results, methods):
    """Return a table of the kinds within the goals, and the coverage, by method."""
    rows = []
    for method in methods:
        row = [method]
        for what in FIGURES:
            for small in (False, True):
                row.append(within(results, what, method, small))
        for what in FIGURES:
            row.append(percent(covered_in(results, what, method)))
        rows.append(row)
    header = ["model"]
    for what in FIGURES:
        for goal, sizes in ((what.goal, "5 and 20 %"), (what.small_goal, "500, 1,000")):
            header.append(f"{what.name} ± {100 * goal:.0f} %, {sizes}")
    return table([*header, "coverage, risks", "coverage, tau"], rows)


def within(results, what, method, small):
    found = [
        (ratio(f, what, method)[0], what.goal_of(size))
        for (_, size), f in results.items()
        if (size >= 1) == small
    ]
    found = [(one, goal) for one, goal in found if not math.isnan(one)]
    if not found:
        return "-"
    good = sum(abs(one - 1.0) <= goal for one, goal in found)
    ratios = [one for one, _ in found]
    return f"{good} of {len(found)} ({min(ratios):.2f} to {max(ratios):.2f})"


def fit_table(results):
    """Return a table of the fits, and of how well they tell records apart."""

    def poisson(found):
        return f"{100 * np.mean([math.isnan(one.exponent) for one in found]):.0f}"

    columns = {
        "sample uniques": lambda f: f"{np.mean([one.uniques for one in f]):.0f}",
        "tau": lambda f: f"{np.mean([one.truth for one in f]):.0f}",
        "classes": lambda f: f"{np.median([one.classes for one in f]):.0f}",
        "Poisson, %": poisson,
        "AUC": lambda f: cell(mean_of(f, BEST, "auc")),
        "Brier": lambda f: cell(mean_of(f, BEST, "brier"), 3),
        "Brier, Pitman-Yor": lambda f: cell(mean_of(f, "Pitman-Yor", "brier"), 3),
        "Brier, weights": lambda f: cell(mean_of(f, "weights", "brier"), 3),
    }
    rows = [
        [name, *(joined(of, column) for column in columns.values())]
        for name, of in by_kind(results).items()
    ]
    return table(["kind", *columns], rows)


# --- the page ----------------------------------------------------------------------


def text(results, replicates):
    peers = [peer for peer in PEERS if peer in next(iter(results.values()))[0].scores]
    methods = [*METHODS, *peers]
    versions = f"riskcore {riskcore.__version__}, numpy {version('numpy')}"
    samples = sum(map(len, results.values()))
    doubt = 100 * math.sqrt(0.95 * 0.05 / replicates)
    lacking = "" if peers else f". Left out: {_riskutility.lacking()}"
    return f"""\
# Models of cells against the truth

Generated, nothing here is edited by hand.

`{command()}`: {versions}.

{
        paragraph(f'''
Populations of {N:,} people are drawn, and samples of 500 and 1,000 records, 5 and 20 %,
by the designs of surveys; all again for each of {replicates} replicates, {samples:,}
samples together. The truth is known: the sum of 1/F over the records, which
`assess(..., population=...)` calls expected re-identifications, and tau, the number of
sample uniques that are population uniques. A ratio is the mean estimate over the mean
truth; after ± stands the standard deviation of estimate - truth over the mean truth.
Coverage is the share of samples whose 95 % interval holds the truth: with {replicates}
samples one of 95 % shows as 95 ± {doubt:.0f}. The worst tenth is the true over the
predicted risk, over all replicates, of that tenth of the records by rising risk in
which it is furthest from 1. Four figures in a row are for 500, 1,000, 5 % and
20 %.''')
    }

## Summary

The latent classes as `assess` has them, with `cluster=` where clusters were sampled. A
kind is a population with a design, at one of the four sizes:

{goals(results)}

Each miss:

{misses(results)}

{WHY.format(one_in=one_in(replicates))}

By design, the smallest and largest ratio of its kinds, and the share of intervals that
hold the truth, in %; then that share with the weights as they are, and without
`cluster=`:

{design_table(results)}

## Kinds

{KINDS_IN_WORDS}

## Sum of risks over truth

{figure_table(results, RISKS)}

## tau over truth

{figure_table(results, TAU)}

## Other models

{METHODS_IN_WORDS}{lacking}

Kinds within the goals, with the smallest and largest ratio, and the share of intervals
that hold the truth, in %:

{method_summary(results, methods)}

Sum of risks over truth:

{method_table(results, RISKS, METHODS[:2])}

tau over truth:

{method_table(results, TAU, [*METHODS[:2], *peers])}

## What the settings change

The classes without a setting beside those with it; and the pairs of keys.

{
        '''

'''.join(setting_table(results, method) for method in METHODS[2:-1])
    }

## Fits

{
        paragraph('''
Poisson: in how many samples no overdispersion was found. AUC is the chance that of two
sample uniques the one that is a population unique has the larger probability; one
probability for all has 0.5. Brier is the mean square of probability less 0 or 1.''')
    }

{fit_table(results)}
"""


def one_in(replicates):
    """Return how rarely intervals of 90 % hold the truth in less than 80 %."""
    few = math.ceil(WORST_COVERED * replicates) - 1
    return f"{1.0 / binom.cdf(few, replicates, 0.9):.0f}"


WHY = """\
Why:

- Scattered Zipf: the keys tell nothing, so no model of the keys can be right.
- Trimmed weights, non-response that is not adjusted: the weights are wrong, which no
  model can know. The ratios stay near 1, but intervals are for right weights.
- Austria: of its households of three people a third have an exact copy. So rare cells
  are far more uneven than common ones. The few cells of a small sample that have two
  records do not tell that. Its areas are runs of households that are not alike: there
  leaving out half of the own area takes too much.
- Whole employers: a small sample has some twenty, and three keys are the same for all
  employees of one.
- A chain of keys is not a mixture of 30 classes: there the pairs fit.
- Lowest tenths at 500 and 1,000 records: the error of the estimated probabilities, most
  of all where areas are few.
- 20 %: the intervals allow for an error of every model, of 2 % of sums and 4 % of tau
  (a standard deviation, for the people outside the sample). In some kinds it is larger.
- A kind that holds the truth in 90 % of all samples falls below 80 % by chance, too: in
  one of {one_in} of such kinds."""

KINDS_IN_WORDS = f"""\
Populations, drawn again for every replicate:

- independent keys: six keys, 2 to 80 categories
- six classes: a mixture of six, five keys; then with cells of a gamma law about it, of
  shape (N pi)^b, b 0 and 1/2. In these and the first the family of the model holds
- chain of keys: each of six keys depends strongly on the one before it
- scattered Zipf: cells of Zipf's law at random places of a table: the keys tell nothing
- census: `riskcore.simulate.microdata` by province, sex, age in years, marital status,
  education and household size; finer: by municipality; alike: by keys that members of
  a household share
- mixed areas: six classes whose shares differ by area, and a little the categories
  within a class

Populations of files, which are not part of the project:

- persons of 1994: 30,162 real persons by 7 keys (UCI Adult)
- Austria: 58,654 synthetic persons in households by 6 keys (eusilcP of the R package
  simFrame)
- employees: 15,691 real employees of 500 employers by 8 keys (ses of the R package
  laeken)

Designs; if none is named the sample is simple:

- equal provinces: equally many records from every province; strata by pairs: rates
  differ by province and age, by a factor of 3; strata: by a factor of 7, by province or
  by size of enterprise. These are keys
- rates by income: the upper third by income, which is not a key, is sampled 7.5 times
  as often as the lower third
- noise: strata, and weights with a lognormal noise of 0.5 (of whole households, one for
  each household); raked: then raked to the margins of province, age and sex; trimmed:
  strata and non-response, and weights with noise cut at their upper tenth
- non-response: it depends on age and region, and the weights are all equal; adjusted:
  by classes of age and region
- one of a household: one person of each sampled household
- whole households, areas, employers: sampled as such; areas have {TAKE} households, or
  {TAKE * FAMILY} people in mixed areas
- two stages: areas of {TAKE / PART:g} households, and of each one in {1 / PART:g}
  households; in mixed areas one in {1 / PART:g} people"""

METHODS_IN_WORDS = f"""\
- weights: f/F by the weights alone, as the individual risk has it
- Pitman-Yor: the law of cell sizes by Pitman (`riskcore.models.Pitman`, by maximum
  likelihood), which knows no keys. All sample uniques have one probability; the sum of
  risks is n E K/N, the scaling law of Rocher, Hendrickx and de Montjoye (2025). No
  figure where less than half of the samples have an estimate
- pairs: `LogLinear` with all pairs of keys, for tables up to 400,000 cells
- {OWN_WEIGHTS}: the classes with `smooth_weights=False`, where weights differ within
  cells
- {NO_CLUSTERS}: the classes without `cluster=`, where clusters were sampled
- riskutility: the three estimates of tau of `population_uniqueness` of the R package
  riskutility, run from its own source with the true rate n/N"""
