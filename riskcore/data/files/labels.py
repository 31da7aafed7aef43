"""What a labelled file says of its columns beside the data: labels, formats, codes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

# A code, or the codes from the first to the last.
Range = tuple[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Labels, formats and declared missing codes of the columns of a file.

    Attributes
    ----------
    variables : dict of str to str
        The labels of columns.
    values : dict of str to dict
        For each column the labels of its codes, by the code as text: "2", not "2.0".
    missing : dict of str to tuple of (first, last)
        Codes that stand for a missing value, as ranges.
    formats, measures : dict of str to str
        How the program shows a column; "nominal", "ordinal" or "scale".

    Examples
    --------
    >>> labels = Labels({"sex": "Sex"}, {"sex": {"1": "male", "2": "female"}})
    >>> labels.shown("sex", 2.0), labels.shown("sex", 3), labels.shown("age", 2)
    ('2 (female)', 3, 2)
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    missing: Mapping[str, tuple[Range, ...]] = field(default_factory=dict)
    formats: Mapping[str, str] = field(default_factory=dict)
    measures: Mapping[str, str] = field(default_factory=dict)

    def shown(self, column: Any, code: Any) -> Any:
        """Return a code with its label behind it; one without label as it is."""
        label = self.values.get(str(column), {}).get(code_text(code))
        return code if label is None else f"{code_text(code)} ({label})"

    def without_codes_of(self, columns: Collection[str]) -> Labels:
        """Return the labels but for what is said of the codes of some columns."""
        return Labels(
            self.variables,
            _without(self.values, columns),
            _without(self.missing, columns),
            _without(self.formats, columns),
            self.measures,
        )

    def occurring(self, column: str, codes: Iterable[Any]) -> dict[Any, str]:
        """Return the labels of codes that occur, by the code itself.

        Labels of others would tell what was there before it was suppressed.
        """
        own = self.values.get(column, {})
        return {code: own[text] for code in codes if (text := code_text(code)) in own}

    def plain(self, columns: Iterable[Any]) -> dict[str, dict[str, Any]]:
        """Return the labels of those of some columns that have any, as plain data."""
        named = {
            name: {
                "label": self.variables.get(name),
                "values": dict(self.values.get(name, {})),
            }
            for name in map(str, columns)
        }
        return {n: one for n, one in named.items() if one["label"] or one["values"]}


def labels_of_plain(plain: Mapping[str, Mapping[str, Any]] | None) -> Labels:
    """Return the labels that `Labels.plain` gave, or none."""
    found = plain or {}
    return Labels(
        {name: one["label"] for name, one in found.items() if one["label"]},
        {name: one["values"] for name, one in found.items()},
    )


def code_text(code: Any) -> str:
    """Return a code as text, the same whether it is held as an integer or not.

    Examples
    --------
    >>> code_text(2.0), code_text(2), code_text("02"), code_text(2.5)
    ('2', '2', '02', '2.5')
    """
    if isinstance(code, float) and code.is_integer():
        return str(int(code))
    return str(code)


def _without(names: Mapping[str, Any], columns: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in names.items() if name not in columns}
