"""From risk to a safe file: recode, suppress, verify.

`protect` is the whole path. It assesses the file as it is and as recoded, finds the
thresholds, blanks the cheapest keys of every unsafe record and assesses the result
again, until no record is unsafe or none can be made safer. What it says of the result
is computed from the result.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.assess import Assessment, PopulationBelowSample
from riskcore.common.progress import Lines, silent
from riskcore.common.settings import takes
from riskcore.common.warn import warn
from riskcore.core.risk.household import Households
from riskcore.data.blank import blank, without_notes
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import with_columns
from riskcore.data.engines.base import Engine
from riskcore.data.engines.which import engine_of
from riskcore.data.files.reading import DoubtfulCodes, Reading
from riskcore.data.recode import Recoding, recoded_columns
from riskcore.data.source import Source
from riskcore.protection.leaks.showing import codes_before, warn_of_what_shows
from riskcore.protection.on_engine import OnEngine, warn_of_unchecked
from riskcore.protection.protected_records import Round
from riskcore.protection.release.secret import Draw, new_secret
from riskcore.protection.result import Protected
from riskcore.protection.settings import Settings
from riskcore.protection.settings_table import ProtectSettings
from riskcore.protection.suppression.by_household import Units
from riskcore.protection.suppression.certificate import (
    Certificate,
    of_record,
    of_whole,
    unsafe_rows,
    warn_of_leaning,
)
from riskcore.protection.suppression.key_sets import (
    KeySet,
    assess_key_sets,
    coded_records,
    present,
)
from riskcore.protection.suppression.restore import plan_whole
from riskcore.protection.suppression.rounds import (
    Aim,
    Masks,
    Risks,
    costs_of_keys,
    suppress,
)


class HouseholdKeyDiffers(UserWarning):
    """A key that is said to be equal within households is not."""


@takes(ProtectSettings)
def protect(
    data: Any,
    keys: Iterable[Any] | Settings,
    weight: Hashable | None = None,
    household: Hashable | None = None,
    *,
    secret: str | None = None,
    reading: Reading | None = None,
    progress: Lines | None = None,
    **settings: Unpack[ProtectSettings],
) -> Protected:
    """Protect a file: recode it, suppress keys of unsafe records, verify the result.

    Parameters
    ----------
    data : frame, mapping or path
        Records, one per row, as for `assess`. A file is read whole, as text, so that
        it can be written again as it was, see `Protected.write`. Data that an engine
        holds stay there, and ``data`` of the result is as lazy as they are; without
        households.
    keys : iterable of column names or of lists of column names, or Settings
        The key variables, known to an intruder; several lists for several intruders
        with different knowledge. The file must be safe from each. Or the ``settings``
        of an earlier result, which hold all keys, columns and settings.
    weight, household : column name, optional
        As for `assess`.
    level : {"record", "household"}
        Whether each record is counted, or each household once: with "household" one
        row of each, with its weight, is assessed and protected, and what is blanked or
        recoded goes back to all members. They must agree in the keys and the weight. A
        pass with keys of persons can follow.
    k : int or mapping of sets of keys to int, optional
        No record may have a sample frequency f below it, from 2 on: the file shall be
        k-anonymous by the keys. One for all sets of keys, or by set, as in
        ``{("region", "sex"): 3}``. A threshold may be asked for too: a record is unsafe
        if f < k or its risk reaches the threshold. f is that of the rule for missing
        keys; with ``alpha`` it is a real number.
    subsets : int, optional
        In place of each set of keys, all combinations of so many of them are sets, each
        of an intruder who knows just these; at most 300 in all.
    strata : iterable of column names, optional
        Columns within whose groups records are counted: they are keys of every set, and
        are never blanked.
    threshold, rate : float, optional
        The individual risk that no record may reach, or the re-identification rate,
        a fraction, that gives it, see `Assessment.risk_threshold`.
    household_threshold, household_rate : float, optional
        The same for the risk of households. Of the four and ``k`` one is needed.
    within_households : bool
        Who must be protected in unsafe households: members whose risk is at least the
        household threshold divided by the size of the household. If False, such
        members of safe households too; the source has both readings, see Notes.
    recodings : mapping of column names to Recoding or path, optional
        Recodings to apply first, or ``.grc`` files that hold them.
    household_keys : iterable of column names, optional
        Keys that are equal for all members of a household: blanked for one, they are
        blanked for all, and cost as much. By default those that the metadata of a
        mu-Argus file declare, if there is a household.
    related : mapping of column names to column names, optional
        Columns that would give a key away (nationality a country of birth) and are
        blanked with it. By default those that mu-Argus metadata declare, both ways.
    cost : {"fewest", "equal", "entropy"} or mapping of column names to float, optional
        What it costs to blank a value: the same for all keys, so that the fewest are
        blanked; the same, with ties as in mu-Argus; the entropy of the key in the
        recoded file; or given by key, 50 for keys not named, infinite for keys that
        may not be blanked, nor are the keys then that would take them along. By
        default the weights in mu-Argus metadata, else "fewest". With "fewest", of sets
        of keys of one size that would do, the one of the least entropy is blanked, of
        these the first by name: the order of the keys changes nothing. Otherwise sets
        of equal cost and size go by that order.
    population : {"weights", "latent-class", "log-linear"}, CellModel or frame
        What is taken to be known of the population, as for `assess`. A name is fitted
        to the file as it is, and again once it is recoded. A key that is blanked leaves
        a cell with the probabilities of all its values together. A record of what was
        done holds names only.
    suppression : {"exact", "argus"}
        The cheapest set of keys for each record, or what mu-Argus's rules choose. Ties
        are decided as under ``cost``.
    plan : {"record", "restore"}
        Whose blanks make a record safe. "record": its own, if all others keep their
        values. "restore": the same, less every value that can be put back while all
        stay safe: a part of them counts on blanks of others then.
        `Protected.certificate` says how many do, and the least that putting values back
        from this plan by record can reach; an ``alpha`` below 1 is the middle way.
    method : {"exact", "series7", "franconi"}
        The individual risk, as for `assess`.
    missing : {"wildcard", "argus", "category"}
        What missing keys match, blanked ones included, see `tabulate`.
    alpha : float
        With ``missing="wildcard"``, see `tabulate`.
    rounds : int, optional
        Stop after so many rounds of suppression, whether or not the file is safe.
    ties : {"rule", "secret"}
        What decides between sets of keys of equal cost and number. "rule": what is said
        under ``cost``, the same each time; but whoever knows it sees in the key that
        was blanked that no key before it would have done, which rules out values.
        "secret": 256 random bits, others each time, which the private record of `write`
        keeps for a replay. By record as many values are blanked, at the same cost, but
        also of keys that lose more information.
    secret : str, optional
        With ``ties="secret"``, the secret of an earlier result, for the same ties.
    reading : Reading, optional
        How to read the file, if ``data`` is a path.
    progress : callable, optional
        Called with a line of text at each step.

    Returns
    -------
    Protected
        Its ``safe`` tells whether the risks, computed again, are all below their
        thresholds, and no f is below k; its ``verdict`` says so in words.

    Warns
    -----
    PopulationBelowSample
        As `assess`, for the file as it is.
    SuppressedValueShows
        If suppressed or recoded values can be told from a column or the order of data
        in memory, see `Protected.shown`; one warning for each key and column. Of a file
        it is said when it is written, for it may be shuffled then and lose columns.
    ColumnsNotChecked
        Of data on an engine, if values were suppressed or recoded: only the keys, and
        columns related to them, have been looked at for what they tell; see
        `Protected.shown_in`.
    CountsOnOthers
        If more than half of the unsafe records are safe only by the blanks of others.
    HouseholdKeyDiffers
        If a key among them of which values were suppressed is not equal within
        households.
    DoubtfulRules
        As `recode`.

    Raises
    ------
    KeyError, TypeError, ValueError, OSError
        As `assess` and `recode`; ValueError also if there is no threshold and no k,
        they contradict each other, and for a rule, cost or number of rounds that is
        none; TypeError also for households of data on an engine, and for their plan
        "restore". ValueError for that plan with ``missing="category"``,
        ``suppression="argus"``, ``level="household"``, ``rounds`` or a model of the
        population.
    RuntimeError
        If the data that would be given back are not those that were verified, as when
        data on an engine change meanwhile.

    Notes
    -----
    CASC (2004) deliverable 1.2-D3, sections 4 to 7. Section 5.2 calls unsafe every
    record with r_i >= r^h*/|g|; section 7.4.1 and mu-Argus only those "within the
    unsafe households".

    With ``missing="wildcard"`` or ``"argus"`` and ``alpha=1`` blanking a key never
    raises another record's risk (but for records blanked wholly, which "wildcard" no
    longer counts for others), so that one round mostly does. By other rules blanked
    records move to cells of their own, some of which are unsafe: rounds follow.

    Examples
    --------
    >>> data = {"sex": list("ffmff"), "age": list("11222"), "w": [30.0] * 5}
    >>> result = protect(data, ["sex", "age"], "w", threshold=0.05)
    >>> result.suppressed
    {'sex': 1, 'age': 0}
    >>> result.data["sex"], result.safe
    (['f', 'f', None, 'f', 'f'], True)
    >>> result = protect({"age": [31, 31, 47, 31]}, ["age"], k=3)
    >>> result.data, result.protected.k_anonymity
    ({'age': [31, 31, None, 31]}, 4)
    """
    source = Source.of(data, reading)
    if isinstance(keys, Settings):
        if settings or (weight, household) != (None, None):
            raise TypeError("Settings hold all columns and settings: give nothing else")
        asked = keys
    else:
        asked = Settings.resolve(source, keys, weight, household, **settings)
    if asked.ties == "rule":
        secret = None
    elif secret is None:
        secret = new_secret()
    return _protect(source, asked, progress or silent, secret)


def _protect(
    source: Source, settings: Settings, say: Lines, secret: str | None
) -> Protected:
    """Protect a file by settings that are resolved; warn of what shows."""
    engine = None if source.path is not None else engine_of(source.given)
    if engine is not None:
        if settings.plan != "record":
            raise TypeError(
                f"plan={settings.plan!r}: {engine.name} holds the records, and the "
                "cells that are planned here stand for many; collect the data, or use "
                "plan='record'"
            )
        return _protect_on_engine(source, engine, settings, say, secret)
    source.check(settings.columns)
    if source.path is not None:
        say(f"reading {source.path}")
    data = source.data
    coded = coded_records(data, settings, source.numbers(settings.weight))
    if settings.level == "household":
        result = _protect_households(source, coded, settings, say, secret)
        if source.path is None:
            warn_of_what_shows(result, result.shown)
        return result
    made = _made_safe(data, coded, settings, settings.recodings, say, secret=secret)
    # A file is read back when it is written.
    if made.rounds and source.path is None:
        _refuse_other_keys(made.data, made.coded, settings)
    result = Protected(
        source,
        settings,
        made.data,
        made.sets,
        made.masks,
        made.rounds,
        certificate=made.certificate,
        secret=secret,
    )
    _warn_of_households(result)
    warn_of_leaning(made.certificate)
    if source.path is None:
        warn_of_what_shows(result, result.shown)  # of a file, when it is written
    return result


def _protect_households(
    source: Source,
    coded: CodedRecords,
    settings: Settings,
    say: Lines,
    secret: str | None,
) -> Protected:
    """Protect one row of each household, and give it back to all members."""
    say("finding households")
    units, data, inner = Units.found(coded, settings), source.data, settings.of_rows()
    rows = units.rows(data, inner.suppressible)
    if coded.weights is not None:
        rows[settings.weight] = coded.weights[units.first]
    of_rows = {k: rule for k, rule in settings.recodings.items() if k in rows}
    made = _made_safe(
        rows, coded_records(rows, inner), inner, of_rows, say, units.size, secret=secret
    )
    say("giving back to all members")
    if settings.recodings:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said already, of the households
            columns = recoded_columns(data, settings.recodings, coded.columns)
        data = without_notes(with_columns(data, columns))
        coded = coded.recoded(columns)
    present_in = {name: present(data, name, coded) for name in settings.suppressible}
    masks = units.spread(made.masks, present_in, settings)
    if made.rounds:
        data, coded = blank(data, masks), coded.blanked(masks)
    # What the members have now is, household by household, what was verified.
    merged = Units.found(coded, settings).row_codes(coded)
    verified = replace(
        made.coded, columns={n: made.coded.columns[n] for n in merged.columns}
    )
    if not merged.equals(verified):
        raise _not_verified()
    if made.rounds and source.path is None:
        _refuse_other_keys(data, coded, settings)
    return Protected(
        source,
        settings,
        data,
        made.sets,
        masks,
        made.rounds,
        certificate=made.certificate,
        units=units,
        secret=secret,
    )


def _protect_on_engine(
    source: Source,
    engine: Engine,
    settings: Settings,
    say: Lines,
    secret: str | None,
) -> Protected:
    """Protect data that an engine holds, see `riskcore.protection.on_engine`."""
    say(f"counting on {engine.name}")
    held = OnEngine.count(engine, settings)
    of_rows = {k: rule for k, rule in settings.recodings.items() if k in held.rows}
    made = _made_safe(held.rows, held.coded, settings, of_rows, say, secret=secret)
    say(f"counting again on {engine.name}")
    given = held.given_back(made.recoded, made.masks, made.coded)
    result = Protected(
        source,
        settings,
        made.data,
        made.sets,
        made.masks,
        made.rounds,
        replace(held, given=given),
        certificate=made.certificate,
        secret=secret,
    )
    warn_of_what_shows(result, result.shown)
    if result.hidden:
        warn_of_unchecked(result.not_checked)
    return result


@dataclass(frozen=True, slots=True)
class _Made:
    """What came of recoding and suppressing rows.

    Attributes
    ----------
    data : frame or mapping
    coded : CodedRecords
        The same as codes, as they were verified.
    recoded : dict of column name to column
        The recoded columns before suppression.
    sets : tuple of KeySet
    masks : dict of column name to bool ndarray, each shape (n,)
    rounds : tuple of Round
    certificate : Certificate
    """

    data: Any
    coded: CodedRecords
    recoded: dict[Any, Any]
    sets: tuple[KeySet, ...]
    masks: Masks
    rounds: tuple[Round, ...]
    certificate: Certificate


def _made_safe(
    data: Any,
    coded: CodedRecords,
    settings: Settings,
    recodings: Mapping[Any, Recoding],
    say: Lines,
    sizes: NDArray[np.int64] | None = None,
    *,
    secret: str | None = None,
) -> _Made:
    """Recode rows, suppress and verify in rounds; rows are records, or stand for some.

    ``recodings`` are those of the settings for which there are columns; ``sizes`` are
    the members of each row that is a household.
    """
    say("assessing the file as it is")
    original = recoded = assess_key_sets(data, coded, settings)
    columns: dict[Any, Any] = {}
    with warnings.catch_warnings():
        # Said already, of the file as it is.
        warnings.simplefilter("ignore", PopulationBelowSample)
        warnings.simplefilter("ignore", DoubtfulCodes)
        if settings.recodings:
            say("recoding")
            columns = recoded_columns(data, recodings, coded.columns)
            data = without_notes(with_columns(data, columns))
            coded = coded.recoded(columns)
            recoded = assess_key_sets(data, coded, settings)
        aims = [Aim.of(assessment, settings) for assessment in recoded]
        costs = [costs_of_keys(assessment, settings) for assessment in recoded]
        protected, start = recoded, coded
        n = len(recoded[0].cells.rows)
        masks: Masks = {name: np.zeros(n, bool) for name in settings.suppressible}
        has_value = {name: present(data, name, coded) for name in settings.suppressible}
        rounds: list[Round] = []
        proven = True
        draw = None if secret is None else Draw(secret)
        while len(rounds) != settings.rounds:
            say(f"round {len(rounds) + 1}: suppressing")
            new, least = suppress(protected, aims, costs, settings, say, draw)
            for name, mask in new.items():
                mask &= has_value[name] & ~masks[name]
            if not any(mask.any() for mask in new.values()):
                break
            rounds.append(Round.of(protected, aims, new, sizes))
            masks = {name: masks[name] | mask for name, mask in new.items()}
            proven = least and len(rounds) == 1
            say(f"round {len(rounds)}: verifying")
            coded = coded.blanked(new)
            protected = assess_key_sets(None, coded, settings, recoded)
        by_record = _By(masks, coded, protected, tuple(rounds))
        made, certificate = (
            by_record,
            of_record(masks, settings, recoded, aims, optimal=proven),
        )
        if rounds and settings.plan != "record":
            made, certificate = _made_whole(
                by_record, start, recoded, aims, costs, settings, say
            )
        masks, coded, protected = made.masks, made.coded, made.protected
    if rounds:
        data = blank(data, masks)
        protected = [replace(one, data=data) for one in protected]
    sets = tuple(map(KeySet, settings.keys, aims, original, recoded, protected))
    return _Made(data, coded, columns, sets, masks, made.rounds, certificate)


@dataclass(frozen=True, slots=True)
class _By:
    """What one plan blanks, and the file after it."""

    masks: Masks
    coded: CodedRecords
    protected: list[Assessment]
    rounds: tuple[Round, ...]


def _made_whole(
    by_record: _By,
    coded: CodedRecords,
    recoded: Sequence[Assessment],
    aims: Sequence[Aim],
    costs: Sequence[Risks],
    settings: Settings,
    say: Lines,
) -> tuple[_By, Certificate]:
    """Plan the file as a whole, and verify it like any plan.

    If a record turns out to be unsafe that is safe by the plan by record, that plan
    stays.
    """
    stuck = unsafe_rows(aims, by_record.protected)
    found = plan_whole(
        coded, recoded, aims, costs, by_record.masks, stuck, settings, say
    )
    say(f"plan {settings.plan!r}: verifying")
    after = coded.blanked(found.masks)
    protected = assess_key_sets(None, after, settings, recoded)
    made, optimal = by_record, False
    if not np.any(unsafe_rows(aims, protected) & ~stuck):
        rounds = (Round.of(recoded, aims, found.masks, None),)
        made, optimal = _By(found.masks, after, protected, rounds), found.optimal
    certificate = of_whole(
        made.masks,
        by_record.masks,
        settings,
        recoded,
        aims,
        stuck,
        found.lower_bound,
        optimal=optimal,
    )
    return made, certificate


def _refuse_other_keys(data: Any, coded: CodedRecords, settings: Settings) -> None:
    """Refuse data whose keys are not those that were verified as codes."""
    if not coded.equals(CodedRecords.of(data, settings.variables)):
        raise _not_verified()


def _not_verified() -> RuntimeError:
    return RuntimeError(
        "the protected data are not what was verified; nothing is returned. Please "
        "report this as a defect of riskcore, with the types of the columns"
    )


def _warn_of_households(result: Protected) -> None:
    """Warn if a key that is said to be one of the household is none."""
    warned: set[Hashable] = set()
    for one in result.sets:
        groups = one.recoded.households
        if groups is None:
            continue
        for key in one.keys:
            if key not in result.settings.household_keys or not result.suppressed[key]:
                continue
            differing = _differing(codes_before(result, key), groups)
            if differing and key not in warned:
                warned.add(key)
                message = f"key {key!r} differs within {differing} households"
                warn(message, HouseholdKeyDiffers)


def _differing(codes: NDArray[Any], groups: Households) -> int:
    """Return in how many households a key differs; -1 stands for none."""
    have = np.flatnonzero(codes >= 0)
    last = np.full(len(groups), -1, np.int64)
    last[groups.inverse[have]] = codes[have]
    unequal = have[last[groups.inverse[have]] != codes[have]]
    return len(np.unique(groups.inverse[unequal]))
