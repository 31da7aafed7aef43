"""The proof of the fast paths' bounds: is it right, and does it see mistakes?"""

import json
import random
import subprocess
import sys
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from flint import arb, ctx

import riskcore
from riskcore.core.special import double_double, elementary, floats, near_one
from riskcore.core.special.gauss import (
    fast_integer as risk_pairs,
)
from riskcore.core.special.gauss import (
    fast_real as real_pairs,
)
from riskcore.core.special.gauss import (
    risk_blocks,
)

bound = import_module("bench.proof.bound")
claims = import_module("bench.proof.claims")
exact = import_module("bench.proof.exact")
fraction = import_module("bench.proof.fraction")
gradient = import_module("bench.proof.gradient")
models = import_module("bench.proof.models")
mutants = import_module("bench.proof.mutants")
pair_rules = import_module("bench.proof.pair_rules")
parts = import_module("bench.proof.parts")
prover = import_module("bench.proof.prover")
rebind = import_module("bench.proof.rebind")
references = import_module("bench.references")
reflection = import_module("bench.proof.reflection")
series = import_module("bench.proof.series")
tape = import_module("bench.proof.tape")
ways = import_module("bench.proof.ways")

ROOT = Path(__file__).parents[2]
CLAIMS = claims.of_risk()
REGIONS = {claim.region: getattr(risk_pairs, claim.region) for claim in CLAIMS}
TWO = ("two_sum", "fast_two_sum", "two_product")
IN_DOUBLES = {name: getattr(floats, name) for name in ("fma", *TWO)}


# --- the arithmetic of errors --------------------------------------------------------


def random_program(rng, length):
    """Return a random straight line of operations on two inputs."""
    lines, count = [], 4  # the inputs and two constants
    for _ in range(length):
        kind = rng.choice(
            ["+", "-", "*", "/", "fma", "two_sum", "two_product", "fast_two_sum", "2"]
        )
        lines.append((kind, *(rng.randrange(max(0, count - 7), count) for _ in "abc")))
        count += 2 if kind in TWO else 1
    return lines


def run(program, inputs, operations):
    values = list(inputs)
    for kind, i, j, k in program:
        a, b, c = values[i], values[j], values[k]
        if kind == "+":
            values.append(a + b)
        elif kind == "-":
            values.append(a - b)
        elif kind == "*":
            values.append(a * b)
        elif kind == "/":
            values.append(a / (b * b + 1.0))
        elif kind == "fma":
            values.append(operations["fma"](a, b, c))
        elif kind == "2":
            values.append(a * 0.25)
        else:
            values.extend(operations[kind](a, b))
    return values[-1]


@pytest.mark.parametrize("seed", range(60))
def test_what_is_computed_is_within_the_bound_of_what_is_exact(seed):
    rng = random.Random(seed)
    program = random_program(rng, 12)
    low, high = sorted(rng.uniform(0.3, 3.0) for _ in "ab")
    width = rng.choice([1e-3, 1e-2])
    boxes = np.array([[low, low * (1 + width), high, high * (1 + width)]])
    constants = rng.uniform(-2, 2), rng.choice([1.0, 0.5, 3.0, 1 / 3])
    recorded = tape.Tape(models.Space(2, 4), 1)
    inputs = [
        recorded.input(boxes[:, 0], boxes[:, 1], 0),
        recorded.input(boxes[:, 2], boxes[:, 3], 1),
        *map(recorded.constant, constants),
    ]
    out = recorded.constant(run(program, inputs, bound.NAMES))
    largest = recorded.bound(out, last=True)[0]
    seen = 0.0
    for _ in range(60):
        x = rng.uniform(boxes[0, 0], boxes[0, 1])
        y = rng.uniform(boxes[0, 2], boxes[0, 3])
        computed = run(program, [x, y, *constants], IN_DOUBLES)
        rational = [exact.Exact(Fraction(z)) for z in (x, y, *constants)]
        true = exact.Exact.of(run(program, rational, exact.NAMES)).value
        error = abs(Fraction(computed) - true)
        assert error <= Fraction(largest)
        assert out.ends[0][0] <= computed <= out.ends[1][0]
        polynomial = out.model.coefficients[0, 0]
        assert abs(computed - polynomial) <= out.model.spread()[0] * (1 + 1e-12)
        seen = max(seen, float(error))
    assert largest <= 100 * seen + 1e-13 * (1.0 + out.largest()[0])


