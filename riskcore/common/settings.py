"""Settings: the arguments that a function and a command share, each said once.

A table of settings is a `TypedDict` whose types carry a `Setting`. Each kind of setting
is a class. It reads the words of an option, checks an argument, and says which values a
file of rules and a private record hold. Tables are read when a command is parsed: this
module and theirs load nothing heavy.
"""

import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias, TypedDict, TypeVar

from riskcore.common import text_numbers

Name = TypeVar("Name", bound=Hashable)
Table = TypeVar("Table")
Function = TypeVar("Function", bound=Callable[..., Any])
# A JSON schema whose title says in words what a value must be.
Shape: TypeAlias = dict[str, Any]
# Names of keys, and positions in lists.
Place: TypeAlias = tuple[str | int, ...]

# Stands for all columns that are not named.
ANY = "*"
# How the order of the records is called among columns.
ORDER = "(order)"
# The role of sensitive numbers whose distance t is that of ordered values.
ORDERED = "sensitive:ordered"
# JSON has no infinity: the cost of a key that may not be blanked.
NEVER = "never"
# Names that are sought here, and where they are.
ELSEWHERE = {
    "reference": "give it to assess, and the weights it finds, .cells.record_weights",
    "weight_scale": "give reading=riskcore.Reading(weight_scale=...); in rules, [data] "
    "has it",
}
BOOLEAN: Shape = {"type": "boolean", "title": "true or false"}
NUMBER: Shape = {"type": "number", "title": "a number"}
WHOLE: Shape = {"type": "integer", "minimum": 0, "title": "a whole number"}
NULL: Shape = {"type": "null", "title": "null"}
_SHARE: Shape = {
    "type": "string",
    "pattern": r"^[0-9]+([.][0-9]+)?%$",
    "title": "a share such as '0.1%'",
}


def text(title: str) -> Shape:
    """Return the shape of a text."""
    return {"type": "string", "title": title}


def array(items: Shape, title: str) -> Shape:
    """Return the shape of a list."""
    return {"type": "array", "items": items, "title": title}


def table(values: Shape, title: str) -> Shape:
    """Return the shape of an object with any names."""
    return {"type": "object", "additionalProperties": values, "title": title}


def either(*shapes: Shape) -> Shape:
    """Return the shape of values that have one of several shapes."""
    return {"anyOf": [one for shape in shapes for one in shape.get("anyOf", [shape])]}


def choice(words: Iterable[str]) -> Shape:
    """Return the shape of one of several words."""
    listed = ", ".join(map(repr, words))
    return {"enum": list(words), "title": f"one of {listed}"}


TEXT = text("text")
NAMES = array(TEXT, "a list of names")


@dataclass(frozen=True, eq=False, kw_only=True)
class Setting:
    """One setting, here of text; the other kinds are subclasses."""

    help: str
    default: Any = None
    option: str = ""  # its name if it differs from that of the argument
    metavar: str = ""  # the word for its value in the help

    nargs: ClassVar[str | None] = None  # how many words the option takes
    # The JSON schemas of all settings of its kind, in a file of rules and in a private
    # record; without the second, a record has the first, or null by default.
    form: ClassVar[Shape] = TEXT
    recorded_form: ClassVar[Shape | None] = None
    names_files: ClassVar[bool] = False  # whether a rule may name a file

    @property
    def shape(self) -> Shape:
        """The JSON schema of a value in a file of rules."""
        return self.form

    @property
    def recorded_shape(self) -> Shape:
        """The JSON schema of a value in a private record."""
        if self.recorded_form is not None:
            return self.recorded_form
        return either(self.form, NULL) if self.default is None else self.form

    def parsing(self) -> dict[str, Any]:
        """Return how argparse reads the option."""
        how = {"default": self.default, "nargs": self.nargs, "type": self.read}
        return {**how, "metavar": self.metavar or None}

    def read(self, word: str) -> Any:
        """Return the value of one word of the option."""
        return self.argument(word, Path())

    def value(self, option: str, words: Any, columns: Iterable[Any]) -> Any:
        """Return the argument of an option's words, where names are of ``columns``."""
        return None if words is None else self.argument(words, Path())

    def check(self, name: str, value: Any) -> None:
        """Refuse an argument that is wrong by itself."""
        if value is not None or self.default is not None:
            self.refuse_wrong(name, value)

    def refuse_wrong(self, name: str, value: Any) -> None:
        """Refuse a wrong argument that is not left out."""

    def resolved(self, name: str, value: Any) -> Any:
        """Return an argument in the form that a record can hold."""
        is_scalar = getattr(value, "ndim", None) == 0 and hasattr(value, "item")
        return value.item() if is_scalar else value

    def argument(self, plain: Any, folder: Path) -> Any:
        """Return the argument of a rule; paths are relative to a folder."""
        return plain

    def rule(self, value: Any) -> Any:
        """Return an argument as a file of rules says it."""
        return value

    def recorded(self, value: Any) -> Any:
        """Return a resolved argument as plain data for JSON: tuples as lists."""
        if isinstance(value, Mapping):
            return {name: self.recorded(part) for name, part in value.items()}
        return [*map(self.recorded, value)] if isinstance(value, tuple) else value

    def restored(self, member: str, plain: Any) -> Any:
        """Return the argument that `recorded` wrote."""
        if isinstance(plain, dict):
            return {name: self.restored(member, part) for name, part in plain.items()}
        if isinstance(plain, list):
            return tuple(self.restored(member, part) for part in plain)
        return plain


