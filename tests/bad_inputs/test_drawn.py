# ruff: noqa: PT017, RUF001
"""Bad inputs drawn at random, with a fixed seed: each ends in one clear line."""

import linecache
import os
import random
import warnings
from pathlib import Path

import numpy as np
import pytest

import riskcore

NUMBERS = (
    "1.5", "1e400", "-1e400", "nan", "inf", "", " ", "-0", "1e-400", "٣", "1,5", "0x1",
    "9" * 400, "1_0", "½", "−1", "1%%", "\n", "1\n", "-1", "0",
)  # fmt: skip
NAMES = (
    "no", "", "A\n", "а", "Å", "A\u030a", "REG ", "reg", "\x1b[2J", "W", "X,Y", "-1",
    "REG\x00", "\u202eGER", "k" * 5000,
)  # fmt: skip
FILES = {
    "empty.csv": b"",
    "head.csv": b"REG,SEX,W\n",
    "twice.csv": b"REG,REG,W\n1,2,3\n",
    "ragged.csv": b"REG,SEX,W\n1,2\n1,2,3,4\n",
    "latin.csv": b"REG,SEX,W\n\xff\xfe\xe4,2,3\n",
    "utf16.csv": "REG,SEX,W\n1,2,3\n".encode("utf-16"),
    "nul.csv": b"REG,SEX,W\n\x00,2,3\n",
    "quote.csv": b'REG,SEX,W\n"1,2,3\n',
    "zeros.csv": b"REG,SEX,W\n1,2,0\n1,2,-5\n",
    "nan.csv": b"REG,SEX,W\n1,2,nan\n1,2,inf\n1,2,\n",
    "huge.csv": b"REG,SEX,W\n1,2,1e400\n1,2,1e308\n1,2,1e308\n",
    "part.parquet": b"PAR1junkPAR1",
    "part.arrow": b"ARROW1\x00\x00junk",
    "part.sav": b"$FL2@(#)",
    "part.dta": b"<stata_dta>",
    "part.xpt": b"HEADER RECORD*******",
    "strange.rda": b"x",
    "good.csv": b"REG,SEX,W\n1,2,10\n1,3,20\n2,2,15\n",
    "good2.csv": b"REG,SEX,W\n1,2,10\n1,,20\n2,2,15\n",
}
PATHS = (*FILES, ".", "folder", "missing.csv", "/dev/null", "good.csv/x", "a\0b.csv")
READING = ("delimiter", "encoding", "decimal", "na")
OPTIONS = {
    "assess": ("threshold", "rate", "unsafe", "alpha", "top", "level", *READING),
    "protect": (
        "threshold", "rate", "k", "cost", "recode", "role", "accept", *READING
    ),
    "describe": ("role", *READING),
    "uniques": ("population", "cells", "level", "missing", *READING),
    "diversity": ("l", "t", "c", "alpha", "top", "kind", *READING),
    "suda": ("max-size", "fraction", "top", *READING),
    "check": ("k", "max-risk", "max-rate", "min-population", "l", *READING),
    "compare": ("interactions", "columns", "id", "recode", *READING),
    "audit": ("sampling-fraction", "report-top", "population", "missing", *READING),
    "try": ("candidate", "candidates", *READING),
    "error-table": ("f", "p", "forms"),
    "simulate": ("population", "cells", "exponent", "records", "seed", "theta"),
    "demo": ("records", "seed"),
}  # fmt: skip
GOOD = {
    "protect": ["--threshold", "50%", "--output", "out.csv"],
    "uniques": ["--population", "100"],
    "diversity": ["--sensitive", "W"],
    "check": ["--k", "2"],
    "compare": ["good2.csv"],
    "audit": ["good2.csv"],
    "try": ["--candidate", "a=--k 2"],
    "error-table": ["--forms", "series7", "--f", "1", "--p", "0.1"],
    "simulate": ["zipf", "--population", "100", "--cells", "10", "--exponent", "1"],
    "demo": ["--file", "out.csv", "--records", "9"],
}
TWO_FILES = ("audit", "compare")
WITHOUT_FILE = ("error-table", "simulate", "demo")