def test_what_compensates_compensates():
    recorded = tape.Tape(models.Space(1, 6), 1)
    x = recorded.input(np.array([1.1]), np.array([1.11]), 0)
    head, tail = tape.two_product(x, x)
    whole = tape.fma(head, 3.0, tail * 3.0)
    assert recorded.bound(whole)[0] < 2.0**-90
    assert recorded.bound(head, last=True)[0] >= 2.0**-54


@pytest.mark.parametrize(
    ("lower", "upper", "exact_"), [(0.5, 0.75, True), (0.25, 0.4, False)]
)
def test_a_difference_is_known_to_be_exact_where_it_is(lower, upper, exact_):
    recorded = tape.Tape(models.Space(1, 4), 1)
    p = recorded.input(np.array([lower]), np.array([upper]), 0)
    assert (recorded.bound(1.0 - p, last=True)[0] == 0.0) == exact_
    q_low = (1.0 - (1.0 - p)) - p
    # It is minus the error of 1 - p, and of nothing else.
    assert recorded.bound(q_low + (1.0 - p))[0] <= 2.0**-100


def test_a_sum_that_depends_on_an_unknown_scale_is_refused():
    recorded = tape.Tape(models.Space(1, 4), 1)
    f = recorded.input(np.array([2.0]), np.array([2.01]), 0)
    x, y = tape.projective(lambda f, p, x, y: (x, y), f, f, f * f, f)
    assert (x / y).unit == tape.NO_UNIT
    with pytest.raises(TypeError, match="unknown scale"):
        x + 1.0
    with pytest.raises(TypeError, match="unknown scale"):
        tape.fma(x, y, x)


def test_both_answers_are_taken_where_both_are_possible():
    def program(recorded, boxes):
        x = recorded.input(boxes[:, 0], boxes[:, 1], 0)
        return x * 3.0 if x < 1.0 else x * 5.0

    boxes = np.array([[0.5, 0.6], [0.9, 1.1], [1.2, 1.3]])
    found = {}
    for indices, _, result in bound.Runs(program, 1, 3).over(boxes):
        for i, lower, upper in zip(indices, *result.ends, strict=True):
            found.setdefault(int(i), []).append((round(lower, 9), round(upper, 9)))
    assert found == {
        0: [(1.5, 1.8)], 1: found[1], 2: [(6.0, 6.5)],
    }  # fmt: skip
    assert sorted(found[1]) == [(2.7, 3.3), (4.5, 5.5)]


# --- the kernels ---------------------------------------------------------------------


def by_logarithm(claim):
    return claim.region in ("ONE", "SMALL", "FORWARD_15")


def by_reflection(claim):
    return claim.region == "FORWARD_REAL"


def by_fraction(claim):
    return not by_logarithm(claim) and not by_reflection(claim)


def named(claim):
    return f"{claim.region}, {claim.where}"


def some_boxes(claim, number):
    """Return some boxes of a claim, made smaller."""
    rng = random.Random(1)
    few = np.array(rng.sample(list(claim.boxes), min(number, len(claim.boxes))))
    few[:, 1] = np.minimum(few[:, 1], few[:, 0] * 1.01)
    few[:, 3] = np.minimum(few[:, 3], few[:, 2] * 1.01)
    return few


