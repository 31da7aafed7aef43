"""Numbers that record what is done with them, and bounds of what roundings add up to.

A computed value is its operation on computed values plus a rounding error: v = op(a, b)
+ e. So a straight-line program is a smooth function of its input and of all its
rounding errors e_i, and by the mean value theorem

    computed - exact = sum_i e_i dv/de_i

at some errors between the true ones and 0. The derivatives come backwards from the
result, as models over the box, of values that may have any of these errors: so nothing
of second order is left out, and what compensates compensates.
"""

import numpy as np

from bench.proof.models import OUTWARD, UNIT, Model

LEAST = 2.0**-1074  # more than an underflowing operation loses
NO_GRID = -5000
NO_UNIT = (None, 0)
# A constant whose last place is this large is added to round, to few values.
COARSE, MANY = 2.0**-4, 8
SCALE = 2.0**500


class UndecidedError(Exception):
    """A comparison has both answers among the boxes."""

    def __init__(self, question, answers):
        super().__init__("both answers")
        self.question = question
        self.answers = answers  # answer -> mask of boxes where it is possible


def exponent(x):
    """Return floor(log2 x) of an array of x > 0; -1074 for 0."""
    _, e = np.frexp(x)
    return np.where(x > 0.0, np.maximum(e - 1, -1074), -1074).astype(np.int64)


def grid_of(x):
    """Return the largest g so that a double is a multiple of 2^g; 2000 for 0."""
    if x == 0.0:
        return 2000
    numerator, denominator = float(x).as_integer_ratio()
    return (numerator & -numerator).bit_length() - denominator.bit_length()


def half_ulp(x):
    """Return the largest error of rounding numbers up to x."""
    e = exponent(x)
    return np.where(np.isfinite(x), np.ldexp(1.0, np.maximum(e - 53, -1074)), np.inf)


class Tape:
    """The record of one run over many boxes.

    ``path`` has answers to questions, by number, where more than one is possible.
    Derivatives are multiplied by ``scale``: those by large numbers do not underflow,
    and with 1 those by small numbers do not overflow.
    """

    current = None  # the tape of the run

    def __init__(self, space, boxes, path=None, scale=SCALE):
        Tape.current = self
        self.space, self.boxes, self.path = space, boxes, path or {}
        self.scale = scale
        self.asked = 0
        self.nodes = []
        self.factor = None  # an input, see ``relative``
        self.constants = {}
        self.known = {}  # the same operation on the same numbers is the same number

    def input(self, lower, upper, variable, grid=None):
        """Return an input that is any double from lower to upper."""
        model = self.space.between(lower, upper, variable)
        least = np.minimum(np.abs(lower), np.abs(upper))
        if grid is None:
            grid = np.maximum(exponent(least) - 52, -1074)
        return Number(self, model, (), grid, ends=(lower, upper))

    def relative(self, number):
        """Make an input the factor: what is a multiple of it is known as one."""
        self.factor = number
        one = self.space.constant(1.0, self.boxes)
        relative = Number(self, one, (), NO_GRID, power=1)
        relative.plain = number
        return relative

    def least_of_factor(self, power):
        """Return a lower bound of a power of the factor."""
        lower, upper = self.factor.smallest(), self.factor.largest()
        return (lower if power > 0 else upper) ** power * (1.0 - 2.0**-40)

    def around(self, largest):
        """Return an input that is any double up to a size."""
        zero = self.space.constant(0.0, self.boxes)
        size = np.broadcast_to(np.asarray(largest, float), (self.boxes,))
        return Number(self, zero.wider(size), (), np.full(self.boxes, -1074))

    def constant(self, value):
        if isinstance(value, Number):
            assert value.tape is self
            return value
        if np.ndim(value) == 0:
            key = float(value).hex()  # 0 and -0 are two
            if key not in self.constants:
                self.constants[key] = self._constant(float(value))
            return self.constants[key]
        return self._constant(value)

    def _constant(self, value):
        values = np.broadcast_to(np.asarray(value, float), (self.boxes,))
        grid = np.array([grid_of(x) for x in np.unique(values)]).min()
        model = self.space.constant(values, self.boxes)
        return Number(self, model, (), np.full(self.boxes, grid), value=values)

    def once(self, operation, make, *numbers):
        """Return the one number that an operation on these numbers makes."""
        key = operation, *(number.index for number in numbers)
        if key not in self.known:
            self.known[key] = make(*numbers[1:])
        return self.known[key]

    def answer(self, possible):
        """Return the answer to a question that has one, or that the path knows."""
        self.asked += 1
        if self.asked in self.path:
            return self.path[self.asked]
        left = {key: mask for key, mask in possible.items() if mask.any()}
        if len(left) > 1:
            raise UndecidedError(self.asked, left)
        return next(iter(left))

    def bound(self, out, last=False):
        """Return a bound of |computed - exact| of a result, per box.

        ``last``: whether the rounding of the result itself counts.
        """
        return sum(self.parts(out, last).values(), np.zeros(self.boxes))

    @np.errstate(over="ignore", invalid="ignore")
    def parts(self, out, last=False):
        """Return the contribution of each node's rounding, by number of the node."""
        slopes = {out.index: self.space.constant(self.scale, self.boxes)}
        errors, found = {}, {}
        for node in reversed(self.nodes[: out.index + 1]):
            slope = slopes.pop(node.index, None)
            effect = None if node is out and not last else slope
            for other in errors.pop(node.index, ()):
                effect = other if effect is None else effect.plus(other)
            if effect is not None and node.rounding is not None:
                part = effect.largest() * node.rounding / self.scale
                part = np.where(node.rounding == 0.0, 0.0, part)
                found[node.index] = np.where(np.isnan(part), np.inf, part) * OUTWARD
            if slope is None:
                continue
            if node.of is not None:  # minus the rounding error of another node
                errors.setdefault(node.of, []).append(slope.negative())
            for parent, derivative in node.parents:
                more = derivative(slope)
                if parent.index in slopes:
                    more = slopes[parent.index].plus(more)
                slopes[parent.index] = more
        return found


