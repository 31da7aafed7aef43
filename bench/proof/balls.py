"""Prove that the balls of the slow steps contain what they should.

    python -m bench.proof.balls

``riskcore/core/special/balls.py`` is run with other meanings of its names. The exact
result of an operation less high + low is a polynomial in operands, places in a ball and
rounding errors (``ball_symbols.py``), a sum of few terms. The radius is at least
another polynomial, in absolute values, with a factor 1 - U for each of its own
roundings. It must outweigh the first one term by term, as they are or once sizes are
replaced by bounds. No range of the operands is assumed: underflow is in the radius, and
where an operation overflows, high, low or the radius is not finite
(``check_overflow``). Functions are in ``ball_functions.py``.

By hand: the theorems that ``ball_symbols.py`` lists; that a sum is at most the sum of
its terms' absolute values; four lines in ``ball_functions.py``.
"""

import math
from fractions import Fraction
from itertools import islice

from bench._common import table
from bench.proof import ball_functions, rebind
from bench.proof.ball_symbols import (
    NAMES,
    OPERATIONS,
    ZERO,
    Run,
    index,
    is_normal,
    new_ball,
    new_double,
    put,
    require,
    split,
)
from riskcore.core.special import balls as source
from riskcore.core.special import floats

# --- operations ----------------------------------------------------------------------


def operands(function):
    """Return new operands of an operation: arguments, members, lower bounds."""
    make = {"Ball": new_ball, "float": new_double}
    kinds = [one for one in function.__annotations__.items() if one[0] != "return"]
    return [*zip(*[make[kind](name) for name, kind in kinds], strict=True)]


def largest_share(needed, given):
    """Return the largest share of terms of a bound that is needed."""
    given = given.to_dict()
    terms = [(c, given.get(k, 0)) for k, c in needed.to_dict().items()]
    return max((c / d for c, d in terms if d > 0), default=0)


def prove_operation(balls, name):
    """Return the share of the radius that is needed; raise if it is too small."""
    run, function = Run(), getattr(balls, name)
    arguments, members, least = operands(function)
    high, low, radius = rebind.Copies(NAMES).of(function)(*arguments)
    require(is_normal(high, low), f"{name}: low may be larger than U |high|")
    middle, given = high.exact + low.exact, radius.low
    exact, divisor = OPERATIONS[name](*members)
    if divisor is None:
        needed = run.bound(exact - middle)
    else:  # |exact/y - middle| <= radius is shown times |y|
        quotient, rest = split(middle, lambda k, c: any(k[i] for i in run.quotients))
        needed = run.bound(exact - quotient * divisor - run.relation)
        over, whole = split(given, lambda k, c: k[index(run.inverse)])
        whole -= run.bound(rest)
        require(run.is_positive(whole), f"{name}: the radius misses a last error")
        for one in run.least:
            inside = least[-1] - one.up, one.low - run.divisor.up / 2
            require(all(map(run.is_positive, inside)), f"{name}: the divisor is wrong")
        given = put(over, index(run.inverse), ZERO + 1) + whole * least[-1]
    require(run.is_positive(given - needed), f"{name}: the radius is too small")
    share = largest_share(needed, given)
    if run.asked:
        run = Run(answer=False)
        _, _, radius = rebind.Copies(NAMES).of(function)(*operands(function)[0])
        require(radius == math.inf, f"{name}: the radius is finite where it should not")
    return share


# --- what is not finite --------------------------------------------------------------

FINITE, INFINITE, NAN = "finite", "infinite", "nan"
SUMS = {(FINITE, INFINITE): {INFINITE}, (INFINITE, INFINITE): {INFINITE, NAN}}
PRODUCTS = {(FINITE, INFINITE): {INFINITE, NAN}, (INFINITE, INFINITE): {INFINITE}}
QUOTIENTS = {
    (FINITE, INFINITE): {FINITE},
    (INFINITE, FINITE): {INFINITE},
    (INFINITE, INFINITE): {NAN},
}


