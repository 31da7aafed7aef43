"""The best release: of all recodings and blanks that meet the goals the least loss."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Unpack

from riskcore.common import arguments
from riskcore.common.progress import CanceledError, Lines, silent
from riskcore.common.settings import complete
from riskcore.common.sheet import OnASheet, Part, Sheet
from riskcore.common.words import Number, counted, sentence
from riskcore.data.files.reading import Reading, with_household
from riskcore.data.ladder import Ladder
from riskcore.data.source import Source
from riskcore.protection.best.nodes import Nodes, Opened
from riskcore.protection.best.search import Found, search
from riskcore.protection.protect import protect
from riskcore.protection.result import Protected
from riskcore.protection.settings.best_settings import LADDERS, BestSettings
from riskcore.protection.settings.settings import Settings
from riskcore.protection.settings.settings_table import ProtectSettings


@dataclass(frozen=True, slots=True)
class OpenedNode:
    """Recodings that were opened: what they lose with their blanks."""

    recodings: dict[Any, str]  # of the keys that do not stay as they are
    loss: float
    blanks: int
    expected_reidentifications: float


@dataclass(frozen=True, eq=False, repr=False)
class Best(OnASheet):
    """The recodings and blanks that meet the goals at the least loss, for internal use.

    Attributes
    ----------
    source : Source
    settings : Settings
        The settings of the best release: its recodings, and what its blanks cost.
    rules : dict of key to str
        Its recodings, in words.
    loss : float
        What it loses, from 0 to the price of a blank.
    blanks : dict of key to int
    bound : float
        No release loses less: the certificate.
    exact : bool
        Whether the blanks of each combination are the cheapest. If not, as for rates,
        t, l by entropy, a risk by a model or of households, or household keys, the
        certificate is about the blanks that `riskcore.protect` plans.
    nodes, met, opened : int
        Combinations of rungs, those whose bound was found, and those whose blanks
        were planned.
    front : tuple of OpenedNode
        Of those that were opened the ones that no other beats in both loss and expected
        re-identifications, the least loss first.
    ladders : dict of key to Ladder
    seconds : float

    Examples
    --------
    >>> import riskcore
    >>> data = {"age": [15, 16, 31, 32], "sex": list("ffmm")}
    >>> best = riskcore.best(data, ["age", "sex"], k=2, ladders={"age": ["from:20"]})
    >>> best, best.gap
    (<Best: least loss 0.1667: none of 4 combinations is below it>, 0.0)
    >>> best.protect().suppressed, best.to_dict()["blanks"]
    ({'age': 0, 'sex': 0}, {})
    """

    source: Source
    settings: Settings
    rules: dict[Any, str]
    loss: float
    blanks: dict[Any, int]
    bound: float
    exact: bool
    nodes: int
    met: int
    opened: int
    front: tuple[OpenedNode, ...]
    ladders: dict[Any, Ladder]
    seconds: float

    @property
    def gap(self) -> float:
        """By how much the least loss may be below this one, as a share of this."""
        return 0.0 if self.loss <= self.bound else 1.0 - self.bound / self.loss

    @property
    def certificate(self) -> str:
        """What is proved of the loss, in words."""
        loss, bound = Number(f"{self.loss:.4f}"), Number(f"{self.bound:.4f}")
        if self.gap == 0.0:
            figures = loss, counted(self.nodes, "combination")
            if self.exact:
                return sentence(
                    "least loss {loss}: none of {nodes} is below it", *figures
                )
            return sentence(
                "least loss {loss}, with the blanks that are planned: none of {nodes} "
                "is below it",
                *figures,
            )
        return sentence(
            "loss {loss}, the least may be up to {gap} lower: none of {nodes} is below "
            "{bound}",
            *(loss, Number(f"{self.gap:.1%}")),
            *(counted(self.nodes, "combination"), bound),
        )

    def protect(self, *, progress: Lines | None = None) -> Protected:
        """Make the best release: the file, its risks and its verdict.

        Parameters
        ----------
        progress : callable, optional
            Called with a line of text at each step.

        Returns
        -------
        Protected
        """
        return protect(self.source, self.settings, progress=progress)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON.

        Returns
        -------
        dict
        """
        return {
            "recodings": {str(key): rule for key, rule in self.rules.items()},
            "loss": self.loss,
            "bound": self.bound,
            "gap": self.gap,
            "certificate": str(self.certificate),
            "exact": self.exact,
            "blanks": {str(key): number for key, number in self.blanks.items()},
            "combinations": self.nodes,
            "looked_at": self.met,
            "opened": self.opened,
            "seconds": self.seconds,
            "front": [asdict(node) for node in self.front],
        }

    def _sheet(self) -> Sheet:
        keys = self.settings.variables
        facts = [
            ("certificate", str(self.certificate)),
            ("combinations", f"{self.nodes:,}, {self.met:,} looked at"),
            ("opened", f"{self.opened:,}"),
            ("seconds", f"{self.seconds:.1f}"),
        ]
        recodings = dict.fromkeys(self.settings.recodings, "that of the rules")
        recodings |= self.rules
        rows = [("key", "recoding", "blanks")]
        rows += [
            (str(key), recodings.get(key, "as it is"), f"{self.blanks.get(key, 0):,}")
            for key in keys
        ]
        front = [("recodings", "loss", "blanks", "re-identifications")]
        front += [
            (
                ", ".join(f"{key}={rule}" for key, rule in node.recodings.items())
                or "none",
                f"{node.loss:.4f}",
                f"{node.blanks:,}",
                f"{node.expected_reidentifications:,.1f}",
            )
            for node in self.front
        ]
        parts = [Part("", rows=rows, sides="<<>"), Part("", rows=front, sides="<>>>")]
        return Sheet("The best release", facts, parts)

    def __repr__(self) -> str:
        return f"<Best: {self.certificate}>"


