"""Examine every column of a protected file: leaks, and columns that have no role.

A file is safe if its goals are met and no leak is open. A leak is a column that singles
out records (an identifier, a column nobody gave a role whose values are unique, weights
that name households, household ids that were kept), or a column or an order that
reveals suppressed or recoded values. Each leak is mended, or accepted by name.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.roles import (
    has_many_values,
    own_values,
    propose,
    shared_by_few,
    singles_out,
)
from riskcore.common.arrays import Floats
from riskcore.common.progress import Lines, silent
from riskcore.common.settings import ANY
from riskcore.common.words import by_count, counted, joined, listed, quoted, sentence
from riskcore.data.columns import CodedColumn, Records, code_column
from riskcore.data.derived import Derived, derived_of_coded, pairs_that_determine
from riskcore.data.profile import ColumnProfile, profile
from riskcore.disclosure.combined_numbers import numbers_that_tell
from riskcore.disclosure.elimination import Elimination
from riskcore.disclosure.figures_in_words import number
from riskcore.disclosure.leaks import Kind, Leak, Remedy, Shown, too_many
from riskcore.disclosure.number_links import (
    Computed,
    NumberLink,
    number_links,
    precision,
)
from riskcore.disclosure.rebuilt_households import (
    KeySets,
    records_by_composition,
    records_rebuilt,
)
from riskcore.disclosure.shared_values import SharedValues
from riskcore.disclosure.verdict import listed_columns
from riskcore.protection.leaks.people import (
    is_population,
    leaks_of_elimination,
    leaks_of_shared,
    named_by_elimination,
    values_shared,
)
from riskcore.protection.records.numbers import (
    alone_with_numbers,
    codes_of,
    known_numbers,
)
from riskcore.protection.records.protected_records import ProtectedRecords
from riskcore.protection.records.showing import advice_on, too_much
from riskcore.protection.settings.remedies import (
    SHUFFLE,
    accepted,
    as_key,
    coarser,
    coarser_weights,
    either,
    leave_out,
    never_blanked,
    new_ids,
    related_to,
    with_role,
)
from riskcore.protection.settings.settings import Settings

Profiles = Iterable[ColumnProfile]
_TELLING = 100_000  # people whose households tell what shows them
_MOSTLY = 0.9  # the share of the rows that a treatment without effect leaves
_ALONE = (
    "{n} of {of} records are in a household that is alone with the keys of all its "
    "members"
)


@dataclass(frozen=True, slots=True)
class Examination:
    """What was found about the columns of a protected file.

    Attributes
    ----------
    leaks : tuple of Leak
        Open leaks first.
    not_examined : tuple of column names
        The columns that stay in the file without a role, and without a leak.
    number_links : tuple of NumberLink
        What whoever knows keys and numbers learns from the row that fits best.
    shared : dict of column name to SharedValues
        The people of whom the keys tell the value of each sensitive column.
    elimination : Elimination or None
        Who is named to someone who knows all people of the file.
    """

    leaks: tuple[Leak, ...] = ()
    not_examined: tuple[Hashable, ...] = ()
    number_links: tuple[NumberLink, ...] = ()
    shared: dict[Hashable, SharedValues] = field(default_factory=dict)
    elimination: Elimination | None = None
    written: bool = False  # whether it is of a file, all of whose columns were seen

    @property
    def open(self) -> tuple[Leak, ...]:
        """The leaks that were not accepted."""
        return tuple(leak for leak in self.leaks if leak.accepted is None)

    def under(self, settings: Settings) -> Examination:
        """Return the same leaks, accepted or open by other settings."""
        leaks, not_examined = [*self.leaks], self.not_examined
        if not_examined and settings.accepted(ANY):
            leaks.append(called_harmless(not_examined))
            not_examined = ()
        leaks = [finding.under(settings.accepted) for finding in leaks]
        leaks.sort(key=lambda leak: leak.accepted is not None)
        return replace(self, leaks=tuple(leaks), not_examined=not_examined)

    def to_dict(self) -> dict[str, Any]:
        """Return the examination as plain data for JSON."""
        return {
            "leaks": [finding.to_dict() for finding in self.leaks],
            "not_examined": [str(name) for name in self.not_examined],
            "number_links": [finding.to_dict() for finding in self.number_links],
            "attributes": {
                str(name): finding.to_dict() for name, finding in self.shared.items()
            },
            "elimination": None
            if self.elimination is None
            else self.elimination.to_dict(),
        }


def examine(
    result: ProtectedRecords,
    shown: Iterable[Shown],
    *,
    dropped: Collection[Hashable] = (),
    renumbered: Collection[Hashable] = (),
    shuffled: bool = False,
    written: bool = False,
    say: Lines = silent,
) -> Examination:
    """Return the leaks of a protected file, and the columns without a role."""
    settings = result.settings
    left_out = {str(name) for name in (*dropped, *settings.with_role("identifier"))}
    gone = left_out | set(map(str, renumbered))
    profiles = [entry for entry in result.profiles if str(entry.name) not in gone]
    leaks = [*of_columns(profiles, settings, renumbered)]
    household = settings.household
    links: tuple[NumberLink, ...] = ()
    if household is not None and str(household) not in gone:
        leaks.append(_kept_ids(household, settings, renumbered))
    say("looking for households that are found")
    # The persons of a panel are protected together with all their records.
    if settings.person is None:
        if household is not None and str(household) not in left_out:
            leaks += _by_composition(result, left_out)
        leaks += _rebuilt(result, left_out, shuffled=shuffled)
    numbers = [name for name in result.numbers_known if str(name) not in gone]
    if result.numbers_known and result.on_engine is None:
        say("looking for numbers that link records")
        links = number_links(known_numbers(result, gone))
        for columns, computed in ((numbers, False), ([], True)):
            some = [x for x in links if isinstance(x.known[0], Computed) == computed]
            leaks += _of_numbers(result, columns, some, gone)
    say("looking for people whose values are told")
    shared = values_shared(result, gone)
    leaks += leaks_of_shared(result, shared, gone)
    elimination = named_by_elimination(result, gone)
    leaks += leaks_of_elimination(result, elimination)
    leaks += _without_effect(result, gone)
    leaks += _ways_of_writing(result, gone)
    say("looking for columns that give others back")
    leaks += _copies(result, gone, left_out)
    leaks += _together(result, gone)
    if written:
        leaks += _unseen(result, left_out, shuffled=shuffled)
    leaks += [
        Leak(
            (entry.column,),
            "reveals",
            str(entry),
            advice_on(result, entry, renumbered),
            shown=entry,
        )
        for entry in too_much(result, shown)
    ]
    examined_columns = {
        *settings.roles_of_columns,
        *settings.suppressible,
        *settings.treated,
        *result.numbers_known,
        *(entry.column for entry in leaks if entry.kind != "reveals"),
    }
    not_examined = tuple(
        name
        for name in result.source.names
        if name not in examined_columns and str(name) not in gone
    )
    parts = links, shared, elimination, written
    return Examination(tuple(leaks), not_examined, *parts).under(settings)


def of_columns(
    profiles: Profiles, settings: Settings, renumbered: Collection[Hashable] = ()
) -> Iterator[Leak]:
    """Yield the weights and the columns without a role that single out records."""
    for column in profiles:
        rare, of = singles_out(column) or shared_by_few(column), (column.name,)
        if column.name == settings.weight:
            if rare:
                text = _text(column, settings)
                # Of weights on an engine this is not known: nothing is treated there.
                on_engine = column.smallest is None
                treat = None if on_engine else coarser_weights(column.name)
                mends = either(treat, leave_out(of), accepted(of))
                yield Leak(of, "weight", text, mends)
            continue
        proposed = propose(column)
        like = _SEEMS.get(str(proposed.role), "")
        if not rare and not (like and has_many_values(column)):
            continue
        kind: Kind = "identifier" if proposed.role == "identifier" else "unique"
        if like:
            like = sentence(like, proposed.reason)
        text = _text(column, settings, like)
        advice = _advice(column, settings, renumbered)
        yield Leak(of, kind, text, advice)


# Columns that may not stay without a role, even if no value is unique.
_SEEMS = {
    "identifier": "seems to be an identifier ({why})",
    "household": "seems to tell who belongs together ({why})",
}


def _text(column: ColumnProfile, settings: Settings, like: str = "") -> str:
    group = "household" if settings.person is None else "person"
    said = own_values(column, group)
    if not singles_out(column):
        present = column.records - column.missing
        said = sentence("{n} values in {of} records", column.distinct, present)
    return joined(": ", filter(None, [quoted(column.name), like, said]))


def _advice(
    column: ColumnProfile, settings: Settings, renumbered: Collection[Hashable]
) -> tuple[Remedy, ...]:
    """Return what can be done about a column that has no role."""
    name, proposed = column.name, propose(column).role
    mends: list[Remedy | None] = [leave_out([name])]
    if proposed == "identifier":
        mends.insert(
            0, with_role(name, "identifier", sentence("say that it is an identifier"))
        )
    if proposed in ("identifier", "household"):
        mends.append(new_ids(name, renumbered))
    elif column.is_number:
        mends.insert(0, coarser([column]))
    else:
        mends.insert(0, as_key(name, settings))
    as_sensitive = with_role(
        name, "sensitive", sentence("say that no intruder knows it")
    )
    return either(*mends, as_sensitive, accepted([name]))


def _of_numbers(
    result: ProtectedRecords,
    numbers: Sequence[Hashable],
    links: Iterable[NumberLink],
    gone: Collection[str],
) -> Iterator[Leak]:
    """Yield the ways in which numbers single out records, or link them."""
    n = result.n
    altered = {name for entry in result.settings.altered for name in entry}
    names: dict[Hashable, None] = {}
    said: list[str] = []
    alone = (
        0 if altered.issuperset(numbers) else alone_with_numbers(result, numbers, gone)
    )
    if too_many(alone, n):
        names = dict.fromkeys(numbers)
        said.append(
            sentence(
                "{n} of {of} records are alone with their keys and these numbers",
                *(alone, n),
            )
        )
    best: dict[tuple[bool, bool], NumberLink] = {}
    for link in sorted(links, key=lambda link: link.beyond_chance):
        if link.leaks:
            best[link.told is None, link.among == "all"] = link
    for link in sorted(best.values(), key=lambda link: -link.beyond_chance):
        told = [link.told] if link.told in numbers else []
        known_columns = (getattr(entry, "column", entry) for entry in link.known)
        names |= dict.fromkeys((*known_columns, *told))
        said.append(str(link))
    if said:
        of = [name for name in result.source.names if name in names]
        # Rounded after another treatment a number is not what that has made of it.
        raw = () if {*result.settings.treated} & {*of} else of
        yield leak_of_numbers(of, said, profile(result.rows, raw))


def _without_effect(result: ProtectedRecords, gone: Collection[str]) -> Iterator[Leak]:
    """Yield the treatments after which the rows are those of the original."""
    treated = result.treated
    for names in result.settings.altered:
        left = [name for name in names if str(name) not in gone]
        if treated is None or not left:
            continue
        columns = [_to_precision(treated.before[x], treated.after[x]) for x in left]
        for keys in result.settings.keys:
            key_codes = [codes_of(result, name)[0] for name in keys if name not in left]
            count = _rows_left([(codes, codes) for codes in key_codes], columns)
            # Categories may agree with those of others by chance.
            most = 1.0 if treated.categorical.issuperset(left) else _MOSTLY
            if count >= most * result.n:
                yield _leak_without_effect(left, keys, count, result.n)
                break


def _to_precision(before: Floats, after: Floats) -> tuple[Floats, Floats]:
    """Return numbers before and after a treatment as multiples of the released unit."""
    unit = 2.0 * precision(after)
    if unit == 0.0:
        return before, after
    return np.rint(before / unit), np.rint(after / unit)


def _rows_left(
    keys: Sequence[tuple[Any, Any]], treated: Sequence[tuple[Any, Any]]
) -> int:
    """Return how many rows of the original are rows of the released file as well.

    ``keys`` and ``treated`` are columns before and after a treatment. Whoever knows the
    keys reads from these rows what the original says.

    >>> sex, pay = np.array([0, 0, 1]), np.array([10.0, 20.0, 30.0])
    >>> _rows_left([(sex, sex)], [(pay, pay[[1, 0, 2]])])
    3
    >>> _rows_left([(sex, sex)], [(pay, pay[[2, 0, 1]])])
    1
    """
    n = len(treated[0][0])
    row = np.zeros(2 * n, np.int64)
    for column in (*keys, *treated):
        code = np.unique(np.concatenate(column), return_inverse=True)[1].reshape(-1)
        row = np.unique(row * (int(code.max()) + 1) + code, return_inverse=True)[1]
        row = row.reshape(-1)
    before, after = (
        np.bincount(half, minlength=int(row.max()) + 1) for half in np.split(row, 2)
    )
    return int(np.minimum(before, after).sum())


def _leak_without_effect(
    names: Sequence[Hashable], keys: Sequence[Hashable], count: int, n: int
) -> Leak:
    """Return the leak of a treatment without effect, accepted if all columns are."""
    text = sentence(
        "{columns}: the treatment protects nothing, because {n} of {of} rows of "
        "{all_columns} are still those of the original, to the precision of the "
        "released numbers",
        *(_quoted(names), count, n, listed(map(str, (*keys, *names)))),
    )
    advice = either(leave_out(names), accepted(names))
    return Leak(tuple(names), "no effect", text, advice, of_all=True)


def _quoted(names: Iterable[Hashable]) -> str:
    """Return names of columns in quotation marks."""
    return ", ".join(map(quoted, names))


def _ways_of_writing(result: ProtectedRecords, gone: Collection[str]) -> Iterator[Leak]:
    """Yield numbers that single out records by how they are written: 7, 07, 7.0."""
    treated = () if result.treated is None else result.treated.after
    for name in result.settings.with_role("numeric"):
        if name in treated or str(name) in gone:
            continue
        written = code_column(result.rows, name)
        numbers = Records({name: result.numbers[name]}, result.n)
        number = code_column(numbers, name)
        if len(written.labels) == len(number.labels):
            continue
        alone = np.bincount(written.codes)[written.codes] == 1
        alone &= np.bincount(number.codes)[number.codes] > 1
        count = int(np.count_nonzero(alone))
        if too_many(count, result.n):
            text = sentence(
                "{column}: equal numbers are written in different ways, and {n} of "
                "{of} records have a way of their own",
                *(quoted(name), count, result.n),
            )
            advice = either(coarser(profile(result.rows, [name])), leave_out([name]))
            yield Leak((name,), "unique", text, advice)


def leak_of_numbers(
    names: Sequence[Hashable], said: Iterable[str], columns: Profiles = ()
) -> Leak:
    """Return the leak of numbers, accepted if all of them are."""
    advice = either(coarser(columns), leave_out(names), accepted(names))
    text = joined(": ", [_quoted(names), joined("; ", said)])
    return Leak(tuple(names), "numbers", text, advice, of_all=True)


def _by_composition(result: ProtectedRecords, gone: Collection[str]) -> Iterator[Leak]:
    """Yield that households are found by all their members together."""
    household, n = result.settings.household, result.n
    if result.household_of is None:
        return
    records = records_by_composition(
        _keys_of_sets(result, gone), result.household_of.astype(np.int64)
    )
    if too_many(records, n):
        text = joined(": ", [quoted(household), sentence(_ALONE, records, n)])
        without = {*gone, str(household)}
        mend = _members_apart(result, household, result.household_of, without)
        advice = either(mend, accepted([household]))
        yield Leak((household,), "composition", text, advice)


def _rebuilt(
    result: ProtectedRecords, left_out: Collection[str], *, shuffled: bool
) -> Iterator[Leak]:
    """Yield that households are found although their ids are left out."""
    for name, codes in _households_left_out(result, left_out):
        columns = {
            name: x.codes for name, x in _coded_columns(result, left_out).items()
        }
        sets = _keys_of_sets(result, left_out)
        rebuilt = records_rebuilt(sets, codes, columns, shuffled=shuffled)
        if not rebuilt.leaks(result.n):
            continue
        by = sentence("members stand together")
        told = sentence(_ALONE, rebuilt.records, result.n)
        if rebuilt.columns:
            by = by_count(
                len(rebuilt.columns),
                "{columns} shows who belongs together",
                "{columns} show who belongs together",
                listed_columns(rebuilt.columns),
            )
            told = sentence(
                "whoever knows the keys of all members of a household finds {n} of "
                "{of} people although their own keys fit several records ({chance} by "
                "chance)",
                *(rebuilt.records, result.n, number(rebuilt.chance)),
            )
        mend = _members_apart(result, None, codes, left_out, shuffled=shuffled)
        text = sentence("{column}: left out, but {by}: {told}", quoted(name), by, told)
        advice = either(mend, accepted([name]))
        yield Leak((name,), "composition", text, advice)


def _members_apart(
    result: ProtectedRecords,
    household: Hashable | None,
    codes: NDArray[np.int64],
    left_out: Collection[str],
    *,
    shuffled: bool = False,
) -> Remedy:
    """Return how nothing shows who belongs together: ids, other columns, the order.

    In a large file some households tell.
    """
    keys, columns = result.settings.variables, _coded_columns(result, left_out)
    gone = [] if household is None else [household]

    def shown_without(names: Sequence[Hashable]) -> tuple[Hashable, ...]:
        sets = _keys_of_sets(result, {*left_out, *map(str, names)})
        left = {x: column.codes for x, column in columns.items() if x not in names}
        every = 1 + result.n // _TELLING
        rebuilt = records_rebuilt(sets, codes, left, shuffled=True, every=every)
        return rebuilt.columns if rebuilt.leaks(result.n) else ()

    while shared := shown_without(gone):
        gone.append(min(shared, key=lambda x: (x in keys, -columns[x].levels)))
    for name in [name for name in gone[:-1] if name != household]:
        fewer = [column for column in gone if column != name]
        if not shown_without(fewer):
            gone = fewer
    if shuffled:
        return leave_out(gone)
    return leave_out(gone, shuffle=True) if gone else SHUFFLE


def _keys_of_sets(result: ProtectedRecords, gone: Collection[str]) -> KeySets:
    """Return the codes of the keys of the file, original and released, by set."""
    sets = [
        [codes_of(result, name) for name in keys if str(name) not in gone]
        for keys in result.settings.keys
    ]
    return [([x for x, _ in pairs], [y for _, y in pairs]) for pairs in sets if pairs]


def _households_left_out(
    result: ProtectedRecords, left_out: Collection[str]
) -> Iterator[tuple[Hashable, NDArray[np.int64]]]:
    """Yield the household column, or columns that seem to be one, that are left out."""
    if result.on_engine is not None:
        return
    names = [name for name in result.rows.columns if str(name) in left_out]
    if result.settings.household in names:
        assert result.household_of is not None
        yield result.settings.household, result.household_of.astype(np.int64)
        return
    for candidate in profile(result.rows, names):
        if propose(candidate).role == "household":
            column = code_column(result.rows, candidate.name)
            codes = column.codes.astype(np.int64)
            alone = codes == len(column.labels)  # without a household
            codes[alone] += np.arange(np.count_nonzero(alone))
            yield candidate.name, codes


def _copies(
    result: ProtectedRecords, gone: Collection[str], left_out: Collection[str]
) -> Iterator[Leak]:
    """Yield the columns of the file that give the altered values of others back."""
    household = result.settings.household
    ids = None if str(household) in left_out else household
    treated = result.treated
    altered = _altered(result)
    if treated is None or not altered:
        return
    written = {
        name: entry
        for name, entry in _coded_columns(result, gone).items()
        if name not in treated.after
    }
    for name in altered:
        if str(name) in gone:
            continue
        coded = dict(written)
        coded[name] = code_column(treated.numbers_before, name)
        for entry in derived_of_coded(coded, result.household_of, ids):
            if entry.column == name and entry.of != (None,):
                (source,) = entry.of
                text = sentence(
                    "{column}: it gives back the values of {other} that were altered",
                    *(quoted(source), quoted(name)),
                )
                advice = either(leave_out([source]), accepted([source]))
                yield Leak((source,), "reveals", text, advice)


def _together(result: ProtectedRecords, gone: Collection[str]) -> Iterator[Leak]:
    """Yield columns that together give hidden values of others back."""
    if result.on_engine is not None:
        return
    hidden = {
        name: column
        for name, column in _hidden(result)
        if str(name) not in gone and name in result.rows.columns
    }
    if not hidden:
        return
    columns = _coded_columns(result, gone)
    everywhere = {*_altered(result), *result.settings.recodings}
    sought = {
        name: np.ones(result.n, bool) if name in everywhere else result.masks[name]
        for name in hidden
    }
    for derivation in pairs_that_determine(columns, hidden, result.household_of):
        shown = np.logical_and.reduce(
            [
                columns[other].codes < len(columns[other].labels)
                for other in derivation.of
            ]
        )
        count = int(np.count_nonzero(shown & sought[derivation.column]))
        if too_many(count, result.n):
            hidden.pop(derivation.column, None)
            yield _leak_of_several(derivation, count, result.settings)
    for name, column in hidden.items():
        told = numbers_that_tell(columns, column, sought[name])
        if told is not None and too_many(told[1], result.n):
            derivation = Derived(name, told[0], "function")
            yield _leak_of_several(derivation, told[1], result.settings)


def _hidden(result: ProtectedRecords) -> Iterator[tuple[Hashable, CodedColumn]]:
    """Yield columns before their values were hidden."""
    altered = _altered(result)
    blanked = (name for name, mask in result.masks.items() if mask.any())
    for name in dict.fromkeys([*altered, *result.settings.recodings, *blanked]):
        before = result.before
        if name in altered and result.treated is not None:
            before = result.treated.numbers_before
        yield name, code_column(before, name)


def _altered(result: ProtectedRecords) -> list[Hashable]:
    """Return the columns whose values were altered."""
    return [name for names in result.settings.altered for name in names]


def _coded_columns(
    result: ProtectedRecords, gone: Collection[str]
) -> dict[Hashable, CodedColumn]:
    """Return the columns of the file as codes, without values that have no order."""
    columns = {}
    for name in result.rows.columns:
        if str(name) not in gone:
            with suppress(TypeError):
                columns[name] = code_column(result.rows, name)
    return columns


def _unseen(
    result: ProtectedRecords, left_out: Collection[str], *, shuffled: bool
) -> Iterator[Leak]:
    """Yield what nobody can look for in a file that an engine writes."""
    if result.on_engine is None or not result.hidden:
        return
    ways = ["follow from two columns together"]
    ways += [] if shuffled else ["show in the order of the records"]
    ways += ["follow by elimination"] if is_population(result) else []
    text = f"it was not examined whether hidden values {' or '.join(ways)}"
    told = [x for x in result.settings.with_role("sensitive") if str(x) not in left_out]
    if told:
        text += f", or whether the keys tell {listed_columns(told)}"
    advice = either(Remedy(sentence("collect the data first")), accepted([None]))
    yield Leak((None,), "harmless", text, advice)


def _leak_of_several(derivation: Derived, count: int, settings: Settings) -> Leak:
    """Return the leak of columns that together give values of another back."""
    text = sentence(
        "{columns}: together they give back {values} of {column}",
        listed(map(quoted, derivation.of)),
        counted(count, "hidden value"),
        quoted(derivation.column),
    )
    related = (related_to(derivation.column, name, settings) for name in derivation.of)
    drops: list[Remedy | None] = [
        leave_out([x]) for x in derivation.of if x not in settings.variables
    ]
    if not drops and derivation.column in settings.variables:
        drops = [never_blanked(derivation.column, settings)]
    advice = either(*related, *drops, accepted(derivation.of[:1]))
    return Leak(tuple(derivation.of), "reveals", text, advice)


def _kept_ids(
    household: Hashable, settings: Settings, renumbered: Collection[Hashable]
) -> Leak:
    """Return the leak of ids, of households or persons, that are the original ones."""
    text = sentence(
        "{column}: the original household ids are kept"
        if settings.person is None
        else "{column}: the original person ids are kept",
        quoted(household),
    )
    return Leak((household,), "ids", text, (new_ids(household, renumbered),))


def called_harmless(names: Collection[Hashable]) -> Leak:
    """Return that columns were called harmless all at once, which is accepted."""
    text = by_count(
        len(names),
        "{n} column is called harmless without being examined ({names})",
        "{n} columns are called harmless without being examined ({names})",
        *(len(names), listed_columns(names)),
    )
    return Leak((ANY,), "harmless", text, (Remedy(sentence("give each a role")),))
