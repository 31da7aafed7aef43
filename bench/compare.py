"""Compare the numbers and the speed of two commits, call by call.

    python -m bench.compare REVISION [rounds]

The calls of `CALLS` run on the working tree and on the revision, each in processes of
its own with a code cache of its own, in turn. What they return is hashed: every double
to its last bit, every file byte by byte. Times are CPU seconds, the smallest of the
rounds. Exit status 1 if a result differs.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]


def points(n=200_000):
    import numpy as np

    rng = np.random.default_rng(1)
    real = 10 ** rng.uniform(-3, 6, n)
    f = np.where(rng.random(n) < 0.5, rng.geometric(0.2, n), real)
    return f, 2.0 ** -rng.uniform(0, 60, n)


def of_points(name, n=200_000):
    """Return a call of a ufunc at cells of every region."""

    def call():
        import numpy as np

        import riskcore

        f, p = points(n)
        second = f / p if name.endswith("frequencies") else p
        arguments = {
            "population_frequency_quantile": (np.linspace(0, 1, n), np.ceil(f), p),
            "individual_risk_quantile": (np.linspace(0, 1, n), np.ceil(f), p),
        }.get(name, (f, second))
        if "probability" in name or name.endswith(("distribution", "survival")):
            arguments = (np.ceil(f) + np.arange(n) % 50, np.ceil(f), p)
        return getattr(riskcore, name)(*arguments)

    return call


def of_integers(name):
    """Return a call of a published form at whole f."""

    def call():
        import numpy as np

        from riskcore import forms

        f, p = points(20_000)
        f, p = np.ceil(f), np.maximum(p, 1e-6)
        return getattr(forms, name)(f, p)

    return call


KEYS = ["REGION", "SEX", "AGE", "MARSTAT"]


def csv():
    """Return the path of a survey that the command makes."""
    path = Path("survey.csv")
    if not path.exists():
        from riskcore import cli

        words = ["simulate", "microdata", "--records", "60000", "--seed", "7"]
        cli.main([*words, "--output", str(path), "--quiet"])
    return path


def assessed(**options):
    def call():
        import riskcore

        result = riskcore.assess(
            str(csv()), KEYS, weight="WEIGHT", household="HOUSEHOLD", **options
        )
        cells = result.cells
        thresholds = [result.risk_threshold(rate=x) for x in (0.01, 0.001, 1e-4)]
        return [
            cells.sample_frequency, cells.weight_sum, result.individual_risk,
            result.households.risk, result.reidentification_rate, thresholds,
            result.riskiest(5),
        ]  # fmt: skip

    return call


def protected(**options):
    def call():
        import riskcore

        ages = riskcore.Recoding.intervals([15, 30, 45, 65])
        result = riskcore.protect(
            str(csv()), KEYS, "WEIGHT", recodings={"AGE": ages}, **options
        )
        result.write(
            "safe.csv", overwrite=True, allow_unsafe=True, renumber=["HOUSEHOLD"],
            shuffle=True, secret="ab" * 32,
        )  # fmt: skip
        one = result.sets[0].protected
        return [
            result.suppressed, one.reidentification_rate, one.max_risk,
            Path("safe.csv").read_bytes(),
        ]  # fmt: skip

    return call


def models():
    import riskcore

    sizes = riskcore.models.SizeIndices({1: 2249, 2: 521, 3: 252, 4: 130, 9: 40})
    found = []
    for name in ("Pitman", "Ewens", "DirichletMultinomial", "PoissonGamma"):
        model = getattr(riskcore.models, name)
        options = {"cells": 10**6} if name in ("DirichletMultinomial",) else {}
        try:
            fitted = model.fit(sizes, **options)
        except (TypeError, ValueError) as error:
            found.append(str(error))
            continue
        found += [fitted.tau(sizes, N=10**6), fitted.tau_interval(sizes, N=10**6)]
    return found


def intruder():
    from riskcore.intruder import disclosure_risk, total_risk, unique_fraction

    return [
        disclosure_risk(n=636, N=63624, acquaintances=1000, unique_fraction=0.001),
        total_risk.__name__, unique_fraction.__name__,
    ]  # fmt: skip


def uniques():
    import riskcore

    found = riskcore.estimate_uniques(str(csv()), KEYS, population=6_000_000)
    return found.to_dict()


def errors():
    import riskcore

    return riskcore.accuracy.error_table(
        ["series7", "franconi"], [1, 2, 5, 10], [0.001, 0.01, 0.1]
    )


UFUNCS = (
    "individual_risk", "log_individual_risk", "individual_risk_gradient",
    "individual_risk_from_frequencies", "individual_risk_bounds",
)  # fmt: skip
SLOW = (
    "individual_risk_deviation", "individual_risk_second_moment",
    "individual_risk_quantile", "population_frequency_quantile",
)  # fmt: skip
FORMS = ("series7", "franconi", "closed_form")
CALLS = {
    **{name: of_points(name) for name in UFUNCS},
    **{name: of_points(name, 3000) for name in SLOW},
    **{f"forms.{name}": of_integers(name) for name in FORMS},
    "simulate": lambda: csv().read_bytes(),
    "assess": assessed(),
    "assess, wildcard": assessed(missing="wildcard"),
    "assess, series7": assessed(method="series7"),
    "protect": protected(threshold=0.002),
    "protect, rate": protected(rate=0.001),
    "protect, argus": protected(threshold=0.002, suppression="argus"),
    "protect, household": protected(threshold=0.002, household="HOUSEHOLD"),
    "models": models,
    "intruder": intruder,
    "estimate_uniques": uniques,
    "error_table": errors,
}


def text_of(value):
    """Write down a result to the last bit."""
    import numpy as np

    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    if isinstance(value, dict):
        return str([(str(key), text_of(one)) for key, one in value.items()])
    if isinstance(value, list | tuple):
        return str([text_of(one) for one in value])
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, float | np.floating):
        return float(value).hex()
    return str(value)


def cpu_seconds(call):
    start = time.process_time()
    call()
    return time.process_time() - start


def run_all():
    """Print the hash and the CPU seconds of each call, as JSON."""
    import warnings

    warnings.simplefilter("ignore")
    found = {}
    for name, call in CALLS.items():
        try:
            result = text_of(call())
            seconds = min(cpu_seconds(call) for _ in range(5))
        except Exception as error:
            result, seconds = f"{type(error).__name__}: {error}", 0.0
        found[name] = hashlib.sha256(result.encode()).hexdigest()[:16], seconds
        if seconds == 0.0:
            found[name] = result, seconds
    print(json.dumps(found))


def of_tree(tree, folder):
    folder.mkdir(mode=0o700, exist_ok=True)
    environment = dict(
        os.environ, PYTHONPATH=str(tree), RISKCORE_CACHE_DIR=str(folder / "cache"),
        RISKCORE_CONFIG_DIR=str(folder / "config"),
    )  # fmt: skip
    # The calls of this file, whatever the revision's own bench holds.
    code = "import riskcore, runpy\n"
    code += f"assert riskcore.__file__.startswith({str(tree)!r})\n"
    code += f"runpy.run_path({__file__!r})['run_all']()\n"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment, cwd=folder, check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def main(revision, rounds=3):
    """Compare the working tree with a revision."""
    from bench._common import command, machine, table

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        tree = folder / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "-q", "--detach", tree, revision], check=True)
        try:
            trees = {"before": tree, "now": ROOT}
            runs = {which: [] for which in trees}
            for _ in range(rounds):
                for which, path in trees.items():
                    runs[which].append(of_tree(path, folder / which))
        finally:
            subprocess.run([*git, "remove", "--force", tree], check=True)
    rows, different = [], []
    for call in CALLS:
        hashes = {one[call][0] for which in runs for one in runs[which]}
        if len(hashes) > 1:
            different.append(f"{call}: {sorted(hashes)}")
        before, now = (min(one[call][1] for one in runs[which]) for which in runs)
        ratio = f"{now / before:.2f}" if before else ""
        same = "differs" if len(hashes) > 1 else "same"
        rows.append([call, same, f"{before:.3f}", f"{now:.3f}", ratio])
    header = ["call", "numbers", "before, s", "now, s", "ratio"]
    print(f"`{command()}`: {machine('numpy', 'numba', 'pyarrow')}.\n")
    print(table(header, rows))
    print(*different, sep="\n")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])))
