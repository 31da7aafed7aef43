"""From risk to a safe file: recode, suppress, verify.

`protect` assesses the file before and after recoding, finds the thresholds, blanks the
cheapest keys of every unsafe record and assesses the result: who of the recoded file
fits each released record.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Unpack

from riskcore.common.progress import Lines, silent
from riskcore.common.settings import takes
from riskcore.common.warn import warn
from riskcore.data.files.reading import Reading, with_household
from riskcore.data.frame_types import DataT
from riskcore.data.household_rows import HouseholdRows
from riskcore.data.source import Source
from riskcore.protection.records.in_memory import columns_with_ids
from riskcore.protection.records.on_engine import warn_of_unchecked
from riskcore.protection.records.showing import warn_of_what_shows
from riskcore.protection.records.units import Prepared, quiet, unit_of
from riskcore.protection.result import Protected
from riskcore.protection.secret import new_secret
from riskcore.protection.settings.settings import Settings
from riskcore.protection.settings.settings_table import ProtectSettings
from riskcore.protection.suppression.key_sets import (
    KeySet,
    warn_of_model,
    warn_of_small_strata,
)


class HouseholdKeyDiffers(UserWarning):
    """A key declared equal within households differs within some of them."""


@takes(ProtectSettings)
def protect(
    data: DataT,
    keys: Iterable[Any] | Settings,
    weight: Hashable | None = None,
    household: Hashable | None = None,
    *,
    secret: str | None = None,
    reading: Reading | None = None,
    progress: Lines | None = None,
    **settings: Unpack[ProtectSettings],
) -> Protected[DataT]:
    """Protect a file: recode it, suppress keys of unsafe records, verify the result.

    Parameters
    ----------
    data : frame, mapping or path
        Records, one per row, as for `assess`. A file is read whole, as text, so that
        `Protected.write` can write it in its own format. Data on an engine stay there,
        and ``data`` of the result is as lazy as the input; households are then refused.
    keys : iterable of column names or of lists of column names, or Settings
        The key variables, known to an intruder; several lists for several intruders
        with different knowledge. The file must be safe from each. Or the ``settings``
        of an earlier result, which hold all keys, columns and settings.
    weight, household : column name, optional
        As for `assess`.
    level : {"record", "household"}
        What to count: each record, or each household once, with its weight. With
        "household", one row for each household is assessed and protected, and all
        members get what was blanked or recoded. Members must agree in the keys and the
        weight. A second pass with the keys of persons can follow.
    k : int or mapping of sets of keys to int, optional
        Smallest sample frequency f allowed for a record, at least 2: the file becomes
        k-anonymous by the keys. One number for all sets of keys, or one by set, as in
        ``{("region", "sex"): 3}``. Together with a threshold, a record is unsafe if
        f < k or its risk reaches the threshold. f is counted by the rule for missing
        keys.
    subsets : int, optional
        Replace each set of keys by all combinations of this many of its keys, each
        known to an intruder of its own; at most 300 sets in all.
    strata : iterable of column names, optional
        Count records within the groups of these columns. They are keys in every set
        and are never blanked.
    threshold, rate : float, optional
        The individual risk that no record may reach, or the re-identification rate,
        a fraction, that determines it, see `Assessment.risk_threshold`.
    household_threshold, household_rate : float, optional
        The same for the risk of households. At least one of these four or ``k`` is
        needed.
    min_population : float, optional
        Smallest number of people, by the sum of the weights, that may have the keys of
        a record. With ``subsets`` it is asked of all pairs or triples of keys.
    l, t : optional
        Smallest l-diversity, as 3 or as "entropy:3", and largest t-closeness, as for
        `riskcore.diversity`, of each column with the role "sensitive" among the records
        of the original that have the keys of a record. Missing sensitive values are
        left out; without any value the goal is not met.
    recodings : mapping of column names to Recoding, rule or path, optional
        Recodings to apply first: as made by `Recoding`, as rules in the words of the
        command, such as ``{"age": "from:15,30,45"}``, or the ``.grc`` files that hold
        them.
    treat : mapping of column names to rules, optional
        Treatments of numbers, weights and categories, in words such as
        ``{"income": "top:1%=mean"}``, applied after the recodings and before
        suppression. A list has several rules for a column, one after the other.
    roles : mapping of column names to str, optional
        Roles of columns that are not keys, the weight or the household. "numeric":
        known to an intruder as a number, to some precision. "sensitive": not known to
        an intruder; "sensitive:ordered": numbers whose order ``t`` takes into account.
        "identifier": left out of ``data`` and of files. "harmless": of no
        use to an intruder. A column without a role is a leak if many of its values are
        unique, see `Protected.examination`.
    accept : mapping of column names to str, optional
        Leaks that may stay open, with the reason, which the private record and the
        internal report repeat. The name "*" stands for all leaks, "(order)" for what
        the order of the records reveals.
    household_keys : iterable of column names, optional
        Keys that are equal for all members of a household: they are blanked for all
        members or for none. By default those that the metadata of a mu-Argus file
        declare, if there is a household column.
    related : mapping of column names to column names, or "derived", optional
        Columns that would give a key away (nationality gives away the country of birth)
        and are blanked with it. By default those that mu-Argus metadata declare, in
        both directions. "derived": also the columns that determine a key, and the
        columns that a key determines and that are not keys, such as its recodes and
        copies, as they are found in the data.
    cost : {"fewest", "equal", "entropy"} or mapping of column names to float, optional
        Cost of blanking a value. "fewest": all keys cost the same, so that the fewest
        values are blanked; among sets of keys of equal size, the set whose values lose
        the least of their categories, so that rare categories stay: the least sum of
        1/n, n being the records that have the value; then the first by name, so that
        the order of ``keys`` changes nothing.
        "equal": all keys cost the same, with ties as in mu-Argus. "entropy": the
        entropy of the key in the recoded file. A mapping: the cost of each key, 50 for
        keys it does not name, infinite for keys that are never blanked (nor is a key
        that would take such a key along). In place of a number a key may have a mapping
        of its categories after recoding: ``{"job": {"3": 500}}``; its other categories
        cost 50. Except for "fewest", ties go by the order of ``keys``. By default the
        costs in mu-Argus metadata, otherwise "fewest".
    sampling_fraction : float, optional
        The share of the population that was sampled, as for `assess`.
    population : {"auto", "weights", ...}, CellModel or frame
        What determines the population frequency, as for `assess`. "auto" (default): the
        number to believe, which is that of the latent-class model where 20 records or
        more are alone in their cell, people are left outside the sample and the model
        has an estimate; else that of the weights. "weights": the weights; where the
        model calls more records unsafe, a warning, the verdict and all pages say so. A
        model is fitted to the original file and again to the recoded file. A blanked
        key leaves a cell with the probabilities of all its values together. A private
        record can hold a name only.
    cluster : column name, optional
        The unit of sampling that records were drawn in, for a model given by name, as
        for `assess`; by default the household.
    person, wave : column name, optional
        For a panel, as for `assess`. A key of a person is blanked in all waves or in
        none, because the values of other waves would give a blanked value back. No
        person may be unsafe in any choice of waves. The person gets new ids.
    known_waves : int, optional
        For a panel, how many waves of a person the intruder knows, as for `assess`.
    against_insiders : bool
        Whether to blank values of further records until no blanked key can be told by
        someone who knows all people of the file. Complete records account for their
        people, and a blanked record must belong to one of those who are left.
    suppression : {"exact", "argus"}
        Which keys to blank in a record: the cheapest set, or the keys that mu-Argus
        would choose.
    method : {"exact", "series7", "franconi"}
        How to compute the individual risk, as for `assess`.
    missing : {"wildcard", "argus", "category"}
        What missing and blanked keys match, see `tabulate`.
    ties : {"rule", "secret"}
        How to decide between sets of keys of equal cost and number. "rule": as under
        ``cost``, the same each time; but whoever knows the rule can infer from a
        blanked key that no earlier key would have been enough, which rules out values.
        "secret": by 256 random bits, new each time, which the private record keeps for
        a replay. The number of blanked values and the cost are the same, but rare
        categories are no longer spared.
    secret : str, optional
        With ``ties="secret"``, the secret of an earlier result, for the same ties.
    reading : Reading, optional
        How to read the file, if ``data`` is a path.
    progress : callable, optional
        Called with a line of text at each step.

    Returns
    -------
    Protected
        ``goals_met`` is True if all risks, computed again, are below their thresholds
        and no f is below k; ``safe`` is True if no leak is open either. ``verdict``
        says so in words. A type checker knows the type of ``data``: that of the input
        or, for a path, a table of pyarrow.

    Warns
    -----
    PopulationBelowSample
        As `assess`, for the original file.
    SuppressedValueShows
        If a column, or the order of data in memory, reveals suppressed or recoded
        values, see `Protected.shown`; one warning for each key and column, unless it is
        accepted. For a file the warning comes when it is written, because columns may
        be dropped and records shuffled then.
    ColumnsNotChecked
        For data on an engine, if values were suppressed or recoded: only the keys and
        their related columns were checked for what they reveal, see
        `Protected.preview`.
    ModelDisagrees
        With ``population="weights"``, if records that are safe by the weights are not
        so by the latent-class model.
    HouseholdKeyDiffers
        If a suppressed household key is not equal within households.
    DoubtfulRules
        As `recode`.

    Raises
    ------
    KeyError, TypeError, ValueError, OSError
        As `assess` and `recode`. ValueError also if no threshold or k is given, if
        they contradict each other, or if a rule or a cost is invalid; or if a panel is
        combined with a household, treatments of keys, a model, ``missing="category"``,
        ``suppression="argus"`` or costs of categories. TypeError also for
        data on an engine with a household column or a panel.
    MemoryError
        If data on an engine have more cells than fit the memory of this machine.
    RuntimeError
        If the protected data are not the data that were verified, for example because
        data on an engine changed meanwhile.

    Notes
    -----
    CASC (2004) deliverable 1.2-D3, sections 4 to 7. Section 5.2 calls every record with
    r_i >= r^h*/|g| unsafe; section 7.4.1 and mu-Argus, as here, only the records
    "within the unsafe households".

    After suppression the frequency of a record is the number of records of the recoded
    file that agree with it in the keys it keeps; blanks stand for any value, whatever
    ``missing`` says, and never count as matches of others. A record without a value of
    such a key counts by the chance that it fits, and not for k. So the risk of a record
    depends on its own blanks alone, and the cheapest keys of each record are the
    cheapest plan of the file. The original is assessed by the rules of the sources,
    where a missing key may match any value: without a single blank the two differ if
    original keys are missing.

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
    ({'age': [31, 31, None, 31]}, 3)
    """
    reading, household = with_household(reading, household)
    source = Source.of(data, reading)
    if isinstance(keys, Settings):
        if settings or (weight, household) != (None, None):
            raise TypeError(
                "Settings already name all columns and options: give nothing else"
            )
        asked = keys
    else:
        asked = Settings.resolve(source, keys, weight, household, **settings)
    result = protected_by(source, asked, progress or silent, secret)
    _warn(result)
    return result


def protected_by(
    source: Source,
    settings: Settings,
    say: Lines,
    secret: str | None,
    prepared: Prepared | None = None,
) -> Protected:
    """Protect a file by resolved settings, without the warnings of `protect`."""
    settings.check_names(source)
    if settings.ties == "rule" and not settings.is_random:
        secret = None
    elif secret is None:
        secret = new_secret()
    unit = unit_of(source, settings, say, secret)
    known = None if settings.unit == "household" else prepared
    before = unit.prepare() if known is None else known
    with quiet():
        aims = before.aims(unit.planned)
        for assessment, aim in zip(before.recoded, aims, strict=True):
            warn_of_small_strata(assessment.cells, aim)
        masks = unit.plan(before, aims)
        after = unit.blank(before, masks)
        say("assessing the protected file")
        assessed = unit.assess(before, aims, masks, after)
    on_engine = unit.verify(before, masks, after)
    stages = before.original, before.assessed, assessed
    result = Protected(
        source,
        settings,
        before,
        after.rows,
        tuple(map(KeySet, settings.keys, aims, *stages)),
        after.masks,
        on_engine,
        unit.units,
        secret,
    )
    _ = result.numbers  # refuses columns that are not numbers
    return result


def _warn(result: Protected) -> None:
    """Warn of what a user of the result should know."""
    if result.units is None and result.on_engine is None:
        _warn_of_households(result)
    warn_of_model(result.sets)
    if result.on_engine is not None:
        warn_of_what_shows(result, result.shown, ())
        if result.hidden:
            warn_of_unchecked(result.not_checked)
    elif result.source.path is None:  # of a file, when it is written
        ids = columns_with_ids(result.source, result.settings)
        warn_of_what_shows(result, result.shown, ids)


def _warn_of_households(result: Protected) -> None:
    """Warn if a suppressed household key differs within households."""
    groups, settings = result.sets[0].recoded.households, result.settings
    if groups is None:
        return
    for key in settings.variables:
        if key in settings.household_keys and result.suppressed[key]:
            codes = result.prepared.codes(key)
            households = HouseholdRows.agreeing(groups.inverse[codes >= 0], {})
            differing = households.differing({key: codes[codes >= 0]})
            if differing:
                message = f"key {key!r} differs within {differing[key]} households"
                warn(message, HouseholdKeyDiffers)
