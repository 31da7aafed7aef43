"""Tabulate errors of forms of the individual risk against multi-precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import mpmath
import numpy as np
from numpy.typing import ArrayLike, NDArray

from riskcore.accuracy import reference
from riskcore.accuracy.names import Form, Forms, forms_by_name
from riskcore.data.columns import Records

Floats = NDArray[np.float64]

_SMALLEST = 1e-290  # the least f of individual_risk
_STRIDE = 64  # points between two reports of progress


def error_table(
    forms: Forms,
    f: ArrayLike,
    p: ArrayLike,
    *,
    paired: bool = False,
    backend: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Any:
    """
    Tabulate the errors of forms of the individual risk.

    Parameters
    ----------
    forms : str, callable, iterable or mapping of them
        Names in `FORMS`: the forms of `riskcore.forms`, such as ``"truncated:7"``,
        ``truncated`` with order 7, and ``"adaptive:1e-6:published"``, ``adaptive``
        with its epsilon and rule; ``"individual_risk"``, the kernel; and ``"scipy"``,
        ``p/f * scipy.special.hyp2f1(1, 1, f + 1, 1 - p)``. Or functions of two arrays,
        f and p. The keys of a mapping are the names to show.
    f : array_like
        Sample frequencies, real, f >= 1e-290.
    p : array_like
        Sampling fractions, 0 < p <= 1. Doubles are taken as exact.
    paired : bool, optional
        Whether f and p are pairs; by default every f is combined with every p.
    backend : str, optional
        Kind of frame, such as ``"pandas"``, ``"polars"`` or ``"pyarrow"``; by default
        a dict of NumPy arrays.
    progress : callable, optional
        Called with the points done and their number while exact values are computed,
        mostly in less than a millisecond each.

    Returns
    -------
    frame or dict
        One row per form, f and p, in this order. Columns:

        - ``sample_frequency``, ``sampling_fraction``: f and p;
        - ``form``: the name;
        - ``value``: what the form gives in doubles, inf and nan included;
        - ``exact``: r(f, p), rounded to a double;
        - ``relative_error``: (value - r)/r, where r has 120 bits;
        - ``ulp_error``: (value - r)/ulp(r), where ulp(r) is the spacing of the
          doubles, also the subnormal ones, at r.

        The errors of an infinite value are infinite, and nan for nan.

    Raises
    ------
    ValueError
        If a form is unknown (the message lists the names) or has a bad argument, a name
        is given twice, f or p is outside the domain, or there are no points.
    ImportError
        If SciPy, for the form ``"scipy"``, or the backend is not installed.

    Examples
    --------
    >>> from riskcore import accuracy
    >>> table = accuracy.error_table(["series7", "franconi"], [4, 10], [0.01, 0.5])
    >>> print(accuracy.plain(table))
       f     p  form               value           exact  relative error  ulp error
       4  0.01  series7    0.00329910212  0.003316970834        -0.00539  -4.12e+13
       4   0.5  series7     0.1401846309    0.1401861528       -1.09e-05  -5.48e+10
      10  0.01  series7   0.001109684464  0.001109726171       -3.76e-05  -1.92e+11
      10   0.5  series7    0.05248773419   0.05248774007       -1.12e-07  -8.47e+08
       4  0.01  franconi  0.003322259136  0.003316970834         0.00159   1.22e+13
       4   0.5  franconi    0.1428571429    0.1401861528          0.0191   9.62e+13
      10  0.01  franconi  0.001109877913  0.001109726171        0.000137      7e+11
      10   0.5  franconi   0.05263157895   0.05248774007         0.00274   2.07e+13
    """
    named = forms_by_name(forms)
    f, p = _points(f, p, paired)
    _framed({"form": []}, backend)  # refused before the work, not after it
    values = {name: _evaluate(name, form, f, p) for name, form in named.items()}
    exact = []
    for done, (x, y) in enumerate(zip(f.tolist(), p.tolist(), strict=True)):
        if progress is not None and done % _STRIDE == 0:
            progress(done, len(f))
        exact.append(reference.individual_risk_by_sums(x, y))
    errors = np.vstack([_errors(value, exact) for value in values.values()])
    columns = {
        "sample_frequency": np.tile(f, len(named)),
        "sampling_fraction": np.tile(p, len(named)),
        "form": np.repeat(list(named), len(f)),
        "value": np.concatenate(list(values.values())),
        "exact": np.tile([_to_double(r) for r in exact], len(named)),
        "relative_error": errors[:, 0],
        "ulp_error": errors[:, 1],
    }
    return _framed(columns, backend)


def summary(table: Any) -> Any:
    """
    Return the largest errors of each form of an error table.

    Parameters
    ----------
    table : frame or dict
        The result of `error_table`, or rows of it.

    Returns
    -------
    frame or dict
        Of the same type, one row per form: ``form``, ``points``,
        ``largest_relative_error`` with its sign, the ``sample_frequency`` and
        ``sampling_fraction`` where it occurs, ``largest_ulp_error``,
        ``share_correctly_rounded`` (errors up to half an ulp) and ``share_not_finite``.
        The largest errors are of finite values; nan if no value is finite.

    Raises
    ------
    KeyError
        If a column is absent.

    Examples
    --------
    >>> from riskcore import accuracy
    >>> p = accuracy.grid(0.001, 0.999, 50, "logit")
    >>> table = accuracy.error_table("franconi", [3, 4], p)
    >>> found = accuracy.summary(table)
    >>> for name in ("largest_relative_error", "sample_frequency", "sampling_fraction"):
    ...     print(float(found[name][0].round(4)))
    0.0403
    3.0
    0.3308
    """
    columns = columns_of(table)
    rows = [
        {"form": form, **_largest(chosen_rows(columns, columns["form"] == form))}
        for form in dict.fromkeys(columns["form"].tolist())
    ]
    summary_columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    if isinstance(table, Mapping):
        return summary_columns
    import narwhals.stable.v2 as nw

    return _framed(summary_columns, nw.from_native(table).implementation)


def _largest(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the largest errors and the shares of one form."""
    relative, ulp = columns["relative_error"], columns["ulp_error"]
    finite = np.isfinite(columns["value"])
    figures: dict[str, Any] = {"points": len(relative)}
    worst = int(np.argmax(np.where(finite, np.abs(relative), -1.0)))
    names = "relative_error", "sample_frequency", "sampling_fraction"
    at = [columns[name][worst] if finite.any() else math.nan for name in names]
    figures["largest_relative_error"], figures[names[1]], figures[names[2]] = at
    worst = int(np.argmax(np.where(finite, np.abs(ulp), -1.0)))
    figures["largest_ulp_error"] = ulp[worst] if finite.any() else math.nan
    figures["share_correctly_rounded"] = np.mean(np.abs(ulp) <= 0.5)
    figures["share_not_finite"] = np.mean(~finite)
    return figures


