"""Prove what surrounds the pairs: the rounding test, the choice of region, the blocks.

As for the pairs the kernels' own source is run on other things than doubles: on linear
forms, on boxes of (f, p), and on names of what is computed.
"""

import itertools
import math
import types
from fractions import Fraction

import numpy as np

from bench.proof import exact, prover
from bench.proof.rebind import Copies
from riskcore.core.special import elementary, floats
from riskcore.core.special.gauss import (
    fast_integer as risk_pairs,
)
from riskcore.core.special.gauss import (
    fast_real as real_pairs,
)
from riskcore.core.special.gauss import (
    risk_blocks,
)
from riskcore.core.special.gauss import (
    rounding_test as rounding,
)

# --- the rounding test ---------------------------------------------------------------

U = Fraction(2) ** -53


class Form:
    """h high + a low + b error, rounded or not: what is inside was rounded, too."""

    def __init__(self, h, a, b, inner=None):
        self.h, self.a, self.b, self.inner = h, a, b, inner

    def __neg__(self):
        if self.inner:
            raise TypeError("a result that is turned")
        return Form(-self.h, -self.a, -self.b)

    def __add__(self, other):
        one, two = (self, other) if self.h else (other, self)
        if one.inner or two.inner or (one.h and two.h):
            raise TypeError("more than two sums")
        if one.h:
            return Form(one.h, two.a + one.a, two.b + one.b, inner=two)
        return Form(0, self.a + other.a, self.b + other.b)

    def __sub__(self, other):
        return self + (-other)

    def __eq__(self, other):
        ANSWERS.compared.append((self, other))
        return ANSWERS.equal

    def __mul__(self, factor):
        if self.h or self.inner or math.frexp(factor)[0] != 0.5:
            raise TypeError("a product that is rounded")
        return Form(0, self.a * Fraction(factor), self.b * Fraction(factor))

    __rmul__, __hash__ = __mul__, object.__hash__


class ANSWERS:
    """What comparisons of a run say, and what was compared."""

    equal, compared = True, []


def _rounded(form, low, error):
    """Return the ends of what the inner sum may be, rounded."""
    inner = form.inner
    x = inner.a * low + inner.b * error
    return x - U * abs(x), x + U * abs(x)


def _off(low, error):
    """Return what a pair may be off by, for a bound that `prover.tested` takes."""
    lost, low, error = exact.Exact(0), exact.Exact(low), exact.Exact(error)
    none = prover.tested(lost, abs(low), error).value
    slope = prover.tested(exact.Exact(1), exact.Exact(0), exact.Exact(0)).value
    return (error.value - none) / slope


def check_rounding():
    """Raise unless what passes the test is the double nearest all that r may be.

    It passes a = RN(high + RN(x)) if that is b = RN(high + RN(y)), x and y of low and
    error. As RN is monotonic, a <= RN(r) <= b if RN(x) <= low - d and low + d <=
    RN(y), |r - high - low| <= d. Both are comparisons of functions that are linear
    between rays of the plane (low, error >= 0): they hold if they do on the rays.
    """
    high, low, error = Form(1, 0, 0), Form(0, 1, 0), Form(0, 0, 1)
    ANSWERS.equal, ANSWERS.compared = False, []
    result = rounding.rounded(high, low, error)
    if not (isinstance(result, float) and math.isnan(result)):
        raise ValueError("the rounding test passes what differs")
    ANSWERS.equal, ANSWERS.compared = True, []
    result = rounding.rounded(high, low, error)
    if len(ANSWERS.compared) != 1 or not any(
        result is one for one in ANSWERS.compared[0]
    ):
        raise ValueError("the rounding test passes what it has not compared")
    both = ANSWERS.compared[0]
    if any(one.h != 1 or one.inner is None for one in both):
        raise ValueError("the rounding test does not compare sums of three numbers")
    rays = [(Fraction(1), Fraction(0)), (Fraction(-1), Fraction(0)), (0, Fraction(1))]
    for one in both:
        a, b = one.inner.a, one.inner.b
        if a and b:  # where x changes its sign
            rays.append((Fraction(-b, a), Fraction(1)))
    for below, above in (both, both[::-1]):
        if all(
            _rounded(below, *ray)[1] <= ray[0] - _off(*ray)
            and ray[0] + _off(*ray) <= _rounded(above, *ray)[0]
            for ray in rays
        ):
            return
    raise ValueError("the rounding test passes what may be another double")


