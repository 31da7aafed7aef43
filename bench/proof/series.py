"""What a kernel's formula leaves out, in exact arithmetic: power series in Arb.

On a piece [c - h, c + h] the kernel's formula and the truth are c_0 + c_1 t + ... with
|t| <= h; coefficients up to an order come as balls at c, the next one as a ball over
the whole piece, which bounds what follows (Lagrange).
"""

from flint import arb, arb_series, ctx

from bench.proof.rebind import Copies

BITS = 300
ORDER = 20
LARGE = 2.0**40  # what is added to round


def ball(x):
    """Return a double or a rational number as a ball; anything else as it is."""
    return arb(x) if isinstance(x, int | float) else x


class Series:
    """A power series; the variable itself may be compared, and knows its ends."""

    def __init__(self, series, ends=None):
        self.series, self.ends = series, ends

    def of(self, other):
        if isinstance(other, Series):
            return other.series
        return arb_series([ball(other)])

    def make(self, series):
        return Series(series)

    def __neg__(self):
        return self.make(-self.series)

    def __add__(self, other):
        if isinstance(other, float) and other >= LARGE:
            return Rounded(self, other)
        return self.make(self.series + self.of(other))

    def __sub__(self, other):
        return self.make(self.series - self.of(other))

    def __rsub__(self, other):
        return self.make(self.of(other) - self.series)

    def __mul__(self, other):
        return self.make(self.series * self.of(other))

    def __truediv__(self, other):
        return self.make(self.series / self.of(other))

    def __rtruediv__(self, other):
        return self.make(self.of(other) / self.series)

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, other):
        lower, upper = self.ends
        if not (upper < other or lower >= other):
            raise ValueError("a piece with both answers")
        return upper < other

    def __gt__(self, other):
        lower, upper = self.ends
        if not (lower > other or upper <= other):
            raise ValueError("a piece with both answers")
        return lower > other


class Rounded:
    """The variable and a large number: less that, it is rounded, to one number."""

    def __init__(self, series, large):
        self.series, self.large = series, large

    def __sub__(self, large):
        assert large == self.large
        lower, upper = ((end + large) - large for end in self.series.ends)
        if lower != upper:
            raise ValueError("a piece that is rounded to two numbers")
        return float(lower)


class Bits:
    """The bits of z 2^k, z in [sqrt 1/2, sqrt 2), and what becomes of them."""

    def __init__(self, z, k):
        self.z, self.k = z, k

    def __sub__(self, other):
        return self

    def __rshift__(self, places):
        return Power(self.k)


class Power:
    def __init__(self, k):
        self.k = k

    def __lshift__(self, places):
        return self


def _names(k):
    def zero(a, b):
        return a + b, 0.0

    return {
        "fma": lambda a, b, c: a * b + c, "two_sum": zero, "fast_two_sum": zero,
        "two_product": lambda a, b: (a * b, 0.0), "bits": lambda z: Bits(z, k),
        "from_bits": lambda pattern: pattern.z,
        "float": lambda x: x.k if isinstance(x, Power) else float(x),
    }  # fmt: skip


def left_out(kernel, truth, lower, upper, k=0):
    """Return a bound of |kernel - truth| on a piece, as a float.

    ``kernel`` gets the copier of kernels and the variable and returns a `Series`;
    ``truth`` gets an ``arb_series``.
    """
    copies = Copies(_names(k))
    ctx.prec, ctx.cap = BITS, ORDER + 1
    middle = (arb(lower) + arb(upper)) / 2
    radius = (arb(upper) - arb(lower)) / 2
    whole = arb(middle.mid(), abs(radius).upper() if radius != 0 else 0)
    ends = lower, upper
    over = kernel(copies, Series(arb_series([whole, 1]), ends)).series
    over_truth = truth(arb_series([whole, 1]))
    difference = kernel(copies, Series(arb_series([middle, 1]), ends)).series
    difference = difference - truth(arb_series([middle, 1]))
    total, power = arb(0), arb(1)
    for j in range(ORDER):
        total += abs(difference[j]) * power
        power *= radius
    total += (abs(over[ORDER]) + abs(over_truth[ORDER])) * power
    return float(total.abs_upper()) * (1.0 + 2.0**-50)


def in_exponent(kernel, lower, upper):
    """Return the coefficients from k^2 on of a kernel of z 2^k; [0] if it has none."""
    ctx.prec, ctx.cap = BITS, ORDER + 1
    k = Series(arb_series([0, 1]))
    z = Series(arb_series([arb(lower).union(arb(upper))]), (lower, upper))
    found = kernel(Copies(_names(k)), z).series
    return [found[j] for j in range(2, ORDER)]
