"""The theorem, its lemmas, and how each is shown.

    individual_risk(f, p) is nan or the double nearest r(f, p): for all doubles.

A lemma names the functions that it is about. ``check`` follows the code from the two
kernels that run, of a cell and of a block, and raises if it reaches a function that no
lemma is about, or one that is not reached any more; and it runs the two kernels
themselves with names in place of what they call. So no step between the cell and its
result is left out.
"""

import hashlib
import math
import types
from typing import NamedTuple

from bench._common import table
from bench.proof import mutants
from bench.proof.rebind import Copies
from riskcore.core.risk import individual

BOXES, WAYS, CHECKER = "boxes", "ways", "checker"
BALLS, ENCLOSURE, FIXED_POINT = "balls", "enclosure", "fixed point"
LAST_STEPS = "last steps"


class Lemma(NamedTuple):
    """What is said of functions, ``module: name name``, and how it is shown."""

    says: str
    functions: str
    shown: tuple


LEMMAS = (
    Lemma(
        "a cell's value is that of its fast path, or if that is nan of the slow steps",
        "individual: nearest_of_cell nearest_of_block",
        (WAYS,),
    ),
    Lemma(
        "what the rounding test lets pass is the double nearest r, if the bound holds",
        "individual: _risk, rounding_test: rounded",
        (WAYS, CHECKER),
    ),
    Lemma(
        "every cell of the domain goes to a region whose claim holds there",
        "fast_integer: region is_one is_small is_near_one is_from_32",
        (WAYS, CHECKER),
    ),
    Lemma(
        "a block computes of each cell what the kernel of one cell does",
        "risk_blocks: scalar fill complete missing prevailing set_apart, blocks: "
        "block classify code_stack filled_up gather list_of lowest matching padded "
        "pick scatter size, floats: stack integer_stack",
        (WAYS,),
    ),
    Lemma(
        "the pair of a region is within its bound: f from 16, integers, p from 0.3",
        "risk_blocks: pair_of_region, fast_integer: _last _level _level_real _ratio "
        "by_e by_levels by_levels_real by_logarithm_15 by_logarithm_4 by_logarithm_8 "
        "by_logarithm_one downwards levels near_one steps tail, elementary: log_pair, "
        "fast_real: backward_real levels more pairs, enclosure: level plus, "
        "double_double: dd_add_positive dd_multiply_double dd_multiply_positive "
        "_division product_pair quotient_pair sum_pair",
        (BOXES, CHECKER),
    ),
    Lemma(
        "the same for other f < 16 and p < 0.3",
        "fast_real: forward_real by_reflection reflected_fraction sine_deficit steps "
        "inverse_pair log_of_odds, near_one: exponentials horner end, "
        "double_double: dd_add",
        (BOXES,),
    ),
    Lemma(
        "exact sums and products are exact, fma is rounded once, bits are bits",
        "floats: two_sum fast_two_sum two_product fma bits from_bits",
        ("texts of the theorems", "IEEE 754"),
    ),
    Lemma(
        "a ball contains the exact results for members of the operands",
        "balls: add add_double negate subtract multiply multiply_double shift divide "
        "reciprocal horner _rest ln2_times log scaled_exp exp expm1 sine_excess",
        (BALLS,),
    ),
    Lemma(
        "given that, the ball of the enclosure contains r",
        "enclosure: risk_ball scaled scaling _resolvent _below_one _small _reflected "
        "_exponent _complement _widen e_by_p e_by_f e_of_levels "
        "level_in_doubles",
        (ENCLOSURE,),
    ),
    Lemma(
        "a number in fixed point is within its own bound of the exact result",
        "fixed_point: number mantissa error set_error rounded _size units set_integer "
        "set_double add subtract add_integer negate times over shift multiply divide "
        "sign is_zero _exponent _nearest _add_to_error _inverse ln2 pi log exp sinc",
        (FIXED_POINT,),
    ),
    Lemma(
        "given that, r in fixed point is within its own bound",
        "fixed_point_step: _levels _e _by_fraction _below_one _reflected "
        "_by_contiguity risk_in_words",
        (LAST_STEPS,),
    ),
    Lemma(
        "the slow steps return the double nearest what they enclose, or nan",
        "ball_step: nearest_slow _nearest _inside _is_nearest _towards_zero "
        "double_above double_below, fixed_point_step: side _boundary _at_a_limit "
        "_equal",
        (LAST_STEPS,),
    ),
)


def about(lemma):
    """Return what a lemma is about: (module, function)."""
    return [
        (module.strip(), name)
        for module, names in (part.split(":") for part in lemma.functions.split(","))
        for name in names.split()
    ]


def reached():
    """Return the functions that the kernels of a cell and of a block reach."""
    found = {}
    for one in mutants.below([individual.nearest_of_cell, individual.nearest_of_block]):
        key = one.__module__.rpartition(".")[2], one.__name__
        found.setdefault(key, []).append(one)
    return found


def hashes():
    """Return a hash of the code that each lemma is about."""
    found = reached()
    return {
        lemma.says: hashlib.sha256(
            mutants.text([x for key in about(lemma) for x in found[key]]).encode()
        ).hexdigest()
        for lemma in LEMMAS
    }


def check():
    """Raise unless the lemmas are about all that the kernels reach, and fit together.

    Return the number of functions.
    """
    found = set(reached())
    said = [key for lemma in LEMMAS for key in about(lemma)]
    if len(said) != len(set(said)):
        raise ValueError("a function with two lemmas")
    for name, keys in (
        ("no lemma is about", found - set(said)),
        ("a lemma is about what is not reached:", set(said) - found),
    ):
        if keys:
            raise ValueError(f"{name} {', '.join(sorted(map('.'.join, keys)))}")
    _check_cell()
    _check_block()
    return len(said)


def _with(function, **names):
    """Return the copy of a kernel of `individual` with other meanings of names."""
    scope = {**function.__globals__, **names}
    return types.FunctionType(function.__code__, scope)


def _check_cell():
    """Raise unless a cell's value is the fast one, or if that is nan the slow one."""
    for fast in (0.5, math.nan):
        cell = _with(
            individual.nearest_of_cell,
            _value=lambda f, p, excess, fast=fast: fast,
            nearest_slow=lambda f, p: ("slow", f, p),
        )
        if cell(2.0, 0.25, 0.0) != (("slow", 2.0, 0.25) if fast != fast else fast):
            raise ValueError("a cell's value is neither the fast nor the slow one")
    if Copies({}).of(individual._risk).__code__.co_names != ("rounded",):
        raise ValueError("the value of a pair is not that of the rounding test")


def _check_block():
    """Raise unless a block is the fast block and then its completion, on its cells."""
    calls = []
    block = _with(
        individual.nearest_of_block,
        _block=lambda *args: calls.append(("fast", *args)),
        _complete=lambda *args: calls.append(("slow", *args)),
    )
    block("f", "p", "excess", "out", 5)
    if calls != [("fast", "f", "p", "excess", "out", 5), ("slow", "f", "p", "out", 5)]:
        raise ValueError("a block is not its fast block and then its completion")
    (slow,) = (cell.cell_contents for cell in individual._complete.__closure__)
    if slow is not individual.nearest_slow:
        raise ValueError("the slow steps of a block are others")


def shown():
    """Return the table of the lemmas."""
    rows = [[x.says, f"{len(about(x))}", ", ".join(x.shown)] for x in LEMMAS]
    return table(["lemma", "functions", "shown by"], rows)