# --- the choice of region ------------------------------------------------------------


def after(x):
    return np.nextafter(x, np.inf)


def before(x):
    return np.nextafter(x, -np.inf)


class Answers:
    """A bool for each question of a run, those that are open by a list given."""

    def __init__(self, given):
        self.given, self.asked, self.known = given, [], {}

    def ask(self, question, cut):
        if question not in self.known:
            self.asked.append(cut)
            n = len(self.asked) - 1
            self.known[question] = self.given[n] if n < len(self.given) else True
        return self.known[question]


class Between:
    """All doubles from lower to upper."""

    def __init__(self, name, lower, upper, answers):
        self.name, self.ends, self.answers = name, (lower, upper), answers

    def _moved(self, by):
        name = f"({self.name} + {by})"
        lower, upper = (float(end) + by for end in self.ends)
        return Between(name, lower, upper, self.answers)

    def __add__(self, other):
        return self._moved(float(other))

    def __sub__(self, other):
        return self._moved(-float(other))

    def _said(self, all_, none, text, cut):
        if all_ or none:
            return bool(all_)
        return self.answers.ask(f"{self.name} {text}", (self.name, *cut))

    def __lt__(self, c):
        a, b = self.ends
        return self._said(b < c, a >= c, f"< {c}", (before(c), c))

    def __le__(self, c):
        a, b = self.ends
        return self._said(b <= c, a > c, f"<= {c}", (c, after(c)))

    def __gt__(self, c):
        a, b = self.ends
        return self._said(a > c, b <= c, f"> {c}", (c, after(c)))

    def __ge__(self, c):
        a, b = self.ends
        return self._said(a >= c, b < c, f">= {c}", (before(c), c))

    def __eq__(self, other):
        a, b = self.ends
        if not isinstance(other, Between):
            cut = (before(other), other) if a < other else (other, after(other))
            equal = a == other == b
            return self._said(equal, not a <= other <= b, f"== {other}", cut)
        # One is the other rounded to a whole number.
        c, d = other.ends
        text = f"== {other.name}"
        if a == b and c == d:
            return self._said(a == c, a != c, text, ())
        rounded, plain = (other, self) if len(self.name) == 1 else (self, other)
        (whole, most), (low, high) = rounded.ends, plain.ends
        none = whole == most and not low <= whole <= high
        cut = (before(whole), whole) if low < whole else (whole, after(whole))
        if not low <= cut[0] < cut[1] <= high:
            half = min(0.5 * low + 0.5 * high, before(high))
            cut = half, after(half)
        if none:
            return False
        return self.answers.ask(f"{self.name} {text}", (plain.name, *cut, "last"))

    def __ne__(self, other):
        return not self == other

    __hash__ = object.__hash__


def _rectangles(boxes):
    """Return the few rectangles that many boxes are, side by side."""
    boxes = np.asarray(boxes, float)
    while True:
        count = len(boxes)
        for this, other in ((slice(2, 4), slice(0, 2)), (slice(0, 2), slice(2, 4))):
            a, b = boxes[:, this].T
            c, d = boxes[:, other].T
            order = np.lexsort((a, d, c))
            a, b, c, d = a[order], b[order], c[order], d[order]
            new = np.ones(len(a), bool)
            new[1:] = (c[1:] != c[:-1]) | (d[1:] != d[:-1]) | (a[1:] > after(b[:-1]))
            first = np.flatnonzero(new)
            merged = np.empty((len(first), 4))
            merged[:, other] = np.stack([c[first], d[first]], axis=1)
            merged[:, this] = np.stack(
                [a[first], np.maximum.reduceat(b, first)], axis=1
            )
            boxes = merged
        if len(boxes) == count:
            return boxes


WAYS = 64  # of a run through one box, before that is cut
BOXES = 20_000  # more than any choice of region needs


