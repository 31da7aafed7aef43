"""Graphs of floating-point operations, by which two programs are compared.

A node is an operation on nodes; the same operation on the same nodes is the same node,
so two programs do the same if their results are one node. Every value is a pattern of
64 bits. Only rewrites that give the same bits for all numbers are applied: operands of
sums and products in one order, signs of factors in front of products, x - y = x + (-y),
x + x = 2 x, x/2^k = 2^-k x, 1 x = x, x + (-0) = x, trunc(-x) = -trunc(x), and
operations on constants.

Conditions stay open in ``select`` nodes; ``cases.py`` answers them.
"""

import math
import struct
from fractions import Fraction

from riskcore.core.special import floats

SIGN, ALL, WORD = 1 << 63, (1 << 64) - 1, 1 << 64
LESS, EQUAL, GREATER, UNORDERED = 1, 2, 4, 8
TURNED = {LESS: GREATER, GREATER: LESS}
NONE = frozenset()
COMMUTE = {"add", "mul", "iadd", "and", "or", "xor"}


class Node:
    """An operation on nodes; operators build further ones."""

    __slots__ = ("args", "inputs", "kind", "number")
    every, listed, up_to_zero = {}, [], {}
    answer = None  # of conditions, see ``cases.py``

    def __add__(self, other):
        return add(self, node(other))

    def __sub__(self, other):
        return add(self, negative(node(other)))

    def __rsub__(self, other):
        return add(node(other), negative(self))

    def __mul__(self, other):
        return multiply(self, node(other))

    def __truediv__(self, other):
        return divide(self, node(other))

    def __rtruediv__(self, other):
        return divide(node(other), self)

    def __neg__(self):
        return negative(self)

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, other):
        return compare(LESS, self, node(other))

    def __le__(self, other):
        return compare(LESS | EQUAL, self, node(other))

    def __gt__(self, other):
        return compare(GREATER, self, node(other))

    def __ge__(self, other):
        return compare(GREATER | EQUAL, self, node(other))

    def __eq__(self, other):
        return compare(EQUAL, self, node(other))

    def __ne__(self, other):
        return compare(15 ^ EQUAL, self, node(other))

    def __and__(self, other):
        return both(self, condition(other))

    def __or__(self, other):
        return invert(both(invert(self), invert(condition(other))))

    __rand__, __ror__, __hash__ = __and__, __or__, object.__hash__

    def __bool__(self):
        return Node.answer(self)

    def __repr__(self):
        return shown(self, 3)


def make(kind, *args):
    """Return the one node of an operation."""
    if kind in COMMUTE and args[0].number > args[1].number:
        args = args[::-1]
    key = kind, *(id(one) if isinstance(one, Node) else one for one in args)
    found = Node.every.get(key)
    if found is None:
        found = Node()
        found.kind, found.args, found.number = kind, args, len(Node.every)
        below = [x.inputs for x in args if isinstance(x, Node)]
        found.inputs = NONE.union(*below) if kind != "input" else frozenset(args)
        Node.every[key] = found
        Node.listed.append(found)
    return found


def word(pattern):
    """Return a constant of 64 bits."""
    return make("const", pattern & ALL)


def node(value):
    """Return a number as a node."""
    if isinstance(value, Node):
        return value
    return word(struct.unpack("<Q", struct.pack("<d", float(value)))[0])


TRUE, FALSE = make("true"), make("false")


def condition(value):
    return value if isinstance(value, Node) else (TRUE if value else FALSE)


def constant(*nodes):
    for one in nodes:  # noqa: SIM110 - the generator takes longer
        if one.kind != "const":
            return False
    return True


def remembered(operation):
    """Make an operation that does the same once for the same nodes."""
    known = {}

    def once(*nodes):
        key = tuple([one.number for one in nodes])
        if key not in known:
            known[key] = operation(*nodes)
        return known[key]

    return once


def value(one):
    """Return the double of a constant."""
    return struct.unpack("<d", struct.pack("<Q", one.args[0]))[0]


def integer(one):
    """Return the signed integer of a constant."""
    pattern = one.args[0]
    return pattern - WORD if pattern & SIGN else pattern


def shown(one, depth):
    if one.kind == "const":
        return f"{value(one)!r}"
    if not depth:
        return "..."
    parts = [shown(x, depth - 1) if isinstance(x, Node) else f"{x}" for x in one.args]
    return f"{one.kind}({', '.join(parts)})"


# --- numbers


def negative(a):
    if constant(a):
        return word(a.args[0] ^ SIGN)
    return a.args[0] if a.kind == "neg" else make("neg", a)


