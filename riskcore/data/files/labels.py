"""Labels, formats and missing codes that a labelled file has for its columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
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
        The display format of a column; "nominal", "ordinal" or "scale".

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
        """Return a code followed by its label; a code without a label as given."""
        label = self.values.get(str(column), {}).get(code_text(code))
        return code if label is None else f"{code_text(code)} ({label})"

    def beside(self, other: Labels) -> Labels:
        """Return these labels, and those of other columns."""
        names = (part.name for part in fields(self))
        return Labels(*({**getattr(other, x), **getattr(self, x)} for x in names))

    def without_codes_of(self, columns: Collection[str]) -> Labels:
        """Return the labels, leaving out the code labels of some columns."""

        def others(names: Mapping[str, Any]) -> dict[str, Any]:
            return {name: entry for name, entry in names.items() if name not in columns}

        return replace(
            self,
            values=others(self.values),
            missing=others(self.missing),
            formats=others(self.formats),
        )

    def occurring(self, column: str, codes: Iterable[Any]) -> dict[Any, str]:
        """Return the labels of codes that occur, by the code itself.

        Labels of other codes would show values that were suppressed.
        """
        own = self.values.get(column, {})
        return {code: own[text] for code in codes if (text := code_text(code)) in own}

    def plain(self, columns: Iterable[Any]) -> dict[str, dict[str, Any]]:
        """Return the labels of columns that have any, as plain data."""
        named = {
            name: {
                "label": self.variables.get(name),
                "values": dict(self.values.get(name, {})),
            }
            for name in map(str, columns)
        }
        return {
            n: entry for n, entry in named.items() if entry["label"] or entry["values"]
        }


def labels_of_plain(plain: Mapping[str, Mapping[str, Any]] | None) -> Labels:
    """Return the labels that `Labels.plain` gave, or none."""
    entries = plain or {}
    return Labels(
        {name: entry["label"] for name, entry in entries.items() if entry["label"]},
        {name: entry["values"] for name, entry in entries.items()},
    )


def code_text(code: Any) -> str:
    """Return a code as text, whole numbers without a point: "2", never "2.0"."""
    if isinstance(code, float) and code.is_integer():
        return str(int(code))
    return str(code)