@pytest.mark.parametrize("claim", [*filter(by_logarithm, CLAIMS)], ids=named)
def test_kernels_by_the_logarithm_are_within_the_bounds_of_their_boxes(claim):
    rng = random.Random(2)
    few = some_boxes(claim, 8)
    few = few[few[:, 2] > 2.0**-100]
    _, relative, _ = claim.bounds(few)
    ctx.prec = 2000
    for box, most in zip(few, relative, strict=True):
        f = box[0]
        for _ in range(4):
            p = rng.uniform(*box[2:])
            high, low, _ = risk_blocks.pair_of_region(REGIONS[claim.region], f, p)
            v = arb(p) / (1 - arb(p))
            true = -v * arb(p).log()
            for n in range(1, int(f)):
                true = v * (1 / arb(n) - true)
            assert abs(arb(high) + arb(low) - true) <= arb(most) * true


@pytest.mark.parametrize("claim", [*filter(by_reflection, CLAIMS)], ids=named)
def test_kernels_by_reflection_are_within_the_bounds_of_their_boxes(claim):
    rng = random.Random(4)
    few = np.array(rng.sample(list(claim.boxes), 12))
    share, relative, _ = claim.bounds(few)
    for box, most in zip(few[share <= 1.0], relative[share <= 1.0], strict=True):
        for _ in range(2):
            f, p = rng.uniform(*box[:2]), rng.uniform(*box[2:])
            high, low, _ = real_pairs.forward_real(f, p)
            true = references.exact_risk(f, p, 300)
            assert abs(arb(high) + arb(low) - true) <= arb(most) * true, (f, p)
    assert (share <= 1.0).any()


@pytest.mark.parametrize("claim", [*filter(by_fraction, CLAIMS)], ids=named)
def test_kernels_are_within_the_bounds_of_their_boxes(claim):
    """The same kernel in doubles and in rational numbers, at points of some boxes."""
    rng = random.Random(2)
    few = some_boxes(claim, 6)
    _, relative, _ = claim.bounds(few)
    kernel = exact.copies().of(risk_blocks.pair_of_region)
    for box, most in zip(few, relative, strict=True):
        for _ in range(3):
            f, p = rng.uniform(*box[:2]), rng.uniform(*box[2:])
            high, low, _ = risk_blocks.pair_of_region(REGIONS[claim.region], f, p)
            r, r_low, _ = kernel(REGIONS[claim.region], exact.Exact(f), exact.Exact(p))
            true = r.value + exact.Exact.of(r_low).value
            assert abs(Fraction(high) + Fraction(low) - true) <= Fraction(most) * true


def test_every_cell_of_a_region_is_in_a_box_of_its_claims():
    rng = random.Random(2)
    boxes = {name: [] for name in REGIONS}
    for claim in CLAIMS:
        boxes[claim.region].append(claim.boxes)
    sides = {name: np.concatenate(found).T.copy() for name, found in boxes.items()}
    names = {number: name for name, number in REGIONS.items()}
    borders = [0.3, 0.5, 0.75, 1.0, 2.0**-900, 1 - 2.0**-53]
    tried = dict.fromkeys(names, 0)
    for _ in range(6000):
        ends = rng.choice([risk_pairs.RARE, risk_pairs.F_HUGE])
        n = rng.randint(1, 40)
        next_to = float(np.nextafter(n, rng.choice([0, 99])))
        some = [n, rng.uniform(0, 40), 2 ** rng.uniform(-900, 60), ends, n - 0.5]
        f = float(rng.choice([*some, next_to, float(np.nextafter(n - 0.5, 0))]))
        p = rng.choice([rng.random(), 2 ** rng.uniform(-900, 0), rng.choice(borders)])
        if rng.random() < 0.2:
            p = float(np.nextafter(p, 0))
        where = risk_pairs.region(f, p)
        if where not in names:
            continue
        tried[where] += 1
        a, b, c, d = sides[names[where]]
        assert np.any((a <= f) & (f <= b) & (c <= p) & (p <= d)), (names[where], f, p)
    assert min(tried.values()) > 10


GRADIENT = [*gradient.near_one(), *gradient.from_16()]