class Number:
    """A computed value, over the boxes of a tape."""

    def __init__(
        self,
        tape,
        model,
        parents,
        grid,
        rounding=None,
        of=None,
        value=None,
        ends=None,
        power=0,
        unit=NO_UNIT,
    ):
        self.tape, self.model, self.parents = tape, model, parents
        self.grid, self.rounding, self.of, self.value = grid, rounding, of, value
        self.power = power  # the value is the tape's factor to this power, times model
        self.unit = unit  # (name, degree): and times an unknown to that degree
        self.plain = None  # the same number with a power less
        self.negated = None
        self.summands = None  # of a rounded sum
        self.recovered = None  # (s, b): the value is b and the rounding error of s
        lower, upper = model.bounds()
        if value is not None:
            ends = value, value
        if ends is not None:
            lower, upper = np.fmax(lower, ends[0]), np.fmin(upper, ends[1])
        self.ends = lower, upper  # of the computed values
        self.index = len(tape.nodes)
        tape.nodes.append(self)

    # --- one rounded operation

    def rounded(
        self, model, parents, grid, ends, products=False, power=0, unit=NO_UNIT
    ):
        """Return a rounded result.

        ``grid``: the exact one is a multiple of 2^grid; ``ends``: the computed ones lie
        between them.
        """
        if power or unit[1]:
            error = UNIT * OUTWARD * model.largest()
            if products and power:
                error = error + LEAST / self.tape.least_of_factor(power)
            wide = model.wider(error)
            return Number(
                self.tape, wide, parents, NO_GRID, error, power=power, unit=unit
            )
        far = np.fmax(np.abs(ends[0]), np.abs(ends[1]))
        largest = model.largest()
        grid = np.minimum(grid, 3000)
        over = np.ldexp(1.0, np.clip(grid + 53, -1073, 1023))
        fits = ((largest <= over) | (far < over)) & (grid >= -1074)
        error = half_ulp(np.fmin(largest, far))
        if products:
            error = np.maximum(error, LEAST)
        error = np.where(fits, 0.0, error)
        result = Number(self.tape, model.wider(error), parents, grid, error, ends=ends)
        own = np.maximum(exponent(result.smallest()) - 52, -1074)
        result.grid = np.maximum(np.maximum(grid, own), -1074)
        return result

    def lowered(self):
        """Return the same number with a power of the factor less."""
        if self.plain is None:
            factor = self.tape.factor
            self.plain = Number(
                self.tape,
                self.model.times(factor.model),
                ((self, factor.model.times),),
                np.full(self.tape.boxes, -1074),
                power=self.power - 1,
                unit=self.unit,
            )
        return self.plain

    def largest(self):
        return np.maximum(np.abs(self.ends[0]), np.abs(self.ends[1]))

    def smallest(self):
        return np.maximum(0.0, np.maximum(self.ends[0], -self.ends[1]))

    def exact(self, model, parents, grid, ends):
        if self.unit[1]:
            ends = None
        return Number(
            self.tape, model, parents, grid, ends=ends, power=self.power, unit=self.unit
        )

    def is_power(self):
        """Whether this is a constant, a power of two in all boxes."""
        if self.value is None:
            return False
        mantissa, _ = np.frexp(self.value)
        return bool(np.all(np.abs(mantissa) == 0.5))

    def is_zero(self):
        return self.value is not None and not self.value.any()

    def __neg__(self):
        if self.negated is None:
            self.negated = self._negative()
            self.negated.negated = self
        return self.negated

    def _negative(self):
        if self.value is not None:
            return self.tape.constant(-self.value)
        result = self.exact(
            self.model.negative(),
            ((self, Model.negative),),
            self.grid,
            (-self.ends[1], -self.ends[0]),
        )
        if self.plain is not None:
            result.plain = -self.plain
        return result

    def __add__(self, other):
        return self.tape.once("+", self._plus, self, self.tape.constant(other))

    def _plus(self, other):
        if other.is_zero():
            return self
        if self.is_zero():
            return other
        if other is self:
            return self * 2.0
        one, two = aligned(self, other)
        known = one.part_of_sum(two)
        known = two.part_of_sum(one) if known is None else known
        if known is not None:
            return known
        result = one.rounded(
            one.model.plus(two.model),
            ((one, same), (two, same)),
            np.minimum(one.grid, two.grid),
            (one.ends[0] + two.ends[0], one.ends[1] + two.ends[1]),
            power=one.power,
            unit=one.unit,
        )
        result.summands = one, two
        return result.settled()

    def rounded_by(self, large):
        """Return this less a large constant, if that was added to round: a constant."""
        step = np.ldexp(1.0, exponent(np.abs(large.value)) - 52)
        if np.any(step < COARSE):
            return None
        lower, upper = self.ends[0] - large.value, self.ends[1] - large.value
        values = {*np.unique(lower), *np.unique(upper)}
        if len(values) > MANY:
            return None
        possible = {x: (lower <= x) & (upper >= x) for x in sorted(values)}
        between = upper - lower > step
        if between.any():
            return None
        return self.tape.constant(self.tape.answer(possible))

    def part_of_sum(self, other):
        """Return self + other where Dekker's theorem says that it is exact, or None.

        For s = a + b rounded and |a| >= |b|, z = s - a is exact, and b - z is minus
        the rounding error of s.
        """
        for sign, one, two in ((1, self, other.negated), (-1, self.negated, other)):
            if one is None or two is None:
                continue
            if one.summands is not None and any(two is x for x in one.summands):
                a, b = one.summands if one.summands[0] is two else one.summands[::-1]
                if np.all(a.smallest() >= b.largest()):
                    if sign > 0 and a.value is not None:
                        rounded = one.rounded_by(a)
                        if rounded is not None:
                            return rounded
                    z = one.exact(
                        one.model.minus(a.model),
                        ((one, same), (a, Model.negative)),
                        NO_GRID if one.scaled() else np.minimum(a.grid, b.grid),
                        (one.ends[0] - a.ends[1], one.ends[1] - a.ends[0]),
                    )
                    z.recovered = one, b
                    return z if sign > 0 else -z
            if two.recovered is not None and two.recovered[1] is one:
                s, b = two.recovered
                error = _error_of(s, np.minimum(s.grid, b.grid))
                error = self.tape.constant(error)
                return error if sign > 0 else -error
        return None

    __radd__ = __add__

    def __sub__(self, other):
        if other is self:
            return self.tape.constant(0.0)
        return self + (-self.tape.constant(other))

    def __rsub__(self, other):
        return self.tape.constant(other) + (-self)

    def __mul__(self, other):
        if isinstance(other, Projective):
            return NotImplemented
        return self.tape.once("*", self._times, self, self.tape.constant(other))

    def _times(self, other):  # noqa: PLR0911
        if self.is_zero() or other.is_zero():
            return self.tape.constant(0.0)
        if self.is_power() and not other.is_power():
            return other * self
        if self.power > 0 and other.power > 0:
            other = other.lowered()
        if other.is_power():
            factor = other.value
            if np.all(factor == 1.0):
                return self
            if self.value is not None:
                return self.tape.constant(self.value * factor)
            grid = self.grid + exponent(np.abs(factor))
            safe = np.all(grid >= -1074) or self.scaled()
            model = self.model.scaled(factor)
            parents = ((self, lambda slope: slope.scaled(factor)),)
            ends = products(self.ends, (factor, factor))
            if safe:
                return self.exact(model, parents, grid, ends)
            return self.rounded(model, parents, grid, ends, products=True)
        a, b = self.model, other.model
        return self.rounded(
            a.times(b),
            ((self, b.times), (other, a.times)),
            self.grid + other.grid,
            products(self.ends, other.ends),
            products=True,
            power=self.power + other.power,
            unit=times_unit(self.unit, other.unit),
        ).settled()

    __rmul__ = __mul__

    def __truediv__(self, other):
        return self.tape.once("/", self._over, self, self.tape.constant(other))

    def _over(self, other):
        if other.is_power():
            return self * (1.0 / other.value)
        assert not other.is_zero()
        inverse = other.model.reciprocal()
        z = self.model.times(inverse)

        def by_other(slope):
            return slope.times(z.times(inverse)).negative()

        return self.rounded(
            z,
            ((self, inverse.times), (other, by_other)),
            np.full(self.tape.boxes, NO_GRID),
            quotients(self.ends, other.ends),
            products=True,
            power=self.power - other.power,
            unit=times_unit(self.unit, other.unit, -1),
        )

    def __rtruediv__(self, other):
        return self.tape.constant(other) / self

    def scaled(self):
        """Whether the value is not the model itself."""
        return bool(self.power or self.unit[1])

    def settled(self):
        """Return this, or the constant that an exact operation on constants gives."""
        constants = all(parent.value is not None for parent, _ in self.parents)
        if constants and not self.scaled() and not self.rounding.any():
            return self.tape.constant(self.ends[0])
        return self

    # --- questions

    def _compare(self, other, holds, fails):
        one, two = aligned(self, self.tape.constant(other))
        lower, upper = one.model.minus(two.model).bounds()
        lower = np.fmax(lower, one.ends[0] - two.ends[1])
        upper = np.fmin(upper, one.ends[1] - two.ends[0])
        return Answer(
            self.tape, {True: ~fails(lower, upper), False: ~holds(lower, upper)}
        )

    def __lt__(self, other):
        return self._compare(other, lambda a, b: b < 0, lambda a, b: a >= 0)

    def __le__(self, other):
        return self._compare(other, lambda a, b: b <= 0, lambda a, b: a > 0)

    def __gt__(self, other):
        return self._compare(other, lambda a, b: a > 0, lambda a, b: b <= 0)

    def __ge__(self, other):
        return self._compare(other, lambda a, b: a >= 0, lambda a, b: b < 0)

    def __eq__(self, other):
        return self._compare(
            other, lambda a, b: (a == 0) & (b == 0), lambda a, b: (a > 0) | (b < 0)
        )

    def __ne__(self, other):
        return ~(self == other)

    __hash__ = object.__hash__

    def __abs__(self):
        return -self if self < 0.0 else self

    def __int__(self):
        raise TypeError("int() of a number in a box: use whole")

    def __bool__(self):
        return bool(self != 0.0)