class Kind:
    """What a number may be: a set. One operation, the ``first``, is not finite."""

    count = first = 0
    answer = True

    def __init__(self, kinds, positive=False):
        self.kinds = {kinds} if isinstance(kinds, str) else set(kinds)
        self.positive = positive  # or 0, or nan

    @staticmethod
    def of(x):
        return x if isinstance(x, Kind) else Kind(FINITE)

    def by(self, table, other, of_finite):
        found = set()
        for a in self.kinds:
            for b in Kind.of(other).kinds:
                known = table.get((a, b)) or table.get((b, a)) or of_finite
                found |= {NAN} if NAN in (a, b) else known
        return Kind(found)

    @staticmethod
    def of_finite(*others):
        """Return what the next operation may give for finite numbers."""
        Kind.count += 1
        if Kind.count < Kind.first:
            return {FINITE}
        return {INFINITE, *others} | ({FINITE} if Kind.count > Kind.first else set())

    def __add__(self, other):
        return self.by(SUMS, other, Kind.of_finite())

    def __sub__(self, other):
        if self.positive and other.positive:
            return self.by(SUMS, other, {FINITE})
        return self + other

    def __mul__(self, other):
        if isinstance(other, float) and 0.0 < other <= 1.0:
            return Kind(self.kinds, self.positive)
        return self.by(PRODUCTS, other, Kind.of_finite())

    def __truediv__(self, other):
        return self.by(QUOTIENTS, other, Kind.of_finite(NAN))

    def __rtruediv__(self, other):
        return Kind(FINITE) / self

    def __neg__(self):
        return self

    def __le__(self, other):
        if FINITE not in self.kinds and other.kinds == {FINITE}:
            return False
        return Kind.answer

    def __abs__(self):
        return Kind(self.kinds, positive=True)

    __rsub__ = __radd__ = __add__
    __rmul__ = __mul__


def fma_of_kinds(a, b, c):
    exact = Kind.of(a).by(PRODUCTS, b, {FINITE})
    return exact + c


def is_finite(ball):
    return all(FINITE in Kind.of(x).kinds and x != math.inf for x in ball)


def check_overflow(balls, name):
    """Raise unless a result that is finite comes from finite numbers only."""
    function = getattr(balls, name)
    kinds = [k for one, k in function.__annotations__.items() if one != "return"]
    size = sum(3 if kind == "Ball" else 1 for kind in kinds)
    run = rebind.Copies({"fma": fma_of_kinds}).of(function)

    def result(first, answer, bad=-1):
        Kind.count, Kind.first, Kind.answer = 0, first, answer
        Kind.count, Kind.first, Kind.answer = 0, first, answer
        numbers = (Kind({INFINITE, NAN} if i == bad else FINITE) for i in range(size))
        balls = {"Ball": lambda: (*islice(numbers, 2), abs(next(numbers)))}
        return run(*[balls.get(kind, lambda: next(numbers))() for kind in kinds])

    result(math.inf, True)
    for answer in (True, False):
        for first in range(1, Kind.count + 1):
            ball = result(first, answer)
            require(not is_finite(ball), f"{name}: an overflow is not seen")
        for bad in range(size):
            ball = result(0, answer, bad)
            require(not is_finite(ball), f"{name}: an infinite operand is not seen")


def share_text(share):
    """Return a share as text, next to 1 as what is left."""
    share = Fraction(int(share.numerator), int(share.denominator))
    if share < 0.99 or share == 1:
        return f"{float(share):.2f}"
    return f"1 - 2^{math.log2(1 - share):.1f}"


def prove(balls=source):
    """Return rows: what contains its result, where, and the share of the radius needed.

    Raise ValueError with a sentence if something is not proved.
    """
    texts = {name: rebind.THEOREMS[name] for name in ("two_sum", "two_product")}
    rebind.check(floats, texts)
    rows = []
    for name in OPERATIONS:
        share = prove_operation(balls, name)
        check_overflow(balls, name)
        rows.append([name, "all balls", share_text(share)])
    return rows + ball_functions.prove(balls)


if __name__ == "__main__":
    print(table(["contains its result", "where", "needed of the radius"], prove()))
