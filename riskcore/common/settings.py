"""Settings: the arguments that a function and a command share, each said once.

A table of settings is a `TypedDict` whose types carry a `Setting`. From it come the
function's signature, defaults and checks, the options of the command, and the form in
which a record holds the values. Tables are read when a command is parsed: this module
and theirs load nothing heavy.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from numbers import Real
from typing import Any, ForwardRef, Literal, TypeVar, get_args, get_origin

Table = TypeVar("Table")
Function = TypeVar("Function", bound=Callable[..., Any])
Fits = Callable[[Any], bool]


@dataclass(frozen=True, eq=False)
class Kind:
    """The JSON values that fit a setting: a test, and the need in words."""

    fits: Fits
    need: str

    def or_null(self) -> "Kind":
        """Return the kind of a value that may be null."""
        return Kind(
            lambda value: value is None or self.fits(value), f"{self.need} or null"
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def list_of(fits: Fits) -> Fits:
    """Return whether a value is a list whose elements all fit."""
    return lambda value: isinstance(value, list) and all(map(fits, value))


def object_of(fits: Fits) -> Fits:
    """Return whether a value is an object whose members all fit."""
    return lambda value: isinstance(value, dict) and all(map(fits, value.values()))


WORD = Kind(lambda value: isinstance(value, str), "text")
PATH = Kind(WORD.fits, "the path of a file")
# One character; a tab may be given by name.
DELIMITER = Kind(WORD.fits, "a character")
NAME = Kind(WORD.fits, "a name").or_null()
NAMES = Kind(list_of(WORD.fits), "a list of names")
NAME_SETS = Kind(list_of(NAMES.fits), "a list of lists of names")
# Columns of ids; an empty list is an answer, too.
IDS = Kind(NAMES.fits, NAMES.need)
# One set of names, or several.
KEY_SETS = Kind(
    lambda value: NAMES.fits(value) or NAME_SETS.fits(value),
    "a list of names, or a list of such lists",
)
# A model of the population by its name; one that was fitted is in no record.
MODEL = Kind(WORD.fits, "text")
MODEL_OR_FILE = Kind(WORD.fits, "text")
# On or off: an option without a value.
FLAG = Kind(lambda value: isinstance(value, bool), "true or false")
# On or off, or the whole number of a fixed choice.
SEED = Kind(
    lambda value: isinstance(value, bool) or _is_whole(value), "true, false or a seed"
)
NUMBER = Kind(_is_number, "a number")
FRACTION = Kind(_is_number, "a number")
WHOLE = Kind(_is_whole, "a whole number")
GOALS = Kind(list_of(WHOLE.or_null().fits), "a list of whole numbers or null")
RECODINGS = Kind(object_of(lambda _: True), "an object of recodings")
WORDS = Kind(object_of(WORD.fits), "an object of words")
RELATED = Kind(object_of(NAMES.fits), "an object of lists of names")
# Codes of all columns, or by column.
CODES = Kind(
    lambda value: NAMES.fits(value) or RELATED.fits(value),
    "a list of codes, or lists by column",
)
TREATMENTS = Kind(list_of(lambda one: isinstance(one, dict)), "a list of treatments")
# An amount, or a share of the value: 5%.
TOLERANCES = Kind(
    object_of(lambda one: _is_number(one) or WORD.fits(one)),
    "an object of numbers or shares",
)
# JSON has no infinity: the cost of a key that may not be blanked.
NEVER = "never"


def _is_cost(value: Any) -> bool:
    return _is_number(value) or value == NEVER


# The cost of a key, or of each category that has one of its own.
_OF_KEYS = object_of(lambda cost: _is_cost(cost) or object_of(_is_cost)(cost))
COST = Kind(
    lambda value: WORD.fits(value) or _OF_KEYS(value), "a word or an object of numbers"
)
# All keys, or some of them: an option that needs no value.


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One setting: its default, kind, unit and help.

    Attributes
    ----------
    help : str
        The help of the option.
    default
    kind : Kind
    within, unit : str
        The interval of a number, and what it is: "[0, 1]", "a risk".
    choices : tuple of str
        The words allowed, unless the type is a `Literal`, which names them.
    option, metavar : str
        The name of the option if it differs from the name of the argument, and the
        word for its value in the help.
    """

    help: str
    default: Any = None
    kind: Kind = WORD
    within: str = ""
    unit: str = ""
    choices: tuple[str, ...] = ()
    option: str = ""
    metavar: str = ""

    @property
    def recorded(self) -> Kind:
        """The kind of its value in a record: a single value may be null by default."""
        single = self.kind in (NUMBER, FRACTION, WHOLE)
        return self.kind.or_null() if self.default is None and single else self.kind

    def check(self, name: str, value: Any) -> None:
        """Refuse a word that is not a choice, and a number outside its interval."""
        from riskcore.common import arguments

        if value is None and self.default is None:
            return
        if self.choices and self.kind is WORD:
            arguments.one_of(name, value, self.choices)
        if self.within:
            arguments.number_in(name, value, self.within, *filter(None, [self.unit]))


@cache
def settings_of(table: type) -> Mapping[str, Setting]:
    """Return the settings of a table by name."""
    found = {}
    for name, annotation in table.__annotations__.items():
        setting: Setting = annotation.__metadata__[0]
        kind = annotation.__origin__
        if not setting.choices and get_origin(kind) is Literal:
            setting = Setting(**{**vars(setting), "choices": get_args(kind)})
        found[name] = setting
    return found


def complete(table: type[Table], given: Table) -> Table:
    """Return all settings, with defaults for missing ones; refuse invalid settings."""
    settings = settings_of(table)  # type: ignore[arg-type]
    values: Mapping[str, Any] = given  # type: ignore[assignment]
    for name in values:
        if name not in settings:
            raise TypeError(_unexpected(name, settings))
    found = {name: values.get(name, s.default) for name, s in settings.items()}
    for name, setting in settings.items():
        setting.check(name, found[name])
    return found  # type: ignore[return-value]


def _unexpected(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, known, 1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"unexpected keyword argument {name!r}{hint}"


def takes(table: type) -> Callable[[Function], Function]:
    """Give a function whose last parameter is ``**settings`` the table's signature."""

    def give(function: Function) -> Function:
        own = inspect.signature(function)
        *before, last = own.parameters.values()
        assert last.kind is last.VAR_KEYWORD
        first = [p for p in before if p.kind is not p.KEYWORD_ONLY]
        after = [p for p in before if p.kind is p.KEYWORD_ONLY]
        settings = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=setting.default,
                annotation=_shown(table.__annotations__[name].__origin__),
            )
            for name, setting in settings_of(table).items()
        ]
        function.__signature__ = own.replace(  # type: ignore[attr-defined]
            parameters=[*first, *settings, *after]
        )
        return function

    return give


def _shown(annotation: Any) -> Any:
    """Return a type as a signature shows it."""
    return (
        annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else annotation
    )