def same(slope):
    return slope


def times_unit(a, b, sign=1):
    """Return the unit of a product, or of a quotient."""
    if a[1] and b[1] and a[0] != b[0]:
        raise TypeError("two unknown scales in one product")
    degree = a[1] + sign * b[1]
    return (a[0] if a[1] else b[0], degree) if degree else NO_UNIT


def aligned(a, b):
    """Return two numbers with the same power of the factor; their units must be one."""
    if a.unit != b.unit:
        raise TypeError("a sum that depends on an unknown scale")
    while a.power > b.power:
        a = a.lowered()
    while b.power > a.power:
        b = b.lowered()
    return a, b


def products(a, b):
    """Return the ends of the rounded products of numbers between ends."""
    with np.errstate(invalid="ignore", over="ignore"):
        every = [x * y for x in a for y in b]
    return _hull(every)


def quotients(a, b):
    """Return the ends of the rounded quotients; infinite ones where b may be 0."""
    with np.errstate(all="ignore"):
        lower, upper = _hull([x / y for x in a for y in b])
    safe = (b[0] > 0.0) | (b[1] < 0.0)
    return np.where(safe, lower, -np.inf), np.where(safe, upper, np.inf)


def _hull(every):
    unknown = np.isnan(every).any(0)
    lower, upper = np.min(every, 0), np.max(every, 0)
    return np.where(unknown, -np.inf, lower), np.where(unknown, np.inf, upper)


