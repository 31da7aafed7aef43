"""Compare the models of cells with the truth: bench/results/calibration_of_cells.md.

    python -m bench.calibration_cells [replicates] [--outcomes FILE] [--processes 1]

Populations of known law are drawn again for every replicate, and samples of them by
many designs; each model says of each sample unique how likely it is unique in the
population, and of each record E[1/F], which the simulation knows. All chance comes from
fixed seeds: the same versions give the same page, except rows of data that are not part
of the project. With a file of outcomes a later run continues where it stopped.

Data that are not part of the project are CSV files in the folder that the environment
variable RISKCORE_POPULATIONS names: adult.csv (UCI Adult, 30,162 complete records, ';'
between columns), eusilcP.csv (the synthetic population of the R package simFrame) and
ses.csv (the data ses of the R package laeken). RISKCORE_RISKUTILITY names a copy of the
R package riskutility, whose estimates of tau are then a column.
"""

import argparse
import json
import math
import multiprocessing
import os
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

import riskcore
from bench import _cell_kinds, _cells_page, _riskutility
from bench._cell_kinds import KINDS
from bench._cells_page import BEST, NO_CLUSTERS, OWN_WEIGHTS, PEERS
from bench._common import RESULTS, origin, replace
from riskcore.assessment.population import deviation_by, risk_by
from riskcore.models import CellTable, LatentClass, LogLinear, Pitman, SizeIndices
from riskcore.models.poisson_binomial import PoissonBinomial

# Records, or their share of the population.
SIZES = (500, 1000, 0.05, 0.2)
REPLICATES = 20
LEVEL = 0.95
TABLE = 400_000  # cells of a table that is held for the models of pairs


# --- one sample --------------------------------------------------------------------


class Score(NamedTuple):
    """What a model says of one sample, and how right it is; nan where it says nothing.

    tau and the sum of risks over the records, each with the ends of its interval.
    """

    tau: float
    low: float = math.nan
    high: float = math.nan
    auc: float = math.nan
    brier: float = math.nan
    risks: float = math.nan
    risks_low: float = math.nan
    risks_high: float = math.nan


class Outcome(NamedTuple):
    """One sample."""

    truth: int
    risks: float  # sum of 1/F over the records
    sizes: dict[int, int]  # cells by number of records
    people: int
    scores: dict[str, Score]
    classes: int
    exponent: float  # of the shapes; nan without overdispersion
    tenths: np.ndarray  # predicted and true risk and number by tenth of the records

    @property
    def uniques(self):
        return self.sizes.get(1, 0)


def score(chance, hit):
    """Return how right chances are for events that did or did not happen."""
    hits, misses = int(hit.sum()), int((~hit).sum())
    auc = math.nan
    if hits and misses:
        above = rankdata(chance)[hit].sum() - hits * (hits + 1) / 2
        auc = above / (hits * misses)
    brier = float(((chance - hit) ** 2).mean()) if len(hit) else math.nan
    return Score(math.fsum(chance), auc=auc, brier=brier)


