"""Errors of any form of the individual risk against multi-precision, and their plots.

``error_table`` compares published forms, and functions of one's own, with
``riskcore.accuracy.reference`` on a grid of f and p; ``summary`` finds the largest errors,
``plain`` and ``markdown`` write either as text, ``plot`` draws the errors. The command
``riskcore error-table`` does the same.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import mpmath
import numpy as np

from riskcore import forms as published
from riskcore.accuracy import reference
from riskcore.files import formats, replace
from riskcore.microdata.columns import Records
from riskcore.risk import individual

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Form = Callable[[Any, Any], Any]
    Forms = str | Form | Iterable[str | Form] | Mapping[str, str | Form]

_PUBLISHED = (
    "closed_form", "binomial_sum", "log_form", "gauss_series", "continued_fraction",
    "series7", "franconi",
)  # fmt: skip
FORMS = (
    "individual_risk", *_PUBLISHED, "truncated:J", "adaptive:EPS",
    "adaptive:EPS:published", "scipy",
)  # fmt: skip
_SMALLEST = 1e-290  # the least f of individual_risk
# Numbers in a grid: exact values of more would take hours.
_MOST_IN_GRID = 10**7
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
        Names, listed in `FORMS`: the forms of `riskcore.forms`, where
        ``"truncated:7"`` is ``truncated`` with order 7, and
        ``"adaptive:1e-6:published"`` is ``adaptive`` with its epsilon and rule;
        ``"individual_risk"``, the kernel; ``"scipy"``, that is
        ``p/f * scipy.special.hyp2f1(1, 1, f + 1, 1 - p)``. Or functions of two
        arrays, f and p. The keys of a mapping are the names to show.
    f : array_like
        Sample frequencies, real, f >= 1e-290.
    p : array_like
        Sampling fractions, 0 < p <= 1. Doubles are taken as exact.
    paired : bool, optional
        Take f and p pair by pair; by default every distinct f meets every distinct p.
    backend : str, optional
        Kind of frame, such as ``"pandas"``, ``"polars"`` or ``"pyarrow"``; by default
        a dict of NumPy arrays.
    progress : callable, optional
        Called with the points done and their number while the exact values are
        found, which mostly takes less than a millisecond each.

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
          doubles at r, that of the subnormal ones included.

        The errors of an infinite value are infinite, those of nan are nan.

    Raises
    ------
    ValueError
        For an unknown form (the message lists those known) or a bad argument of one,
        a name given twice, f or p outside the domain, or no points.
    ImportError
        If SciPy, for the form ``"scipy"``, or the backend is not installed.

    See Also
    --------
    summary : the largest errors and where they are.

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
    named = _named(forms)
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
        What `error_table` returns, or rows of it.

    Returns
    -------
    frame or dict
        Of the same kind, one row per form: ``form``, ``points``,
        ``largest_relative_error`` with its sign and the ``sample_frequency`` and
        ``sampling_fraction`` where it is, ``largest_ulp_error``,
        ``share_correctly_rounded`` (an error of at most half an ulp) and
        ``share_not_finite``. The largest errors are those of finite values, nan if
        there are none.

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
    columns = _columns(table)
    rows = [
        {"form": form, **_largest(_rows(columns, columns["form"] == form))}
        for form in dict.fromkeys(columns["form"].tolist())
    ]
    found = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    if isinstance(table, Mapping):
        return found
    import narwhals.stable.v2 as nw

    return _framed(found, nw.from_native(table).implementation)


def _largest(columns: Mapping[str, Any]) -> dict[str, Any]:
    relative, ulp = columns["relative_error"], columns["ulp_error"]
    finite = np.isfinite(columns["value"])
    found: dict[str, Any] = {"points": len(relative)}
    worst = int(np.argmax(np.where(finite, np.abs(relative), -1.0)))
    names = "relative_error", "sample_frequency", "sampling_fraction"
    at = [columns[name][worst] if finite.any() else math.nan for name in names]
    found["largest_relative_error"], found[names[1]], found[names[2]] = at
    worst = int(np.argmax(np.where(finite, np.abs(ulp), -1.0)))
    found["largest_ulp_error"] = ulp[worst] if finite.any() else math.nan
    found["share_correctly_rounded"] = np.mean(np.abs(ulp) <= 0.5)
    found["share_not_finite"] = np.mean(~finite)
    return found


def grid(
    start: float,
    stop: float,
    count: int,
    scale: Literal["linear", "log", "logit", "whole"] = "linear",
) -> Floats:
    """
    Return numbers from ``start`` to ``stop``, both exactly among them.

    Parameters
    ----------
    start, stop : float
        The ends, start < stop.
    count : int
        How many numbers, at least 2.
    scale : {"linear", "log", "logit", "whole"}
        Evenly in x, in log x, in log(x/(1-x)), which is as fine near 1 as near 0; or
        in log x and then rounded to whole numbers, each taken once.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        For ends that the scale does not have, or fewer than 2 numbers.

    Examples
    --------
    >>> from riskcore import accuracy
    >>> accuracy.grid(1, 1000, 10, "whole")
    array([   1.,    2.,    5.,   10.,   22.,   46.,  100.,  215.,  464., 1000.])
    >>> accuracy.grid(0.001, 0.999, 3, "logit")
    array([0.001, 0.5  , 0.999])
    """
    if scale not in _SCALES:
        raise ValueError(f"unknown scale {scale!r}; known are {', '.join(_SCALES)}")
    low, high = _SCALES[scale]
    if not start < stop:
        raise ValueError(f"a grid goes up, not from {start:g} to {stop:g}")
    if not low <= start < stop <= high:
        raise ValueError(
            f"a {scale} grid lies in [{low:g}, {high:.16g}], not from {start:g} to "
            f"{stop:g}"
        )
    if count < 2:
        raise ValueError(f"a grid has at least 2 numbers, not {count}")
    if count > _MOST_IN_GRID:
        raise ValueError(f"a grid has at most {_MOST_IN_GRID:,} numbers, not {count}")
    there, back = _transforms(scale)
    low, high = there(np.array([start, stop]))
    points = np.asarray(back(np.linspace(low, high, count)), float)
    points[0], points[-1] = start, stop
    if scale == "whole":
        return np.unique(np.rint(points))
    return points


_BELOW_ONE = 1.0 - 2.0**-53
# The range of each scale.
_SCALES = {
    "linear": (-np.finfo(float).max, np.finfo(float).max),
    "log": (5e-324, np.finfo(float).max),
    "logit": (5e-324, _BELOW_ONE),
    "whole": (1.0, 2.0**53),
}


def _transforms(scale: str) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return the function that makes a scale even, and its inverse."""
    if scale == "linear":
        return np.asarray, np.asarray
    if scale == "logit":
        return lambda x: np.log(x) - np.log1p(-x), _logistic
    return np.log, np.exp


