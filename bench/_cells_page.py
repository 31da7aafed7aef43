"""The page of the study of the model of cells: goals, misses, kinds worst first."""

import math
from importlib.metadata import version
from itertools import chain
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

import riskcore
from bench._cell_kinds import FAMILY, KINDS, TAKE, N
from bench._common import command, reached, table
from bench._designs import CLUSTERS
from bench.atlas import paragraph

LARGE = 0.05  # shares from here on have the narrow goals
WRONG = 1.5  # a factor that needs a warning
MANY = 0.95  # share of the kinds that should meet a goal
COVERED, LEAST_COVERED = 0.9, 0.8
FEW = 5.0  # people: a truth below is taken as this many where a goal is judged


class Figure(NamedTuple):
    """What is estimated: its field in outcomes, and its goals."""

    name: str
    field: str
    goal: float  # of the ratio of sums, from 5 % on
    small_goal: float  # for smaller samples

    def goal_of(self, size):
        return self.goal if LARGE <= size < 1 else self.small_goal


RISKS = Figure("sum of risks", "risks", 0.1, 0.25)
TAU = Figure("tau", "tau", 0.2, 0.35)
ALL = Figure("sum over all records", "all_risks", 0.1, 0.25)


def sums(found, what):
    """Return the mean estimate and truth of samples with an estimate, and the ratio."""
    names = what.field, f"true_{what.field}"
    pairs = [[getattr(one, name) for name in names] for one in found]
    pairs = [pair for pair in pairs if not math.isnan(pair[0])]
    estimate, truth = np.mean(pairs, axis=0) if pairs else (math.nan, math.nan)
    return estimate, truth, estimate / truth if truth else math.nan


def off(found, what):
    """Return how far the estimate is from the truth, as a share; nan without one."""
    estimate, truth, _ = sums(found, what)
    return abs(estimate - truth) / max(truth, FEW)


def covered(found, what):
    """Return for each sample whether the interval holds the truth; none without one."""
    names = f"{what.field}_low", f"true_{what.field}", f"{what.field}_high"
    ends = [[getattr(one, name) for name in names] for one in found]
    return [low <= truth <= high for low, truth, high in ends if not math.isnan(low)]


def lowest_tenth(found):
    """Return predicted over true risk of the tenth of least predicted risk."""
    tables = [one.tenths for one in found if one.tenths]
    predicted, true = np.sum(tables, axis=0)[:2, 0] if tables else (math.nan, 1.0)
    return predicted / true


def unwarned_factor(found):
    """Return by what factor the sum to believe is off in samples without a warning."""
    left = [one for one in found if not one.warning]
    told = [one.risks if one.believed == "model" else one.by_weights for one in left]
    truth = sum(one.true_risks for one in left)
    if truth < FEW * max(len(left), 1):
        return 1.0
    return math.exp(abs(math.log(max(sum(told), 1e-9) / truth)))


def goals(results):
    """Return a table of the goals, and what is reached."""
    rows = []
    for what in (RISKS, TAU):
        for goal in (what.goal, what.small_goal):
            some = [f for (_, size), f in results.items() if what.goal_of(size) == goal]
            good = [off(found, what) <= goal for found in some]
            sizes = "5 and 20 %" if goal == what.goal else "smaller samples"
            name = f"{what.name} within {100 * goal:.0f} % of the truth, {sizes}"
            rows.append(share_row(name, good, MANY, [sums(f, what)[2] for f in some]))
    for what in (RISKS, TAU):
        inside = [covered(found, what) for found in results.values()]
        shares, every = [np.mean(each) for each in inside if each], [*chain(*inside)]
        name = f"{what.name}: the 95 % interval holds the truth"
        rows.append(share_row(f"{name}, in samples", every, COVERED, shares))
        good = [share >= LEAST_COVERED for share in shares]
        least = math.ceil(LEAST_COVERED * max(map(len, inside)))
        exact = 100 * binom.sf(least - 1, max(map(len, inside)), 0.95)
        name += f" in 80 % of a kind's samples (if all were exact, {exact:.0f} %)"
        rows.append(share_row(name, good, MANY, shares))
    factors = [unwarned_factor(found) for found in results.values()]
    name = f"the figure to believe within a factor of {WRONG}, or a warning"
    rows.append(share_row(name, [one <= WRONG for one in factors], 1.0, factors))
    header = ["goal", "wanted, %", "reached, %", "reached in", "range", ""]
    return table(header, list(filter(None, rows)))


def share_row(name, good, wanted, figures):
    """Return a row of a goal for a share of kinds; empty if there are none."""
    figures = [one for one in figures if not math.isnan(one)]
    if not good or not figures:
        return []
    shares = (f"{100 * share:.0f}" for share in (wanted, np.mean(good)))
    ends = f"{sum(good)} of {len(good)}", f"{min(figures):.2f} to {max(figures):.2f}"
    return [name, *shares, *ends, reached(np.mean(good) >= wanted)]


