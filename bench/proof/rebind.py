"""Run the kernels' own code on other numbers than doubles.

A copy of a kernel has the same code object; only what its names mean is another: the
primitives (fma, bits, exact sums and products) and Python's own float, int, min, max
and abs are those of the numbers, and every kernel it calls is such a copy itself.
"""

import dis
import textwrap
import types

from riskcore.core.special import floats

# What a primitive must do for its theorem to hold.
THEOREMS = {
    "two_sum": """
def two_sum(a, b):
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)
""",
    "fast_two_sum": """
def fast_two_sum(a, b):
    s = a + b
    return s, b - (s - a)
""",
    "two_product": """
def two_product(a, b):
    s = a * b
    return s, fma(a, b, -s)
""",
}


def instructions(function):
    """Return what a function does, as instructions with their names and constants."""
    return [(one.opname, one.argval) for one in dis.get_instructions(function)]


def check(module, theorems):
    """Raise unless functions of a module do what their theorems are about, by name."""
    for name, text in theorems.items():
        scope = {}
        exec(textwrap.dedent(text), scope)
        if instructions(getattr(module, name)) != instructions(scope[name]):
            short = module.__name__.split(".")[-1]
            raise ValueError(f"{short}.{name} is not the one of its theorem")


class Copies:
    """Copies of kernels whose primitives work on other numbers.

    ``names`` replaces ``fma``, ``two_sum``, ... of ``riskcore.core.special.floats``,
    ``float``, ``int``, ``min``, ``max`` and ``abs``. ``instead`` has functions to call
    instead of kernels, by kernel or its code; they get the copy and its arguments.
    """

    def __init__(self, names, instead=None):
        self.names, self.instead = names, instead or {}
        self.copies = {}
        self.primitives = {
            getattr(floats, name): value
            for name, value in names.items()
            if hasattr(floats, name)
        }
        self.builtins = {
            name: value for name, value in names.items() if not hasattr(floats, name)
        }

    def of(self, thing):
        """Return the copy of a kernel; anything else as it is."""
        if not isinstance(thing, types.FunctionType):
            return thing
        if thing in self.primitives:
            return self.primitives[thing]
        if thing not in self.copies:
            if not (thing.__module__ or "").startswith("riskcore"):
                return thing
            self.copies[thing] = None  # a kernel does not call itself
            copy = self._copy(thing)
            other = self.instead.get(thing) or self.instead.get(thing.__code__)
            if other is not None:
                self.copies[thing] = lambda *args: other(copy, *args)
            else:
                self.copies[thing] = copy
        return self.copies[thing]

    def _copy(self, function):
        names = set(function.__code__.co_names)
        around = {
            name: self.of(value)
            for name, value in function.__globals__.items()
            if name in names
        }
        cells = function.__closure__ or ()
        closure = tuple(types.CellType(self.of(cell.cell_contents)) for cell in cells)
        scope = {
            **around,
            **self.builtins,
            "__builtins__": function.__globals__["__builtins__"],
        }
        return types.FunctionType(
            function.__code__, scope, function.__name__, function.__defaults__, closure
        )


def inside(function, name):
    """Return what a kernel's closure calls ``name``."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__, strict=True))
    return cells[name].cell_contents