@dataclass(frozen=True, eq=False, kw_only=True)
class Choice(Setting):
    """One of several words."""

    choices: tuple[str, ...]

    @property
    def shape(self) -> Shape:
        """One of the words."""
        return choice(self.choices)

    def parsing(self) -> dict[str, Any]:
        """Return how argparse reads one of the words."""
        return {**super().parsing(), "choices": self.choices or None}

    def refuse_wrong(self, name: str, value: Any) -> None:
        """Refuse a word that is not a choice."""
        from riskcore.common import arguments

        arguments.one_of(name, value, self.choices)


class File(Setting):
    """The path of a file."""

    form = text("the path of a file")
    names_files = True

    def argument(self, plain: Any, folder: Path) -> Any:
        """Return the path."""
        return folder / plain


@dataclass(frozen=True, eq=False, kw_only=True)
class Flag(Setting):
    """On or off: an option without a value."""

    default: Any = False
    form = BOOLEAN

    def parsing(self) -> dict[str, Any]:
        """Return how argparse reads an option without a value."""
        return {"action": "store_true"}


@dataclass(frozen=True, eq=False, kw_only=True)
class Number(Setting):
    """A number, in an interval such as "(0, 1]", and what it is: "a risk"."""

    within: str = ""
    unit: str = "a number"
    form = NUMBER
    of_text = staticmethod(text_numbers.number)

    @property
    def shape(self) -> Shape:
        """A number in the interval."""
        if not self.within:
            return self.form
        low, high = self.within[1:-1].split(", ")
        least = "minimum" if self.within[0] == "[" else "exclusiveMinimum"
        most = "maximum" if self.within[-1] == "]" else "exclusiveMaximum"
        bounds = {least: float(low), most: float(high)}
        if high == "inf":
            del bounds[most]
        bare = {name: value for name, value in self.form.items() if name != "minimum"}
        return {**bare, **bounds, "title": f"{self.form['title']} in {self.within}"}

    def argument(self, plain: Any, folder: Path) -> Any:
        """Return a number, also of a text."""
        return self.of_text(plain) if isinstance(plain, str) else plain

    def refuse_wrong(self, name: str, value: Any) -> None:
        """Refuse a number outside the interval."""
        from riskcore.common import arguments

        if self.within:
            arguments.number_in(name, value, self.within, self.unit)

    def resolved(self, name: str, value: Any) -> Any:
        """Return a number of Python."""
        from riskcore.common import arguments

        value = super().resolved(name, value)
        exact = value is None or isinstance(value, int)
        return value if exact else arguments.number(name, value)


class Share(Number):
    """A number that may be given in per cent."""

    of_text = staticmethod(text_numbers.fraction)

    @property
    def shape(self) -> Shape:
        """A number, or text such as 5%."""
        return either(super().shape, _SHARE)


class Whole(Number):
    """A whole number."""

    form = WHOLE
    of_text = staticmethod(text_numbers.whole)


@dataclass(frozen=True, eq=False, kw_only=True)
class Column(Setting):
    """The name of a column."""

    metavar: str = "COLUMN"
    form = text("the name of a column")

    def refuse_wrong(self, name: str, value: Any) -> None:
        """Refuse what cannot be the name of a column."""
        from riskcore.common import arguments

        arguments.column_name(name, value)


@dataclass(frozen=True, eq=False, kw_only=True)
class Columns(Setting):
    """Names of columns."""

    metavar: str = "COLUMN"
    nargs = "+"
    form = recorded_form = NAMES

    def resolved(self, name: str, value: Any) -> Any:
        """Return the names as a tuple."""
        from riskcore.common import arguments

        return tuple(arguments.names(name, value))


