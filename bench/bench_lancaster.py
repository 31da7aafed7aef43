"""Compare c(lambda) of Lancaster's model over all cells with numpy.sum.

    python -m bench.bench_lancaster [rounds]

The records are simulated, as many and with as many categories as in Takemura's example:
249,704,000 cells. numpy.sum adds an array of that many doubles, 2 GB. Rounds interleave
the cases in one process and one thread; the figures are medians. The goal is to find
c(lambda) for five lambdas in at most twice the time of numpy.sum.
"""

from functools import partial

import numpy as np

from bench._common import given, interleaved, origin, publish, reached, table
from riskcore.models.lancaster import Lancaster

RECORDS, POPULATION = 9809, 4_867_000
LEVELS = {
    "relationship": 14,
    "sex": 2,
    "age": 91,
    "marital status": 5,
    "place of birth": 14,
    "spouse": 7,
    "own child": 2,
    "age of own child": 5,
    "related child": 2,
    "detailed relationship": 10,
}
LAMBDAS = [0.2, 0.4, 0.6, 0.8, 1.0]
# Takemura, section 3: the sums of negative probabilities.
PRINTED = [-0.013, -0.193, -0.465, -0.758, -1.065]
GOAL = 2


def make_records(n):
    """Return codes of people whose keys depend on each other, with pairs unseen."""
    rng = np.random.default_rng(1)

    def draw(law):
        """Draw a category in each row of a table of relative frequencies."""
        law = np.asarray(law, float)
        reached = np.cumsum(law / law.sum(axis=1, keepdims=True), axis=1)
        below = rng.random(len(law))[:, np.newaxis] > reached
        return np.minimum(below.sum(axis=1), law.shape[1] - 1)

    years = np.arange(91)
    pyramid = np.where(years < 60, 1.0, np.exp((60 - years) / 14))
    age = rng.choice(91, n, p=pyramid / pyramid.sum())
    adult, band = age >= 15, np.clip((age - 15) // 15, 0, 4)
    never, child = 4, 4
    by_age = [
        [1, 0.1, 0.001, 0.02, 20],
        [6, 2, 0.05, 0.3, 3],
        [8, 2, 0.3, 0.2, 1],
        [8, 1.5, 1, 0.2, 0.5],
        [4, 0.5, 5, 0.1, 0.3],
    ]
    marital = np.where(adult, draw(np.array(by_age)[band]), never)
    married = marital == 0
    of_status = np.eye(5, 7, 1)
    of_status[0, :3] = 20, 1, 0.3
    spouse = np.where(adult, draw(of_status[marital]), 6)
    places = np.tile([0, 0, 0, 5, 5, 1, 2, 10, 5, 2, 2, 5, 2, 1.0], (n, 1))
    places[~adult, 2] = 800
    places[adult & (age < 30) & ~married, 2] = 300
    places[adult, 0] = 300
    places[adult & married, 1] = 300
    places[adult & ~married, 11] += 50
    relationship = draw(places)
    details = np.eye(14, 10) + np.eye(14, 10, -10)
    details[np.arange(14), (3 * np.arange(14) + 1) % 10] += 0.05
    details[:, 9] += 0.02
    detail = draw(details[relationship])
    births = np.append(12, 1 / np.arange(1, 14) ** 1.3)
    birth = draw(np.tile(births, (n, 1)))
    likely = np.where((age > 22) & (age < 50), 0.6, 0.05)
    parent = adult & (relationship < 2) & (rng.random(n) < likely)
    young = [[3, 1, 0.3, 0.1], [1, 2, 1, 0.5], [0.2, 0.5, 2, 2], [0, 0.1, 0.5, 4]]
    of_child = np.where(parent, draw(np.array([*young, [1, 1, 1, 10]])[band]), child)
    related = parent | (rng.random(n) < 0.06)
    sex = rng.integers(0, 2, n)
    keys = relationship, sex, age, marital, birth, spouse, parent, of_child, related
    return [key.astype(np.uint8) for key in (*keys, detail)]


def unseen(model):
    """Return all pairs of categories that do not occur together."""
    return {pair: excess == -1 for pair, excess in model.excess.items()}


def sample_uniques(codes):
    """Return the codes of the cells with one record."""
    cells, records = np.unique(np.array(codes), axis=1, return_counts=True)
    return list(cells[:, records == 1])


def fit_rows(model, uniques):
    """Return what the model says of the simulated file, by lambda."""
    degrees = [0.0, *LAMBDAS]
    negative = model.negative_sum(degrees)
    clipped = model.tau(uniques, POPULATION, degrees, renormalize=False)
    tau = model.tau(uniques, POPULATION, degrees)
    columns = zip(degrees, negative, [0.0, *PRINTED], clipped, tau, strict=True)
    return [
        [f"{degree}", f"{sum_:.3f}", f"{printed:.3f}", f"{without:.2f}", f"{one:.2f}"]
        for degree, sum_, printed, without, one in columns
    ]


def main():
    (rounds,) = given(9)
    codes = make_records(RECORDS)
    model = Lancaster.fit(codes)
    assert model.levels == tuple(LEVELS.values()), "a category does not occur"
    zeros = Lancaster.fit(codes, structural_zeros=unseen(model))
    doubles = np.ones(model.cells)
    cases = {
        "numpy.sum of as many doubles": doubles.sum,
        "c(lambda), five lambdas": partial(model.normalizer, LAMBDAS),
        "c(lambda), one lambda": partial(model.normalizer, 1.0),
        "c(lambda), five lambdas, structural zeros": partial(zeros.normalizer, LAMBDAS),
    }
    medians = interleaved(cases, rounds)
    whole, five, *_ = medians.values()
    rows = [
        [name, f"{time:.3f}", f"{time / model.cells * 1e9:.2f}", f"{time / whole:.2f}"]
        for name, time in medians.items()
    ]
    uniques = sample_uniques(codes)
    fitted = fit_rows(model, uniques)
    names = ["lambda", "sum of negative p", "as printed", "clipped", "renormalized"]
    publish(
        "lancaster",
        f"{origin('numpy')}; {RECORDS} records, {len(LEVELS)} keys, "
        f"{model.cells:,} cells; one thread, medians of {rounds} interleaved rounds."
        f"\n\n{table(['pass', 'seconds', 'ns per cell', 'times numpy.sum'], rows)}\n\n"
        f"Goal, five lambdas within {GOAL} times numpy.sum: {five / whole:.2f} times, "
        f"{reached(five <= GOAL * whole)}.\n\nThe simulated file has "
        f"{len(uniques[0])} sample uniques; of them unique among {POPULATION:,} people "
        "as well, by the model (printed: the sums of Takemura's own file):\n\n"
        f"{table(names, fitted)}",
    )


if __name__ == "__main__":
    main()