class Answer:
    """The answer to a comparison, per box; asked for one, it must be one for all."""

    def __init__(self, tape, possible):
        self.tape, self.possible = tape, possible
        self.known = None

    def __bool__(self):
        if self.known is None:
            self.known = self.tape.answer(self.possible)
        return self.known

    def __invert__(self):
        return Answer(
            self.tape, {True: self.possible[False], False: self.possible[True]}
        )

    def _other(self, other):
        if isinstance(other, Answer):
            return other.possible[True], other.possible[False]
        all_boxes = np.ones(self.tape.boxes, bool)
        return all_boxes & bool(other), all_boxes & (not other)

    def __and__(self, other):
        yes, no = self._other(other)
        mine = self.possible
        return Answer(self.tape, {True: mine[True] & yes, False: mine[False] | no})

    __rand__ = __and__

    def __or__(self, other):
        yes, no = self._other(other)
        mine = self.possible
        return Answer(self.tape, {True: mine[True] | yes, False: mine[False] & no})

    __ror__ = __or__

    def __add__(self, other):
        return bool(self) + other

    __radd__ = __add__

    def __index__(self):
        return int(bool(self))


# --- the operations that are not operators -------------------------------------------


def _numbers(*values):
    return [Tape.current.constant(v) for v in values]


def fma(a, b, c):
    """Record ``a*b + c``, rounded once."""
    if isinstance(b, Projective):
        return b.fused(a, c)
    a, b, c = _numbers(a, b, c)
    return a.tape.once("fma", lambda *_: _fused(a, b, c), a, b, c)