def _outcomes(run, box):
    """Return what a run may give in a box, if not too much, and where to cut it."""
    found, cuts, waiting = [], [], [()]
    while waiting:
        if len(found) == WAYS:
            return [], cuts
        given = waiting.pop()
        answers = Answers(given)
        f = Between("f", *box[:2], answers)
        p = Between("p", *box[2:], answers)
        found.append(run(f, p))
        cuts += answers.asked
        waiting += [
            (*given, *[True] * (n - len(given)), False)
            for n in range(len(given), len(answers.asked))
        ]
    return found, cuts


def _cut(box, cuts):
    """Return a box in two, by a comparison that is open; whole numbers come last."""
    a, b, c, d = box
    for name, low, high, *_ in sorted(cuts, key=len):
        if name == "p" and c <= low < high <= d:
            return [(a, b, c, low), (a, b, high, d)]
        if name != "p" and a <= low < high <= b:
            return [(a, low, c, d), (high, b, c, d)]
    return []


# Which regions' cells a kernel that serves a whole block takes.
IN_PLACE = {
    "is_one": ("ONE", ["ONE"]),
    "is_small": ("SMALL", ["ONE", "SMALL"]),
    "is_near_one": ("NEAR_ONE", ["NEAR_ONE"]),
    "is_from_32": ("FROM_32", ["FROM_32"]),
}


def check_regions(claims):
    """Raise unless every (f, p) goes to a region one of whose claims holds there.

    Cells of the domain never go to OTHER, and all other cells do. Boxes of
    all doubles are cut by the comparisons that the kernels make. The predicates for
    whole blocks take the cells of their regions and no others.
    """
    r = risk_pairs
    held = {}
    for claim in claims:
        held.setdefault(getattr(r, claim.region), []).append(claim.boxes)
    held = {where: _rectangles(np.concatenate(found)) for where, found in held.items()}

    def inside(box, rectangles):
        a, b, c, d = box
        e, f, g, h = rectangles.T
        return np.any((e <= a) & (b <= f) & (g <= c) & (d <= h))

    def apart(box):
        a, b, c, d = box
        return b < r.RARE or a > r.F_HUGE or d < r.RARE or c > 1.0

    def region_holds(box, found):
        return all(
            apart(box) if w == r.OTHER else w in held and inside(box, held[w])
            for w in found
        )

    _tile(r.region, region_holds, "region")
    for name, (served, among) in IN_PLACE.items():
        kernel, served = getattr(r, name), getattr(r, served)
        among = {getattr(r, one) for one in among}

        def run(f, p, kernel=kernel):
            return bool(kernel(f, p)), r.region(f, p)

        def holds(box, found, served=served, among=among):
            return all(
                inside(box, held[served]) if taken else where not in among
                for taken, where in found
            )

        _tile(run, holds, name)
        if any(kernel(*x) for x in NOT_NUMBERS):
            raise ValueError(f"{name} takes a value that is not a number")
    if any(r.region(*x) != r.OTHER for x in NOT_NUMBERS):
        raise ValueError("a region for a value that is not a number")


NOT_NUMBERS = [(math.nan, 0.5), (math.nan, 1.0), (2.0, math.nan), (64.0, math.nan)]
NOT_NUMBERS += [(1.0, math.nan), (2.5, math.nan), (math.nan, 0.8), (math.nan,) * 2]


@np.errstate(all="ignore")  # next to infinity
def _tile(run, holds, name):
    waiting = [(-np.inf, np.inf, -np.inf, np.inf)]
    for _ in range(BOXES):
        if not waiting:
            return
        box = waiting.pop()
        found, cuts = _outcomes(run, box)
        if found and holds(box, found):
            continue
        more = _cut(box, cuts)
        if not more:
            raise ValueError(f"{name}: {found[:1]} at f, p in {box}")
        waiting += more
    raise ValueError(f"{name}: more than {BOXES} boxes")


# --- blocks --------------------------------------------------------------------------


def _outputs(kernel):
    """Return how many numbers a kernel returns."""
    count = kernel.__code__.co_argcount
    result = kernel(*[2.5, 0.25, 1.5, 0.75, 0.5, 1.0, 1.0][:count])
    return len(result) if isinstance(result, tuple) else 0


def _named(name, outputs=0):
    """Return a function that returns what it is called with, under its name."""

    def function(*args):
        if outputs:
            return tuple((name, i, *args) for i in range(outputs))
        return (name, *args)

    return function


