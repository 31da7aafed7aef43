"""Audit a released file of any origin: what it tells of the people of its original."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from riskcore.assessment.assess import (
    Counting,
    assess_coded,
    check_population,
    check_roles,
)
from riskcore.assessment.assess_settings import BOTH
from riskcore.assessment.assessment import Assessment
from riskcore.common import arguments
from riskcore.common.arrays import Floats, Integers
from riskcore.common.progress import Lines, silent
from riskcore.common.settings import complete, takes
from riskcore.data.cells import cells_of, check_missing, refuse_missing
from riskcore.data.columns import key_names
from riskcore.data.files.reading import Reading
from riskcore.data.frame_types import DataT
from riskcore.data.missing_by_design import with_designs
from riskcore.data.source import Source
from riskcore.data.wildcard import WILDCARDS
from riskcore.disclosure.attributes import AttributeGuesses, attribute_guesses
from riskcore.disclosure.audit_files import (
    EARLIER,
    HOLDOUT,
    ORIGINAL,
    RELEASED,
    AuditFiles,
)
from riskcore.disclosure.audit_result import Audit
from riskcore.disclosure.audit_settings import AuditSettings
from riskcore.disclosure.claims import IdentityClaims, identity_claims
from riskcore.disclosure.copies import copies
from riskcore.disclosure.known_measures import known_measures
from riskcore.disclosure.learner import learned_guesses
from riskcore.disclosure.membership import membership
from riskcore.disclosure.number_links import KnownNumbers, number_links
from riskcore.disclosure.shared_columns import (
    SharedColumn,
    coded_numbers,
    in_shared_types,
    number_together,
)
from riskcore.disclosure.two_releases import TwoReleases, two_releases

_ITSELF = (
    "holdout: has the records of the {} file; give people who were not in the "
    "original, and from whom nothing was made"
)
_BY_CHANCE = 20  # kinds of records that two files may have equally often by chance

__all__ = ["AttributeGuesses", "Audit", "IdentityClaims", "audit"]


@takes(AuditSettings)
def audit(
    original: Any,
    released: DataT,
    keys: Iterable[Hashable],
    weight: Hashable | None = None,
    *,
    holdout: Any = None,
    earlier: Any = None,
    reading: Reading | None = None,
    released_reading: Reading | None = None,
    progress: Lines | None = None,
    **settings: Unpack[AuditSettings],
) -> Audit[DataT]:
    """Audit a released file of any origin: synthetic, perturbed, swapped or sampled.

    Parameters
    ----------
    original : frame, mapping, path or data on an engine
        The records of the people who are to be protected, as for `assess`.
    released : frame, mapping, path or data on an engine
        The file that leaves, with the same keys in the same categories.
    keys : iterable of column names
        What an intruder knows of a person, in all files.
    weight : column name, optional
        Sampling weights of the original, as for `assess`.
    target : iterable of column names
        Columns that the intruder wants to learn, in all files.
    numeric : iterable of column names
        Columns of numbers that the intruder knows as well, in all files.
    record_by : column name, optional
        Ids of the records in both files, if each released record stands for one of the
        original: then only its own original makes a claim right. Leave it out for
        synthetic data, in which no record stands for another.
    population : {"auto", "weights", ...}, CellModel or frame
        As for `assess`, by default "auto"; "both" is refused.
    sampling_fraction : float, optional
        As for `assess`.
    missing : {"wildcard", "argus", "category", "refuse"}
        As for `assess`, for the keys of all files.
    measures : bool
        Whether to compute the measures that others report, too.
    holdout : frame, mapping, path or data on an engine, optional
        People of the same population who were not in the original, with the same
        columns: what is right about them, too, is not a leak of the original's people.
    earlier : frame, mapping or path, optional
        An earlier release of the same original, with the same keys in the same
        categories: what both files tell together is ``together`` of the result. Records
        that agree in all columns of both files can be the same person's.
    reading, released_reading : Reading, optional
        How to read the files, if they are paths. By default ``reading`` is for all of
        them: each option for the files that can have it.
    progress : callable, optional
        Called with a line of text at each step.

    Returns
    -------
    Audit

    Raises
    ------
    KeyError, TypeError, ValueError, OSError
        As `assess`; also if a column is text in one file and numbers in another, has
        two roles, or ids are missing or not distinct; a TypeError, if an engine holds a
        file and single records are needed, as for targets, numbers and ids.

    Notes
    -----
    A claim says of a released record with unique keys that it is the person with these
    keys. It is right with the probability E[1/F | f] if f > 0 records of the original
    have the keys, of whom F people of the population cannot be told apart, and wrong if
    f = 0. The interval is for the sum of 1/F over the claims. Beside it stand the
    claims that would be right about as many other people: those of the holdout, or
    those whom a model of the keys draws.

    A guess about a person is the commonest target among the released records with the
    person's keys; a tie of m counts 1/m. Of numbers with fewer than five records a
    value, a band is guessed, of ten with equally many people. Without a holdout the
    comparison is with people of equal keys whose target is drawn from a latent-class
    model of keys and target: what a model teaches about everybody is not a leak.

    With numbers, each person is linked to the released records that fit the keys and
    have the nearest numbers, see `Audit.number_links`: right is what these tell of the
    person in other columns. With a holdout, the distance to the closest released record
    tells whether somebody was in the original.

    Examples
    --------
    >>> import riskcore
    >>> data = {"sex": ["f", "m", "f"], "age": [31, 47, 31], "w": [10.0, 20.0, 15.0]}
    >>> made = {"sex": ["f", "m", "m"], "age": [47, 47, 31]}
    >>> found = riskcore.audit(data, made, ["sex", "age"], "w")
    >>> round(found.expected_right_claims, 4), found.claims
    (0.1577, 3)
    """
    say = progress or silent
    asked = complete(AuditSettings, settings)
    names = key_names(keys)
    single = {
        entry: arguments.names(entry, asked[entry]) for entry in ("target", "numeric")
    }
    missing, population = asked["missing"], asked["population"]
    check_missing(missing, 1.0)
    if asked["record_by"] is not None:
        arguments.column_name("record_by", asked["record_by"])
    leaving = (
        released if released_reading is None else Source.of(released, released_reading)
    )
    inputs = {ORIGINAL: original, RELEASED: leaving, HOLDOUT: holdout}
    sources = Source.several({**inputs, EARLIER: earlier}, reading)
    before = sources.pop(EARLIER, None)
    _refuse_same(sources)
    weight = sources[ORIGINAL].weight if weight is None else weight
    _check(names, weight, single, asked)
    files = AuditFiles.read(
        sources, names, weight, single, asked["record_by"], say
    ).with_designs(missing)
    coded = files.coded
    own = None if asked["record_by"] is None else files.own_rows(asked["record_by"])
    for entry in coded.values() if missing == "refuse" else ():
        refuse_missing(names, [key.missing for key in entry.keys(names)], entry.n)
    sampled = coded[ORIGINAL].sampled(asked["sampling_fraction"])
    everybody, notes = None, files.unknown_categories()
    held = coded[ORIGINAL].counted
    if missing in WILDCARDS and held is not None:
        files.refuse_blank(missing)
    elif missing in WILDCARDS:
        everybody = cells_of(sampled, names, missing, 1.0)
        sampled = with_designs(sampled, names, missing)
        notes += files.blank_keys(sampled)
        sampled = sampled.complete(names)
    how = Counting(population, "exact", missing, progress=say)
    assessment = assess_coded(files.data[ORIGINAL], sampled, names, how)
    say("counting claims")
    others = [what for what in (RELEASED, HOLDOUT) if what in coded]
    cells = {what: cells_of(coded[what], names, missing, 1.0) for what in others}
    claims = identity_claims(
        assessment, cells[RELEASED], own, cells.get(HOLDOUT), everybody
    )
    more: dict[str, Any] = {}
    if not files.on_engine:
        targets = {}
        for name in single["target"]:
            targets[name], note = files.target(name)
            notes += [] if note is None else [note]
        numbers = {name: files.numbers(name) for name in single["numeric"]}
        more = _of_records(files, targets, numbers, own, missing, say, notes)
        if asked["measures"]:
            say("computing the measures of others")
            more["measures"] = known_measures(
                files.shared_keys(), targets, [*numbers.values()]
            )
    if before is not None:
        say("joining with the earlier release")
        more["together"] = _together(
            assessment, names, [sources[ORIGINAL], before, sources[RELEASED]]
        )
    notes += more.get("repeated_numbers", {}).values()
    return Audit(tuple(names), files.n, claims, notes=tuple(notes), **more)


def _together(
    assessment: Assessment, keys: Sequence[Hashable], sources: Sequence[Source]
) -> TwoReleases:
    """Return what an earlier release and the released file tell of the original."""
    for source in sources[1:]:
        if source.engine is not None:
            raise source.engine.refuse_single("earlier")
    releases = [release.read(release.names)[0] for release in sources[1:]]
    _, before, after = in_shared_types(sources, [assessment.data, *releases])
    return two_releases(assessment, before, after, keys)


def _refuse_same(sources: Mapping[str, Source]) -> None:
    """Refuse a holdout that is one of the other files: it would hide every leak."""
    if HOLDOUT in sources:
        held = _identity(sources[HOLDOUT])
        for what in (ORIGINAL, RELEASED):
            if _identity(sources[what]) == held:
                raise ValueError(_ITSELF.format(what))


def _identity(source: Source) -> tuple[Any, ...]:
    """Return what tells a source from others."""
    if source.path is None:
        return (id(source.given),)
    return source.path.resolve(), source.reading.sheet


def _of_records(
    files: AuditFiles,
    targets: Mapping[Hashable, SharedColumn],
    numbers: Mapping[Hashable, tuple[Floats, ...]],
    own: Integers | None,
    missing: str,
    say: Lines,
    notes: list[str],
) -> dict[str, Any]:
    """Return what needs single records: guesses, links, closest records and copies."""
    keys, results = files.shared_keys(), dict[str, Any]()
    guesses = []
    for name, column in targets.items():
        say(f"guessing {name}")
        guesses.append(attribute_guesses(name, keys, column))
    results["attributes"] = tuple(guesses)
    values = [*numbers.values()]
    results["learned"] = learned_guesses(files, targets, numbers, say, notes)
    if values:
        say("linking people by keys and numbers")
        known_numbers = _known(files, targets, numbers, own, missing)
        results["number_links"] = number_links(known_numbers)
    if HOLDOUT in files.coded:
        *others, held = map(np.sort, number_together([*keys, *targets.values()]))
        for what, people in zip((ORIGINAL, RELEASED), others, strict=True):
            if np.array_equal(people, held) and len(np.unique(held)) > _BY_CHANCE:
                raise ValueError(_ITSELF.format(what))
        say("looking for the closest records")
        results["membership"] = membership(keys, values)
    say("looking for copies")
    results["copies"] = copies([*keys, *targets.values()])
    results["repeated_numbers"] = files.repeated_numbers(numbers)
    results["data"] = files.data[RELEASED]
    return results


def _known(
    files: AuditFiles,
    targets: Mapping[Hashable, SharedColumn],
    numbers: Mapping[Hashable, tuple[Floats, ...]],
    own: Integers | None,
    missing: str,
) -> KnownNumbers:
    """Return what links by keys and numbers are looked for in, and what rows tell."""
    keys, told = (
        [_signed(entry, blank=blank) for entry in columns]
        for columns, blank in (
            (files.shared_keys(), missing in WILDCARDS),
            (targets.values(), True),
        )
    )
    row = None
    if own is not None:
        row = np.full(files.n[0], -1)
        there = np.flatnonzero(own >= 0)
        row[own[there]] = there
    others = {}
    for name in targets:
        first, second, *_ = map(coded_numbers, files.columns(name))
        if first is not None and second is not None:
            others[name] = first, second
    return KnownNumbers(
        dict(zip(files.keys, keys, strict=True)),
        {name: (entry[0], entry[1]) for name, entry in numbers.items()},
        {
            name: (np.where(a < 0, np.nan, a), np.where(b < 0, np.nan, b))
            for name, (a, b) in zip(targets, told, strict=True)
        },
        row,
        others_as_numbers=others,
    )


def _signed(column: SharedColumn, *, blank: bool) -> tuple[Integers, Integers]:
    """Return the codes of original and release, with -1 for missing if it is blank."""
    first, second = (codes.astype(np.int64) for codes in column.codes[:2])
    if blank:
        last = column.levels - 1
        first, second = (np.where(x == last, -1, x) for x in (first, second))
    return first, second


def _check(
    keys: Sequence[Hashable],
    weight: Hashable | None,
    single: dict[str, Any],
    asked: AuditSettings,
) -> None:
    """Refuse columns with two roles, and a population that gives no one answer."""
    population = asked["population"]
    if isinstance(population, str) and population == BOTH:
        raise ValueError(
            "population='both': an audit gives one answer; give 'auto' to let it "
            "choose between the weights and the model, or one of the two"
        )
    check_population(population, "exact")
    check_roles(keys, weight, None)
    taken = dict.fromkeys(keys, "a key")
    if weight is not None:
        taken[weight] = "the weight"
    if asked["record_by"] is not None:
        taken.setdefault(asked["record_by"], "the record id")
        if taken[asked["record_by"]] != "the record id":
            raise ValueError(
                f"record_by: {asked['record_by']!r} is {taken[asked['record_by']]}, too"
            )
    for role, names in single.items():
        for name in names:
            if name in taken:
                raise ValueError(
                    f"{role}: {name!r} is {taken[name]}, too; give it one role"
                )
            taken[name] = f"in {role}"
