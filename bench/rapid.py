"""Reproduce published figures of RAPID, the sure guesses of a learner.

    python -m bench.rapid                 # the simulated files of the paper
    python -m bench.rapid adult.data      # the census file of the paper, too, from UCI

RISKCORE_RAPID names a copy of the repository of the authors' package; R needs ranger.
The package then measures the same files. It is no part of this project.

The synthesizer is CART as in synthpop (Nowok, Raab and Dibben 2016): each column by a
tree of the columns before it, with leaves of five records, from which values are drawn.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from bench._common import RESULTS, origin, table, timed
from riskcore.common.progress import silent
from riskcore.data.source import Source
from riskcore.disclosure.audit_files import AuditFiles
from riskcore.disclosure.learner import learned_guesses

# Templ, Thees and Müller (2026): mean and standard deviation of ten files by the
# strength of the dependence, and the range of five files made from the census.
PUBLISHED = {0: (0.235, 0.039), 5: (0.763, 0.015), 10: (0.866, 0.008),
             20: (0.918, 0.010), 50: (0.952, 0.006)}  # fmt: skip
PUBLISHED_ADULT = "0.716 to 0.728"
ADULT = ("age workclass fnlwgt education education.num marital.status occupation "
         "relationship race sex capital.gain capital.loss hours.per.week "
         "native.country income")  # fmt: skip
PACKAGE = """
for (f in list.files(file.path("{source}", "R"), full.names = TRUE)) source(f)
o <- read.csv("{original}", stringsAsFactors = TRUE)
s <- read.csv("{released}", stringsAsFactors = TRUE)
for (v in names(o)) if (is.factor(o[[v]])) s[[v]] <- factor(s[[v]], levels(o[[v]]))
y <- names(o)[ncol(o)]
r <- suppressWarnings(rapid(o, s, setdiff(names(o), y), y, cat_tau = 0.3))
cat("RESULT", r$risk$confidence_rate)
"""


def standardized(x):
    return (x - x.mean()) / x.std(ddof=1)


def simulated(n, k, rng):
    """Return a file of the paper's appendix with a dependence of strength k."""
    signal, noise = np.sqrt(k / (1 + k)), np.sqrt(1 / (1 + k))
    age = rng.normal(45, 15, 4 * n)
    age = age[(age >= 18) & (age <= 90)][:n]
    years, status = standardized(age), rng.normal(size=n)
    latent = signal * (0.8 * status - 0.4 * years) + noise * rng.normal(size=n)
    level = np.digitize(latent, [-0.3, 0.7])
    pay = signal * (0.5 * status + 0.3 * years + 0.25 * level)
    pay += noise * rng.normal(size=n)
    rich = standardized(pay)
    health = signal * (0.6 * status - 0.5 * years + 0.2 * level + 0.2 * rich)
    health += noise * rng.normal(size=n)
    odds = np.exp(k * np.array([
        0 * years, 0.8 * years - 0.3 * rich - 0.2 * level,
        years - 0.2 * rich - 0.1 * level,
    ]) + np.array([[0.0], [-1.5], [-1.3]]))  # fmt: skip
    shares = np.cumsum(odds / odds.sum(0), axis=0)
    male = signal * (0.3 * status - 0.2 * years + 0.2 * level)
    return pandas.DataFrame({
        "gender": np.array(["female", "male"])[
            (rng.random(n) < 1 / (1 + np.exp(-male))).astype(int)
        ],
        "age": age, "education": np.array(["1low", "2medium", "3high"])[level],
        "income": np.exp(10 + pay), "health_score": 100 / (1 + np.exp(-health)),
        "disease_status": np.array(["healthy", "diabetic", "hypertensive"])[
            (rng.random(n) > shares).sum(0)
        ],
    })  # fmt: skip


def synthesized(data, rng, leaf=5):
    """Return as many records drawn by trees."""
    n, x, made = len(data), [], []
    for name in data:
        values, codes = np.unique(data[name], return_inverse=True)
        number = data[name].dtype.kind in "if"
        if x:
            kind = DecisionTreeRegressor if number else DecisionTreeClassifier
            tree = kind(min_samples_leaf=leaf, min_samples_split=3 * leaf)
            tree.set_params(random_state=0)
            tree.fit(np.column_stack(x), values[codes] if number else codes)
            leaves, wanted = (tree.apply(np.column_stack(v)) for v in (x, made))
        else:
            leaves = wanted = np.zeros(n, int)
        order = np.argsort(leaves, kind="stable")
        first, end = (
            np.searchsorted(leaves[order], wanted, side) for side in ("left", "right")
        )
        drawn = order[first + (rng.random(n) * (end - first)).astype(int)]
        made.append(codes[drawn])
        x.append(codes)
    return pandas.DataFrame(
        {
            name: np.unique(data[name])[codes]
            for name, codes in zip(data, made, strict=True)
        }
    )