def slow(f, x):
    return "slow", f, x


def around():
    """Return the kernels of a cell and of a block, of functions that name their use."""
    return risk_blocks.by_region(*(_named(f"finish_{i}") for i in range(3)))


completion = risk_blocks.completion


def _block_kernels(regions):
    """Return (f, p, excess) -> value, the kernel of a block, and the completion.

    What is computed of a cell is a name; f is ("f", i), its region ``regions[i]``.
    """
    instead = {}
    for one in vars(risk_blocks).values():
        module = getattr(one, "__module__", "")
        if isinstance(one, types.FunctionType) and module in COMPUTES:
            function = _named(one.__name__, _outputs(one))
            instead[one] = lambda copy, *args, function=function: function(*args)
    instead[risk_pairs.region] = lambda copy, f, p: regions[f[1]]
    for name, (_, among) in IN_PLACE.items():
        among = {getattr(risk_pairs, one) for one in among}
        instead[getattr(risk_pairs, name)] = lambda copy, f, p, among=among: (
            regions[f[1]] in among
        )
    copier = Copies({}, instead)
    return *map(copier.of, around()), Copies({}).of(completion(slow))


COMPUTES = [one.__name__ for one in (elementary, real_pairs, risk_pairs)]
UNTOUCHED = "untouched"


def _patterns(most):
    """Return the regions of the cells of blocks.

    All of blocks up to ``most`` cells; and in longer ones, of every length about which
    masks and vectors end, each region among cells of each other, at every place about
    which one ends.
    """
    every = range(risk_pairs.REGIONS)
    for n in range(1, most + 1):
        yield from itertools.product(every, repeat=n)
    for n in (7, 8, 9, 63, 64, 65, 129, floats.BLOCK):
        for most_of, one in itertools.product(every, repeat=2):
            # Nine of them: more than a vector.
            places = {0, 1, 7, 8, 62, 63, 64, n // 2, n - 1}
            yield [one if i in places else most_of for i in range(n)]
        yield [i % risk_pairs.REGIONS for i in range(n)]
        yield [(i * i) % risk_pairs.REGIONS for i in range(n)]


def check_blocks(most=2):
    """Raise unless a block computes of each cell what the kernel of one cell does.

    Both return names of what was computed; so they are the same
    whatever the functions named are. No other place is written to.
    """
    regions = []
    scalar, block, complete = _block_kernels(regions)
    room = floats.BLOCK + 64
    as_well = {}  # by the kernels of which regions cells of a region may go
    for served, among in IN_PLACE.values():
        for one in among:
            as_well.setdefault(getattr(risk_pairs, one), []).append(
                getattr(risk_pairs, served)
            )
    for pattern in _patterns(most):
        n = len(pattern)
        f, p, excess = ([(name, i) for i in range(n)] for name in "fpe")
        regions[:] = pattern
        out = [UNTOUCHED] * room
        block(f, p, excess, out, n)
        for i, where in enumerate(pattern):
            wanted = []
            for regions[i] in (where, *as_well.get(where, [])):
                wanted.append(repr(scalar(f[i], p[i], excess[i])))
            if repr(out[i]) not in wanted:
                raise ValueError(f"a block is not its cells: {where} at {i} of {n}")
        if out[n:] != [UNTOUCHED] * (room - n):
            raise ValueError(f"a block writes past its {n} cells")
    for n in (1, 2, 3, 64, 65, floats.BLOCK):
        for missing in ([], [0], [n - 1], range(n), range(0, n, 2), range(63, n, 64)):
            f, x = [("f", i) for i in range(n)], [("x", i) for i in range(n)]
            out = [math.nan if i in missing else float(i) for i in range(n)]
            wanted = [
                ("slow", f[i], x[i]) if i in missing else out[i] for i in range(n)
            ]
            out += [UNTOUCHED] * (room - n)
            complete(f, x, out, n)
            if out != wanted + [UNTOUCHED] * (room - n):
                raise ValueError(f"slow steps at other cells: {list(missing)[:9]}")


def check(claims, most=2):
    """Raise unless rounding test, regions and blocks are right."""
    check_rounding()
    check_regions(claims)
    check_blocks(most)