@pytest.mark.parametrize("claim", GRADIENT, ids=named)
def test_the_gradient_is_within_the_bounds_of_its_boxes(claim):
    rng = random.Random(9)
    few = np.array(rng.sample(list(claim.boxes), min(10, len(claim.boxes))))
    share, lost, _ = claim.bounds(few)
    for box, most in zip(few[share <= 1.0], lost[share <= 1.0], strict=True):
        for _ in range(2):
            f, p = rng.uniform(*box[:2]), rng.uniform(*box[2:])
            found = float(riskcore.individual_risk_gradient(f, p))
            r = references.exact_risk(f, p, 400)
            true = (f * r - p) / (arb(p) * (1 - arb(p)))
            error = abs(float(arb(found) - true))
            assert error <= 0.5 * np.spacing(found) + most * found, (f, p)
    assert (share <= 1.0).any()


@pytest.mark.slow
@pytest.mark.parametrize("claim", GRADIENT, ids=named)
def test_the_gradient_is_proved(claim):
    assert prover.prove(claim).relative <= gradient.FAITHFUL


# --- pairs as numbers ----------------------------------------------------------------


def random_pair(rng, exponents=(-3, 3), share=None):
    """Return the two words of a pair, its true number, and it as a rule's argument."""
    high = rng.choice([-1, 1]) * rng.uniform(1, 2) * 2.0 ** rng.randint(*exponents)
    share = rng.choice([2.0**-53, 2.0**-50, 2.0**-30]) if share is None else share
    low = high * share * rng.uniform(-1, 1)
    error = abs(high) * rng.choice([0.0, 2.0**-90, 2.0**-70])
    true = Fraction(high) + Fraction(low) + Fraction(error) * rng.choice([-1, 0, 1])
    number = float(true)
    # Ends of the true number, one box.
    ends = np.nextafter(number, -np.inf), np.nextafter(number, np.inf)
    pair = pair_rules.Pair(
        *map(np.atleast_1d, ends), error, abs(low), share <= 2.0**-53
    )
    return high, low, true, pair


RULES = {
    "dd_add": lambda a, b: a + b,
    "sum_pair": lambda a, b: a + b,
    "product_pair": lambda a, b: a * b,
    "quotient_pair": lambda a, b: a / b,
}


def check_rule(found, words, true, seen):
    high, low = map(Fraction, words)
    pair = found[0]
    error = abs(high + low - true)
    assert error <= Fraction(pair.error.item())
    assert abs(low) <= Fraction(pair.low.item())
    assert Fraction(pair.lower.item()) <= true <= Fraction(pair.upper.item())
    if pair.normal:
        assert abs(low) <= Fraction(2) ** -53 * abs(high)
    if pair.error > 0:
        seen.append(float(error) / pair.error.item())


@pytest.mark.parametrize("name", RULES)
def test_rules_hold_what_operations_on_pairs_lose(name):
    rng, seen = random.Random(5), []
    for i in range(3000):
        a, a_low, x, one = random_pair(rng)
        b, b_low, y, two = random_pair(rng, (-8, 3))
        if i % 3 == 0:  # nearly equal
            b, b_low = -a * (1 + rng.uniform(-1, 1) * 2.0 ** -rng.randint(1, 55)), 0.0
            y = Fraction(b)
            two = pair_rules.Pair.double(np.array([b]), np.array([b]))
        if name == "sum_pair" and abs(b) > abs(a) and (a > 0) == (b > 0):
            continue
        words = getattr(double_double, name)(a, a_low, b, b_low)
        seconds = one.second, two.second if b_low else 0.0
        found = getattr(pair_rules, name)(one, seconds[0], two, seconds[1])
        if np.isfinite(found[0].error).all():
            check_rule(found, words, RULES[name](x, y), seen)
    assert len(seen) > 1000
    assert max(seen) > 0.01


