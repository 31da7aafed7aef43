"""The logarithm, near_one and the exponential by Gappa and Sollya, stage by stage."""

import itertools
import math
from fractions import Fraction
from typing import NamedTuple

from bench.proof import cases, graph
from bench.proof.gappa import (
    NAMES,
    Script,
    inputs,
    literal,
    plus,
    prove,
    times,
    unsigned,
    variable,
)
from bench.proof.gappa_parts import Row, sollya, two
from bench.proof.gappa_stages import (
    SLACK,
    Stages,
    below,
    interval,
    normal,
    prove_exact,
    quotient,
    quotient_of,
    widened,
)
from bench.proof.rebind import Copies
from riskcore.core.special import double_double, elementary, near_one
from riskcore.core.special.gauss import fast_integer, rounding_test

# --- the logarithm


class Mantissa:
    """z in log_pair, which is rounded to c when a large number is added."""

    def __init__(self, z, c):
        self.z, self.c = z, c

    def __add__(self, other):
        if isinstance(other, float) and other > 2.0**40:
            return Rounded(self.c)
        return self.z + other

    def __sub__(self, other):
        return self.z - other


class Rounded(NamedTuple):
    c: float

    def __sub__(self, other):
        return self.c


class Exponent(NamedTuple):
    """The bits of z 2^k, and what becomes of them."""

    z: graph.Node
    k: int

    def __sub__(self, other):
        return self

    def __rshift__(self, places):
        return self

    def __lshift__(self, places):
        return self


def log_pair(k, c):
    """Return the words of log_pair of z 2^k where z is next to c, on graphs."""
    names = {
        **NAMES,
        "bits": lambda z: Exponent(z, k),
        "from_bits": lambda bits: Mantissa(bits.z, c),
        "float": lambda bits: float(bits.k),
    }
    return Copies(names).of(elementary.log_pair)(*inputs("z"))


# k, c, and the ends of z.
LOGARITHMS = (
    (0, 0.75, 11 / 16, 13 / 16), (0, 0.75, 13 / 16, 27 / 32),
    (0, 0.75, 27 / 32, 55 / 64), (0, 0.75, 55 / 64, 7 / 8),
    (-1, 1.0, 7 / 8, 9 / 8), (0, 1.25, 9 / 8, 11 / 8),
    (-1, 0.75, 11 / 16, 7 / 8), (-1, 1.25, 9 / 8, 11 / 8), (-960, 1.0, 7 / 8, 9 / 8),
    (0, 1.0, 17 / 16, 9 / 8), (0, 1.0, 33 / 32, 17 / 16),
    (0, 1.0, 7 / 8, 29 / 32), (0, 1.0, 29 / 32, 15 / 16),
    (0, 1.0, 1 + 2.0**-22, 1 + 2.0**-21),
)  # fmt: skip


def logarithm(k, c, lower, upper, figure):
    """Prove log_pair for z 2^k, lower <= z <= upper, relative to the logarithm."""
    pair = log_pair(k, c)
    nodes = quotient_of(pair)
    prove_exact(nodes, "z", (lower, upper))
    stages = quotient(nodes, (lower - c, upper - c), (lower + c, upper + c))
    stages.cut(*pair)
    ends = (
        literal(end)
        for end in widened((lower - c) / (lower + c), (upper - c) / (upper + c))
    )
    function = f"log((1 + x)/(1 - x)) + log({literal(c)}) + {k} * log(2)"
    left = sollya(stages.polynomial(), function, f"[{';'.join(ends)}]")
    size = min(abs(math.log(z) + k * math.log(2.0)) for z in (lower, upper))
    size *= 1.0 - SLACK
    where = f"x = 2^{k} z, {lower:.9g} <= z <= {upper:.9g}, relative"
    return Row("`log_pair`", where, None, stages.lost() / size, left / size, figure)


# --- f = 1, 2, 3 with p near 1

# The risk times a power of x = q/(1 + p).
RISKS = {
    1.0: ("(1-x) * log((1+x)/(1-x)) / 2", 1),
    2.0: ("(1-x)/2 * (x^2 - (1-x) * (log((1+x)/(1-x))/2 - x))", 2),
    3.0: ("(1-x)/4 * (x^3 + (1-x)^2 * (log((1+x)/(1-x))/2 - x))", 3),
}
PIECES_OF_Q = {1.0: 1, 2.0: 2, 3.0: 4}  # to a binade, by f


