"""Total disclosure risk on several keys of increasing detail."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from riskcore.common.arguments import not_one_of, refuse
from riskcore.core.compiled.ufunc_maker import Contract, ufunc_of
from riskcore.intruder.arguments import LARGEST, checked
from riskcore.intruder.hazards import hazard_of_one, one_or_more, sum_along


def total_risk(
    n: ArrayLike,
    acquaintance_fractions: ArrayLike,
    unique_fractions: ArrayLike,
    form: str = "disjoint",
) -> Any:
    """Return TR, the risk of at least one disclosure on at least one of several keys.

    Keys are ordered from the least to the most detailed: the circles of acquaintances
    shrink, the sets of uniques grow. A record is disclosed on key i, and on no earlier
    key, with probability p_i = f_ai (f_ui - f_u,i-1), f_u0 = 0.

    Parameters
    ----------
    n : array_like
        Size of the sample, a number >= 0, without the axis of the keys.
    acquaintance_fractions, unique_fractions : array_like
        Fractions f_a, falling, and f_u, rising, in [0, 1]; the keys are the last axis.
    form : {"disjoint", "independent", "exponential"}
        - "disjoint": exclusive events, TR = 1 - (1 - sum p_i)^n;
        - "independent": equation 26, 1 - prod (1 - p_i)^n;
        - "exponential": equation 27, 1 - exp(-n sum p_i).

    Returns
    -------
    float or ndarray
        Sums are rounded once. Error below 4 ulp; the largest found is 3.54 ulp.

    Raises
    ------
    TypeError
        If an argument is not numbers.
    ValueError
        If an argument is outside its domain, f_a rises, f_u falls, or the form is
        unknown.

    Notes
    -----
    Mokken et al. (1992), equations 22 to 27. With these p_i, joint probabilities,
    "disjoint" is exact; "independent" is less, "exponential" least.

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
            f"{f_u.shape} do not broadcast"
        ) from None
    steps = np.diff(f_u, prepend=0.0)
    refuse("acquaintance_fractions", np.diff(f_a) > 0.0, "at most those before")
    refuse("unique_fractions", steps < 0.0, "at least those before")
    p = f_a * steps
    hazard_ufunc = ufunc_of(hazard_of_one)
    if form == "disjoint":
        hazard = hazard_ufunc(1.0, 1.0, np.minimum(sum_along(p, -1), 1.0))
    elif form == "independent":
        hazard = sum_along(hazard_ufunc(1.0, 1.0, p), -1)
    elif form == "exponential":
        hazard = sum_along(p, -1)
    else:
        raise not_one_of("form", form, ("disjoint", "independent", "exponential"))
    return ufunc_of(one_or_more)(n, hazard)


# From bench/search.py; a test evaluates the witnesses again.
CONTRACTS = (
    Contract("total_risk, disjoint", ulps=4, worst=3.54,
             witness=("0x1.ep+3", "0x1.6831c60bd83fp-13", "0x1.00d79756a35a4p-13",
                      "0x1.b4795c6b1908p-14", "0x1.2c503f08d8161p-25",
                      "0x1.8c1f885f8585bp-22", "0x1.369e2a57e1973p-2")),
    Contract("total_risk, independent", ulps=4, worst=3.43,
             witness=("0x1.8p+1", "0x1.05dfa06d099f4p-3", "0x1.bc72ff52542bp-13",
                      "0x1.2797c97d64dc8p-17", "0x1.798297b630413p-29",
                      "0x1.87aa17d91ce48p-19", "0x1.0a9064c3a6ceep-1")),
    Contract("total_risk, exponential", ulps=4, worst=3.06,
             witness=("0x1.cp+3", "0x1.ad5106410488dp-17", "0x1.1511d6c548da8p-17",
                      "0x1.e7fd3dc34af18p-20", "0x1.3ffcd554da2d9p-27",
                      "0x1.702f5eb70de0ap-20", "0x1.17d2a17f91689p-3")),
)  # fmt: skip