def test_rules_of_a_pair_and_a_double():
    rng, seen, inverses = random.Random(6), [], []
    for _ in range(2000):
        a, a_low, x, one = random_pair(rng)
        b = rng.uniform(0.01, 20)
        two = pair_rules.Pair.double(np.array([b]), np.array([b]))
        words = double_double.dd_multiply_double(a, a_low, b)
        found = pair_rules.dd_multiply_double(one, one.second, two)
        check_rule(found, words, x * Fraction(b), seen)
        words = real_pairs.inverse_pair(b)
        check_rule(pair_rules.inverse(two), words, 1 / Fraction(b), inverses)
    assert max(seen) > 0.01
    assert max(inverses) > 0.01


def test_words_of_two_pairs_are_refused():
    one, two = (random_pair(random.Random(i))[3] for i in (1, 2))
    with pytest.raises(TypeError, match="two pairs"):
        pair_rules.dd_add(one, two.second, two, two.second)
    with pytest.raises(TypeError, match="not the pair's"):
        pair_rules.dd_add(one, 0.0, two, two.second)


def test_a_box_too_wide_for_a_theorem_has_no_bound():
    wide = pair_rules.Pair(np.array([-1.0]), np.array([1.0]))
    one = pair_rules.Pair.double(np.array([1.0]), np.array([2.0]))
    assert np.isinf(pair_rules.quotient_pair(one, 0.0, wide, 0.0)[0].error)
    assert np.isinf(pair_rules.inverse(wide)[0].error)
    assert np.isinf(pair_rules.fast_two_sum(one, one)[0].error)


def off_by(words, true):
    return abs(float(arb(words[0]) + arb(words[1]) - true))


@pytest.mark.thorough  # the bounds are computed once, for the first test that asks
def test_parts_are_within_their_bounds():
    rng = random.Random(7)
    ctx.prec = 400
    logarithm, sine, fraction_ = (
        parts.of_log_of_odds(), parts.of_sine(), parts.of_fraction(),
    )  # fmt: skip
    power, less = parts.of_exponential()
    for _ in range(300):
        p = rng.choice([rng.uniform(0.0, 0.3), 2.0 ** -rng.uniform(2, 899)])
        q, q_low = floats.fast_two_sum(1.0, -p)
        v = double_double.quotient_pair(p, 0.0, q, q_low)
        words, true = real_pairs.log_of_odds(*v), (arb(p) / (1 - arb(p))).log()
        assert off_by(words, true) <= logarithm.error
        assert abs(words[1]) <= min(logarithm.low, logarithm.share * abs(words[0]))
        x = rng.choice([rng.uniform(-313, 313), 2.0 ** -rng.uniform(1, 900)])
        x_low = x * 2.0**-53 * rng.uniform(-1, 1)
        y = arb(x) + arb(x_low)
        found = near_one.exponentials(x, x_low)
        for words, true, part in (
            (found[:2], y.exp(), power),
            (found[2:], y.expm1(), less),
        ):
            assert off_by(words, true) <= part.error * abs(float(true))
            assert abs(words[1]) <= part.share * abs(words[0])
        d = rng.choice([-1, 1]) * rng.choice(
            [rng.uniform(0, 0.5), 2.0 ** -rng.uniform(2, 99)]
        )
        words = real_pairs.sine_deficit(d)
        true = (1 - (arb(d) * arb.pi()).sin() / (arb(d) * arb.pi())) / arb(d) ** 2
        assert off_by(words, true) <= sine.error * float(true)
        words = real_pairs.reflected_fraction(d, p, q, q_low)
        x = 1 - arb(d)
        F = arb(p).hypgeom_2f1(1, 1, x + 1)  # D(g, q) = g/2F1(1, 1; g+1; p)
        true = arb(p) * F / x
        assert off_by(words, true) <= fraction_.error * float(true), (d, p)


