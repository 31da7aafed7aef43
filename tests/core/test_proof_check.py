"""The small checker of the fast paths: is it right, and does it see mistakes?"""

import json
import math
import random
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from flint import arb, ctx

from riskcore.core.special.gauss import fast_integer, risk_blocks

certificate = import_module("bench.proof.certificate")
check = import_module("bench.proof.check")

ROOT = Path(__file__).parents[2]
SAMPLE = ["ONE 1", "NEAR_ONE 2", "LEVELS 5", "FROM_32 1.1259e+15"]
PLACES = {  # of f and p, random: where a region's error is looked at
    "ONE": lambda rng: (1.0, 0.75 * rng.random()),
    "SMALL": lambda rng: (float(rng.randint(2, 4)), rng.uniform(0.3, 0.749)),
    "FORWARD_15": lambda rng: (float(rng.randint(5, 15)), rng.uniform(0.2, 0.499)),
    "NEAR_ONE": lambda rng: (float(rng.randint(1, 3)), rng.uniform(0.751, 1.0)),
    "LEVELS": lambda rng: (float(rng.randint(5, 15)), rng.uniform(0.501, 0.9)),
    "FROM_16": lambda rng: (rng.uniform(16.1, 31.9), rng.random()),
    "FROM_32": lambda rng: (rng.uniform(32.1, 300.0), rng.random()),
    "LEVELS_REAL": lambda rng: (rng.uniform(4.1, 15.9), rng.uniform(0.31, 0.9)),
    "BACKWARD_REAL": lambda rng: (rng.uniform(0.01, 3.9), rng.uniform(0.31, 0.9)),
}


@pytest.fixture(scope="module")
def every():
    ctx.prec = check.BITS
    return dict(check.claims(check.in_exact()))


@pytest.fixture(scope="module")
def kernel():
    ctx.prec = check.BITS
    return check.kernel_of_pairs()


def risk(f, p):
    """Return r(f, p) = (p/f) 2F1(1, 1; f+1; q) as a ball of 300 bits."""
    f, p = arb(f), arb(p)
    return p / f * (1 - p).hypgeom_2f1(1, 1, f + 1)


@pytest.mark.parametrize("region", PLACES)
def test_pairs_are_within_the_bounds_of_their_boxes(region, kernel):
    rng, code = random.Random(7), getattr(fast_integer, region)
    for _ in range(12):
        f, p = PLACES[region](rng)
        high, low, _ = risk_blocks.pair_of_region(code, f, p)
        width = 2.0 ** -rng.randint(9, 16)
        ends = [(x * (1.0 - width), x * (1.0 + width)) for x in (f, p)]
        ends[0] = (f, f) if f == int(f) else ends[0]
        ends[1] = ends[1][0], min(ends[1][1], 1.0)

        ctx.prec = check.BITS
        check.Tape()
        of = f if ends[0][0] == ends[0][1] else check.entry(*ends[0])
        k = math.floor(math.log2(p / check.FIRST))
        parts = [end * 2.0**-k for end in ends[1]], (k, k)
        if any(parts[0][0] < cut <= parts[0][1] for cut in check.CENTERS):
            continue  # the logarithm's formula is another there
        one, two, _ = kernel(code, of, check.entry(*ends[1], parts))
        bound = check.plus(one, two).off()
        ctx.prec = 300
        off = abs(arb(high) + arb(low) - risk(f, p))
        # What the formula leaves out is not in it.
        assert off < bound + abs(risk(f, p)) * arb(2) ** -67.5
        ctx.prec = check.BITS


@pytest.mark.slow
def test_every_cell_of_the_domain_has_a_claim(every):
    codes = check.in_exact()
    assert check.check_regions(codes, every) > 200
    fewer = {name: one for name, one in every.items() if name != "LEVELS 7"}
    with pytest.raises(ValueError, match=r"no claim holds at f, p = 7\.0"):
        check.check_regions(codes, fewer)


def test_splits_of_a_box_hold_all_its_doubles():
    box = check.Box((2.0, 3.0), (0.25, 0.5))
    found = list(check.leaves(box, "fp..p.."))
    ends = sorted((*one.f, *one.p) for one in found)
    above = math.nextafter(2.5, 3.0)
    assert [one[:2] for one in ends] == [(2.0, 2.5)] * 2 + [(above, 3.0)] * 2
    for low, high in ((0, 1), (2, 3)):
        assert ends[low][2] == 0.25
        assert math.nextafter(ends[low][3], 1.0) == ends[high][2]
        assert ends[high][3] == 0.5
    with pytest.raises(ValueError, match="goes on"):
        list(check.leaves(box, "..."))


def program(root):
    """Return a program that checks a sample where neither NumPy nor Numba is."""
    return f"""
import sys
for name in ("numpy", "numba", "riskcore", "bench", "mpmath", "llvmlite"):
    sys.modules[name] = None  # an import of it fails
sys.path.insert(0, {str(root / "bench/proof")!r})
import json, check
found = json.loads(open({str(root / "bench/proof/sample.json")!r}).read())
print(check.check(found, list(found)))
"""


