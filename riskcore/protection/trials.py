"""Try several protections of one file: risk, suppressed values and utility of each.

No file is written. A printed script repeats the protection that the user chooses.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from riskcore.common import arguments, html
from riskcore.common.missing_column import FAILURES, NoSuchNameError
from riskcore.common.progress import Lines, silent
from riskcore.common.results import WithReport
from riskcore.common.settings import settings_of
from riskcore.common.words import counted, shortened, words_in
from riskcore.comparison.comparison import Comparison, loss_plain
from riskcore.comparison.losses import CategoryLoss
from riskcore.data.files.reading import Reading
from riskcore.data.recode import Recoding
from riskcore.data.source import Source
from riskcore.disclosure.verdict import Verdict
from riskcore.protection.protect import protect
from riskcore.protection.result import Protected
from riskcore.protection.settings.settings_table import ProtectSettings

# Figures of risk and of loss: smaller is better.
RISKS = ("expected_reidentifications", "max_risk")
LOSSES = ("share_lost", "mean_total_variation", "pmse")
_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of one candidate.

    Attributes
    ----------
    name : str
    settings : dict
        Its arguments of `riskcore.protect`, including those common to all candidates.
    state : str or None
        The state of the file, as `Protected.write` would find it; None if it could not
        be tried.
    reason : str
        Why it may not leave or could not be tried.
    unsafe_before, unsafe_after : int or None
        Unsafe records in the original and in the safe file; with several sets of keys,
        the largest number.
    expected_before, expected_reidentifications : float or None
        Expected re-identifications before and after; with several sets, the largest.
    max_risk : float or None
        Maximum risk after protection; with several sets, the largest.
    suppressed : dict of column name to int
    categories : dict of column name to int
        Remaining categories, by key.
    share_lost : float or None
        Information lost by recoding and suppression, as a share of the entropy of the
        original; the mean over keys, see `KeyComparison.share_lost`.
    largest_loss : CategoryLoss or None
        The category that lost the largest share of its records by suppression.
    largest_change : CategoryLoss or None
        The category whose share of the known values changed most.
    mean_total_variation_of_values : float or None
        Mean total variation, over keys, of the shares among the known values.
    mean_total_variation : float or None
        Mean total variation of the two-way tables, on the categories of the safe file.
    pmse, pmse_ratio : float or None
        Propensity score measures, on the categories of the safe file.
    warnings : tuple of str
        Warnings during the protection.
    """

    name: str
    settings: dict[str, Any]
    state: str | None
    reason: str
    unsafe_before: int | None = None
    unsafe_after: int | None = None
    expected_before: float | None = None
    expected_reidentifications: float | None = None
    max_risk: float | None = None
    suppressed: dict[Any, int] | None = None
    categories: dict[Any, int] | None = None
    share_lost: float | None = None
    largest_loss: CategoryLoss | None = None
    largest_change: CategoryLoss | None = None
    mean_total_variation_of_values: float | None = None
    mean_total_variation: float | None = None
    pmse: float | None = None
    pmse_ratio: float | None = None
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        name: str,
        settings: dict[str, Any],
        result: Protected,
        found: Comparison,
        verdict: Verdict | None = None,
    ) -> Trial:
        """Return the figures of a protected file, compared with the original."""
        verdict = verdict or result.judge()
        before, after = (
            [key_set.comparison()[stage] for key_set in result.sets]
            for stage in ("original", "protected")
        )
        return cls(
            name,
            settings,
            verdict.state,
            "" if verdict.safe else verdict.sentence,
            unsafe_before=_most(before, "unsafe_records"),
            unsafe_after=_most(after, "unsafe_records"),
            expected_before=_most(before, "expected_reidentifications"),
            expected_reidentifications=_most(after, "expected_reidentifications"),
            max_risk=_most(after, "max_risk"),
            suppressed=result.suppressed,
            categories={one.key: one.safe.categories for one in found.keys},
            share_lost=found.share_lost,
            largest_loss=found.largest_loss,
            largest_change=found.largest_change,
            mean_total_variation_of_values=found.mean_total_variation_of_values,
            mean_total_variation=found.mean_total_variation,
            pmse=found.propensity.pmse,
            pmse_ratio=found.propensity.ratio,
        )

    @property
    def safe(self) -> bool | None:
        """Whether the file may leave; None if the candidate could not be tried."""
        return None if self.state is None else not self.reason

    @property
    def values_suppressed(self) -> int | None:
        """Total number of values suppressed."""
        return None if self.suppressed is None else sum(self.suppressed.values())