def _fused(a, b, c):
    if a.is_zero() or b.is_zero():
        return c
    if c.is_zero():
        return a * b
    if a.is_power() or b.is_power():
        factor, other = (a, b) if a.is_power() else (b, a)
        if np.all(np.abs(factor.value) == 1.0) or np.all(other.grid >= -500):
            return other * factor + c  # the product is exact
    if a.power > 0 and b.power > 0:
        b = b.lowered()
    while a.power + b.power > c.power:
        if b.power > 0:
            b = b.lowered()
        else:
            a = a.lowered()
    while c.power > a.power + b.power:
        c = c.lowered()
    unit = times_unit(a.unit, b.unit)
    if unit != c.unit:
        raise TypeError("a sum that depends on an unknown scale")
    x, y = a.model, b.model
    lower, upper = products(a.ends, b.ends)
    # The sum of a rounded product is not that of the product.
    slack = 4.0 * UNIT * (np.fmax(np.abs(lower), np.abs(upper)) + c.largest()) + LEAST
    return a.rounded(
        x.times(y).plus(c.model),
        ((a, y.times), (b, x.times), (c, same)),
        np.minimum(a.grid + b.grid, c.grid),
        (lower + c.ends[0] - slack, upper + c.ends[1] + slack),
        products=True,
        power=c.power,
        unit=unit,
    )