def missed(found, size):
    """Return what a kind and size misses, in words."""
    said = []
    for what in (RISKS, TAU):
        if not off(found, what) <= what.goal_of(size):
            said.append(what.name)
        inside = covered(found, what)
        if inside and np.mean(inside) < LEAST_COVERED:
            said.append(f"interval of {what.name}")
    if unwarned_factor(found) > WRONG:
        said.append("warning")
    return f"{size_name(size)}: {', '.join(said)}" if said else ""


def size_name(size):
    words = f"{size:,}" if size >= 1 else f"{100 * size:g} %"
    return words + " clusters" * (1 <= size < CLUSTERS)


def decimal(value, digits=2):
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def percent(inside):
    return decimal(100 * np.mean(inside), 0) if inside else "-"


def worst_first(results):
    """Return the results of each kind by size, those furthest from the goal first."""
    kinds = {}
    for (name, size), found in results.items():
        kinds.setdefault(name, {})[size] = found

    def distance(kind):
        errors = [off(f, RISKS) / RISKS.goal_of(size) for size, f in kind[1].items()]
        return np.nan_to_num(errors, nan=math.inf).max()

    return sorted(kinds.items(), key=distance, reverse=True)


COLUMNS = (
    ("risks", lambda found: decimal(sums(found, RISKS)[2])),
    ("all records", lambda found: decimal(sums(found, ALL)[2])),
    ("tau", lambda found: decimal(sums(found, TAU)[2])),
    ("true tau", lambda found: f"{sums(found, TAU)[1]:.3g}"),
    ("inside, risks", lambda found: percent(covered(found, RISKS))),
    ("inside, tau", lambda found: percent(covered(found, TAU))),
    ("lowest tenth", lambda found: decimal(lowest_tenth(found))),
    ("believe", lambda found: "/".join(sorted({one.believed for one in found}))),
    ("warned", lambda found: f"{sum(bool(one.warning) for one in found)}"),
    ("Poisson, %", lambda found: percent(["Poisson" in one.fit for one in found])),
    ("seconds", lambda found: decimal(np.median([one.seconds for one in found]), 1)),
)


def kind_tables(results):
    """Return a table for each set of sizes, with a line for each kind."""
    groups = {}
    for name, sizes in worst_first(results):
        row = [name]
        for _, column in COLUMNS:
            words = [column(found) for found in sizes.values()]
            same = len(set(words)) == 1 and not words[0][-1].isdigit()
            row.append(words[0] if same else " ".join(words))
        missing = [missed(found, size) for size, found in sizes.items()]
        row.append("; ".join(filter(None, missing)))
        groups.setdefault(tuple(sizes), []).append(row)
    header = ["kind", *(name for name, _ in COLUMNS), "missed"]
    return "\n\n".join(
        f"At {', '.join(map(size_name, sizes))}:\n\n{table(header, rows)}"
        for sizes, rows in groups.items()
    )


def laws_in_words(results):
    """Return a line for each law of populations, with its kinds."""
    by_law = {}
    for name in dict.fromkeys(name for name, _ in results):
        by_law.setdefault(KINDS[name].population.func.__doc__, []).append(name)
    return "\n".join(f"- {'; '.join(names)}: {law}" for law, names in by_law.items())


def text(results, samples):
    """Return the page."""
    seconds = np.array([one.seconds for found in results.values() for one in found])
    times = [f"{time:.1f}" for time in np.quantile(seconds, [0.5, 0.95, 1.0])]
    origin = f"riskcore {riskcore.__version__}, numpy {version('numpy')}"
    about = paragraph(ABOUT.format(samples=samples, many=len(seconds)))
    return f"""\
# Models of cells against the truth

Generated, nothing here is edited by hand.

`{command()}`: {origin}.

{about}

## Goals

{goals(results)}

## Fits

Median of an assessment {times[0]} s, 95 % below {times[1]} s, longest {times[2]} s.

## Kinds, worst first

{kind_tables(results)}

## Populations

{laws_in_words(results)}

{DESIGNS}
"""


ABOUT = f"""\
Populations of mostly {N:,} people are drawn, and samples of them by the designs of
surveys, {{samples}} for each kind and size, {{many:,}} in all. The truth is known: the
sum of 1/F over the sample uniques, and tau, the number of sample uniques that are
population uniques. A ratio is the sum of the estimates over the sum of the truth of the
samples, of risks over sample uniques and over all records. Where the truth is below
{FEW:g} people, a goal is judged as if it were {FEW:g}. The estimates are those of the
latent-class model as `assess` fits it, with `cluster=` where clusters were sampled.
"Inside" is the share of samples whose 95 % interval holds the truth, in %. The lowest
tenth is the predicted over the true risk of the tenth of the records with the lowest
predicted risk. "Poisson": how often no overdispersion was found."""

DESIGNS = f"""\
Designs, if none is named a simple sample: equal provinces (equally many records from
every province); strata, strata by pairs (rates by keys); rates by income, which is not
a key; noise (a lognormal factor of 0.5 on weights), raked and trimmed weights;
non-response, by age and region or by education, with weights that are all equal;
adjusted (by classes of age and region); quota (of sex and age, with some people easier
to reach); one person of a household; whole households, areas ({TAKE} households, or
{TAKE * FAMILY} people), villages, schools, states, employers, or in two stages; copies
(a quarter of the records are copies of others)."""