def best(
    data: Any,
    keys: Iterable[Any],
    weight: Hashable | None = None,
    household: Hashable | None = None,
    *,
    ladders: Mapping[Any, Any] | None = None,
    loss: str = "granularity",
    price: float = 1.0,
    importance: Mapping[Any, float] | None = None,
    time: float | None = None,
    reading: Reading | None = None,
    progress: Lines | None = None,
    **settings: Unpack[ProtectSettings],
) -> Best:
    """Find the recodings and blanks that meet all goals at the least loss.

    Parameters
    ----------
    data, keys, weight, household, reading, **settings
        As for `riskcore.protect`, for records in memory or in a file; recodings are
        those of keys that have no ladder, and costs say what is never blanked.
    ladders : mapping of key to list of str or path, optional
        The recodings of each key from fine to coarse, such as ["from:15,30,65",
        "from:30"], or the file of a hierarchy. Keys without one get a ladder that their
        values suggest, see `riskcore.data.proposed_ladder`.
    loss : {"granularity", "entropy", "discernibility", "blanks"}
        What a release loses: the share of a key's values that the group of a value
        covers (Iyengar 2002), the share of its information that is lost (Gionis and
        Tassa 2009), or blanks alone, as a mean over records and keys; or the share of
        the records that have the keys of a record, 1 for one with a blank, as a mean
        over records (discernibility, Bayardo and Agrawal 2005).
    price : float
        What a blank costs, at least 1: a value that is lost whole; by entropy what it
        loses beyond its group.
    importance : mapping of key to float, optional
        What each key counts, 1 by default.
    time : float, optional
        Seconds after which the search ends with the best it knows and a bound.
    progress : callable, optional
        Called with a line of text at each step.

    Returns
    -------
    Best

    Raises
    ------
    KeyError, TypeError, ValueError, OSError
        As `protect`. ValueError also if a rung of a ladder separates what the one below
        joined, if no recodings meet the goals, or if time is over before some did.

    Notes
    -----
    Combinations are searched best first. What recodings lose grows with each step up,
    and records that are unsafe with all their keys lose at least the cheapest: only
    combinations whose bound is below the best loss are opened, and their blanks planned
    as `protect` does. Where ``exact`` is false, other blanks may lose less.

    Examples
    --------
    >>> import riskcore
    >>> data = {"age": [15, 16, 31, 32, 33, 34], "sex": list("ffmmff")}
    >>> found = riskcore.best(
    ...     data, ["age", "sex"], k=2, ladders={"age": ["from:20", "map:*=all"]}
    ... )
    >>> found.rules, found.blanks, found.gap
    ({'age': 'from:20'}, {}, 0.0)
    """
    started = clock.monotonic()
    say = progress or silent
    reading, household = with_household(reading, household)
    source = Source.of(data, reading)
    if source.engine is not None:
        raise TypeError(
            f"{source.engine.name} holds the data: collect them first, for the search "
            "reads them many times"
        )
    resolved = Settings.resolve(source, keys, weight, household, **settings)
    asked: Any = {"loss": loss, "price": price, "importance": importance, "time": time}
    how = complete(BestSettings, asked)
    return best_by(source, resolved, ladders or {}, how, say, started)