def copied(path, change=None):
    """Copy the checker, the kernels' sources and a sample of the certificate."""
    shutil.copytree(
        ROOT / "riskcore/core",
        path / "riskcore/core",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    (path / "bench/proof").mkdir(parents=True)
    shutil.copy(ROOT / "bench/proof/check.py", path / "bench/proof")
    claims = json.loads(certificate.PATH.read_text())["claims"]
    sample = {name: claims[name] for name in SAMPLE}
    if change:
        change(path, sample)
    (path / "bench/proof/sample.json").write_text(json.dumps(sample))
    return subprocess.run(
        [sys.executable, "-I", "-c", program(path)], capture_output=True, text=True
    )


def replace(name, before, after):
    def change(path, sample):
        file = path / "riskcore/core/special" / name
        text = file.read_text()
        assert before in text
        file.write_text(text.replace(before, after, 1))

    return change


def coarser(path, sample):
    sample["ONE 1"] = ["." for _ in sample["ONE 1"]]


def fewer(path, sample):
    sample["ONE 1"] = sample["ONE 1"][1:]


def test_a_sample_of_the_certificate_is_checked_by_arb_alone(tmp_path):
    found = copied(tmp_path)
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith(f"({len(SAMPLE)}, ")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            replace("gauss/rounding_test.py", "(low - error)", "(low - 0.5 * error)"),
            "rounded is another",
        ),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in (
                (coarser, "of claimed in"),
                (fewer, "of claimed|zip"),
                (replace("gauss/rounding_test.py", "2.0**-67", "2.0**-69"), "ONE 1"),
                (
                    replace("gauss/fast_integer.py", "P_NEAR_ONE if f", "0.76 if f"),
                    "both answers|no claim",
                ),
                (
                    replace("gauss/fast_integer.py", "((c - s) - r) +", "(c) +"),
                    "not its formula|of claimed",
                ),
                (
                    replace("elementary.py", "999ap-2 0x1.24924", "989ap-2 0x1.24924"),
                    "of claimed",
                ),
            )
        ),
    ],
)  # fmt: skip
def test_another_certificate_or_source_is_refused(tmp_path, change, said):
    found = copied(tmp_path, change)
    assert found.returncode == 1
    assert any(one in found.stderr for one in said.split("|")), found.stderr[-500:]


RISK, SLOW, TEST = (
    f"core/{name}.py"
    for name in (
        "risk/individual", "special/gauss/ball_step", "special/gauss/rounding_test"
    )
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "path", "before", "after"),
    [
        ("_risk", RISK, "rounded(high, low, error)", "rounded(high, low, 0.0)"),
        ("_risk", RISK, "rounded(high, low, error)", "rounded(high, low, 0.5 * error)"),
        ("nearest_of_cell", RISK, "return r if r",
         "return (r if f < 100.0 else 2.0 * r) if r"),
        ("nearest_of_cell", RISK, "else nearest_slow(f, p)",
         "else nearest_slow(f, p if p >= 0.1 else 2.0 * p)"),
        ("nearest_of_block", RISK, "    _complete(f, p, out, n)\n", ""),
        ("_complete", RISK, "completion(nearest_slow)", "completion(nearest_slow_of)"),
        ("_value", RISK, "by_region(_risk)", "by_region(_risk, _moved_risk)"),
        ("_loop", RISK, "block(f, p, f, out, n)", "block(f, p, f, out, n - 1)"),
        ("_of_fraction", RISK, "value(f, p, 0.0)", "value(f, p, 2.0**-60)"),
        ("_column", RISK, "(first + i) * (step >> 3)", "(first + i) * (step >> 4)"),
        ("rounded", RISK, "rounding_test import rounded\n",
         "rounding_test import rounded_down as rounded\n"),
        ("_risk", RISK, "# --- the gradient", "if True:\n    _risk = max\n# ---"),
        ("nearest_slow", SLOW, "return 1.0 / f\n    ball, n = risk_ball",
         "return 2.0 / f\n    ball, n = risk_ball"),
        ("_inside", SLOW, "(a <= b)", "(a < b)"),
        ("rounded", TEST, "high + (low + error)", "high + low + error"),
        ("cells_ahead", "core/special/loops.py", "else BLOCK", "else 2 * BLOCK"),
    ],
)  # fmt: skip
def test_what_stands_around_the_pairs_is_what_is_said(
    monkeypatch, tmp_path, name, path, before, after
):
    for each in check.TEXTS:
        file = tmp_path / f"riskcore/{each}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / f"riskcore/{each}.py", file)
    monkeypatch.setattr(check, "ROOT", tmp_path)
    check.check_texts()
    file = tmp_path / "riskcore" / path
    assert before in file.read_text()
    file.write_text(file.read_text().replace(before, after, 1))
    with pytest.raises(ValueError, match=f": {name} is another"):
        check.check_texts()


def test_every_function_that_runs_has_a_lemma(monkeypatch):
    theorem = import_module("bench.proof.theorem")
    assert theorem.check() > 100
    monkeypatch.setattr(theorem, "LEMMAS", theorem.LEMMAS[:-1])
    with pytest.raises(ValueError, match=r"no lemma is about .*ball_step\.sides_slow"):
        theorem.check()