def _logistic(u: Floats) -> Floats:
    small = np.exp(-np.abs(u))
    return np.asarray(np.where(u < 0, small, 1.0) / (1.0 + small))


# Text


def plain(table: Any) -> str:
    """
    Write an error table or a summary as text in columns.

    Parameters
    ----------
    table : frame or dict
        What `error_table` or `summary` returns. Risks are written with 10 digits and
        errors with 3; a fraction near 1 as its distance from 1.

    Returns
    -------
    str

    Examples
    --------
    >>> from riskcore import accuracy
    >>> print(accuracy.plain({"form": ["mine"], "sampling_fraction": [1 - 2**-40]}))
      form            p
      mine  1-9.095e-13
    """
    columns = []
    for name, cells in _cells(table).items():
        width = max(map(len, cells))
        align = str.ljust if name == "form" else str.rjust
        columns.append([align(cell, width) for cell in cells])
    rows = zip(*columns, strict=True)
    return "\n".join(f"  {'  '.join(row).rstrip()}" for row in rows)


def markdown(table: Any) -> str:
    """
    Write an error table or a summary in Markdown, with the digits of `plain`.

    Parameters
    ----------
    table : frame or dict
        What `error_table` or `summary` returns.

    Returns
    -------
    str

    Examples
    --------
    >>> from riskcore import accuracy
    >>> print(accuracy.markdown({"form": ["mine"], "ulp_error": [0.25]}))
    | form | ulp error |
    | --- | ---: |
    | mine | 0.25 |
    """
    columns = []
    for name, cells in _cells(table).items():
        title, *rest = [cell.replace("|", "\\|") for cell in cells]
        columns.append([title, "---" if name == "form" else "---:", *rest])
    return "\n".join(f"| {' | '.join(row)} |" for row in zip(*columns, strict=True))


