"""Sample points, exact values and the measure of error that the tests share."""

import csv
import hashlib
import itertools
import json
import math
import os
import re
import shlex
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import settings

from riskcore import cli
from riskcore.core.special.gauss import ball_step as nearest
from riskcore.core.special.gauss import enclosure
from riskcore.core.special.gauss import fast_integer as risk_pairs
from tests import needs, reference
from tests.reference import as_mpmath

# A shell has what it starts in the background ignore Ctrl-C, which tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run: a failure is there for all who run the tests, or for
# none. New ones: pytest --hypothesis-profile=search.
settings.register_profile("same", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("search", deadline=None)
settings.load_profile("same")


@pytest.fixture(autouse=True, scope="session")
def folder_of_the_key(tmp_path_factory):
    """Keep the key of the records of tests apart from the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("config")
        patch.setenv("RISKCORE_CONFIG_DIR", str(folder / "riskcore"))
        yield


# Tests that are too long for the default run, found by `python -m bench.costly_tests`.
with (Path(__file__).parent / "costly.csv").open(newline="") as table:
    COSTLY = {row["test"]: row["thorough"] for row in csv.DictReader(table)}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave the costly tests to .ci/run; of most of them one case stays."""
    seen = set()
    for item in items:
        name = item.nodeid.partition("[")[0]
        which = COSTLY.get(name)
        if which == "all" or (which and name in seen):
            item.add_marker(pytest.mark.thorough)
        seen.add(name)
        if needs.is_of_an_engine(item):
            item.add_marker(pytest.mark.engines)


def mixed_p(rng, smallest, top, n):
    """Draw p below ``top``: most near it, some down to 2**smallest."""
    kind = rng.random(n)
    near, middle = rng.uniform(0, 4, n), rng.uniform(0, 45, n)
    far = rng.uniform(0, -smallest, n)
    return top * 2.0 ** -np.where(kind < 0.6, near, np.where(kind < 0.9, middle, far))


def near_one(rng, least, n):
    """Draw p within 2**-least of 1."""
    return 1 - 2.0 ** -rng.uniform(least, 53, n)


def half_integers(rng, low, high, n):
    """Draw f from low to high, half of them integers."""
    f = rng.uniform(low, high, n)
    return np.where(rng.random(n) < 0.5, f, np.floor(f))


def next_to_integers(rng, top, n):
    """Draw f within 2**-2 to 2**-52 of an integer."""
    sign = rng.choice([-1.0, 1.0], n)
    return rng.integers(1, top, n) + sign * 2.0 ** -rng.uniform(2, 52, n)


def real(rng, top, n):
    """Draw f < top that is not an integer, some next to one."""
    f = np.where(
        rng.random(n) < 0.6, rng.uniform(0, top, n), next_to_integers(rng, top, n)
    )
    return np.where(f == np.rint(f), f + 0.25, f)


def below(rng, top, n):
    """Draw f < top: half near it, half over many orders of magnitude."""
    kind = rng.random(n) < 0.5
    return top * np.where(kind, rng.random(n), 2.0 ** -rng.uniform(0, 300, n))


# The regions of core/special/gauss/fast_integer.py.
METHODS = {
    "one": lambda rng, n: (np.ones(n), mixed_p(rng, -890, 0.75, n)),
    "small": lambda rng, n: (rng.integers(2, 5, n), mixed_p(rng, -890, 0.75, n)),
    "forward_15": lambda rng, n: (rng.integers(5, 16, n), mixed_p(rng, -890, 0.5, n)),
    "near_one": lambda rng, n: (rng.integers(1, 4, n), near_one(rng, 2, n)),
    "levels": lambda rng, n: (
        rng.integers(4, 16, n),
        np.where(rng.random(n) < 0.5, rng.uniform(0.75, 1, n), near_one(rng, 2, n)),
    ),
    "levels, p from 1/2": lambda rng, n: (
        rng.integers(5, 16, n),
        rng.uniform(0.5, 0.75, n),
    ),
    "from_16": lambda rng, n: (half_integers(rng, 16, 32, n), mixed_p(rng, -890, 1, n)),
    "from_32": lambda rng, n: (
        np.where(
            rng.random(n) < 0.5,
            half_integers(rng, 32, 1000, n),
            10.0 ** rng.uniform(3, 15, n),
        ),
        mixed_p(rng, -890, 1, n),
    ),
    "levels_real": lambda rng, n: (
        rng.uniform(2, 16, n),
        np.where(rng.random(n) < 0.5, rng.uniform(0.5, 1, n), near_one(rng, 1, n)),
    ),
    "levels_real, f from 4": lambda rng, n: (
        rng.uniform(4, 16, n),
        rng.uniform(0.3, 0.5, n),
    ),
    "forward_real": lambda rng, n: (real(rng, 16, n), mixed_p(rng, -890, 0.3, n)),
    "forward_real, tiny f": lambda rng, n: (
        below(rng, 0.5, n),
        mixed_p(rng, -890, 0.3, n),
    ),
    "backward_real": lambda rng, n: (real(rng, 4, n), rng.uniform(0.3, 0.5, n)),
    "backward_real, p near one": lambda rng, n: (real(rng, 2, n), near_one(rng, 1, n)),
    "other, rare": lambda rng, n: (
        half_integers(rng, 0, 100, n) + 0.5,
        2.0 ** -rng.uniform(900, 1070, n),
    ),
}


@pytest.fixture(scope="session", params=METHODS)
def method(request):
    """Name of a method of METHODS; the test runs once for each."""
    return request.param


@pytest.fixture(scope="session")
def cells():
    """Return (f, p) of n cells of one method, or of all."""

    def draw(n, method=None, seed=1):
        rng = np.random.default_rng([seed, *(method or "all").encode()])
        if method:
            f, p = METHODS[method](rng, n)
        else:
            parts = [draw(n // len(METHODS) + 1, name, seed) for name in METHODS]
            mixed = rng.permutation(np.hstack(parts).T)
            f, p = mixed[:n].T.copy()
        return np.asarray(f, float), np.minimum(p, 1.0)

    return draw


def neighbors(*numbers):
    """Return each number with the doubles below and above it."""
    return [
        float(y)
        for x in numbers
        for y in (np.nextafter(x, 0), x, np.nextafter(x, np.inf))
    ]


@pytest.fixture(scope="session")
def borders():
    """Return (f, p) on the borders between methods and one ulp to either side."""
    f = [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, risk_pairs.F_BACKWARD, 5.0, 14.5, 15.0]
    f += [15.5, 16.0, 32.0, 1000.0, risk_pairs.RARE, risk_pairs.F_HUGE]
    p = [risk_pairs.P_NEAR_ONE, risk_pairs.P_HALF, risk_pairs.P_FORWARD]
    p += [risk_pairs.RARE, nearest.RARE, enclosure.P_SHORT, enclosure.P_LEVELS]
    p += [0.1, 0.03, 2.0**-40, 2.0**-480, 2.0**-1022]
    at_f = [(x, y) for x in neighbors(*f) for y in [*p, 1 - 2.0**-53, 1.0]]
    at_p = [(x, y) for x in [*f, 0.25] for y in neighbors(*p)]
    pairs = sorted({*at_f, *at_p})
    return tuple(np.array(pairs).T)


def arb_value(name, f, second):
    """Return the enclosure of a function by Arb, an implementation of its own."""
    bits = math.frexp(second)[1]
    if name.endswith("frequencies"):  # f/F may round to 0
        bits = math.frexp(f)[1] - bits
    ctx.prec = 300 - 2 * min(0, bits) - 2 * min(0, math.frexp(f)[1])
    f, second = arb(f), arb(second)
    p = f / second if name.endswith("frequencies") else second
    q = 1 - p
    G = q.hypgeom_2f1(1, 1, f + 1)
    if name.endswith("gradient"):
        return (G - 1) / q if q != 0 else 1 / (f + 1)
    r = G * p / f
    return r.log() if name.startswith("log") else r


def is_sharp(ball):
    """Whether a ball is good for more than 100 bits."""
    return ball.is_finite() and ball.rel_accuracy_bits() > 100


@pytest.fixture(scope="session")
def enclosed():
    """Return Arb's value as an mpmath number; it is refused below 100 bits."""

    def evaluate(name, f, second):
        ball = arb_value(name, float(f), float(second))
        assert is_sharp(ball)
        return as_mpmath(ball)

    return evaluate


def series_value(name, f, second):
    """Return the value by Gauss's series, for f >= 1000 (at most some 20 terms)."""
    with mpmath.workprec(400):
        f, second = mpmath.mpf(f), mpmath.mpf(second)
        p = f / second if name.endswith("frequencies") else second
        q = 1 - p
        term, H, j = 1 / (f + 1), mpmath.mpf(0), 1  # H = (G - 1)/q
        while term > mpmath.ldexp(H, -200):
            H += term
            j += 1
            term *= j * q / (f + j)
        if name.endswith("gradient"):
            return H
        r = p / f * (1 + q * H)
        return mpmath.log(r) if name.startswith("log") else r


@pytest.fixture(scope="session")
def series():
    """Return the value by Gauss's series, for f >= 1000."""
    return series_value


@pytest.fixture(scope="session")
def exact():
    """Return the exact value at two doubles: Arb's, or that of the series.

    The reference takes a hundred times as long as Arb, at tiny f more; it has the
    points that Arb does not know. That they agree is tested in test_reference.py.
    """

    def evaluate(name, f, second):
        f, second = float(f), float(second)
        if f >= 1000:
            return series_value(name, f, second)
        ball = arb_value(name, f, second)
        return (
            as_mpmath(ball) if is_sharp(ball) else getattr(reference, name)(f, second)
        )

    return evaluate


@pytest.fixture(scope="session")
def ulps():
    """Return |got - exact| in units of the last place of got, a double.

    The spacing of subnormal numbers counts as it is. An infinity is right where the
    exact value rounds to it; nan never is.
    """

    def measure(got, exact):
        got = float(got)
        if math.isinf(got) and got > 0 and exact >= mpmath.ldexp(2 - 2.0**-53, 1023):
            return 0.0
        if not math.isfinite(got):
            return math.inf
        return float(abs(mpmath.mpf(got) - exact) / float(np.spacing(abs(got))))

    return measure


@pytest.fixture(scope="session")
def python_in():
    """Return what makes a runner of code in new processes in a folder."""
    root = Path(__file__).resolve().parents[1]

    def run(code, folder, *, path=root, cache=None, wait=True, **variables):
        environment = dict(os.environ, PYTHONPATH=str(path), **variables)
        if cache is not None:
            environment["RISKCORE_CACHE_DIR"] = str(cache)
        process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", code],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if not wait:
            return process
        output, error = process.communicate(timeout=600)
        assert process.returncode == 0, error
        return output.strip()

    return lambda folder: partial(run, folder=folder)


@pytest.fixture
def python(python_in, tmp_path):
    """Return a runner of code in a new process, with a cache of its own if asked."""
    return python_in(tmp_path)


@pytest.fixture
def run(capsys):
    """Run a command line in this process; return its status, output and errors.

    The line is split as a shell does; further words are taken as they are.
    """

    def command(line="", *words):
        try:
            status = cli.main([*shlex.split(line), *map(str, words)])
        except SystemExit as exit:
            status = exit.code
        return status, *capsys.readouterr()

    return command


@pytest.fixture
def refused(run):
    """Run a command line that must be refused; return the last line of its errors."""

    def command(line="", *words):
        status, out, err = run(line, *words)
        assert (status, out) == (2, ""), err
        last = err.splitlines()[-1]
        assert re.match("riskcore( [a-z-]+)?: error: ", last)
        return last

    return command


@pytest.fixture
def figures(run):
    """Run a command line with --json; return what a strict reader gets."""

    def command(line, *words, status=0):
        ended, out, err = run(line, *words, "--json")
        assert ended == status, err
        return json.loads(out, parse_constant=lambda name: pytest.fail(name))

    return command


@pytest.fixture(autouse=True)
def known_secrets(monkeypatch):
    """Let orders, new ids and noise be the same in every run: in a small file one draw
    in a few hundred tells two or three values by luck, and the warning is right.
    """
    numbers = itertools.count()

    def secret():
        return hashlib.sha256(b"%d" % next(numbers)).hexdigest()

    for module in ("release.writing", "protect"):
        monkeypatch.setattr(f"riskcore.protection.{module}.new_secret", secret)
    return secret
