"""The settings of a protection: resolved, checked, and as plain data for a record."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeAlias, Unpack

from riskcore.assessment.assess import check_fitted, check_population, check_roles
from riskcore.assessment.assess_settings import (
    AUTO,
    BOTH,
    BY_WEIGHTS,
    WEIGHTS,
    Level,
    Method,
)
from riskcore.assessment.assess_waves import check_wave_roles, waves_of
from riskcore.assessment.goals import KeyGoals, check_k, key_sets
from riskcore.assessment.roles import Role, roles_of
from riskcore.common.settings import ANY, ORDER, ORDERED, complete, settings_of
from riskcore.common.words import counted
from riskcore.data.cells import check_design, check_missing
from riskcore.data.derived import derived, related_columns
from riskcore.data.files.argus.metadata import Variable
from riskcore.data.recode import Recoding, with_bounds
from riskcore.data.recoding_words import recodings_of, rule_file
from riskcore.data.source import Source
from riskcore.protection.settings.kinds import DERIVED, refuse_faults
from riskcore.protection.settings.settings_table import (
    RECORDED,
    CostsOfKeys,
    PanelSettings,
    ProtectSettings,
    Suppression,
    Ties,
)
from riskcore.protection.treatments.rules import Treatment, parsed_treatments

Names: TypeAlias = tuple[Hashable, ...]
Declared: TypeAlias = Mapping[Hashable, Variable]

# Cost of a key without a given cost: mu-Argus's default, on its scale to 100.
DEFAULT_COST = 50.0
# Prefix for the type of a given model, which a record cannot hold.
GIVEN = "given: "
_USUAL = (AUTO, *BY_WEIGHTS)  # populations in which the weights may decide


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The arguments of `protect`, with what a file's metadata say filled in."""

    keys: tuple[Names, ...]  # one or several sets of key variables, with the strata
    k: tuple[int | None, ...]  # by set of keys
    min_population: tuple[float | None, ...]  # by set of keys
    strata: Names
    weight: Hashable | None
    household: Hashable | None  # of a panel the person: what belongs together
    level: Level
    threshold: float | None
    rate: float | None
    household_threshold: float | None
    household_rate: float | None
    recodings: dict[Any, Recoding]
    household_keys: Names
    related: dict[Any, Names]
    cost: CostsOfKeys
    population: Any
    suppression: Suppression
    method: Method
    missing: str
    ties: Ties = "rule"
    against_insiders: bool = False
    cluster: Hashable | None = None
    sampling_fraction: float | None = None
    person: Hashable | None = None
    wave: Hashable | None = None
    known_waves: int | None = None
    roles: dict[Any, str] = field(default_factory=dict)
    accept: dict[Any, str] = field(default_factory=dict)
    # The rules by the columns that they treat together.
    treat: dict[Any, tuple[Treatment, ...]] = field(default_factory=dict)
    l: float | str | None = None  # noqa: E741
    t: float | None = None
    # The files that recodings were read from; no record holds them.
    rule_files: tuple[Path, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        for keys in self.keys:
            check_roles(keys, self.weight, self.household)
        self._check_rules()
        self._check_leaks()
        self._check_level()
        self._check_panel()
        self._check_goals()
        self._check_thresholds()
        self._check_sensitive()
        self._check_columns()
        self._check_treatments()

    @property
    def variables(self) -> Names:
        """The key variables of all sets, in order."""
        return tuple(dict.fromkeys(key for keys in self.keys for key in keys))

    @property
    def suppressible(self) -> Names:
        """The columns whose values may be suppressed: keys and related columns."""
        others = (name for names in self.related.values() for name in names)
        return tuple(dict.fromkeys([*self.variables, *others]))

    @property
    def columns(self) -> Names:
        """All columns that have a part in the protection."""
        roles = [self.weight, self.household, self.wave]
        roles = [role for role in roles if role is not None]
        return tuple(dict.fromkeys([*self.suppressible, *roles, *self.recodings]))

    @property
    def named(self) -> Names:
        """All columns that the settings name."""
        accepted = (name for name in self.accept if name not in (ANY, ORDER))
        rules = (rule for treatments in self.treat.values() for rule in treatments)
        strata = (name for rule in rules for name in rule.needs)
        cluster = () if self.cluster is None else (self.cluster,)
        others = (*cluster, *self.named_roles, *accepted, *self.treated, *strata)
        return tuple(dict.fromkeys([*self.columns, *others]))

    @property
    def treated(self) -> Names:
        """The columns that are treated."""
        return tuple(name for names in self.treat for name in names)

    @property
    def altered(self) -> dict[Any, tuple[Treatment, ...]]:
        """The treatments by which records get values that theirs do not imply."""
        return {
            names: altering
            for names, rules in self.treat.items()
            if (altering := tuple(rule for rule in rules if rule.alters))
        }

    @property
    def is_random(self) -> bool:
        """Whether a treatment needs a secret."""
        return any(rule.random for rules in self.treat.values() for rule in rules)

    @property
    def roles_of_columns(self) -> dict[Hashable, Role]:
        """The role of each column that has one."""
        keys = self.variables if self.wave is None else (*self.variables, self.wave)
        roles = self.named_roles
        return roles_of(keys, self.weight, self.household, roles, self.household_keys)

    @property
    def named_roles(self) -> dict[Any, str]:
        """The roles given to columns by name, sensitive columns in order or not."""
        return {
            name: "sensitive" if role == ORDERED else role
            for name, role in self.roles.items()
            if name != ANY
        }

    @property
    def ordered(self) -> Names:
        """The sensitive columns whose distance t is that of ordered values."""
        return tuple(name for name, role in self.roles.items() if role == ORDERED)

    @property
    def unit(self) -> str:
        """What is counted: "record", "household" or "person"."""
        return self.level if self.person is None else "person"

    @property
    def known_in(self) -> str:
        """In which waves the keys are known, in words; empty without waves."""
        if self.person is None:
            return ""
        waves = "all waves"
        if self.known_waves is not None:
            waves = f"any {counted(self.known_waves, 'wave')}"
        return f" in {waves} of a person"

    def accepted(self, column: Hashable | None) -> str | None:
        """Return why leaks of a column may stay open; None stands for the order."""
        if column == ANY:
            return self.roles.get(ANY, "").partition(":")[2].strip() or None
        name = ORDER if column is None else column
        return self.accept.get(name, self.accept.get(ANY))

    def check_names(self, source: Source) -> None:
        """Refuse names that are not columns, or are a column and stand for others."""
        source.check(self.named)
        for name in (*self.accept, *self.roles.keys() - self.named_roles.keys()):
            if name in (ANY, ORDER) and name in source.names:
                raise ValueError(
                    f"{name!r} is a column, and also stands for "
                    f"{'all columns' if name == ANY else 'the order of the records'}; "
                    "rename the column"
                )

    def without(self, columns: Iterable[Hashable]) -> Settings:
        """Return the settings as published: of columns left out only the keys."""
        gone = set(map(str, columns)) - set(map(str, self.variables))
        if not gone:
            return self

        def kept(names: Iterable[Any]) -> Names:
            return tuple(name for name in names if str(name) not in gone)

        treat: dict[Any, tuple[Treatment, ...]] = {}
        for names, rules in self.treat.items():
            if left := kept(names):
                treat[left] = (*treat.get(left, ()), *rules)
        related = {key: kept(others) for key, others in self.related.items()}
        return replace(
            self,
            recodings={name: self.recodings[name] for name in kept(self.recodings)},
            roles={name: self.roles[name] for name in kept(self.roles)},
            related={key: others for key, others in related.items() if others},
            treat=treat,
            cluster=next(iter(kept([self.cluster])), None),
        )

    def with_role(self, role: Role) -> Names:
        """Return the columns that were given a role."""
        return tuple(x for x, own in self.named_roles.items() if own == role)

    def of_rows(self) -> Settings:
        """Return the settings for a file with one row for each household."""
        return replace(self, level="record", household=None, household_keys=())

    @property
    def counted_by(self) -> Any:
        """The population of an assessment; with "weights" the model is beside them."""
        return BOTH if self.population_name == WEIGHTS else self.population

    @property
    def population_name(self) -> str:
        """The name of the population in a record; for a given model, its type."""
        if isinstance(self.population, str):
            return self.population
        return f"{GIVEN}{type(self.population).__name__}"

    @property
    def by_content(self) -> bool:
        """Whether the blanks depend on the data alone, not on the order of keys."""
        return self.cost == "fewest"

    def goal_of(self, keys: Iterable[Hashable], name: str = "k") -> Any:
        """Return the k, or another goal by its name, of a set of keys, or None."""
        return getattr(self, name)[self.keys.index(tuple(keys))]

    def blanked_with(self, key: Hashable) -> list[Hashable]:
        """Return a column and all columns blanked with it, directly or indirectly."""
        columns = [key]
        for column in columns:
            others = self.related.get(column, ())
            columns += [name for name in others if name not in columns]
        return columns

    def cost_of(self, key: Hashable) -> float:
        """Return the cost of blanking a key, unless the cost is its entropy."""
        # Of a key whose categories have costs it is the cost of the others.
        goes = self.blanked_with(key)
        if any(entry in self.strata for entry in goes):
            return math.inf
        if isinstance(self.cost, str):
            return 1.0
        stated_costs = [self.cost.get(entry, DEFAULT_COST) for entry in goes]
        costs = [DEFAULT_COST if isinstance(x, Mapping) else x for x in stated_costs]
        return math.inf if math.inf in costs else costs[0]

    @property
    def cost_of_categories(self) -> dict[Hashable, Mapping[str, float]]:
        """The keys whose categories have costs of their own, and these costs."""
        if isinstance(self.cost, str):
            return {}
        return {key: x for key, x in self.cost.items() if isinstance(x, Mapping)}

    def _check_rules(self) -> None:
        for name, setting in RECORDED.items():
            setting.check(name, getattr(self, name))
        check_missing(self.missing, 1.0)
        check_population(self.population, self.method)
        check_design(self.variables, self.cluster, None, weight=self.weight)
        check_fitted(self.counted_by, self.cluster)
        if self.ties == "secret" and self.suppression == "argus":
            raise ValueError(
                "ties='secret' with suppression='argus': its rules decide all ties; "
                "use suppression='exact'"
            )

    def _check_leaks(self) -> None:
        """Refuse roles that cannot be given, and leaks accepted without a reason."""
        _ = self.roles_of_columns
        if ANY in self.roles and not (
            self.roles[ANY].startswith("harmless:") and self.accepted(ANY)
        ):
            raise ValueError(
                f"roles: {self.roles[ANY]!r} for all other columns: need "
                "'harmless:REASON', such as 'harmless:public register'"
            )
        for name in self.with_role("identifier"):
            if name in self.columns:
                raise ValueError(
                    f"roles: {name!r} is an identifier, which is left out of the safe "
                    "file, but it is recoded or related to a key"
                )
        for name in self.with_role("numeric"):
            if name in self.recodings:
                raise ValueError(
                    f"roles: {name!r} is numeric, but a recoding makes categories of "
                    "it: treat it as a number, or make it a key"
                )
        for name, reason in self.accept.items():
            if not (isinstance(reason, str) and reason.strip()):
                raise ValueError(
                    f"accept: {name!r} has no reason; say why its leaks may stay open"
                )

    def _check_treatments(self) -> None:
        """Refuse treatments of columns that are treated otherwise."""
        related = {other for others in self.related.values() for other in others}
        identifiers = self.with_role("identifier")
        of_rows = () if self.unit == "record" else (*self.variables, self.weight)
        parts: dict[str, Iterable[Any]] = {
            "the household": (self.household,),
            "recoded, too; give one rule": self.recodings,
            "related to a key and blanked with it": related,
            "an identifier, which is left out": identifiers,
            "a key or the weight of the households; treat it in a pass over persons"
            if self.person is None
            else "a key or the weight of a panel, or its wave": (*of_rows, self.wave),
        }
        for names, rules in self.treat.items():
            if self.weight in names and any(rule.categorical for rule in rules):
                raise ValueError(
                    f"treat: {self.weight!r} is the weight, not a category; use "
                    "share-weights or round-weights"
                )
            shifted = any(rule.order is not None and not rule.strata for rule in rules)
            if shifted and self.person is not None:
                raise ValueError(
                    "treat: without :within each record of a person gets a shift, and "
                    f"their mean tells the date: add :within={self.person}"
                )
        for name in self.treated:
            for what, columns in parts.items():
                if name in columns:
                    raise ValueError(f"treat: {name!r} is {what}")

    def _check_level(self) -> None:
        """Refuse settings that a file with one row for each household cannot have."""
        if self.level == "record":
            return
        if self.household is None:
            raise ValueError("level='household' needs the household column")
        if self.household_threshold is not None or self.household_rate is not None:
            raise ValueError(
                "level='household': each household counts as a record; give threshold, "
                "rate or k instead of a household threshold or rate"
            )
        if self.cluster is not None:
            raise ValueError(
                "level='household' with cluster: fit a model to the households, such "
                "as LatentClass.fit(..., cluster=), and give it as the population"
            )
        if set(self.household_keys) != set(self.variables):
            raise ValueError(
                "level='household': all keys are household keys; leave "
                "household_keys out"
            )

    def _check_panel(self) -> None:
        """Refuse settings that do not go with persons over waves."""
        asked = {x: getattr(self, x) for x in (*settings_of(PanelSettings), "level")}
        asked |= {"numeric": self.with_role("numeric"), "alpha": 1.0}
        waves = waves_of(asked, None)
        if waves is None:
            return
        check_wave_roles(waves, self.variables, self.weight)
        if self.household != self.person:
            raise ValueError("person is what belongs together; leave out household")
        reasons = {
            f"missing={self.missing!r}: use 'wildcard' or 'argus'": (
                self.missing == "category"
            ),
            f"population={self.population_name!r}: use 'weights'": (
                self.population_name not in _USUAL
            ),
            "cluster: no model is fitted; leave it out": self.cluster is not None,
            "a threshold or rate of households: give threshold, rate or k": (
                self.household_threshold is not None or self.household_rate is not None
            ),
            "household_keys: leave them out": bool(self.household_keys),
            "against_insiders: leave it out": self.against_insiders,
            "costs of categories: give costs of keys": bool(self.cost_of_categories),
            f"suppression={self.suppression!r}: use 'exact'": (
                self.suppression != "exact"
            ),
            f"{self.wave!r} recoded: leave the wave as it is": (
                self.wave in self.recodings
            ),
        }
        for reason, holds in reasons.items():
            if holds:
                raise ValueError(f"person and wave cannot be combined with {reason}")

    def _check_goals(self) -> None:
        """Refuse goals that do not fit the sets of keys, as a record may hold them."""
        for what, goals in {"k": self.k, "min_population": self.min_population}.items():
            if len(goals) != len(self.keys):
                raise ValueError(
                    f"{what}: need one for each of {len(self.keys)} sets of keys, not "
                    f"{len(goals)}"
                )
        for k in self.k:
            if k is not None:
                check_k(k)
        for name in self.strata:
            if any(name not in keys for keys in self.keys):
                raise ValueError(f"strata: {name!r} is not in every set of keys")
        for keys in self.keys:
            if set(keys) <= set(self.strata):
                raise ValueError("strata: a set of keys holds only strata; add a key")

    def _check_sensitive(self) -> None:
        """Refuse goals of sensitive values that cannot be measured."""
        sensitive, asked = self.with_role("sensitive"), (self.l, self.t)
        if asked != (None, None) and not sensitive:
            raise ValueError(
                "l and t are goals for sensitive columns, and there are none: give "
                "roles={COLUMN: 'sensitive'}"
            )
        if asked != (None, None) and self.unit != "record":
            raise ValueError(f"l and t are goals for records, not for {self.unit}s")

    def _check_thresholds(self) -> None:
        of_households = (self.household_threshold, self.household_rate)
        others = (self.threshold, self.rate, self.l, self.t)
        if all(goal is None for goal in (*of_households, *others)):
            if not any((*self.k, *self.min_population)):
                raise ValueError(
                    "nothing to protect against: give a threshold or a rate, of "
                    "records or households, k, l, t or min_population"
                )
            goals = zip(self.keys, self.k, self.min_population, strict=True)
            for keys, *of_set in goals:
                if of_set == [None, None]:
                    raise ValueError(
                        f"k: the set of keys {' x '.join(map(str, keys))} has no "
                        "goal: give its k, or a threshold"
                    )
        for name in ("threshold", "household_threshold"):
            rate = name.replace("threshold", "rate")
            if None not in (getattr(self, name), getattr(self, rate)):
                raise ValueError(f"give {name} or {rate}, not both")
        if self.household is None and of_households != (None, None):
            raise ValueError("a threshold for households needs the household column")

    def _check_columns(self) -> None:
        """Refuse costs, recodings and relations of columns that cannot have them."""
        keys = self.variables
        for name in () if isinstance(self.cost, str) else self.cost:
            _refuse_unless_key(name, keys, "cost")
        for name in self.household_keys:
            _refuse_unless_key(name, keys, "household_keys")
        if self.household_keys and self.household is None:
            raise ValueError("household_keys need the household column")
        for name, others in self.related.items():
            _refuse_unless_key(name, keys, "related")
            for other in others:
                if other in (self.weight, self.household):
                    raise ValueError(
                        f"related: {other!r} is the weight or the household"
                    )
        for name in self.recodings:
            if name in (self.weight, self.household):
                raise ValueError(f"recodings: {name!r} is the weight or the household")

    @classmethod
    def resolve(
        cls,
        source: Source,
        keys: Iterable[Any],
        weight: Hashable | None = None,
        household: Hashable | None = None,
        **options: Unpack[ProtectSettings],
    ) -> Settings:
        """Return the settings of `protect`, filled in from the file's metadata."""
        if "tolerance" in options:
            raise ValueError(
                "tolerance: protect counts equal keys only; recode the numbers, then "
                "give the tolerance to riskcore.assess of the protected file"
            )
        asked = complete(ProtectSettings, options)
        recodings: Any = asked["recodings"] or {}
        household_keys, cost = asked["household_keys"], asked["cost"]
        RECORDED["weight"].check("weight", weight)
        RECORDED["household"].check("household", household)
        sets, within = key_sets(keys), (asked["subsets"], asked["strata"])
        goals = KeyGoals.of(sets, asked["k"], *within)
        people = KeyGoals.of(sets, asked["min_population"], *within, "min_population")
        names = list(dict.fromkeys(key for entry in goals.keys for key in entry))
        declared = source.variables
        weight = source.weight if weight is None else weight
        taken = {*names, weight, *goals.strata, *recodings, *(asked["roles"] or ())}
        if isinstance(asked["related"], Mapping):
            taken.update(*asked["related"].values())
        household = source.household_of(household, taken, asked["person"])
        if source.of_households:
            household = source.household if household is None else household
            if household != source.household or asked["person"] is not None:
                raise ValueError(
                    f"household: the household file is joined by {source.household!r}, "
                    "which is the household; leave out another one, and person"
                )
            own = [name for name in names if name in source.of_households]
            if own and asked["level"] != "household":
                household_keys = [*dict.fromkeys([*(household_keys or ()), *own])]
        if household_keys is None and asked["level"] == "household":
            household_keys = names
        elif household_keys is None:
            there = () if household is None else [x for x in names if x in declared]
            household_keys = tuple(x for x in there if declared[x].household)
        if asked["person"] is not None:
            if household is not None:
                raise ValueError("person is what belongs together; leave out household")
            household = asked["person"]
        if cost is None:
            keys_there = [x for x in names if x in declared]
            costs = {x: float(declared[x].suppress_weight) for x in keys_there}
            cost = costs if declared else "fewest"
        treat: Any = asked["treat"] or {}
        if isinstance(treat, Mapping):  # a column that does not exist
            source.check(x for x in treat if isinstance(x, str) and "+" not in x)
        rules = map(rule_file, recodings.values())
        resolved = {
            "keys": goals.keys,
            "k": goals.k,
            "strata": goals.strata,
            "min_population": people.k,
            "weight": weight,
            "household": household,
            "recodings": recodings_of(recodings, declared),
            "related": _related(asked["related"], source, names, weight, household),
            "treat": parsed_treatments(treat, source.names),
            "rule_files": tuple(path for path in rules if path is not None),
        }
        plain = {**asked, "household_keys": household_keys, "cost": cost}
        others = {
            name: setting.resolved(name, plain[name])
            for name, setting in RECORDED.items()
            if name not in resolved
        }
        settings = cls(**resolved, **others)  # type: ignore[arg-type]
        return settings._with_bounds(source)

    def _with_bounds(self, source: Source) -> Settings:
        """Return the settings with the bounds of recodings by quantiles."""
        if not any(rule.tails for rule in self.recodings.values()):
            return self
        source.check(self.columns)
        data = source.records if source.engine is None else source.data
        recodings = with_bounds(data, self.recodings, source.value_labels)
        return replace(self, recodings=recodings)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data: what JSON holds comes back the same."""
        for name in self.named:
            if not isinstance(name, str):
                raise TypeError(f"column {name!r}: a record needs names that are text")
        values = {
            member.name: RECORDED[member.name].recorded(getattr(self, member.name))
            for member in fields(self)
            if member.name in RECORDED
        }
        return {**values, "population": self.population_name}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Settings:
        """Return the settings that `to_dict` wrote."""
        if set(plain) != set(RECORDED):
            odd = ", ".join(sorted(set(plain) ^ set(RECORDED)))
            raise ValueError(
                f"not the settings of a protection by this version: {odd}; protect "
                "again"
            )
        for name, setting in RECORDED.items():
            refuse_faults(setting.recorded_shape, plain[name], f"settings.{name}")
        try:
            return cls(
                **{
                    name: setting.restored(f"settings.{name}", plain[name])
                    for name, setting in RECORDED.items()
                }
            )
        except OverflowError as error:
            raise ValueError(f"settings: {error}") from None


def _related(
    related: Any,
    source: Source,
    names: Iterable[Hashable],
    weight: Hashable,
    household: Hashable,
) -> dict[Any, Names]:
    """Return the columns related to the keys: as given, by metadata, or as found."""
    if related is not None and related != DERIVED:
        return {key: tuple(others) for key, others in related.items()}
    pairs = [(v.name, v.related) for v in source.variables.values() if v.related]
    both = [*pairs, *((b, a) for a, b in pairs)]  # in both directions
    of_keys: dict[Any, list[Any]]
    of_keys = {key: [b for a, b in both if a == key] for key in names}
    if related == DERIVED:
        more = _derived(source, names, weight, household)
        for key, others in of_keys.items():
            of_keys[key] = [*dict.fromkeys([*others, *more.get(key, ())])]
    return {key: tuple(others) for key, others in of_keys.items() if others}


def _derived(
    source: Source, names: Iterable[Hashable], weight: Hashable, household: Hashable
) -> Mapping[Any, Names]:
    """Return the columns that determine a key, or that a key determines."""
    if source.engine is not None:
        raise source.engine.refuse_single(f"related={DERIVED!r}")
    roles = [role for role in (weight, household) if role is not None]
    source.check([*names, *roles])
    derivations = derived(source.records, household)
    return related_columns(derivations, names, roles)


def _refuse_unless_key(name: Hashable, keys: Names, argument: str) -> None:
    if name not in keys:
        names = ", ".join(map(repr, keys))
        raise ValueError(f"{argument}: {name!r} is not a key; keys are {names}")
