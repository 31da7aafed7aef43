"""The columns of the file and their roles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from riskcore.app.forms import Form
from riskcore.app.pages.page import Page
from riskcore.app.session import COLUMN_ROLES, RefusedError
from riskcore.app.texts import said
from riskcore.app.workbench import Workbench

if TYPE_CHECKING:
    from riskcore.assessment.describe import DescribedColumn

ROLES = (
    "key",
    "weight",
    "household",
    "numeric",
    "sensitive",
    "identifier",
    "harmless",
    "cluster",
)
# These can be given to many columns at once.
FOR_MANY = tuple(role for role in ROLES if role not in COLUMN_ROLES)
SHOWN = ("undecided", "unproposed", *ROLES)


def view(bench: Workbench, form: Form) -> Mapping[str, Any]:
    """Return the columns with their roles, those that the address asks for."""
    description = bench.description()
    if description is None:
        return {"rows": None, "names": bench.names}
    rows = [_row(bench, at, column) for at, column in enumerate(description.columns)]
    asked = {name: form.text(name) for name in ("find", "type", "shown")}
    return {
        "records": description.records,
        "columns": len(rows),
        "rows": [
            row
            for row in rows
            if asked["find"].casefold() in row["text"]
            and asked["type"] in ("", row["column"].profile.type)
            and (not asked["shown"] or asked["shown"] in row["shown"])
        ],
        "roles": ROLES,
        "proposed": any(row["role"] is None and row["proposed"] for row in rows),
        "for_many": FOR_MANY,
        "asked": asked,
        "types": sorted({row["column"].profile.type for row in rows}),
        "shown": SHOWN,
        "ticked": form.has("tick"),
        "doubts": bench.doubts(),
    }


def _row(bench: Workbench, at: int, column: DescribedColumn) -> dict[str, Any]:
    """Return what the page shows of a column."""
    of = column.profile
    role = bench.role_of(str(of.name))
    proposed = column.proposed.role if column.proposed.role in ROLES else None
    shown = [role] if role else ["undecided"] + ["unproposed"] * (proposed is None)
    return {
        "position": at,
        "column": column,
        "text": f"{of.name} {of.label or ''}".casefold(),
        "shown": shown,
        "role": role,
        "proposed": proposed,
    }


def choose(bench: Workbench, form: Form) -> str:
    """Give each column the role that was chosen; others may have changed the rest."""
    roles: dict[str, str | None] = {}
    for position, name in enumerate(bench.names):
        if f"role-{position}" in form.fields:
            role = form.text(f"role-{position}") or None
            if role not in (*ROLES, None):
                raise ValueError(f"{role!r} is not a role")
            # An old page takes nothing back that others chose meanwhile.
            shown = form.fields.get(f"was-{position}")
            if shown != (role or "",) and role != bench.role_of(name):
                roles[name] = role
    words = [
        said("columns", "taken", column=name)
        if role is None
        else said("columns", "changed", column=name, role=said("roles", role))
        for name, role in roles.items()
    ]
    return bench.set_roles(roles, " ".join(words))


def accept(bench: Workbench, _: Form) -> str:
    """Give all columns without a role the role that they seem to have."""
    description = bench.description()
    if description is None:
        raise RefusedError(said("columns", "reading"))
    undecided = bench.undecided
    proposed: dict[str, str | None] = {
        str(column.name): column.proposed.role
        for column in description.columns
        if column.proposed.role in ROLES
    }
    left = [role for name, role in proposed.items() if name in undecided]
    taken = {bench.role_of(name) for name in bench.names}
    # Roles of one column that several seem to have are left to the reader.
    rival = [x for x in COLUMN_ROLES if left.count(x) > 1 or (x in left and x in taken)]
    roles: dict[str, str | None] = {
        name: role
        for name, role in proposed.items()
        if name in undecided and role not in rival
    }
    words = said("columns", "accepted", n=len(roles))
    for role in rival:
        words += " " + said("columns", "rivals", role=said("roles", role))
    return bench.set_roles(roles, words)


def give(bench: Workbench, form: Form) -> str:
    """Give the columns that are ticked the role of a form."""
    names = [bench.column(position) for position in form.all("column")]
    role = form.text("role")
    if not names or not role:
        raise RefusedError(said("columns", "nothing_chosen"))
    if role not in FOR_MANY:
        raise ValueError(f"{role!r} is not a role for several columns")
    words = said("columns", "given", n=len(names), role=said("roles", role))
    return bench.set_roles(dict.fromkeys(names, role), words)


PAGE = Page("columns", view, {"roles": choose, "accept": accept, "give": give})