def ours(original, released, holdout=None):
    """Return the sure guesses of the last column by all others."""
    *keys, target = original
    given = {"original": original, "released": released, "holdout": holdout}
    sources = Source.several(given, None)
    single = {"target": [target], "numeric": []}
    files = AuditFiles.read(sources, keys, None, single, None, silent)
    return learned_guesses(files, [target], [], silent, [])[0]


def theirs(original, released):
    """Return the package's figure for the same files, nan without the package."""
    if "RISKCORE_RAPID" not in os.environ:
        return float("nan")
    with tempfile.TemporaryDirectory() as folder:
        names = {x: str(Path(folder) / f"{x}.csv") for x in ("original", "released")}
        original.to_csv(names["original"], index=False)
        released.to_csv(names["released"], index=False)
        code = PACKAGE.format(source=os.environ["RISKCORE_RAPID"], **names)
        done = subprocess.run(
            ["Rscript", "-e", code], capture_output=True, text=True, check=True
        )
    return float(done.stdout.rpartition("RESULT ")[2])


def of_simulated_files():
    """Yield a row for each strength of the dependence."""
    for k, (mean, spread) in PUBLISHED.items():
        figures = []
        for replicate in range(10):
            rng = np.random.default_rng([k, replicate])
            original = simulated(1000, k, rng)
            released = synthesized(original, rng)
            package = theirs(original, released)
            figures.append((ours(original, released).share, package))
        (our_mean, package), (our_spread, other) = (
            np.mean(figures, axis=0), np.std(figures, axis=0, ddof=1)
        )  # fmt: skip
        error = np.hypot(spread, our_spread) / np.sqrt(10)
        yield [
            str(k), f"{mean:.3f} ({spread:.3f})", f"{our_mean:.3f} ({our_spread:.3f})",
            f"{(our_mean - mean) / error:+.1f}", f"{package:.3f} ({other:.3f})",
        ]  # fmt: skip
        print(f"dependence {k}", file=sys.stderr)


def of_census(path):
    """Yield a row for each of two releases."""
    data = pandas.read_csv(path, names=ADULT.split(), skipinitialspace=True)
    data = data.drop(columns=["fnlwgt", "education"])
    for seed in range(2):
        released = synthesized(data, np.random.default_rng(seed))
        found, seconds = timed(lambda released=released: ours(data, released))
        yield [f"{seed + 1}", PUBLISHED_ADULT, f"{found.share:.3f}",
               f"{theirs(data, released):.3f}", f"{seconds:.1f}"]  # fmt: skip


def of_others(path):
    """Yield a row for each release of half of the census; the others are a holdout."""
    data = pandas.read_csv(path, names=ADULT.split(), skipinitialspace=True)
    data = data.drop(columns=["fnlwgt", "education"])
    order = np.random.default_rng(3).permutation(len(data))
    half, holdout = (data.iloc[rows] for rows in np.array_split(order, 2))
    rng = np.random.default_rng(4)
    releases = {"a copy": half, "leaves of 1": synthesized(half, rng, 1),
                "leaves of 5": synthesized(half, rng)}  # fmt: skip
    for name, released in releases.items():
        yield [name, *ours(half, released, holdout).row()[2:]]


def main(paths):
    """Print the tables, and write them."""
    head = ["dependence", "published", "ours", "standard errors apart", "the package"]
    lines = [
        "# Published figures of RAPID, computed again", "",
        origin("numpy", "scikit-learn") + ".", "",
        "The share of the people about whom a random forest is sure, at tau = 0.3.", "",
        "## Ten simulated files of 1,000 records", "",
        "Mean, and standard deviation, of ten files; the package has our files.", "",
        table(head, of_simulated_files()),
    ]  # fmt: skip
    for path in paths:
        head = ["release", "published", "ours", "the package", "our seconds"]
        others = ["release", "sure", "about others", "excess", "95 % interval"]
        lines += [
            "", "## The census of 1994 (Adult)", "",
            "32,561 persons, twelve keys, the target is the class of income. The "
            "package has our files.", "",
            table(head, of_census(path)), "",
            "The package learns from all records and ours from 20,000. And trees of "
            "scikit-learn do not count a column that is constant in a node among "
            "those they try, such as gains of capital here; ranger's do.", "",
            "## What is told of the file, and what of everybody", "",
            "Half of the persons are the original, the others a holdout.", "",
            table(others, of_others(path)),
        ]  # fmt: skip
    text = "\n".join(lines) + "\n"
    (RESULTS / "rapid.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
