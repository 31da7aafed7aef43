"""Audit a released file of any origin: what it tells of the people of its original."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.assess import assess_coded, check_population, check_roles
from riskcore.audit.attributes import AttributeGuesses, attribute_guesses
from riskcore.audit.claims import IdentityClaims, identity_claims
from riskcore.audit.result import Audit
from riskcore.audit.settings_table import AuditSettings
from riskcore.audit.shared_columns import refuse_other_kinds
from riskcore.common import arguments
from riskcore.common.progress import Lines, silent
from riskcore.common.settings import complete, takes
from riskcore.data.cells import cells_of, check_missing, refuse_missing
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import CodedColumn, Records, code_column, key_names
from riskcore.data.engines.registry import engine_of
from riskcore.data.files.reading import Reading
from riskcore.data.source import Source

__all__ = ["AttributeGuesses", "Audit", "IdentityClaims", "audit"]

ORIGINAL, RELEASED, HOLDOUT = "original", "released", "holdout"


@takes(AuditSettings)
def audit(
    original: Any,
    released: Any,
    keys: Iterable[Hashable],
    weight: Hashable | None = None,
    *,
    holdout: Any = None,
    reading: Reading | None = None,
    released_reading: Reading | None = None,
    progress: Lines | None = None,
    **settings: Unpack[AuditSettings],
) -> Audit:
    """Audit a released file of any origin: synthetic, perturbed, swapped or sampled.

    Parameters
    ----------
    original : frame, mapping or path
        The records of the people who are to be protected, as for `assess`.
    released : frame, mapping or path
        The file that leaves, with the same keys in the same categories.
    keys : iterable of column names
        What an intruder knows of a person, in both files.
    weight : column name, optional
        Sampling weights of the original, as for `assess`.
    target : iterable of column names
        Columns that the intruder wants to learn, in all files.
    record_by : column name, optional
        Ids of the records in both files, if each released record stands for one of the
        original: then only its own original makes a claim right. Leave it out for
        synthetic data, in which no record stands for another.
    population : str, CellModel or frame
        As for `assess`, but for "both".
    sampling_fraction : float, optional
        As for `assess`.
    missing : {"wildcard", "argus", "category", "refuse"}
        As for `assess`, for the keys of both files.
    holdout : frame, mapping or path, optional
        People who were not in the original, with keys and targets: right guesses about
        them show what the release teaches about everybody.
    reading, released_reading : Reading, optional
        How to read the files, if they are paths; a holdout is read as the original. By
        default the released file is, too.
    progress : callable, optional
        Called with a line of text at each step.

    Returns
    -------
    Audit

    Raises
    ------
    KeyError, TypeError, ValueError, OSError
        As `assess`; also if a column is text in one file and numbers in another; if ids
        are missing or not distinct; or, a TypeError, for data on an engine.

    Notes
    -----
    A claim says of a released record with unique keys that it is the person with these
    keys. It is right with the probability E[1/F | f] if f > 0 records of the original
    have the keys, of whom F people of the population cannot be told apart, and wrong if
    f = 0. The interval is for the sum of 1/F over the claims.

    A guess about a person is the commonest target among the released records with the
    person's keys; a tie of m counts 1/m. Without a holdout the comparison is with
    people of equal keys whose target is drawn from a latent-class model of keys and
    target: what a model teaches about everybody is no leak.

    Examples
    --------
    >>> import riskcore
    >>> data = {"sex": ["f", "m", "f"], "age": [31, 47, 31], "w": [10.0, 20.0, 15.0]}
    >>> made = {"sex": ["f", "m", "m"], "age": [47, 47, 31]}
    >>> found = riskcore.audit(data, made, ["sex", "age"], "w")
    >>> print(found.verdict)
    Of 3 claims that a released record is a person with its keys, 0.1577 (0 to 0.6001) are right.
    """  # noqa: E501
    say = progress or silent
    asked = complete(AuditSettings, settings)
    names, targets = key_names(keys), arguments.names("target", asked["target"])
    missing, population, ids = asked["missing"], asked["population"], asked["record_by"]
    check_missing(missing, 1.0)
    check_population(population, "exact")
    sources = {
        ORIGINAL: Source.of(original, reading),
        RELEASED: Source.of(released, released_reading or _of_another(reading)),
    }
    if holdout is not None:
        sources[HOLDOUT] = Source.of(holdout, _of_another(reading))
    weight = sources[ORIGINAL].weight if weight is None else weight
    check_roles(names, weight, None)
    files, coded = {}, {}
    for what, source in sources.items():
        say(f"reading the {what} file")
        own_weight = weight if what == ORIGINAL else None
        needed = [*names, *targets, own_weight, ids if what != HOLDOUT else None]
        files[what], _ = source.read(needed, own_weight)
        engine = engine_of(files[what])
        if engine is not None:
            raise engine.refuse_single("audit")
        coded[what] = CodedRecords.of(files[what], names, own_weight)
    for name in names:
        refuse_other_kinds([one.columns[name] for one in coded.values()])
    sampled = coded[ORIGINAL].sampled(asked["sampling_fraction"])
    found = assess_coded(
        files[ORIGINAL], sampled, names, population, "exact", missing, 1.0, progress=say
    )
    say("counting claims")
    if missing == "refuse":
        columns = coded[RELEASED].keys(names)
        refuse_missing(names, [one.missing for one in columns], coded[RELEASED].n)
    own = None
    if ids is not None:
        both = (files[what] for what in (ORIGINAL, RELEASED))
        own = _rows_of(*(code_column(Records.of(one), ids) for one in both))
    cells = cells_of(coded[RELEASED], names, missing, 1.0)
    claims = identity_claims(found, cells, own)
    guesses = []
    known = [one.keys(names) for one in coded.values()]
    for name in targets:
        say(f"guessing {name}")
        columns = [code_column(Records.of(one), name) for one in files.values()]
        guesses.append(attribute_guesses(name, known, columns))
    return Audit(tuple(names), (sampled.n, coded[RELEASED].n), claims, tuple(guesses))


def _of_another(reading: Reading | None) -> Reading | None:
    """Return how to read another file like this one; its metadata are its own."""
    return None if reading is None else replace(reading, metadata=None, sheet=None)


def _rows_of(original: CodedColumn, released: CodedColumn) -> NDArray[np.int64]:
    """Return the row of the original of each released record by its id, -1 for none."""
    refuse_other_kinds([original, released])
    for column, what in ((original, ORIGINAL), (released, RELEASED)):
        n = len(column.codes)
        bad = column.missing or n - len(column.labels)
        if bad:
            said = "missing" if column.missing else "that of another record"
            raise ValueError(
                f"record_by {column.name!r}: {said} in {bad:,} of {n:,} records of the "
                f"{what} file; give distinct ids"
            )
    row = np.empty(len(original.labels) + 1, np.int64)
    row[original.codes] = np.arange(len(original.codes))
    row[-1] = -1
    place = {label: i for i, label in enumerate(original.labels.tolist())}
    of = np.array([place.get(one, -1) for one in released.labels.tolist()])
    found: NDArray[np.int64] = row[of[released.codes]]
    return found