class Projective:
    """A number known up to a scale: ``ratio`` times another, ``base``.

    x' = a x + c y as a multiple of x is a + c/(x/y): in ratios a continued fraction
    shrinks the errors of its tail, while sums of numerators lose them in each other.
    """

    def __init__(self, tape, base=None, ratio=None):
        self.tape, self.base, self.ratio = tape, base, ratio

    def __neg__(self):
        return Projective(self.tape, self.base, -self.ratio)

    def __rmul__(self, factor):
        factor = self.tape.constant(factor)
        return self._multiple(factor.model, ((factor, same),))

    def _multiple(self, model, parents):
        """Return a rounded multiple of this number."""
        error = UNIT * OUTWARD * model.largest()
        wide = model.wider(error)
        ratio = Number(self.tape, wide, parents, NO_GRID, error)
        return Projective(self.tape, self, ratio)

    def fused(self, a, other):
        """Return fma(a, self, other) as a multiple of self."""
        a = self.tape.constant(a)
        part = other.over(self)
        return self._multiple(a.model.plus(part.model), ((a, same), (part, same)))

    def __add__(self, other):
        return self.fused(1.0, other)

    def over(self, other):
        """Return the ratio of this number and another, as it is, without rounding."""
        mine, its = self._chain(), other._chain()
        for place, (base, one) in enumerate(mine):
            for also, (common, two) in enumerate(its):
                if base is common:
                    if also == 0:
                        return one
                    if place == 0:
                        one = self.tape.constant(1.0)
                    return exact_quotient(one, two)
        raise TypeError("two numbers without a common base")

    def _chain(self):
        """Return what this is a multiple of, with the factors; itself first."""
        found, number, factor = [(self, None)], self, None
        while number.base is not None:
            ratio = number.ratio
            factor = ratio if factor is None else exact_product(factor, ratio)
            number = number.base
            found.append((number, factor))
        return found[:CHAIN]


CHAIN = 4  # as far as numbers are known as multiples of others


def exact_product(a, b):
    """Return the product of two numbers as it is."""
    model, parents = a.model.times(b.model), ((a, b.model.times), (b, a.model.times))
    return Number(a.tape, model, parents, NO_GRID)


def exact_quotient(a, b):
    """Return the quotient of two numbers as it is."""
    inverse = b.model.reciprocal()
    model = a.model.times(inverse)

    def by_b(slope):
        return slope.times(model.times(inverse)).negative()

    return Number(a.tape, model, ((a, inverse.times), (b, by_b)), NO_GRID)


def projective(copy, f, p, x, y):
    """Run the levels of a fraction on ratios; return them as x/y and 1 in a new unit.

    Then a sum of numbers of different degrees in the unit is refused: so what follows
    depends on the ratio alone.
    """
    tape = Tape.current
    x, y = tape.constant(x), tape.constant(y)
    base = Projective(tape)
    above, below = copy(f, p, Projective(tape, base, exact_quotient(x, y)), base)
    ratio = above.over(below)
    unit = (len(tape.nodes), 1)
    one = tape.space.constant(1.0, tape.boxes)
    return (
        Number(tape, ratio.model, ((ratio, same),), NO_GRID, unit=unit),
        Number(tape, one, (), NO_GRID, unit=unit),
    )


def _error_of(s, grid, lost=None):
    """Return the number that is minus the rounding error of another."""
    if (s.rounding is None or not s.rounding.any()) and lost is None:
        return 0.0
    rounding = np.zeros(s.tape.boxes) if s.rounding is None else s.rounding
    model = s.tape.space.constant(0.0, s.tape.boxes).wider(rounding)
    if lost is not None:
        model = model.wider(lost)
    grid = NO_GRID if s.scaled() else np.maximum(grid, -1074)
    return Number(s.tape, model, (), grid, lost, of=s.index, power=s.power, unit=s.unit)