def drawn_command(rng):
    """Return the words of a command with at least one invalid or odd argument."""
    name = rng.choice(list(OPTIONS))
    good = list(GOOD.get(name, []))
    if name in WITHOUT_FILE:
        words = [name, *good]
    else:
        path = rng.choice(PATHS) if rng.random() < 0.4 else "good.csv"
        keys = [rng.choice(NAMES)] if rng.random() < 0.3 else ["REG", "SEX"]
        words = [name, path, *(good if name in TWO_FILES else []), "--keys", *keys]
        words += [] if name in TWO_FILES else good
        if rng.random() < 0.3 and name != "diversity":
            words += ["--weight", rng.choice([*NAMES, "W", "W", "W"])]
    for option in rng.sample(OPTIONS[name], rng.choice([0, 1, 1, 2])):
        if f"--{option}" in words:
            begin = words.index(f"--{option}")
            del words[begin : begin + 2]
        odd = [*NUMBERS, *NAMES] if option in READING else NUMBERS
        words.append(f"--{option}={rng.choice(odd)}")
    if rng.random() < 0.2 and "output" not in words and name not in WITHOUT_FILE:
        where = rng.choice([*PATHS, "out2.csv", "out2.xlsx"])
        words += ["--report" if name in ("check", "compare") else "--output", where]
    return words


def value(rng):
    """Return an argument of a kind that few functions take."""
    kinds = (
        None, "a", b"a", 1j, object(), [], {}, True, -1, 0, 2**70, 1e308, float("nan"),
        float("inf"), -0.0, 5e-324, [[1], [1, 2]], ["1", 2], np.array(["a"]), range(3),
        np.array([], dtype="M8[s]"), np.ones((2, 3)), np.array([None]), lambda: 0, {1},
    )  # fmt: skip
    return rng.choice(kinds)


def frame(rng):
    """Return columns, some of them odd."""
    columns = {"REG": [1, 1, 2], "SEX": ["m", "f", "m"], "W": [10.0, 20.0, 15.0]}
    for name in rng.sample(list(columns), rng.randint(0, 2)):
        columns[name] = value(rng)
    return rng.choice([columns, columns, columns, value(rng)])


FRAMES = ("assess", "protect", "tabulate", "check", "suda", "describe", "audit")


def drawn_call(rng):
    """Return the name of a function, and a call of it with odd arguments."""
    name = rng.choice(
        ["assess", "protect", "tabulate", "suda", "check", "describe", "audit",
         "household_risk",
         "individual_risk", "individual_risk_bounds", "individual_risk_with_prior"]
    )  # fmt: skip
    if name in FRAMES:
        data = frame(rng)
        keys = rng.choice([["REG", "SEX"], ["REG", "SEX"], value(rng), "REG", ["no"]])
        options = {"weight": rng.choice(["W", "W", None, value(rng)])}
        if name == "protect":
            options["threshold"] = rng.choice([0.5, value(rng), *NUMBERS])
        if name in ("protect", "describe") and rng.random() < 0.3:
            odd = {rng.choice(["W", "SEX", "no"]): rng.choice(["harmless", value(rng)])}
            which = ["roles"] if name == "describe" else ["roles", "accept"]
            options[rng.choice(which)] = rng.choice([odd, value(rng)])
        if name == "audit":
            options["released"] = frame(rng)
            for one in ("target", "record_by", "holdout", "population", "missing"):
                if rng.random() < 0.2:
                    options[one] = rng.choice(["W", ["W"], frame(rng), value(rng)])
        return name, lambda: getattr(riskcore, name)(data, keys=keys, **options)
    arguments = [value(rng) for _ in range(3 if name.endswith("prior") else 2)]
    return name, lambda: getattr(riskcore, name)(*arguments)


def written():
    return {path: path.stat().st_size for path in Path().rglob("*")}


@pytest.fixture
def files(folder):
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000))
def test_commands(seed, files, run):
    words = drawn_command(random.Random(seed))
    before = written()
    try:
        status, _, err = run(*words)
    except SystemExit as left:
        status, err = left.code, ""
    assert status in (0, 1, 2), (words, err)
    assert "Traceback" not in err, words
    assert len(err.splitlines()) < 40, words
    if status == 2:
        assert written() == before, words


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(500))
def test_calls(seed, folder):
    name, call = drawn_call(random.Random(seed))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
        except (KeyError, IndexError, AttributeError) as error:
            if type(error).__module__ == "builtins":
                pytest.fail(f"{name}: {type(error).__name__}: {error}")
        except (ValueError, TypeError, LookupError, OSError, OverflowError) as error:
            place = error.__traceback__
            while place.tb_next:
                place = place.tb_next
            file, line = place.tb_frame.f_code.co_filename, place.tb_lineno
            said = linecache.getline(file, line).strip().startswith("raise ")
            ours = place.tb_frame.f_globals.get("__name__", "").startswith("riskcore")
            by_numpy = (
                file == __file__
            )  # a ufunc refuses what is not an array of numbers
            assert (said and ours) or by_numpy, f"{name}: {file}:{line}: {error!r}"
            assert str(error), name
    assert len(caught) < 10, name
    assert os.listdir() == []
