"""Audit synthetic samples of populations of known truth."""

import time

import numpy as np

from bench._cell_kinds import KINDS, missing
from bench._generators import GENERATORS
from riskcore.auditing.audit import audit

SIZES = (0.01, 0.05, 0.2)
NAMES = (
    "independent keys",
    "six classes",
    "six classes, b 1/2",
    "chain of keys",
    "census",
    "census, noise",
    "persons of 1994",
    "Austria",
    "employees",
)


def study(name, size, replicate):
    kind = KINDS[name]
    rng = np.random.default_rng([3, *name.encode(), replicate])
    population = kind.population(rng)
    n = round(size * len(population.cell))
    drawn = kind.sample(population.people, n, rng)
    codes = [code[population.cell[drawn.rows]] for code in population.codes]
    keys = [f"key{i}" for i in range(len(codes))]
    original = dict(zip(keys, codes, strict=True)) | {"w": drawn.weights}
    everybody = [code[population.cell] for code in population.codes]
    for which, generator in GENERATORS.items():
        made = dict(zip(keys, generator(codes, rng), strict=True))
        start = time.perf_counter()
        found = audit(original, made, keys, "w")
        low, high = found.expected_right_claims_interval()
        seconds = time.perf_counter() - start
        levels = [int(code.max()) + 1 for code in everybody]
        cell = np.ravel_multi_index(everybody, levels)
        people = dict(
            zip(*(x.tolist() for x in np.unique(cell, return_counts=True)), strict=True)
        )
        of = np.ravel_multi_index([made[k] for k in keys], levels)[found.identity.rows]
        seen = set(np.ravel_multi_index(codes, levels).tolist())
        truth = sum(1 / people[x] for x in of.tolist() if x in seen)
        # target
        guess = audit(original, made, keys[:-1], "w", target=keys[-1:]).attributes[0]
        rest = np.setdiff1d(np.arange(len(population.cell)), drawn.rows)
        rest = rng.choice(rest, min(n, len(rest)), replace=False)
        holdout = {
            k: code[population.cell[rest]]
            for k, code in zip(keys, population.codes, strict=True)
        }
        held = audit(
            original, made, keys[:-1], "w", target=keys[-1:], holdout=holdout
        ).attributes[0]
        print(
            f"{name} | {size} | {which} | {found.claims} | {found.expected_right_claims:.4g} "
            f"({low:.4g} {high:.4g}) | {truth:.4g} | {found.expected_right_claims / max(truth, 1e-9):.3f} "
            f"{low <= truth <= high} | {guess.excess:.3f} {guess.excess_interval()[0]:.3f} {guess.excess_interval()[1]:.3f} | {held.excess:.3f} {held.excess_interval()[0]:.3f} {held.excess_interval()[1]:.3f} | {seconds:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    for name in NAMES:
        if name not in missing():
            for size in SIZES:
                study(name, size, 0)
