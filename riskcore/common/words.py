"""Words and sentences: names and counts on one line, and templates with their values.

A `Sentence` is its English text, so nothing that stores or prints it needs to know
more. Who shows it to a reader of another language takes the template of that language
by the English one, and writes the values in it, numbers as that reader writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, reduce
from numbers import Integral
from string import Formatter
from typing import Any, TypeAlias

# The blanks within numbers and names of many languages: a person sees them.
_BLANKS = "\u00a0\u202f"


def printable(text: str) -> str:
    """Return text on one line, with control characters escaped; blanks stay."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in _BLANKS else repr(c)[1:-1] for c in text
    )


def quoted(name: Any) -> str:
    """Return a name or value in quotation marks, as a sentence mentions it."""
    text = printable(str(name))
    mark = '"' if "'" in text and '"' not in text else "'"
    return f"{mark}{text}{mark}"


def shortened(value: Any, longest: int) -> str:
    """Return a name or value on one line of at most ``longest`` characters."""
    label = on_one_line(value)
    whole = value is None or len(label) <= longest
    return label if whole else label[: longest - 1] + "…"


def on_one_line(value: Any) -> str:
    """Return a name or value on one line, whole; None is "(missing)"."""
    return sentence("(missing)") if value is None else printable(str(value))


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun, in the singular for 1."""
    words = noun if count == 1 else plural or f"{noun}s"
    return Sentence(f"{{n}} {words}", {"n": count})


def one_of(words: Iterable[str]) -> str:
    """Return words as a choice in a sentence: "a or b or c"."""
    return reduce(lambda a, b: sentence("{others} or {last}", a, b), [*words] or [""])


def listed(words: Iterable[str]) -> str:
    """Return words as a list in a sentence: "a, b and c"."""
    *others, last = [*words] or [""]
    if not others:
        return last
    return sentence("{others} and {last}", joined(", ", others), last)


Write: TypeAlias = Callable[[Any], str]


class Number(str):
    """A number as a program writes it, such as 1,234.5."""

    __slots__ = ()


class Sentence(str):
    """An English text with the template and the values that it was made from."""

    __slots__ = ("template", "values")
    template: str
    values: Mapping[str, Any]

    def __new__(cls, template: str, values: Mapping[str, Any]) -> Sentence:
        """Return the text with whole numbers and `Number` as in English."""
        text = super().__new__(cls, _filled(template, values, {}, str))
        text.template, text.values = template, values
        return text

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


@cache
def fields(template: str) -> tuple[str, ...]:
    """Return the names of the values of a template, in their order."""
    names = (name for _, name, _, _ in Formatter().parse(template) if name)
    return tuple(dict.fromkeys(names))


def sentence(template: str, *values: Any) -> Sentence:
    """Return a sentence, with the values of a template in their order there.

    >>> counts = sentence("{n} of {of} records are unsafe", 15, 20000)
    >>> counts
    '15 of 20,000 records are unsafe'
    >>> others = {"{n} of {of} records are unsafe": "{n} von {of} Sätzen sind unsicher"}
    >>> retold(counts, others, lambda number: number.replace(",", "."))
    '15 von 20.000 Sätzen sind unsicher'
    """
    return Sentence(template, dict(zip(fields(template), values, strict=True)))


def by_count(count: int, template: str, plural: str, *values: Any) -> Sentence:
    """Return the sentence for 1, or the one for any other count."""
    return sentence(template if count == 1 else plural, *values)


def joined(separator: str, parts: Iterable[str]) -> Sentence:
    """Return texts joined as by `str.join`."""
    values = {f"part{at}": part for at, part in enumerate(parts)}
    return Sentence(separator.join(f"{{{name}}}" for name in values), values)


def words_in(error: BaseException) -> str:
    """Return the words of an error, the sentence if it was raised with one."""
    words = error.args[0] if len(error.args) == 1 else error
    return words if isinstance(words, Sentence) else str(words)


def retold(
    value: Any, templates: Mapping[str, str], write: Callable[[str], str]
) -> str:
    """Return a sentence or a number for a reader of other templates and numbers."""
    if isinstance(value, Sentence):
        template = templates.get(value.template, value.template)
        return _filled(template, value.values, templates, write)
    if isinstance(value, Integral):
        value = Number(f"{value:,}")
    return write(value) if isinstance(value, Number) else str(value)


def _filled(
    template: str,
    values: Mapping[str, Any],
    templates: Mapping[str, str],
    write: Callable[[str], str],
) -> str:
    """Return a template with its values."""
    told = {name: retold(value, templates, write) for name, value in values.items()}
    return template.format(**told)