def _points(f: Any, p: Any, paired: bool) -> tuple[Floats, Floats]:
    """Return f and p of each point, or refuse them."""
    f, p = np.atleast_1d(np.asarray(f, float)), np.atleast_1d(np.asarray(p, float))
    if not (np.all(f >= _SMALLEST) and np.all(f < np.inf)):
        raise ValueError(f"sample frequencies f are finite and at least {_SMALLEST:g}")
    if not (np.all(p > 0) and np.all(p <= 1)):
        raise ValueError("sampling fractions p are above 0 and at most 1")
    if paired:
        if len(f) != len(p) and 1 not in (len(f), len(p)):
            raise ValueError(f"f and p do not pair up: {len(f)} and {len(p)} numbers")
        f, p = np.broadcast_arrays(f, p)
    else:
        f, p = np.meshgrid(np.unique(f), np.unique(p), indexing="ij")
    if f.size == 0:
        raise ValueError("no points: f or p is empty")
    return f.ravel(), p.ravel()


def _evaluate(name: str, form: Form, f: Floats, p: Floats) -> Floats:
    """Return the values of a form."""
    with np.errstate(all="ignore"):  # inf and nan are part of the table
        values = np.asarray(form(f, p), float)
    if values.shape != f.shape:
        raise ValueError(
            f"form {name!r} returned {values.shape} values for {f.shape} points"
        )
    return values


def _errors(values: Floats, exact: list[Any]) -> Floats:
    """Return the relative errors, and the errors in ulp of the exact values."""
    errors = np.full((len(values), 2), np.nan)
    with mpmath.workprec(reference.PRECISION):
        for row, value, r in zip(errors, values.tolist(), exact, strict=True):
            if math.isfinite(value):
                error = value - r
                row[:] = error / r, mpmath.ldexp(error, 53 - _exponent(r))
            else:
                row[:] = value
    return errors


def _exponent(r: Any) -> int:
    """Return e for the spacing 2^(e - 53) of the doubles at r."""
    return max(int(mpmath.mag(r)), -1021)


def _to_double(r: Any) -> float:
    """Return the nearest double; mpmath's float() rounds subnormal numbers twice."""
    with mpmath.workprec(reference.PRECISION):
        bits = 53 - _exponent(r)
        return math.ldexp(int(mpmath.nint(mpmath.ldexp(r, bits))), -bits)


def _framed(columns: dict[str, Any], backend: Any) -> Any:
    """Return columns as a frame of the backend, or as they are for None."""
    if backend is None:
        return columns
    import narwhals.stable.v2 as nw

    return nw.from_dict(columns, backend=backend).to_native()


def columns_of(table: Any) -> dict[str, Any]:
    """Return the columns of a frame as arrays, by name."""
    columns = Records.of(table).columns
    return {str(name): np.asarray(values) for name, values in columns.items()}


def chosen_rows(columns: Mapping[str, Any], chosen: Any) -> dict[str, Any]:
    """Return the chosen rows of columns."""
    return {name: values[chosen] for name, values in columns.items()}