@pytest.mark.parametrize(
    ("kernel", "closest"), [("log_pair", 22), ("log_high_low", 36)]
)
def test_logarithms_are_within_their_bounds(kernel, closest):
    kernel = getattr(elementary, kernel)
    part, largest = parts.of_logarithm(kernel, closest), 0.0
    assert part.error < 2.0**-55
    rng = random.Random(8)
    ctx.prec = 300
    for _ in range(2000):
        near = 1 + rng.choice([-1, 1]) * 2.0 ** -rng.uniform(1.1, closest)
        x = rng.choice([near, 2.0 ** rng.uniform(-960, 960), rng.uniform(0.6, 1.6)])
        words, true = kernel(x, *parts.SCALED_BY[kernel]), arb(x).log()
        if abs(x - 1) >= 2.0**-closest:
            largest = max(largest, off_by(words, true) / abs(float(true)))
    assert 0.01 * part.error < largest <= part.error


def test_another_reflection_is_another_formula(monkeypatch):
    def other(copy, d):
        return d * d, d * 0

    names = reflection._names
    monkeypatch.setattr(
        reflection,
        "_names",
        lambda *free: {**names(*free), real_pairs.sine_deficit: other},
    )
    reflection.formula.cache_clear()
    with pytest.raises(ValueError, match="not the formula"):
        reflection.formula(1)
    reflection.formula.cache_clear()


# --- formulas ------------------------------------------------------------------------


def test_a_formula_that_is_another_is_refused():
    points = [lambda i: Fraction(i + 2), lambda i: Fraction(1, i + 3)]

    def one(x, y):
        return (x * x - y * y) / (x - y)

    assert exact.same_function(one, lambda x, y: x + y, points) >= 4
    with pytest.raises(ValueError, match="not the formula"):
        exact.same_function(one, lambda x, y: x + y + y * y * 1e-30, points)


@pytest.mark.parametrize("levels", [15, 19])
def test_another_number_of_levels_is_another_formula(levels):
    formula = claims.fraction_formula(risk_pairs.FROM_32, levels)
    with pytest.raises(ValueError, match="not the formula"):
        formula()


@pytest.mark.parametrize(
    ("f", "p", "levels"),
    [(16.0, 0.01, 35), (32.0, 0.2, 17), (4.0, 0.3, 35), (2.5, 0.6, 9)],
)
def test_what_a_cut_leaves_is_below_its_bound(f, p, levels):
    ctx.prec = 400
    true = arb(f) / (1 - arb(p)).hypgeom_2f1(1, 1, arb(f) + 1)
    cut = fraction.denominator(arb(f), arb(p), levels)
    left = float(abs(cut / true - 1).upper())
    ends = np.array([f]), np.array([p])
    most = fraction.cut((ends[0], ends[0]), (ends[1], ends[1]), levels)[0]
    assert left <= most <= 1e4 * left
    wide = fraction.cut(
        (ends[0] * 0.99, ends[0] * 1.01), (ends[1] * 0.9, ends[1] * 1.1), levels
    )
    assert wide[0] >= most


def test_what_the_logarithm_leaves_out_is_below_its_bound():
    ctx.prec = 300
    most = parts.log_left_out(elementary.log_pair)
    rng, largest = random.Random(3), 0.0
    for lower, upper in ((0.6875, 0.874), (0.875, 1.125), (1.126, 1.374)):
        for _ in range(30):
            z = rng.uniform(lower, upper)
            copies = rebind.Copies(series._names(0))
            high, low = copies.of(elementary.log_pair)(
                series.Series(series.arb_series([arb(z)]), (z, z))
            )
            error = abs((high + low).series[0] - arb(z).log())
            largest = max(largest, float(error.upper()))
    assert largest <= most <= 100 * largest


# --- mistakes ------------------------------------------------------------------------


def test_theorems_are_those_of_the_source(monkeypatch):
    reflection.check_theorems()
    for module, name, other in (
        (floats, "fast_two_sum", floats.two_sum),
        (double_double, "product_pair", double_double.sum_pair),
        (real_pairs, "inverse_pair", elementary.atanh_series),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, other)
            with pytest.raises(ValueError, match=name):
                reflection.check_theorems()