@dataclass(frozen=True, eq=False, repr=False)
class Trials(WithReport):
    """Candidates for the protection of a file, side by side, for internal use.

    Attributes
    ----------
    source : Source
        The file, which has been read.
    keys : list
        The key variables, one set or several.
    trials : tuple of Trial
        In the order of the candidates.

    Examples
    --------
    >>> import riskcore
    >>> data = {"sex": list("ffmff"), "age": [15, 16, 31, 32, 33]}
    >>> tried = riskcore.try_out(
    ...     data,
    ...     ["sex", "age"],
    ...     {"low": {"threshold": 0.1}, "high": {"threshold": 0.2}},
    ...     sampling_fraction=0.1,
    ... )
    ...
    >>> tried
    <Trials: low safe, 6 values suppressed; high safe, 6 values suppressed>
    >>> tried["low"].suppressed, tried.front()
    ({'sex': 1, 'age': 5}, ('low', 'high'))
    >>> sorted(tried.points("max_risk")), tried.to_dict()["keys"]
    (['high', 'low'], ['sex', 'age'])
    >>> tried.protect("low").safe, tried["low"].settings["threshold"]
    (True, 0.1)
    """

    source: Source
    keys: list[Any]
    trials: tuple[Trial, ...]

    def __getitem__(self, name: str) -> Trial:
        """Return the trial of a candidate."""
        for trial in self.trials:
            if trial.name == name:
                return trial
        names = ", ".join(repr(trial.name) for trial in self.trials)
        raise NoSuchNameError(f"{name!r} is not a candidate; candidates are {names}")

    def front(
        self,
        risk: str = "expected_reidentifications",
        losses: Sequence[str] = ("share_lost", "mean_total_variation"),
    ) -> tuple[str, ...]:
        """Return the safe candidates that no other beats in risk and all losses.

        There are two losses by default: the information lost, which treats a blank as
        a coarse category, and the distance between tables, which responds to blanks
        that are not at random but not to the loss by recoding.

        Parameters
        ----------
        risk : {"expected_reidentifications", "max_risk"}
        losses : sequence of {"share_lost", "mean_total_variation", "pmse"}

        Returns
        -------
        tuple of str
            Names in the order of the candidates, including all that tie. A candidate
            without one of the measures is left out.
        """
        points = [self.points(risk, loss) for loss in arguments.names("losses", losses)]
        figures = {
            name: tuple(pairs[name] for pairs in points)
            for name in points[0]
            if all(name in pairs for pairs in points)
        }
        return tuple(
            name
            for name, own in figures.items()
            if not any(_beats(other, own) for other in figures.values())
        )

    def points(
        self, risk: str = "expected_reidentifications", loss: str = "share_lost"
    ) -> dict[str, tuple[float, float]]:
        """Return risk and loss by name, for safe candidates that have both.

        Parameters
        ----------
        risk : {"expected_reidentifications", "max_risk"}
        loss : {"share_lost", "mean_total_variation", "pmse"}

        Returns
        -------
        dict of str to (float, float)
        """
        arguments.one_of("risk", risk, RISKS)
        arguments.one_of("loss", loss, LOSSES)
        pairs = {
            trial.name: (getattr(trial, risk), getattr(trial, loss))
            for trial in self.trials
            if trial.safe
        }
        return {name: pair for name, pair in pairs.items() if None not in pair}

    def protect(self, name: str, *, progress: Lines | None = None) -> Protected:
        """Protect the file with the settings of a candidate.

        Parameters
        ----------
        name : str
        progress : callable, optional
            Called with a line of text at each step.

        Returns
        -------
        Protected

        Raises
        ------
        KeyError, TypeError, ValueError, RuntimeError
            As `riskcore.protect`.
        """
        return protect(self.source, self.keys, progress=progress, **self[name].settings)

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data for JSON.

        Returns
        -------
        dict
        """
        front = self.front()
        rows = []
        for trial in self.trials:
            row = {**asdict(trial), "safe": trial.safe}
            for name in ("suppressed", "categories"):
                if row[name] is not None:
                    row[name] = {str(key): n for key, n in row[name].items()}
            for name in ("largest_loss", "largest_change"):
                row[name] = loss_plain(getattr(trial, name))
            row["settings"] = {k: _plain(v) for k, v in trial.settings.items()}
            row["warnings"] = list(trial.warnings)
            row["values_suppressed"] = trial.values_suppressed
            rows.append({**row, "front": trial.name in front})
        return {"keys": _plain(self.keys), "candidates": rows}

    def __repr__(self) -> str:
        said = []
        for trial in self.trials:
            name = shortened(trial.name, _LONGEST_NAME)
            if trial.state is None:
                said.append(f"{name} failed")
                continue
            said.append(f"{name} {trial.state}, {_suppressed(trial)} suppressed")
        return f"<Trials: {'; '.join(said)}>"

    def _repr_html_(self) -> str:
        front = self.front()
        rows = []
        for trial in self.trials:
            lost = (
                "-" if trial.share_lost is None else f"{100 * trial.share_lost:.3g} %"
            )
            risk = trial.expected_reidentifications
            words = trial.reason or (
                f"{risk:.6g} expected re-identifications, {lost} of the information "
                f"lost, {_suppressed(trial)} suppressed"
            )
            rows.append((f"{trial.name}{' *' if trial.name in front else ''}", words))
        note = html.escape("* no other has less risk, loses less and has nearer tables")
        return html.figures("Protections tried, for internal use", note, rows)


def try_out(
    data: Any,
    keys: Iterable[Any],
    candidates: Mapping[str, Mapping[str, Any]],
    *,
    reading: Reading | None = None,
    interactions: bool = False,
    layout: Mapping[str, Any] | None = None,
    progress: Lines | None = None,
    **common: Any,
) -> Trials:
    """Try several protections of a file: the cost and the remaining risk of each.

    No file is written, and the input is read once.

    Parameters
    ----------
    data : frame, mapping or path
        As for `protect`.
    keys : iterable of column names, or of lists of column names
        As for `protect`; the same for all candidates.
    candidates : mapping of str to mapping
        The arguments of `protect` for each candidate, by name.
    reading : Reading, optional
        How to read the file, if ``data`` is a path.
    interactions : bool, optional
        Whether the propensity score includes terms for pairs of keys.
    layout : mapping, optional
        How the file would be written, which decides what leaks: ``drop``, ``shuffle``
        and ``renumber``, as for `Protected.write`.
    progress : callable, optional
        Called with a line of text at each step.
    **common
        Arguments of `protect` for all candidates; a candidate's own take precedence.

    Returns
    -------
    Trials
        A candidate that cannot be tried, or made safe, is listed with the reason.

    Raises
    ------
    KeyError
        If a column of the keys does not exist.
    TypeError, ValueError
        If there are no candidates, or a setting is not an argument of `protect`.

    Examples
    --------
    >>> import riskcore
    >>> data = {"sex": list("ffmff"), "age": [15, 16, 31, 32, 33]}
    >>> groups = riskcore.Recoding.intervals([30], closed="left")
    >>> tried = riskcore.try_out(
    ...     data,
    ...     ["sex", "age"],
    ...     {"as it is": {}, "two groups": {"recodings": {"age": groups}}},
    ...     threshold=0.6,
    ... )
    ...
    >>> [(one.name, one.values_suppressed) for one in tried.trials]
    [('as it is', 6), ('two groups', 1)]
    """
    say = progress or silent
    source = Source.of(data, reading)
    keys = list(keys) if not isinstance(keys, str | bytes) else keys
    _check(candidates, common)
    names = [n for key in keys for n in (key if isinstance(key, list) else [key])]
    source.check(arguments.names("keys", names))
    trials = []
    for i, (name, own) in enumerate(candidates.items(), 1):
        step = _within(say, f"{i} of {len(candidates)}, {name}")
        settings = {**common, **own}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            try:
                result = protect(source, keys, progress=step, **settings)
                examined = result.examination
                if result.on_engine is None:
                    examined = result.preview(steps=step, **(layout or {}))
                comparison = result.compare(interactions=interactions, progress=step)
            except FAILURES as error:
                trials.append(Trial(name, settings, None, words_in(error)))
                continue
        said = tuple(dict.fromkeys(str(warning.message) for warning in caught))
        made = Trial.of(name, settings, result, comparison, result.judge(examined))
        trials.append(replace(made, warnings=said))
    return Trials(source, list(keys), tuple(trials))


def _within(say: Lines, begun: str) -> Lines:
    return lambda step: say(f"{begun}: {step}")


def _check(candidates: Any, common: Mapping[str, Any]) -> None:
    """Refuse invalid candidates before any work is done."""
    if not isinstance(candidates, Mapping):
        shown = arguments.shown(candidates)
        raise TypeError(f"candidates={shown}: need a mapping of names to settings")
    if not candidates:
        raise ValueError("candidates is empty: give the settings of at least one")
    setting_names = {"weight", "household", *settings_of(ProtectSettings)}
    for name, settings in [*candidates.items(), ("all candidates", common)]:
        if not isinstance(name, str):
            raise TypeError(f"candidates: {arguments.shown(name)}: a name must be text")
        if not isinstance(settings, Mapping):
            shown = arguments.shown(settings)
            raise TypeError(f"candidates: {name!r}: need a mapping, not {shown}")
        for key in settings:
            if key not in setting_names:
                raise TypeError(
                    f"candidates: {name!r}: {key!r} is not a setting of protect; these "
                    f"are {', '.join(sorted(setting_names))}"
                )


def _suppressed(trial: Trial) -> str:
    return counted(trial.values_suppressed or 0, "value")


def _beats(other: tuple[Any, ...], own: tuple[Any, ...]) -> bool:
    """Return whether no risk and loss is larger, and one is smaller."""
    pairs = zip(other, own, strict=True)
    return other != own and all(s <= r and v <= u for (s, v), (r, u) in pairs)


def _most(sets: Sequence[Mapping[str, Any]], figure: str) -> Any:
    """Return the largest figure of some sets of keys."""
    return max(figures[figure] for figures in sets)


def _plain(value: Any) -> Any:
    """Return a setting as JSON holds it."""
    if isinstance(value, Recoding):
        return {**value.to_dict(), "drop": int(value.drop)}
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    plain = value is None or isinstance(value, str | bool | int | float)
    return value if plain else str(value)