def best_by(
    source: Source,
    settings: Settings,
    ladders: Mapping[Any, Any],
    how: BestSettings,
    say: Lines,
    started: float,
) -> Best:
    """Find the best release by resolved settings."""
    LADDERS.check("ladders", ladders)
    importance = how["importance"] or {}
    if settings.person is not None:
        raise ValueError(
            "panels (person and wave) have no costs of categories, by which the search "
            "chooses blanks: compare recodings with riskcore.try_out"
        )
    for what, names in (("ladders", ladders), ("importance", importance)):
        for name in names:
            if name not in settings.variables:
                raise ValueError(
                    f"{what}: {arguments.shown(name)} is not a key variable"
                )
    say("assessing the original file")
    nodes = Nodes(source, settings, ladders, how["loss"], how["price"], importance)
    until = None if how["time"] is None else started + how["time"]

    def go_on(state: Found[Opened]) -> bool:
        best = "-" if state.best is None else Number(f"{state.best.loss:.4f}")
        line = sentence(
            "{met} of {nodes} combinations looked at, {opened} opened, best loss "
            "{loss}, none below {bound}",
            *(state.met, state.nodes, len(state.opened)),
            *(best, Number(f"{state.bound:.4f}")),
        )
        try:
            say(line)
        except CanceledError:
            if state.best is None:
                raise
            return False  # what is known counts
        return until is None or clock.monotonic() < until

    state = search(nodes.steps, nodes.bound, nodes.open_node, go_on)
    if state.best is None:
        raise ValueError(
            sentence("no recodings meet the goals")
            if until is None or clock.monotonic() < until
            else sentence("no recodings met the goals in time: give more time")
        )
    opened = state.opened[state.best]
    return Best(
        source,
        replace(opened.settings, population=settings.population),
        nodes.rules(state.best.node),
        state.best.loss,
        opened.blanks,
        state.bound,
        nodes.exact,
        state.nodes,
        state.met,
        len(state.opened) + state.failed,
        tuple(_front(state, nodes)),
        {rungs.column.name: rungs.ladder for rungs in nodes.rungs},
        clock.monotonic() - started,
    )


def _front(state: Found[Opened], nodes: Nodes) -> Iterator[OpenedNode]:
    """Yield the opened nodes that no other beats, the least loss first."""
    least = math.inf
    for entry in sorted(state.opened):
        expected = state.opened[entry].expected_reidentifications
        if expected < least:
            least = expected
            yield OpenedNode(
                nodes.rules(entry.node), entry.loss, entry.blanks, expected
            )