def unsigned(a):
    """Return a number without the sign in front of it, and whether it had one."""
    if a.kind == "neg":
        return a.args[0], True
    if constant(a) and a.args[0] & SIGN:
        return negative(a), True
    return a, False


def never_minus_zero(a):
    """Return whether a number is known not to be -0."""
    return a.args[0] != SIGN if constant(a) else a.kind in ("to_double", "plus")


@remembered
def add(a, b):
    if constant(a, b):
        return node(value(a) + value(b))
    if a is b:
        return multiply(a, node(2.0))
    for one, other in ((a, b), (b, a)):
        if constant(one) and one.args[0] == SIGN:
            return other
    if never_minus_zero(a) or never_minus_zero(b):  # nor is the sum
        return plus_zero(total(up_to_zero(a), up_to_zero(b)))
    return make("add", a, b)


def plus_zero(a):
    """Return a number, 0 for -0."""
    a = up_to_zero(a)
    return a if constant(a) else make("plus", a)


def up_to_zero(a):
    """Return what differs from a number in the sign of a zero at most.

    There -(x + y) is (-x) + (-y).
    """
    if a.kind == "neg":
        return opposite(up_to_zero(a.args[0]))
    if a.kind == "plus":
        return a.args[0]
    if a.kind == "add":
        if a.number not in Node.up_to_zero:
            Node.up_to_zero[a.number] = total(*map(up_to_zero, a.args))
        return Node.up_to_zero[a.number]
    if a.kind == "mul" and any(constant(x) and value(x) == 2.0 for x in a.args):
        return multiply(*map(up_to_zero, a.args))
    if a.kind == "truncated":
        return truncated(up_to_zero(a.args[0]))
    return word(0) if constant(a) and value(a) == 0.0 else a


def opposite(a):
    """Return -a up to the sign of a zero: x - x is its own opposite."""
    nothing = a.kind == "add" and any(
        x.kind == "neg" and x.args[0] is y for x, y in (a.args, a.args[::-1])
    )
    return a if nothing else negative(a)


def total(a, b):
    """Return a sum up to the sign of a zero."""
    if constant(a, b):
        return up_to_zero(node(value(a) + value(b)))
    for one, other in ((a, b), (b, a)):
        if constant(one) and value(one) == 0.0:
            return other
    if a is b:
        return multiply(a, node(2.0))
    a, b = sorted((a, b), key=lambda x: unsigned(x)[0].number)
    if unsigned(a)[1]:
        return opposite(make("add", opposite(a), opposite(b)))
    return make("add", a, b)


@remembered
def multiply(a, b):
    if constant(a, b):
        return node(value(a) * value(b))
    (a, one), (b, two) = unsigned(a), unsigned(b)
    for first, other in ((a, b), (b, a)):
        if constant(first) and value(first) == 1.0:
            return negative(other) if one != two else other
        if constant(first) and value(first) == 2.0 and other.kind == "plus":
            doubled = plus_zero(make("mul", first, other.args[0]))
            return negative(doubled) if one != two else doubled
    product = make("mul", a, b)
    return negative(product) if one != two else product


@remembered
def divide(a, b):
    if constant(a, b) and value(b) != 0.0:
        return node(value(a) / value(b))
    if constant(b):
        mantissa, exponent = math.frexp(value(b))
        if abs(mantissa) == 0.5 and abs(exponent) < 1000:
            return multiply(a, node(1.0 / value(b)))
    (a, one), (b, two) = unsigned(a), unsigned(b)
    quotient = make("div", a, b)
    return negative(quotient) if one != two else quotient


def fma(a, b, c):
    return fused(node(a), node(b), node(c))


@remembered
def fused(a, b, c):
    if constant(a, b, c):
        return node(floats.fma(value(a), value(b), value(c)))
    (a, one), (b, two) = unsigned(a), unsigned(b)
    for first, other in ((a, b), (b, a)):
        if constant(first) and value(first) == 1.0:
            return add(negative(other) if one != two else other, c)
    if constant(a, b) and Fraction(value(a)) * Fraction(value(b)) == value(a) * value(
        b
    ):
        return add(negative(multiply(a, b)) if one != two else multiply(a, b), c)
    a, b = sorted((a, b), key=lambda x: x.number)
    return make("fnma" if one != two else "fma", a, b, c)


def root(a):
    return node(math.sqrt(value(a))) if constant(a) else make("sqrt", a)


# --- conditions


def compare(relations, a, b):
    """Return whether a and b are in one of some relations."""
    if constant(a, b):
        return condition(relation_of(value(a), value(b)) & relations)
    if a.number > b.number:
        swapped = relations & (EQUAL | UNORDERED)
        swapped |= (relations & LESS and GREATER) | (relations & GREATER and LESS)
        return compare(swapped, b, a)
    return make("compare", relations, a, b)