class ByColumn(Setting):
    """A word for each of some columns: COLUMN=WORD."""

    nargs = "+"
    form = recorded_form = table(TEXT, "a table of columns")

    def parsing(self) -> dict[str, Any]:
        """Return how argparse reads an option that may be given several times."""
        return {**super().parsing(), "default": [], "action": "extend"}

    def read(self, word: str) -> Any:
        """Return a name and its word."""
        return pair(word)

    def value(self, option: str, words: Any, columns: Iterable[Any]) -> Any:
        """Return the words by column; None without any."""
        names = set(map(str, columns))
        pairs = [_split(option, "=".join(entry), names) for entry in words]
        return self.argument(self.gathered(option, pairs), Path()) or None

    def gathered(self, option: str, pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
        """Return the words by column."""
        return gathered(option, pairs)

    def refuse_wrong(self, name: str, value: Any) -> None:
        """Refuse what is not a mapping."""
        from riskcore.common import arguments

        if not isinstance(value, Mapping):
            raise TypeError(
                f"{name}={arguments.shown(value)}: need a mapping by column"
            )

    def resolved(self, name: str, value: Any) -> Any:
        """Return a mapping, empty if nothing is given."""
        return dict(value or {})


def pair(word: str) -> tuple[str, str]:
    """Read NAME=VALUE."""
    name, equals, value = word.partition("=")
    if not (name and equals and value):
        raise ValueError(f"{word!r} is not NAME=VALUE")
    return name, value


def gathered(option: str, pairs: Iterable[tuple[Name, Any]]) -> dict[Name, Any]:
    """Return pairs as a dict, and refuse a name that appears twice."""
    values: dict[Name, Any] = {}
    for name, value in pairs:
        if name in values:
            raise ValueError(f"{option}: {name!r} appears twice")
        values[name] = value
    return values


def _split(option: str, text: str, known: set[str]) -> tuple[str, str]:
    """Return a column, or several joined by plus signs, and the value behind them."""
    cuts = [at for at, letter in enumerate(text[:-1]) if letter == "="]
    fits = [
        at
        for at in cuts
        if text[:at] in known or known.issuperset(text[:at].split("+"))
    ]
    if len(fits) > 1:
        first, second = (text[:at] for at in fits[:2])
        raise ValueError(
            f"{option} {text!r}: {first!r} and {second!r} are both columns, so this "
            "can be read in two ways; rename one of them"
        )
    at = (fits or cuts)[0]
    return text[:at], text[at + 1 :]


@cache
def settings_of(table: type) -> Mapping[str, Setting]:
    """Return the settings of a table by name."""
    types = table.__annotations__.items()
    return {name: annotation.__metadata__[0] for name, annotation in types}


def complete(table: type[Table], options: Table) -> Table:
    """Return all settings, with defaults for missing ones; refuse invalid settings."""
    settings = settings_of(table)  # type: ignore[arg-type]
    values: Mapping[str, Any] = options  # type: ignore[assignment]
    for name in values:
        if name not in settings:
            raise TypeError(_unexpected(name, settings))
    all_settings = {name: values.get(name, s.default) for name, s in settings.items()}
    for name, setting in settings.items():
        setting.check(name, all_settings[name])
    return all_settings  # type: ignore[return-value]


# Arguments of functions beside their settings.
_ROLES = ("keys", "weight", "household", "reading")


def _unexpected(name: str, known_names: Iterable[str]) -> str:
    close = get_close_matches(name, [*known_names, *_ROLES], 1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    hint = f"; {ELSEWHERE[name]}" if name in ELSEWHERE else hint
    return f"unexpected keyword argument {name!r}{hint}"


def takes(table: type) -> Callable[[Function], Function]:
    """Give a function whose last parameter is ``**settings`` the table's signature."""

    def give(function: Function) -> Function:
        own = inspect.signature(function)
        types = {name: t.__origin__ for name, t in table.__annotations__.items()}
        *before, last = own.parameters.values()
        assert last.kind is last.VAR_KEYWORD
        first = [p for p in before if p.kind is not p.KEYWORD_ONLY]
        after = [p for p in before if p.kind is p.KEYWORD_ONLY]
        settings = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=setting.default,
                annotation=getattr(types[name], "__forward_arg__", types[name]),
            )
            for name, setting in settings_of(table).items()
        ]
        function.__signature__ = own.replace(  # type: ignore[attr-defined]
            parameters=[*first, *settings, *after]
        )
        return function

    return give


class ReportSettings(TypedDict, total=False):
    """The reports of `assess` and `protect`."""

    report: Annotated[
        str | Path | None,
        File(
            metavar="HTML",
            help="report for internal use: one page for any browser, with a risk chart "
            "whose threshold can be moved. Its exact risks reveal weights of single "
            "records, so only you can read the file",
        ),
    ]
    report_public: Annotated[
        str | Path | None,
        File(
            metavar="HTML",
            help="report for publication: classes of at least 3 records and rounded "
            "figures, which reveal nothing about a single record",
        ),
    ]
