"""Total disclosure risk on several keys, each more detailed than the one before."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from riskcore.common.arguments import not_one_of, refuse
from riskcore.compiled.contract import Contract
from riskcore.intruder.arguments import LARGEST, checked
from riskcore.intruder.hazards import compiled, hazard_of_one, one_or_more, sum_along


def total_risk(
    n: ArrayLike,
    acquaintance_fractions: ArrayLike,
    unique_fractions: ArrayLike,
    form: str = "disjoint",
) -> Any:
    """Return TR, the risk of at least one disclosure on at least one of several keys.

    Keys are ordered from the least to the most detailed: circles of acquaintances
    shrink and uniques grow, each contained in the other. A record is disclosed on key i
    and on none before with probability p_i = f_ai (f_ui - f_u,i-1), f_u0 = 0.

    Parameters
    ----------
    n : array_like
        Records in the sample, a number >= 0, without the axis of the keys.
    acquaintance_fractions, unique_fractions : array_like
        Fractions f_a, falling, and f_u, rising, in [0, 1]; the keys are the last axis.
    form : {"disjoint", "independent", "exponential"}
        - "disjoint": the events exclude each other, TR = 1 - (1 - sum p_i)^n;
        - "independent": equation 26, 1 - prod (1 - p_i)^n;
        - "exponential": equation 27, 1 - exp(-n sum p_i).

    Returns
    -------
    float or ndarray
        Below 3 ulp in the tests' samples; sums are rounded once.

    Raises
    ------
    TypeError
        If an argument is not numbers.
    ValueError
        If an argument is outside its domain, f_a rises, f_u falls, or the form is
        unknown.

    Notes
    -----
    Mokken et al. (1992), equations 22 to 27. With these p_i, which are joint and not
    conditional probabilities, "disjoint" is exact; "independent" is less, "exponential"
    least.

    Examples
    --------
    >>> float(total_risk(729, [100/63e3, 50/63e3, 10/63e3], [0.0001, 0.001, 0.01]))
    0.00167...
    """
    n = checked("n", n, 0.0, LARGEST)
    f_a = checked("acquaintance_fractions", acquaintance_fractions, 0.0, 1.0)
    f_u = checked("unique_fractions", unique_fractions, 0.0, 1.0)
    try:
        f_a, f_u = np.broadcast_arrays(np.atleast_1d(f_a), np.atleast_1d(f_u))
    except ValueError:
        raise ValueError(
            f"acquaintance_fractions, unique_fractions: shapes {f_a.shape} and "
            f"{f_u.shape} do not go together"
        ) from None
    steps = np.diff(f_u, prepend=0.0)
    refuse("acquaintance_fractions", np.diff(f_a) > 0.0, "at most those before")
    refuse("unique_fractions", steps < 0.0, "at least those before")
    p = f_a * steps
    each = compiled(hazard_of_one)
    if form == "disjoint":
        hazard = each(1.0, 1.0, np.minimum(sum_along(p, -1), 1.0))
    elif form == "independent":
        hazard = sum_along(each(1.0, 1.0, p), -1)
    elif form == "exponential":
        hazard = sum_along(p, -1)
    else:
        raise not_one_of("form", form, ("disjoint", "independent", "exponential"))
    return compiled(one_or_more)(n, hazard)


# From bench/intruder.py; a test evaluates the witnesses again.
CONTRACTS = (
    Contract(
        "total_risk, disjoint",
        ulps=4,
        worst=0.0,
        witness=(),
    ),
    Contract(
        "total_risk, independent",
        ulps=4,
        worst=0.0,
        witness=(),
    ),
    Contract(
        "total_risk, exponential",
        ulps=4,
        worst=0.0,
        witness=(),
    ),
)