def _cells(table: Any) -> dict[str, list[str]]:
    """Return each column's title and values as text."""
    cells = {}
    for name, values in _columns(table).items():
        write = _WRITERS.get(name, "{:.3g}".format)
        title = _TITLES.get(name, name.replace("_", " "))
        cells[name] = [title, *map(write, values.tolist())]
    return cells


def _write_fraction(p: float) -> str:
    return f"1-{1 - p:.4g}" if 0.9999 < p < 1 else f"{p:.6g}"


_TITLES = {
    "sample_frequency": "f",
    "sampling_fraction": "p",
    "share_correctly_rounded": "correctly rounded",
    "share_not_finite": "not finite",
}
_WRITERS: dict[str, Callable[[Any], str]] = {
    "form": str,
    "points": str,
    "sample_frequency": "{:.10g}".format,
    "sampling_fraction": _write_fraction,
    "value": "{:.10g}".format,
    "exact": "{:.10g}".format,
    "share_correctly_rounded": "{:.1%}".format,
    "share_not_finite": "{:.1%}".format,
}


# Pictures

# Bands of two decades. Below the first are roundings, above the last no digit is right.
_BANDS = [10.0**k for k in range(-15, 0, 2)]
_LINES = 8  # as many as can be told apart


def plot(table: Any, kind: Literal["auto", "map", "lines"] = "auto") -> Figure:
    """
    Draw the sizes of the relative errors of an error table, one panel for each form.

    Parameters
    ----------
    table : frame or dict
        What `error_table` returns.
    kind : {"auto", "map", "lines"}
        A heat map over p and f, for which every f must have met every p; or lines,
        over whichever of the two has more values, one line for each value of the
        other. By default lines if there are at most 8 of them.

    Returns
    -------
    matplotlib.figure.Figure
        Write it with ``savefig``. Values that are not finite are hatched in a heat map
        and crosses at the top of lines; lines end at errors of 1e-17 and 10.

    Raises
    ------
    ImportError
        If matplotlib is not installed (``pip install matplotlib``).
    ValueError
        If a heat map has fewer than 2 x 2 points or holes, or lines are too many.

    Examples
    --------
    >>> from riskcore import accuracy
    >>> p = accuracy.grid(1e-6, 1 - 1e-6, 30, "logit")
    >>> table = accuracy.error_table("franconi", accuracy.grid(1, 100, 20, "whole"), p)
    >>> accuracy.plot(table).axes[0].get_xlabel()
    'sampling fraction p'
    """
    _matplotlib()
    from matplotlib.figure import Figure

    columns = _columns(table)
    names = list(dict.fromkeys(columns["form"].tolist()))
    lines, across = sorted(
        ("sample_frequency", "sampling_fraction"),
        key=lambda name: len(np.unique(columns[name])),
    )
    count = len(np.unique(columns[lines]))
    if kind == "auto":
        kind = "lines" if count <= _LINES else "map"
    if kind == "lines" and count > _LINES:
        raise ValueError(f"lines for {count} values of {lines}: at most {_LINES}")
    wide = min(len(names), 2)
    high = -(-len(names) // wide)
    figure = Figure((0.8 + 5.2 * wide, 0.6 + 3.6 * high), layout="constrained")
    panels = figure.subplots(high, wide, squeeze=False, sharey=True).ravel()
    for axes, name in zip(panels, names, strict=False):
        rows = _rows(columns, columns["form"] == name)
        axes.set_title(name)
        if kind == "map":
            _draw_map(axes, rows)
        else:
            _draw_lines(axes, rows, across, lines)
    for axes in panels[len(names) :]:
        axes.remove()
    if kind == "map":
        _add_scale(figure, panels[: len(names)], np.isfinite(columns["value"]).all())
    return figure


def _matplotlib() -> None:
    if find_spec("matplotlib") is None:
        raise ImportError("plots need matplotlib: pip install matplotlib")


def _draw_map(axes: Axes, rows: Mapping[str, Any]) -> None:
    f, i = np.unique(rows["sample_frequency"], return_inverse=True)
    p, j = np.unique(rows["sampling_fraction"], return_inverse=True)
    error = np.full((len(f), len(p)), -1.0)
    error[i, j] = np.abs(rows["relative_error"])
    there = np.count_nonzero(error != -1.0)
    if min(len(f), len(p)) < 2 or there < error.size:
        raise ValueError(
            "a heat map needs every pair of at least 2 values of f and of p; there are "
            f"{there} of {len(f)} x {len(p)}"
        )
    colours, norm = _colours()
    axes.pcolormesh(
        _edges(p, _scale_of(p)),
        _edges(f, _scale_of(f)),
        np.ma.masked_invalid(error),
        cmap=colours,
        norm=norm,
        rasterized=True,
    )
    _mark_not_finite(axes.patch)
    _set_axis(axes, "x", "sampling_fraction", p)
    _set_axis(axes, "y", "sample_frequency", f)


def _mark_not_finite(patch: Any) -> None:
    patch.set(facecolor="0.85", hatch="////", edgecolor="0.55", linewidth=0)


def _colours() -> tuple[Any, Any]:
    """Return steps from light to dark that do not rest on hue, and their limits."""
    from matplotlib import colormaps
    from matplotlib.colors import BoundaryNorm, ListedColormap

    steps = len(_BANDS) - 1
    shades = colormaps["viridis_r"](np.linspace(0.08, 0.94, steps))
    colours = ListedColormap(shades).with_extremes(under="white", over="black")
    return colours, BoundaryNorm(_BANDS, steps)


def _add_scale(figure: Figure, panels: Any, finite: bool) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.patches import Patch

    colours, norm = _colours()
    bar = figure.colorbar(
        ScalarMappable(norm, colours), ax=list(panels), extend="both", ticks=_BANDS
    )
    bar.set_label("|relative error|")
    bar.ax.set_yticks(_BANDS, [f"$10^{{{round(math.log10(b))}}}$" for b in _BANDS])
    if finite:
        return
    mark = Patch(label="not finite")
    _mark_not_finite(mark)
    figure.legend(handles=[mark], loc="outside lower right", frameon=False)


def _draw_lines(axes: Axes, rows: Mapping[str, Any], across: str, lines: str) -> None:
    from matplotlib import colormaps

    values = np.unique(rows[lines])
    shades = colormaps["viridis"](np.linspace(0, 0.9, len(values)))
    letter = _AXES[lines][-1]
    for value, shade in zip(values.tolist(), shades, strict=True):
        line = _rows(rows, rows[lines] == value)
        order = np.argsort(line[across])
        x, error = line[across][order], np.abs(line["relative_error"][order])
        label = f"{letter} = {_WRITERS[lines](value)}"
        finite = np.isfinite(error)
        shown = np.where(finite, error.clip(*_SHOWN), np.nan)
        axes.plot(x, shown, ".-", color=shade, label=label, ms=4, lw=1)
        top = axes.get_xaxis_transform()
        for lost in x[~finite]:
            axes.plot(lost, 0.97, "x", color=shade, transform=top)
    axes.axhline(2.0**-53, color="0.6", lw=0.8, ls="--", zorder=0)
    axes.set(yscale="log", ylabel="|relative error|")
    axes.set_ylim(bottom=_SHOWN[0])
    _set_axis(axes, "x", across, np.unique(rows[across]))
    axes.legend(fontsize="small", frameon=False)


_SHOWN = 1e-17, 10.0  # smaller and larger errors are drawn as these
_AXES = {
    "sample_frequency": "sample frequency f",
    "sampling_fraction": "sampling fraction p",
}


def _set_axis(axes: Axes, which: str, name: str, values: Floats) -> None:
    scale = _scale_of(values)
    edges = _edges(values, scale)
    # The limits first: left to itself, the scale would look beyond the doubles.
    axes.set(**{f"{which}lim": (edges[0], edges[-1])})
    axes.set(**{f"{which}label": _AXES[name], f"{which}scale": scale})
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_tick_params(labelsize="small")
    if scale == "log" and name == "sample_frequency" and values[-1] < 1e6:
        axis.set_major_formatter("{x:g}")
    if scale == "logit":
        from matplotlib.ticker import LogitLocator

        axis.set_major_locator(LogitLocator(nbins=8))


def _scale_of(values: Floats) -> Literal["linear", "log", "logit"]:
    """Return the scale on which values that span many orders are spread."""
    low, high = values[0], values[-1]
    if low < 0.05 and 0.95 < high < 1:
        return "logit"
    return "log" if high > 30 * low else "linear"


def _edges(values: Floats, scale: str) -> Floats:
    """Return the borders of cells around the values."""
    there, back = _transforms(scale)
    u = there(values)
    middle = (u[1:] + u[:-1]) / 2
    first, last = (middle[0], middle[-1]) if len(u) > 1 else (u[0] + 0.5, u[0] - 0.5)
    borders = np.concatenate([[2 * u[0] - first], middle, [2 * u[-1] - last]])
    with np.errstate(over="ignore"):
        # At the ends of the doubles a border may be rounded out of the scale.
        return np.asarray(back(borders)).clip(*_SCALES[scale])


# Files


def write(path: str | Path, table: Any, *, overwrite: bool = False) -> Path:
    """
    Write an error table to a file, whole or not at all.

    Parameters
    ----------
    path : str or pathlib.Path
        The suffix says what is written: ``.csv``, ``.tsv``, ``.csv.gz`` and
        ``.parquet`` hold the table to the last bit (nan is an empty field of a CSV),
        ``.md`` its `summary` and the table in Markdown, ``.png``, ``.svg`` and
        ``.pdf`` the `plot`.
    table : frame or dict
        What `error_table` returns.
    overwrite : bool, optional
        Whether an existing file may be replaced.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    ImportError
        If pyarrow, for a table, or matplotlib, for a plot, is not installed.
    FileExistsError
        If the file exists and ``overwrite`` is not set.
    OSError
        If the file cannot be written.
    ValueError
        For another suffix, or a table that cannot be drawn.

    Examples
    --------
    >>> import tempfile
    >>> from riskcore import accuracy
    >>> table = accuracy.error_table("franconi", 4, 0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = accuracy.write(f"{folder}/errors.md", table)
    ...     path.read_text().splitlines()[-1]
    '| 4 | 0.5 | franconi | 0.1428571429 | 0.1401861528 | 0.0191 | 9.62e+13 |'
    """
    path = check_writable(path, overwrite=overwrite)
    suffix = path.suffix.lower()
    if suffix in _TABLES:
        return formats.write(path, _columns(table), overwrite=overwrite)
    if suffix == _TEXT:
        content = f"{markdown(summary(table))}\n\n{markdown(table)}\n".encode()
    else:
        picture = BytesIO()
        plot(table).savefig(picture, format=suffix[1:], dpi=150)
        content = picture.getvalue()
    with replace.replacing(path, overwrite) as file:
        file.write(content)
    return path


def check_writable(path: str | Path, *, overwrite: bool = False) -> Path:
    """Return the path if `write` could write it, to be asked before long work.

    Raises
    ------
    ImportError, FileExistsError, OSError, ValueError
        As `write` does.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix in _TABLES:
        return formats.check_writable(path, overwrite=overwrite)
    if suffix not in (_TEXT, *_PICTURES):
        raise ValueError(
            f"{path}: can write .csv, .tsv, .csv.gz, .parquet, .md, .png, .svg and "
            ".pdf only"
        )
    if suffix in _PICTURES:
        _matplotlib()
    replace.refuse_existing(path, overwrite)
    return path


_TABLES = (".csv", ".tsv", ".gz", ".parquet", ".pq")
_TEXT = ".md"
_PICTURES = (".png", ".svg", ".pdf")


# Forms by name


def _named(forms: Forms) -> dict[str, Form]:
    """Return the functions by the names to show."""
    pairs: list[tuple[str, str | Form]]
    if isinstance(forms, Mapping):
        pairs = [(str(name), form) for name, form in forms.items()]
    elif isinstance(forms, str) or callable(forms):
        pairs = [(_name(forms), forms)]
    else:
        pairs = [(_name(form), form) for form in forms]
    if not pairs:
        raise ValueError("forms is empty: name at least one")
    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"forms given twice: {', '.join(twice)}; a mapping of names to forms tells "
            "functions apart"
        )
    return {
        name: _form(form) if isinstance(form, str) else form for name, form in pairs
    }


def _name(form: str | Form) -> str:
    return form if isinstance(form, str) else getattr(form, "__name__", repr(form))


def _form(name: str) -> Form:
    """Return the function of a form's name and arguments."""
    head, *arguments = name.split(":")
    if head == "truncated" and len(arguments) == 1:
        return _truncated(name, arguments[0])
    if head == "adaptive" and len(arguments) in (1, 2):
        return _adaptive(name, *arguments)
    if head in ("truncated", "adaptive"):
        like = ", ".join(known for known in FORMS if known.startswith(head))
        raise ValueError(f"form {name!r}: need {like}")
    if head in FORMS and arguments:
        raise ValueError(f"form {name!r}: {head} takes no argument")
    if head == "individual_risk":
        return individual.individual_risk
    if head == "scipy":
        return _hyp2f1()
    if head not in _PUBLISHED:
        close = difflib.get_close_matches(head, [form.split(":")[0] for form in FORMS])
        hint = f"did you mean {' or '.join(dict.fromkeys(close))}? " if close else ""
        raise ValueError(f"unknown form {name!r}; {hint}known are {', '.join(FORMS)}")
    form: Form = getattr(published, head)
    return form


def _truncated(name: str, order: str) -> Form:
    if not order.isdecimal() or int(order) > published.MAX_TERMS:
        raise ValueError(
            f"form {name!r}: the order {order!r} is no whole number from 0 to "
            f"{published.MAX_TERMS}"
        )
    return lambda f, p: published.truncated(f, p, int(order))


def _adaptive(name: str, epsilon: str, rule: Any = "sufficient") -> Form:
    try:
        allowed = float(epsilon)
    except ValueError:
        allowed = math.nan
    if not 0 < allowed < 1:
        raise ValueError(f"form {name!r}: {epsilon!r} is no number between 0 and 1")
    if rule not in ("sufficient", "published"):
        raise ValueError(
            f"form {name!r}: the rule is 'sufficient' or 'published', not {rule!r}"
        )
    return lambda f, p: published.adaptive(f, p, allowed, rule)


def _hyp2f1() -> Form:
    try:
        from scipy.special import hyp2f1
    except ImportError:
        raise ImportError("the form 'scipy' needs SciPy: pip install scipy") from None
    return lambda f, p: p / f * hyp2f1(1, 1, f + 1, 1 - p)


# Values and errors


def _points(f: Any, p: Any, paired: bool) -> tuple[Floats, Floats]:
    f, p = np.atleast_1d(np.asarray(f, float)), np.atleast_1d(np.asarray(p, float))
    if not (np.all(f >= _SMALLEST) and np.all(f < np.inf)):
        raise ValueError(f"sample frequencies f are finite and at least {_SMALLEST:g}")
    if not (np.all(p > 0) and np.all(p <= 1)):
        raise ValueError("sampling fractions p are above 0 and at most 1")
    if paired:
        if len(f) != len(p) and 1 not in (len(f), len(p)):
            raise ValueError(f"f and p make no pairs: {len(f)} and {len(p)} numbers")
        f, p = np.broadcast_arrays(f, p)
    else:
        f, p = np.meshgrid(np.unique(f), np.unique(p), indexing="ij")
    if f.size == 0:
        raise ValueError("no points: f or p is empty")
    return f.ravel(), p.ravel()


def _evaluate(name: str, form: Form, f: Floats, p: Floats) -> Floats:
    with np.errstate(all="ignore"):  # inf and nan are part of the table
        values = np.asarray(form(f, p), float)
    if values.shape != f.shape:
        raise ValueError(
            f"form {name!r} made {values.shape} values of {f.shape} points"
        )
    return values


def _errors(values: Floats, exact: list[Any]) -> Floats:
    """Return the relative errors, and those in ulp of the exact values."""
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
    """Return the exponent e of the doubles at r, which are 2^(e - 53) apart."""
    return max(int(mpmath.mag(r)), -1021)


def _to_double(r: Any) -> float:
    # Not float(r): mpmath rounds a subnormal number twice.
    with mpmath.workprec(reference.PRECISION):
        bits = 53 - _exponent(r)
        return math.ldexp(int(mpmath.nint(mpmath.ldexp(r, bits))), -bits)


# Frames


def _framed(columns: dict[str, Any], backend: Any) -> Any:
    if backend is None:
        return columns
    import narwhals.stable.v2 as nw

    return nw.from_dict(columns, backend=backend).to_native()


def _columns(table: Any) -> dict[str, Any]:
    columns = Records.of(table).columns
    return {str(name): np.asarray(values) for name, values in columns.items()}


def _rows(columns: Mapping[str, Any], chosen: Any) -> dict[str, Any]:
    return {name: values[chosen] for name, values in columns.items()}