MUTANTS = """
import json, sys, warnings
warnings.simplefilter("ignore")
from bench.proof import mutants
from bench.proof.source_mutants import ROOT, Mutant
before = mutants.unmutated()
given, numbers = json.load(sys.stdin)
tried = []
for module, old, new in given:
    name = f"riskcore/core/special/gauss/{module}.py"
    source = (ROOT / name).read_text()
    if source.count(old) != 1:
        raise ValueError(f"not once in {name}: {old}")
    tried.append(Mutant(name, "", old, new, 1, source.replace(old, new)))
every, _ = mutants.drawn(0)
for name, number in numbers.items():
    mine = [one for one in every if one.function.split(".")[-1] == name]
    tried += mine[:number]
for one in tried:
    why = mutants.begun(one, before)()
    print(why or "PASSES")
"""


def verdicts(given, numbers):
    """Return what the proof says of mutants, (module, line, other line), and of more.

    These are a number of mutants of each function of a dict.
    """
    done = subprocess.run(
        [sys.executable, "-c", MUTANTS], input=json.dumps([given, numbers]), cwd=ROOT,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.splitlines()


IN_PAIRS = [
    ("fast_integer", "0x1.e10ed2f5f2bd8p-5", "0x1.e20ed2f5f2bd8p-5"),
    (
        "fast_integer",
        "    q_low = (1.0 - q) - p\n    b, b_low = two_sum(f, 2.0)",
        "    q_low = 0.0\n    b, b_low = two_sum(f, 2.0)",
    ),
]


AROUND = {
    "a region for f whose claim ends at 4": (
        "fast_integer", "few = f <= 4.0", "few = f <= 6.0",
    ),
    "a predicate that takes other cells": (
        "fast_integer", "& (f <= 4.0) & (p <", "& (f <= 5.0) & (p <",
    ),
    "half the error": ("rounding_test", "(low - error)", "(low - 0.5 * error)"),
    "not compared": ("rounding_test", "below == above", "below == below"),
    "another finish": (
        "risk_blocks", "out[i] = of_16(f[i]", "out[i] = of_32(f[i]",
    ),
    "a cell not put back": ("blocks", "target[picked[j]] = source[j]", "pass"),
}  # fmt: skip
DRAWN = ["downwards", "_last", "product_pair", "_ratio"]


def test_what_stands_around_the_pairs_is_proved():
    ways.check(CLAIMS, 1)


@pytest.fixture(scope="module")
def said():
    """What the proof says of those in pairs, around them and drawn, in one process."""
    given = [*IN_PAIRS, *AROUND.values()]
    found = verdicts(given, dict.fromkeys(DRAWN, 1))
    assert len(found) == len(given) + len(DRAWN)
    return found


def test_mutants_that_are_wrong_at_few_p_only_are_noticed(said):
    """One of so many boxes is not enough: it may have the same p for every f."""
    assert said[0].startswith("NEAR_ONE: ")
    assert said[1].startswith("LEVELS_REAL: ")


@pytest.mark.thorough  # `said` takes a minute, whichever test asks first
def test_changes_around_the_pairs_are_noticed(said):
    for why, one in zip(AROUND, said[2 : -len(DRAWN)], strict=True):
        assert "Error: " in one, why


def test_a_change_of_the_source_is_noticed(said):
    assert "PASSES" not in said[-len(DRAWN) :]


@pytest.mark.slow
def test_nearly_all_changes_of_the_source_are_noticed():
    functions = [
        "log_pair", "near_one", "steps", "tail", "by_levels", "by_e", "downwards",
        "by_reflection", "exponentials",
    ]  # fmt: skip
    said = verdicts([], dict.fromkeys(functions, 4))
    assert len(said) > 24
    assert said.count("PASSES") <= len(said) // 8


@pytest.mark.slow
@pytest.mark.parametrize("claim", CLAIMS, ids=named)
def test_the_claims_are_proved(claim):
    assert prover.prove(claim).share <= 1.0
