"""What the file would give away, and the mends, tried before they are applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from riskcore.app.forms import Form
from riskcore.app.pages.mends import mends_of, trial_of
from riskcore.app.pages.page import Page, named
from riskcore.app.pages.recode import recodable
from riskcore.app.pages.treat import treatable
from riskcore.app.session import RefusedError
from riskcore.app.texts import said
from riskcore.app.workbench import Workbench
from riskcore.common.settings import ANY, ORDER
from riskcore.report.release_files import check_columns

if TYPE_CHECKING:
    from riskcore.disclosure.leaks import Leak
    from riskcore.protection.settings.settings import Settings

SWITCHES = ("shuffle", "guard_formulas")


def view(bench: Workbench, form: Form) -> Mapping[str, Any]:
    """Return the leaks with their mends, open ones first."""
    if bench.lacking:
        return {"lacking": bench.lacking}
    settings, job = bench.settings(), bench.leaks()
    examined = None if job.state in ("failed", "canceled") else bench.examination()
    leaks = () if examined is None else examined.leaks
    items = [_item(bench, leak, at) for at, leak in enumerate(leaks)]
    mended = _leak(bench, form) if examined and form.has("leak") else None
    return {
        "lacking": "",
        "job": job,
        "done": examined is not None,
        "open_leaks": [x for x in items if x["leak"].accepted is None],
        "accepted": [x for x in items if x["leak"].accepted is not None],
        "chosen": None if mended is None else form.whole("leak"),
        "mending": None if mended is None else _mending(bench, mended),
        "not_examined": [*map(str, examined.not_examined)] if examined else [],
        "kept": _at(bench, _kept(bench, settings)),
        "dropped": _at(bench, _dropped(bench, settings)),
        "identifiers": settings.with_role("identifier"),
        "renumbered": _at(bench, _renumbered(bench, settings)),
        "switches": {name: bench.writes(name) for name in SWITCHES},
    }


def _at(bench: Workbench, names: Any) -> list[tuple[int, str]]:
    """Return columns with their positions."""
    return [(bench.names.index(str(name)), str(name)) for name in names]


def _item(bench: Workbench, leak: Leak, at: int) -> dict[str, Any]:
    """Return what the page shows of a leak."""
    columns = [
        ("order", said("leaks", "order")) if name is None else _at(bench, [name])[0]
        for name in leak.of
        if name != ANY
    ]
    return {
        "at": at,
        "leak": leak,
        "columns": columns,
        "all": leak.of_all or len(columns) == 1,
        "mends": leak.accepted is None and bool(mends_of(bench, leak)),
        "pages": [*_pages(bench, leak)],
    }


def _pages(bench: Workbench, leak: Leak) -> Iterator[tuple[str, int, str]]:
    """Yield the pages where somebody may change the columns of a leak by hand."""
    names = [str(name) for name in leak.of if name is not None]
    names += [] if leak.shown is None else [str(leak.shown.key)]
    for page, columns in (("treat", treatable(bench)), ("recode", recodable(bench))):
        for name in dict.fromkeys(names):
            if name in columns and name not in _dropped(bench, bench.settings()):
                yield page, _at(bench, [name])[0][0], name


# --- the mends of a leak ---


def _mending(bench: Workbench, leak: Leak) -> dict[str, Any]:
    """Return the mends of a leak, with what each would do as far as it is known."""
    rows, described = [], bench.description() is not None
    for at, mend in enumerate(mends_of(bench, leak) if described else ()):
        job = trial_of(bench, leak, mend, at)
        rows.append({"at": at, "mend": mend, "job": job, "trial": job.result})
    tried = [row for row in rows if row["trial"] is not None]
    tried.sort(
        key=lambda row: (
            not row["trial"].works,
            not row["trial"].closed,
            row["mend"].drops,
            0.0 if row["trial"].closed else row["trial"].found[1] or 0.0,
            row["trial"].loss,
        )
    )
    return {
        "rows": [*tried, *(row for row in rows if row["trial"] is None)],
        "waits": not described or any(row["job"].active for row in rows),
        "none": all(row["mend"].drops for row in tried if row["trial"].closed),
    }


def _leak(bench: Workbench, form: Form) -> Leak | None:
    """Return the open leak that a form or an address names, if it is still there."""
    examination = bench.examination()
    at = form.whole("leak")
    if examination is None or not 0 <= at < len(examination.open):
        return None
    return examination.open[at]


def mend(bench: Workbench, form: Form) -> str:
    """Change the rules as a mend of a leak says."""
    leak, at = _leak(bench, form), form.whole("mend")
    mends = [] if leak is None else mends_of(bench, leak)
    if not 0 <= at < len(mends) or form.text("was") != mends[at].remedy.options:
        raise RefusedError(said("leaks", "gone"))
    words = said("leaks", "did_mend", what=mends[at].words)
    return bench.change(words, **mends[at].changes)


def _dropped(bench: Workbench, settings: Settings) -> list[str]:
    """Return the columns that are left out."""
    drop = bench.table("output").get("drop", ())
    return [*dict.fromkeys(map(str, (*drop, *settings.with_role("identifier"))))]


def _kept(bench: Workbench, settings: Settings) -> list[str]:
    """Return the columns that can be left out: they are no keys."""
    without = {*_dropped(bench, settings), *bench.keys}
    return [name for name in bench.names if name not in without]


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


def _output(bench: Workbench, word: str, column: str, **changes: Any) -> str:
    """Change how the file is written, and return it in words."""
    return bench.change(said("leaks", word, column=column), output=changes)


def drop(bench: Workbench, form: Form) -> str:
    """Leave a column out."""
    name = bench.column(form.text("column"))
    left = [*bench.table("output").get("drop", ()), name]
    return _output(bench, "did_drop", name, drop=[*dict.fromkeys(left)])


def keep(bench: Workbench, form: Form) -> str:
    """Write a column that was left out."""
    name = bench.column(form.text("column"))
    left = [x for x in bench.table("output").get("drop", ()) if x != name]
    return _output(bench, "did_keep", name, drop=left or None)


def old_ids(bench: Workbench, form: Form) -> str:
    """Keep the ids of a column."""
    name = bench.column(form.text("column"))
    ids = [column for column in _renumbered(bench, bench.settings()) if column != name]
    return _output(bench, "did_old_ids", name, renumber=ids)


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


_ACTIONS = named(mend, drop, keep, old_ids, switch, accept, take_back)
PAGE = Page("leaks", view, _ACTIONS)
