"""The theorem, its lemmas, and how each is shown.

    individual_risk(f, p) is nan or the double nearest r(f, p),
    individual_risk_from_frequencies(f, F) nan or the double nearest r(f, f/F),
    individual_risk_down(f, p) nan or the largest double that is not above r(f, p),
    individual_risk_up(f, p) nan or the smallest one that is not below it, and
    individual_risk_bounds(f, p) two nans or doubles with r(f, p) between: for all
    doubles, if NumPy and compilers keep operations as they are written.

A lemma names the functions that it is about. ``check`` follows the code from the two
kernels of each ufunc that run, of a cell and of NumPy's arrays, and raises if it
reaches a function that no lemma is about, or one that is not reached any more; and it
compares what stands around the pairs with its text. So no step between a cell and its
result is left out. ``BY_HAND`` lists what programs do not prove.
"""

import hashlib
from typing import NamedTuple

from bench._common import table
from bench.proof import check as checker
from bench.proof import mutants
from riskcore.core.compiled import signals
from riskcore.core.risk import bounds, individual

BOXES, WAYS, CHECKER = "boxes", "ways", "checker"
BALLS, ENCLOSURE, FIXED_POINT = "balls", "enclosure", "fixed point"
LAST_STEPS, TEXT = "last steps", "text"
DIRECTED, QUOTIENTS = "directed", "quotients"
UFUNCS = [
    individual.UFUNCS["individual_risk"],
    individual.UFUNCS["individual_risk_from_frequencies"],
    *(bounds.UFUNCS[f"individual_risk_{name}"] for name in ("down", "up", "bounds")),
]


class Lemma(NamedTuple):
    """What is said of functions, ``module: name name``, and how it is shown."""

    says: str
    functions: str
    shown: tuple


LEMMAS = (
    Lemma(
        "a cell's value is that of its fast path, or if that is nan of the slow steps",
        "individual: nearest_of_cell nearest_of_block scalar _inside _fraction "
        "from_frequencies_of_cell from_frequencies_of_block, bounds: _lower_block "
        "risk_bounds bounds_block scalar block slow",
        (TEXT,),
    ),
    Lemma(
        "an array's values are those of its cells, a block at a time",
        "individual: loop _column _store _in_place, loops: cells_ahead, "
        "floats: offset, ufunc_maker: address clear_flags, "
        "bounds: _bounds_loop, signals: loop_in_stretches _ends words run _call",
        (TEXT, "tests of arrays that overlap"),
    ),
    Lemma(
        "what the rounding test lets pass is the double nearest r, if the bound holds",
        "individual: _risk, rounding_test: rounded",
        (WAYS, TEXT),
    ),
    Lemma(
        "what the test of r rounded down lets pass is the double below r, if it holds",
        "bounds: _down, rounding_test: rounded_down",
        (DIRECTED, BOXES, CHECKER, TEXT),
    ),
    Lemma(
        "a pair of r(f, p) within its bound is moved to one of r(f, f/F)",
        "individual: _moved_risk",
        (QUOTIENTS, BOXES),
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
        "moved or, for tiny p, by the limits of r it contains r(f, f/F)",
        "ball_step: condition frequencies_ball, extremes: rare_risk",
        (QUOTIENTS,),
    ),
    Lemma(
        "a number in fixed point is within its own bound of the exact result",
        "fixed_point: number mantissa error set_error rounded _size units set_integer "
        "set_double add subtract add_integer negate times over shift multiply divide "
        "sign is_zero _exponent _nearest _add_to_error ln2 pi log exp sinc",
        (FIXED_POINT,),
    ),
    Lemma(
        "given that, r in fixed point is within its own bound",
        "fixed_point_step: _levels _e _by_fraction _below_one _reflected "
        "_last_steps _by_contiguity risk_in_words",
        (LAST_STEPS,),
    ),
    Lemma(
        "the slow steps return the double nearest what they enclose, or nan",
        "ball_step: nearest_slow nearest_slow_of _nearest _inside _is_nearest "
        "_towards_zero double_above double_below, fixed_point_step: side _boundary "
        "_at_a_limit _equal",
        (LAST_STEPS,),
    ),
    Lemma(
        "or the doubles around it, two apart where a side is open",
        "ball_step: sides_slow _not_below _not_above _from_zero",
        (DIRECTED,),
    ),
)
# What programs take from people: by section of notes/correct_rounding.md, or file.
BY_HAND = (
    ("IEEE 754, exact sums and products, monotonic rounding", "34, 1 and 2"),
    ("r by contiguity, reflection and the fraction; its simple bounds", "34, 3 to 5"),
    ("blocks of other lengths than those tried", "27"),
    ("a gap of s is above 2^-53 s; the sign of a product less a number", "directed.py"),
    ("C(f, p) is the limit of what levels make of it", "quotients.py"),
    ("how far r is from its limits for p < 2^-959", "quotients.py"),
    ("NumPy's loops around the blocks, and its buffers", "tests"),
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
    kernels = [kernel for x in UFUNCS for kernel in (x.loop, x.scalar)]
    for one in mutants.below([*kernels, signals.loop_in_stretches]):
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
    checker.check_texts()
    return len(said)


def shown():
    """Return the table of the lemmas."""
    rows = [[x.says, f"{len(about(x))}", ", ".join(x.shown)] for x in LEMMAS]
    by_hand = table(["left to people", "where"], BY_HAND, texts=2)
    return f"{table(['lemma', 'functions', 'shown by'], rows)}\n\n{by_hand}"