def two_sum(a, b):
    """Record a sum and its rounding error, which is a double (Knuth)."""
    a, b = _numbers(a, b)
    s = a + b
    if s is a or s is b:
        return s, 0.0
    a, b = aligned(a, b)
    return s, _error_of(s, np.minimum(a.grid, b.grid))


def fast_two_sum(a, b):
    """Record a sum and its error; by single operations where |a| < |b| may be."""
    a, b = _numbers(a, b)
    if a.is_zero():
        return b, 0.0
    if b.is_zero():
        return a, 0.0
    x, y = aligned(a, b)
    larger = x.smallest() >= y.largest()
    if a.tape.answer({True: larger, False: ~larger}):
        return two_sum(a, b)
    s = a + b
    return s, b - (s - a)


def two_product(a, b):
    """Record a product and its rounding error, a double unless it underflows."""
    a, b = _numbers(a, b)
    s = a * b
    if s is a or s is b:
        return s, 0.0
    exact_grid = a.grid + b.grid
    lost = np.where(exact_grid >= -1074, 0.0, LEAST)
    if s.power:
        lost = lost / s.tape.least_of_factor(s.power)
    return s, _error_of(s, exact_grid, lost if lost.any() else None)


class Pattern:
    """The bits of a number x > 0 as an integer, plus constants."""

    def __init__(self, number, shifted=0):
        self.number, self.shifted = number, shifted

    def __sub__(self, other):
        if isinstance(other, Shifted):
            assert self.shifted == 0
            return Pattern(self.number * np.ldexp(1.0, -other.exponent))
        return Pattern(self.number, self.shifted - other)

    def __add__(self, other):
        return Pattern(self.number, self.shifted + other)

    def __rshift__(self, places):
        """Return the exponents: one for each box."""
        lower, upper = self.number.ends
        low = (bits_of(lower) + self.shifted) >> places
        high = (bits_of(upper) + self.shifted) >> places
        if np.any(high > low + 1) or np.any(lower <= 0.0):
            raise ValueError("a box with more than two exponents")
        more = self.number.tape.answer({0: low == low, 1: high > low})
        return Whole(self.number.tape, low + more)


class Whole:
    """Integers, one for each box."""

    def __init__(self, tape, values):
        self.tape, self.values = tape, values

    def __add__(self, other):
        return Whole(self.tape, self.values + other)

    def __lshift__(self, places):
        assert places == 52
        return Shifted(self.tape, self.values)

    def __float__(self):
        raise TypeError("float() of integers in boxes: use real")


class Shifted:
    """Integers as the exponents of doubles, or of bits."""

    def __init__(self, tape, exponent):
        self.tape, self.exponent = tape, exponent


def bits_of(x):
    return np.ascontiguousarray(x, float).view(np.int64)


def from_bits(pattern):
    if isinstance(pattern, Pattern):
        assert pattern.shifted == 0
        return pattern.number
    if isinstance(pattern, Shifted):
        return pattern.tape.constant(np.ldexp(1.0, pattern.exponent - 1023))
    raise TypeError("from_bits of something that is not a pattern of bits")


def real(x):
    """float() of kernels."""
    if isinstance(x, Whole):
        return x.tape.constant(x.values.astype(float))
    if isinstance(x, Number):
        return x
    # A number of the tape: what is computed of it by rounding is not exact.
    return float(x) if Tape.current is None else Tape.current.constant(float(x))


def whole(x):
    """int() of kernels: of each box one of two numbers, by the answer to a question."""
    if not isinstance(x, Number):
        return int(x)
    low, high = (np.trunc(end).astype(np.int64) for end in x.ends)
    if np.any(high > low + 1):
        raise ValueError("a box with more than two whole numbers")
    return Whole(x.tape, low + x.tape.answer({0: low == low, 1: high > low}))


def least(a, b):
    """min() of kernels."""
    if isinstance(a, Number) or isinstance(b, Number):
        return a if a <= b else b
    return min(a, b)


def greatest(a, b):
    """max() of kernels."""
    if isinstance(a, Number) or isinstance(b, Number):
        return a if a >= b else b
    return max(a, b)