def by_tenth_of_records(risk, truth, records):
    """Return predicted and true risks, and records, of each tenth by rising risk."""
    order = np.argsort(risk, kind="stable")
    before = np.cumsum(records[order]) - records[order]
    tenth = np.minimum(10 * before // records.sum(), 9).astype(int)
    rows = [
        np.bincount(tenth, (each * records)[order], 10)
        for each in (risk, truth, np.ones(len(risk)))
    ]
    return np.array(rows)


def outcome(population, drawn):
    """Return what the models say of a sample, beside the truth."""
    rows, weights, cluster = drawn
    codes = [code[population.cell[rows]] for code in population.codes]
    levels = [int(code.max()) + 1 for code in population.codes]
    given = {"levels": levels, "weight_sum": weights}
    cells = CellTable.of(codes, cluster=cluster, **given)
    F = population.frequencies[np.unique(population.cell[rows])]
    hit = F[cells.unique] == 1
    fitted = LatentClass.fit(cells, threads=1)
    models = {BEST: fitted}
    if fitted.smoothing is not None:
        models[OWN_WEIGHTS] = fitted.with_smoothed_weights(False)
    alone = cells if cluster is None else CellTable.of(codes, **given)
    if cluster is not None:
        models[NO_CLUSTERS] = LatentClass.fit(alone, threads=1)
    sizes = dict(enumerate(np.bincount(cells.records).tolist()))
    sizes = {records: many for records, many in sizes.items() if records and many}
    people = int(population.frequencies.sum())
    scores = {
        "weights": by_weights(cells, hit),
        "Pitman-Yor": by_pitman(sizes, people, hit),
        **{name: by_model(model, hit) for name, model in models.items()},
    }
    if math.prod(levels) <= TABLE:
        pairs = LogLinear.fit(alone, terms="all two-way")
        scores["pairs"] = by_model(pairs, hit, intervals=False)
    law = fitted.overdispersion
    return Outcome(
        int(hit.sum()),
        math.fsum(cells.records / F),
        sizes,
        people,
        scores,
        fitted.classes,
        math.nan if law.poisson else law.exponent,
        by_tenth_of_records(risk_by(fitted.prior()), 1.0 / F, cells.records),
    )


def by_weights(cells, hit):
    """Return what the individual risk says, by the weights alone."""
    f = cells.records.astype(float)
    risk = riskcore.individual_risk_from_frequencies(f, np.maximum(cells.weight_sum, f))
    p = 1.0 / cells.weight_sum[cells.unique]
    low, high = PoissonBinomial.of(p).interval(LEVEL)
    return score(p, hit)._replace(low=low, high=high, risks=math.fsum(f * risk))


def by_pitman(sizes, people, hit):
    """Return what Pitman's law of cell sizes says: of every sample unique the same."""
    indices = SizeIndices(sizes)
    model = Pitman.fit(indices)
    low, high = model.wide_tau_interval(indices, people, LEVEL)
    found = score(np.full(len(hit), model.uniqueness(indices.n, people)), hit)
    risks = indices.n * model.correctness(people)
    return found._replace(low=low, high=high, risks=risks)


def by_model(model, hit, intervals=True):
    """Return what a model of cells says, with its intervals by the jackknife."""
    sample = model.sample
    found = score(model.unique_probability()[sample.unique], hit)
    risks = math.fsum(sample.records * risk_by(model.prior()))
    if not intervals:
        return found._replace(risks=risks)
    low, high = model.tau_interval(level=LEVEL)
    _, least, most = model.interval(None, risk_by, LEVEL, deviation=deviation_by)
    return found._replace(
        low=low, high=high, risks=risks, risks_low=least, risks_high=most
    )


def study(name, size, replicate):
    """Return the outcome of one replicate of one kind and size."""
    kind = KINDS[name]
    rng = np.random.default_rng([3, *name.encode(), replicate])
    population = kind.population(rng)
    n = size if size >= 1 else round(size * len(population.cell))
    rng = np.random.default_rng([4, *name.encode(), replicate, round(1e3 * size)])
    return outcome(population, kind.sample(population.people, n, rng))


# --- outcomes in a file --------------------------------------------------------------

Task = tuple[str, float, int]  # kind, size, replicate


def line_of(task, found):
    """Return an outcome as a line of JSON."""
    plain = found._asdict() | {
        "scores": {name: list(one) for name, one in found.scores.items()},
        "sizes": list(found.sizes.items()),
        "tenths": found.tenths.tolist(),
    }
    return json.dumps([task, plain])


def of_line(line):
    """Return the task and outcome of a line."""
    task, plain = json.loads(line)
    plain |= {
        "scores": {name: Score(*one) for name, one in plain["scores"].items()},
        "sizes": dict(plain["sizes"]),
        "tenths": np.array(plain["tenths"]),
    }
    return tuple(task), Outcome(**plain)


def read_outcomes(path):
    """Return the outcomes of a file, and cut off a last line that was not finished."""
    if not path.exists():
        return {}
    whole, end, unfinished = path.read_text().rpartition("\n")
    if unfinished:
        path.write_text(whole + end)
    return dict(of_line(line) for line in whole.splitlines())


def task_done(task):
    return task, study(*task)


def run(tasks, path, processes):
    """Do the tasks without an outcome in the file; return all outcomes."""
    found = read_outcomes(path)
    left = [task for task in tasks if task not in found]
    started = time.monotonic()
    with (
        path.open("a") as lines,
        multiprocessing.get_context("spawn").Pool(processes) as pool,
    ):
        for done, (task, one) in enumerate(pool.imap_unordered(task_done, left), 1):
            lines.write(line_of(task, one) + "\n")
            lines.flush()
            found[task] = one
            minutes = (time.monotonic() - started) / 60
            print(f"{done} of {len(left)}, {minutes:.1f} minutes", file=sys.stderr)
    return {task: found[task] for task in tasks}


def add_riskutility(results):
    """Add the estimates of riskutility to the scores of all samples, if it is there."""
    if lacking := _riskutility.lacking():
        print(f"riskutility is left out: {lacking}", file=sys.stderr)
        return
    samples = [one for found in results.values() for one in found]
    n = [sum(size * cells for size, cells in one.sizes.items()) for one in samples]
    told = _riskutility.population_uniques(
        [(one.sizes, each / one.people) for one, each in zip(samples, n, strict=True)]
    )
    for one, taus in zip(samples, told, strict=True):
        one.scores.update(zip(PEERS, map(Score, taus), strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("replicates", nargs="?", type=int, default=REPLICATES)
    parser.add_argument("--outcomes", type=Path, help="file that a run goes on with")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    missing = _cell_kinds.missing()
    if missing:
        print(f"left out, no file: {', '.join(missing)}", file=sys.stderr)
    kinds = list(product([n for n in KINDS if n not in missing], SIZES))
    # Replicate by replicate, so that a run that ends early has some of each kind.
    tasks = [(*kind, one) for one in range(options.replicates) for kind in kinds]
    with tempfile.TemporaryDirectory() as folder:
        path = options.outcomes or Path(folder) / "outcomes"
        found = run(tasks, path, options.processes)
    results = {
        kind: [found[*kind, one] for one in range(options.replicates)] for kind in kinds
    }
    add_riskutility(results)
    page = _cells_page.text(results, options.replicates)
    (RESULTS / "calibration_of_cells.md").write_text(page)
    by_design = f"{origin('numpy')}.\n\n{_cells_page.design_table(results)}"
    replace(RESULTS / "cell_models.md", "calibration_cells", by_design)


if __name__ == "__main__":
    main()