def near(f, lower, upper):
    """Prove near_one for p = 1 - q, lower <= q <= upper, relative to the risk.

    What is left out is not examined if ``lower`` is 0.
    """
    kernel, (p,) = fast_integer.near_one, inputs("p")
    nodes = quotient_of(Copies(NAMES).of(kernel)(f, p)[:2])
    prove_exact(nodes, "p", (0.75, 1.0))
    stages = quotient(nodes, (lower, upper), (2.0 - lower, 2.0 - upper))
    operations = double_double.product_pair, double_double.sum_pair
    high, low, _ = stages.copies({}, *operations).of(kernel)(f, p)
    stages.cut(high, low)
    least, most = widened(lower / (2.0 - lower), upper / (2.0 - upper))
    left = None
    if lower:
        function, power = RISKS[f]
        ends = f"[{literal(least)};{literal(most)}]"
        left = sollya(f"x^{power} * {stages.polynomial()}", function, ends)
        left *= f / (least**power * (1.0 - upper))  # r >= p/f
    claim = rounding_test.OF_SERIES * least**4 + rounding_test.IN_PAIRS
    where = f"f = {f:g}, {lower:.3g} <= 1 - p <= {upper:.3g}, relative"
    lost = stages.lost() * f / (1.0 - upper)
    return Row("`near_one`", where, claim, lost, left)


def all_near(f):
    """Return the row of near_one that uses most of the claim."""
    ends = [
        2.0 ** (-2 - k / PIECES_OF_Q[f]) for k in range(10 * int(PIECES_OF_Q[f]) + 1)
    ]
    return most_used(
        near(f, *piece) for piece in itertools.pairwise([0.0, *ends[::-1]])
    )


def most_used(rows):
    return max(rows, key=lambda row: row.found() / row.claimed)


# --- the exponential

STATED = 2.0**-70
T_MOST = 0.3467  # more than log(2)/2
PIECES_OF_T = 2.0**-10, 2.0**-4, 2.0**-2, T_MOST
KERNEL = near_one.exponentials
LN2 = Fraction(elementary.LN2_HIGH) + Fraction(elementary.LN2_LOW)
# Of -690 <= x <= 709: all up to 64 and every 64th beyond.
EXPONENTS = [k for k in range(-960, 1024) if abs(k) <= 64 or k % 64 == 0]
EXPONENTS += [-996, 1023]


def of_exponent(k):
    """Return what names mean in `exponentials` where the exponent is k."""
    return {
        "int": lambda _: k,
        "from_bits": lambda bits: graph.node(2.0 ** ((bits >> 52) - 1023)),
        "float": float,
    }


def exponentials(names, *kernels, sign=graph.GREATER):
    """Return the results on graphs, and the arguments of the calls of some kernels."""
    x, x_low = inputs("x xl")
    calls = []

    def stage(copy, *args):
        calls.append([graph.node(one) for one in args])
        return copy(*args)

    cases.Oracle.current = cases.Oracle.of({(x, graph.node(0.0)): sign})
    copies = Copies({**NAMES, **names}, dict.fromkeys(kernels, stage))
    return copies.of(KERNEL)(x, x_low), calls


def argument(sign):
    """Prove what t + t_low is off by for x of one sign, and that both are small.

    The last sum may have its terms in any order: its operations are written out.
    """
    (k,) = inputs("k")
    rounded = []
    names = {
        "int": lambda y: 0 if y is k else rounded.append(y) or k,
        "float": graph.node,
        "fast_two_sum": lambda a, b: (a + b, b - ((a + b) - a)),
        "from_bits": lambda _: 1.0,
    }
    relation = graph.GREATER if sign > 0 else graph.LESS
    _, calls = exponentials(names, double_double.dd_multiply_positive, sign=relation)
    pair = calls[0][2:]
    script = Script(second=("xl",))
    script.lines.append("x = float<ieee_64,ne>(xx);")
    y = script.name(rounded[0])
    script.lines.append(f"k = int<zr>({y});")
    inverse, half = Fraction(near_one._INVERSE_LN2), Fraction(sign, 2)
    before = {("x",): inverse, (): half}  # rounding
    off = script.terms(plus(script.polynomial(rounded[0]), before, -1))
    text, total = two(script, pair)
    first = min((x for x in below(*pair) if x.kind == "fnma"), key=lambda x: x.number)
    moved = script._operation(first.kind, first.args)[0]
    of = Fraction(elementary.LN2_HIGH)
    hint = (
        f"{moved} -> ({y} - k - ({literal(half)}) - ({off})) * {literal(of)} "
        f"+ x * ({literal(1 - of * inverse)});"
    )
    ends = sorted((0.34 * sign, 709.0 * sign))
    ranges = [f"x in {interval(ends)}", "|xl| <= 1b-44"]  # half an ulp
    size = prove(script.lines, ranges, moved, [hint])
    ranges.append(f"|{moved}| <= {size.hex()}")
    exact = plus(
        variable("x"), plus(variable("xl"), times(variable("k"), {(): LN2}), -1)
    )
    goal = f"({text}) - ({script.terms(exact)})"
    hints = [f"{goal} -> {script.terms(plus(total, exact, -1))};", *script.hints()]
    found = prove(script.lines, ranges, goal, hints)
    low = prove(script.lines, ranges, script.name(pair[1]), script.hints())
    if size + low + 2.0**-43 > T_MOST or low > T_MOST * 2.0**-53:
        raise ValueError("t of exponentials is larger")
    left = 1023 * sollya(f"{literal(LN2)} + 0 * x", "log(2)", "[0;1]")
    return Row("t of `exponentials`", "all k, absolute", None, found, left)