def relation_of(x, y):
    if x < y:
        return LESS
    return EQUAL if x == y else (GREATER if x > y else UNORDERED)


def invert(one):
    if one.kind == "compare":
        return make("compare", 15 ^ one.args[0], *one.args[1:])
    if one.kind in ("true", "false"):
        return FALSE if one is TRUE else TRUE
    return one.args[0] if one.kind == "not" else make("not", one)


def both(a, b):
    if a is FALSE or b is FALSE:
        return FALSE
    if a is TRUE or a is b:
        return b
    return a if b is TRUE else make("both", a, b)


def select(test, a, b):
    """Return a where a condition holds, else b."""
    if test is TRUE or a is b:
        return a
    return b if test is FALSE else make("select", test, a, b)


def bit(one, place=63):
    """Return whether a bit of a pattern is set."""
    if constant(one):
        return condition(one.args[0] >> place & 1)
    if one.kind == "select":
        test, a, b = one.args
        a, b = bit(a, place), bit(b, place)
        if a is TRUE and b is FALSE:
            return test
        return invert(test) if a is FALSE and b is TRUE else make("bit", one, place)
    return make("bit", one, place)


# --- patterns of bits


def plus(a, b):
    """Return the sum of integers."""
    if constant(a, b):
        return word(a.args[0] + b.args[0])
    a, b = (b, a) if constant(a) else (a, b)
    if constant(b) and b.args[0] == 0:
        return a
    if constant(b) and a.kind == "iadd":
        for one, other in (a.args, a.args[::-1]):
            if constant(one):
                return plus(other, word(one.args[0] + b.args[0]))
    return make("iadd", a, b)


def minus(a, b):
    return plus(a, word(-b.args[0])) if constant(b) else make("isub", a, b)


def left(a, places):
    if constant(a) or places == 0:
        return word(a.args[0] << places) if constant(a) else a
    if a.kind == "sar" and a.args[1] == places:
        return masked("and", a.args[0], word(ALL << places))
    if a.kind == "iadd" and constant(*a.args[:1]) + constant(*a.args[1:]) == 1:
        return plus(*(left(one, places) for one in a.args))
    return make("shl", a, places)


def right(a, places):
    """Return an arithmetic shift."""
    return word(integer(a) >> places) if constant(a) else make("sar", a, places)


def masked(kind, a, b):
    """Return a bitwise and, or, xor."""
    a, b = (b, a) if constant(a) else (a, b)
    if constant(a, b):
        x, y = a.args[0], b.args[0]
        return word({"and": x & y, "or": x | y, "xor": x ^ y}[kind])
    if constant(b):
        mask = b.args[0]
        known = {
            ("and", ALL): a, ("and", 0): b, ("or", 0): a, ("or", ALL): b,
            ("xor", 0): a,
        }  # fmt: skip
        if (kind, mask) in known:
            return known[kind, mask]
        if mask == SIGN and kind == "xor":
            return negative(a)
    if a is b:
        return word(0) if kind == "xor" else a
    return make(kind, a, b)


def truncated(a):
    """Return a double without its fraction: a number below 1 becomes 0 or -0."""
    if constant(a) and abs(value(a)) < 2.0**53:
        return node(math.copysign(float(int(value(a))), value(a)))
    a, negated = unsigned(a)
    return negative(make("truncated", a)) if negated else make("truncated", a)


def to_double(a):
    """Return a signed integer as a double; that of a double is below 2^63."""
    if a.kind == "to_integer":
        return plus_zero(truncated(a.args[0]))
    return node(float(integer(a))) if constant(a) else make("to_double", a)


def to_integer(a):
    """Return a double, cut, as an integer."""
    if constant(a):
        return word(int(value(a)))
    a, negated = unsigned(up_to_zero(a))
    a = a.args[0] if a.kind == "truncated" else a
    return make("to_integer", negative(a) if negated else a)


BUILD = {
    "neg": negative, "add": add, "plus": plus_zero, "mul": multiply, "div": divide,
    "fma": fma,
    "fnma": lambda a, b, c: fma(negative(a), b, c), "sqrt": root, "compare": compare,
    "select": select, "not": invert, "both": both, "bit": bit, "iadd": plus,
    "isub": minus, "shl": left,
    "sar": right, "to_double": to_double, "to_integer": to_integer,
    "truncated": truncated,
    "and": lambda a, b: masked("and", a, b), "or": lambda a, b: masked("or", a, b),
    "xor": lambda a, b: masked("xor", a, b),
}  # fmt: skip
