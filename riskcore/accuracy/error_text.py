"""Tables of errors as plain text and as Markdown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riskcore.accuracy.table import columns_of
from riskcore.common.text_table import aligned, markdown_row


def plain(table: Any) -> str:
    """
    Write an error table or a summary as text in columns.

    Parameters
    ----------
    table : frame or dict
        The result of `error_table` or `summary`. Risks are written with 10 digits and
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
    columns = _cells(table)
    sides = "".join("<" if name == "form" else ">" for name in columns)
    return "\n".join(aligned(zip(*columns.values(), strict=True), sides))


def markdown(table: Any) -> str:
    """
    Write an error table or a summary in Markdown, with the digits of `plain`.

    Parameters
    ----------
    table : frame or dict
        The result of `error_table` or `summary`.

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
    columns = _cells(table)
    rules = ["---" if name == "form" else "---:" for name in columns]
    head, *rows = zip(*columns.values(), strict=True)
    return "\n".join(map(markdown_row, [head, rules, *rows]))


def _cells(table: Any) -> dict[str, list[str]]:
    """Return each column's title and values as text."""
    cells = {}
    for name, values in columns_of(table).items():
        write = _WRITERS.get(name, "{:.3g}".format)
        title = _TITLES.get(name, name.replace("_", " "))
        cells[name] = [title, *map(write, values.tolist())]
    return cells


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
    # Near 1 as 1 less a small number.
    "sampling_fraction": lambda p: f"1-{1 - p:.4g}" if 0.9999 < p < 1 else f"{p:.6g}",
    "value": "{:.10g}".format,
    "exact": "{:.10g}".format,
    "share_correctly_rounded": "{:.1%}".format,
    "share_not_finite": "{:.1%}".format,
}
