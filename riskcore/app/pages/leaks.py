"""What the file would give away, and the mends."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from riskcore.app.forms import Form
from riskcore.app.pages.page import Page
from riskcore.app.session import RefusedError
from riskcore.app.texts import said
from riskcore.app.workbench import Workbench
from riskcore.common.settings import ANY, ORDER
from riskcore.report.release_files import check_columns

if TYPE_CHECKING:
    from riskcore.disclosure.leaks import Leak
    from riskcore.protection.settings.settings import Settings

# What may mend a leak, by its kind; `_FITS` says whether it fits a column.
MENDS: Mapping[str, tuple[str, ...]] = {
    "identifier": ("identifier", "drop", "renumber", "recode"),
    "unique": ("treat", "recode", "drop"),
    "weight": ("treat", "drop"),
    "ids": ("renumber", "drop"),
    "composition": ("drop", "shuffle"),
    "numbers": ("treat", "drop"),
    "no effect": ("treat", "drop"),
    "attributes": ("diverse", "drop"),
    "elimination": ("against_insiders",),
    "harmless": (),
    "reveals": (
        "shuffle",
        "household_key",
        "related",
        "renumber",
        "treat",
        "recode",
        "drop",
        "recode_key",
    ),
}
SWITCHES = ("shuffle", "guard_formulas")


def view(bench: Workbench, _: Form) -> Mapping[str, Any]:
    """Return the leaks with their mends, open ones first."""
    if bench.lacking:
        return {"lacking": bench.lacking}
    settings, job = bench.settings(), bench.leaks()
    examined = None if job.state in ("failed", "canceled") else bench.examination()
    leaks = () if examined is None else examined.leaks
    items = [_item(bench, settings, leak) for leak in leaks]
    return {
        "lacking": "",
        "job": job,
        "done": examined is not None,
        "open": [entry for entry in items if entry["accepted"] is None],
        "accepted": [entry for entry in items if entry["accepted"] is not None],
        "not_examined": [*map(str, examined.not_examined)] if examined else [],
        "dropped": _at(bench, _dropped(bench, settings)),
        "identifiers": settings.with_role("identifier"),
        "renumbered": _at(bench, _renumbered(bench, settings)),
        "switches": {name: bench.writes(name) for name in SWITCHES},
    }


def _at(bench: Workbench, names: Any) -> list[tuple[int, str]]:
    """Return columns with their positions."""
    return [(bench.names.index(str(name)), str(name)) for name in names]


def _item(bench: Workbench, settings: Settings, leak: Leak) -> dict[str, Any]:
    """Return what the page shows of a leak."""
    columns = [
        ("order", said("leaks", "order")) if name is None else _at(bench, [name])[0]
        for name in leak.of
    ]
    return {
        "kind": leak.kind,
        "text": leak.text,
        "advice": leak.advice,
        "accepted": leak.accepted,
        "columns": columns,
        "all": leak.of_all or len(columns) == 1,
        "mends": [*mends_of(bench, settings, leak)] if leak.accepted is None else [],
    }


def mends_of(
    bench: Workbench, settings: Settings, leak: Leak
) -> Iterator[dict[str, Any]]:
    """Yield the mends that fit a leak: what is done, to which column."""
    for mend in MENDS[leak.kind]:
        for name in leak.of[:1] if mend == "against_insiders" else leak.of:
            if not _fits(bench, settings, leak, mend, name):
                continue
            key = None if leak.shown is None else leak.shown.key
            yield {
                "does": mend,
                "column": None if name is None else _at(bench, [name])[0],
                "key": None if key is None else _at(bench, [key])[0],
            }


def _fits(
    bench: Workbench, settings: Settings, leak: Leak, mend: str, name: Hashable | None
) -> bool:
    """Return whether a mend fits a column of a leak; None is the order."""
    key, rule = (None, "") if leak.shown is None else (leak.shown.key, leak.shown.rule)
    is_key = name in settings.variables
    if mend == "shuffle":
        left_out = name is None or name in _dropped(bench, settings)
        return left_out and not bench.writes("shuffle")
    asked = {"against_insiders": settings.against_insiders, "diverse": settings.l}
    if mend in asked:
        return not asked[mend]
    if mend == "household_key":
        return (
            rule in ("equal", "between")
            and name in (None, settings.household)
            and settings.household is not None
            and key in settings.variables
            and key not in (*settings.household_keys, *settings.strata)
        )
    if mend == "recode_key":
        finer = rule in ("finer", "order")  # of codes before recoding
        return key in settings.variables and not is_key and not finer
    if name is None or name in _dropped(bench, settings):
        return False
    held = (settings.weight, settings.household)
    fits = {
        "identifier": not is_key and name not in (*held, *settings.columns),
        "drop": not is_key,
        "renumber": _may_be_ids(settings, name) or leak.kind == "ids",
        "related": key in settings.variables
        and not is_key
        and name not in (*held, *settings.related.get(key, ())),
        "treat": name != settings.household and not is_key,
        "recode": name not in held and not _is_number(settings, name),
    }[mend]
    return fits and not (mend == "renumber" and name in _renumbered(bench, settings))


def _may_be_ids(settings: Settings, name: Hashable) -> bool:
    """Return whether new ids can stand for the values of a column."""
    told = (*settings.columns, settings.weight, *settings.with_role("sensitive"))
    is_used = name in told or _is_number(settings, name)
    return name == settings.household or not is_used


def _is_number(settings: Settings, name: Hashable) -> bool:
    """Return whether a column is known as a number."""
    return name in settings.with_role("numeric")


def _dropped(bench: Workbench, settings: Settings) -> list[str]:
    """Return the columns that are left out."""
    drop = bench.table("output").get("drop", ())
    return [*dict.fromkeys(map(str, (*drop, *settings.with_role("identifier"))))]


def _renumbered(bench: Workbench, settings: Settings) -> list[str]:
    """Return the columns that get new ids."""
    output, dropped = bench.table("output"), _dropped(bench, settings)
    names = output.get("renumber")
    if names is not None:
        names = [name for name in names if name not in dropped]
    wanted = {"drop": output.get("drop", ()), "renumber": names}
    try:
        return [*check_columns(bench.source, settings, wanted)[1]]
    except ValueError:  # the job says so
        return names or []


# --- what is done ---


def _column(bench: Workbench, form: Form) -> str:
    """Return the column that a form names."""
    return bench.column(form.text("column"))


def _output(bench: Workbench, word: str, column: str, **changes: Any) -> str:
    """Change how the file is written, and return it in words."""
    return bench.change(said("leaks", word, column=column), output=changes)


def drop(bench: Workbench, form: Form) -> str:
    """Leave a column out of the file."""
    name, output = _column(bench, form), bench.table("output")
    left = [*output.get("drop", ())]
    ids = [column for column in output.get("renumber", ()) if column != name]
    more = {"renumber": ids} if ids != [*output.get("renumber", ())] else {}
    return _output(
        bench, "did_drop", name, drop=[*dict.fromkeys([*left, name])], **more
    )


def keep(bench: Workbench, form: Form) -> str:
    """Write a column that was left out."""
    name = _column(bench, form)
    left = [x for x in bench.table("output").get("drop", ()) if x != name]
    return _output(bench, "did_keep", name, drop=left or None)


def renumber(bench: Workbench, form: Form) -> str:
    """Give a column new ids."""
    name = _column(bench, form)
    ids = _renumbered(bench, bench.settings())
    return _output(bench, "did_renumber", name, renumber=[*ids, name])


def old_ids(bench: Workbench, form: Form) -> str:
    """Keep the ids of a column."""
    name = _column(bench, form)
    ids = [column for column in _renumbered(bench, bench.settings()) if column != name]
    return _output(bench, "did_old_ids", name, renumber=ids)


def identifier(bench: Workbench, form: Form) -> str:
    """Give a column the role of an identifier."""
    name = _column(bench, form)
    words = said("leaks", "did_identifier", column=name)
    return bench.set_roles({name: "identifier"}, words)


def related(bench: Workbench, form: Form) -> str:
    """Blank a column together with a key."""
    name, key = _column(bench, form), bench.column(form.text("key"))
    relations = {str(k): [*map(str, v)] for k, v in bench.settings().related.items()}
    relations[key] = [*relations.get(key, []), name]
    words = said("leaks", "did_related", column=name, key=key)
    return bench.change(words, suppress={"related": relations})


def household_key(bench: Workbench, form: Form) -> str:
    """Blank a key for all members of a household or for none."""
    key = bench.column(form.text("key"))
    keys = [*map(str, bench.settings().household_keys)]
    words = said("leaks", "did_household_key", key=key)
    return bench.change(words, suppress={"household_keys": [*keys, key]})


def against_insiders(bench: Workbench, _: Form) -> str:
    """Blank more, until elimination tells no blanked key."""
    words = said("leaks", "did_against_insiders")
    return bench.change(words, suppress={"against_insiders": True})


def diverse(bench: Workbench, _: Form) -> str:
    """Ask that the people who fit a record differ in sensitive columns."""
    return bench.change(said("leaks", "did_diverse"), safe={"l": 2})


def switch(bench: Workbench, form: Form) -> str:
    """Switch a setting of the file to write on or off."""
    name, on = form.text("name"), form.has("on")
    if name not in SWITCHES:
        raise RefusedError(f"{name!r} is not a switch")
    words = said("leaks", f"{name}_{'on' if on else 'off'}")
    return bench.change(words, output={name: on or None})


def accept(bench: Workbench, form: Form) -> str:
    """Accept the leaks of columns, with a reason."""
    reason = " ".join(form.text("reason").split())
    if not reason:
        raise RefusedError(said("leaks", "reason_needed"))
    names = _accepted(bench, form)
    words = said("leaks", "did_accept", names=_listed(names))
    return bench.change(words, accept=dict.fromkeys(names, reason))


def take_back(bench: Workbench, form: Form) -> str:
    """Take an acceptance back."""
    acceptances = bench.table("accept")
    names = [name for name in _accepted(bench, form) if name in acceptances]
    if ANY in acceptances:
        names.append(ANY)
    words = said("leaks", "did_take_back", names=_listed(names))
    return bench.change(words, accept=dict.fromkeys(names))


def _accepted(bench: Workbench, form: Form) -> list[str]:
    """Return the columns of a form as acceptances name them."""
    columns = form.all("column")
    return [ORDER if column == "order" else bench.column(column) for column in columns]


def _listed(names: list[str]) -> str:
    """Return columns in words."""
    return ", ".join(said("leaks", "order") if x == ORDER else x for x in names)


PAGE = Page(
    "leaks",
    view,
    {
        "drop": drop,
        "keep": keep,
        "renumber": renumber,
        "old_ids": old_ids,
        "identifier": identifier,
        "related": related,
        "household_key": household_key,
        "against_insiders": against_insiders,
        "diverse": diverse,
        "switch": switch,
        "accept": accept,
        "take_back": take_back,
    },
)