def series(lower, upper):
    """Return stages of exp t - 1 as a pair that is not scaled yet."""
    product = double_double.dd_multiply_positive
    _, calls = exponentials(of_exponent(0), product, double_double.dd_add)
    low = max(abs(lower), abs(upper)) * 2.0**-53
    stages = Stages(normal(*calls[0][2:]), (lower, upper), low)
    stages.copies(of_exponent(0), product).of(KERNEL)(*inputs("x xl"))
    stages.cut(*calls[-1][2:])
    return stages


def scaled(k, low):
    """Return what both results lose after the series."""
    results, ((*_, high, high_low),) = exponentials(
        of_exponent(k), double_double.dd_add
    )
    words = normal(without_power(high), without_power(high_low))
    found = []
    for pair in results[:2], results[2:]:
        stages = Stages(words, (-T_MOST, 1.25 * T_MOST), low)
        # A product with 2^k is exact next to 0 and elsewhere, for other reasons.
        found.append(stages.bound(*pair, ["$ h0 in (-1b-60,1b-60);"])[0])
    return found


def without_power(product):
    """Return the factor of a product with a power of two, the product for 2^0."""
    word, sign = unsigned(product)
    if word.kind == "mul":
        (word,) = [one for one in word.args if not graph.constant(one)]
    return word if sign > 0 else graph.negative(word)


def exponential():
    """Yield the rows of exp x and of exp x - 1, relative to them."""
    t = max((argument(sign) for sign in (1, -1)), key=Row.found)
    yield t
    whole = series(-T_MOST, T_MOST)
    ends = f"[{literal(-T_MOST)};{literal(T_MOST)}]"
    left = sollya(whole.polynomial(), "expm1(x)", ends, "relative")
    pieces = [*itertools.pairwise(PIECES_OF_T)]
    pieces += [(-upper, -lower) for lower, upper in pieces]
    yield most_used(near_zero(*piece, left) for piece in pieces)
    # t and the series are off; |exp t - 1| and exp t are below 1.42.
    before = 1.42 * t.rounding + whole.lost(), 1.42 * (t.left_out + left)
    rows = {k: away(k, whole.low[-1], *before) for k in EXPONENTS}
    yield most_used(row for row, _ in rows.values())
    yield most_used(row for k, (_, row) in rows.items() if k != 0)


def near_zero(lower, upper, left):
    """Return the row of exp x - 1 for exponent 0."""
    size = (1.0 - math.exp(-min(abs(lower), abs(upper)))) * (1.0 - SLACK)
    where = f"k = 0, {lower:.4g} <= x <= {upper:.4g}, relative"
    stages = series(lower, upper)
    stages.cut(*exponentials(of_exponent(0))[0][2:])
    lost = stages.lost() / size
    return Row("exp x - 1 of `exponentials`", where, STATED, lost, left)


def away(k, low, lost, left):
    """Return the rows of exp x and exp x - 1, the latter for x away from 0."""
    scale = 2.0**k
    ends = [math.exp(end) for end in (-T_MOST, T_MOST)]
    sizes = ends[0], min(abs(end - 1.0 / scale) for end in ends)  # over 2^k
    found = []
    for part, own, size in zip(("x", "x - 1"), scaled(k, low), sizes, strict=True):
        size *= 1.0 - SLACK
        bounds = (lost + own / scale) / size, left / size
        where = f"k = {k}, relative"
        found.append(Row(f"exp {part} of `exponentials`", where, STATED, *bounds))
    return found
