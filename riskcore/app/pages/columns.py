"""The columns of the file and their roles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from riskcore.app.forms import Form
from riskcore.app.pages.page import Page
from riskcore.app.session import RefusedError
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
# These roles only one column has.
ONE_COLUMN = ("weight", "household", "cluster")
# These can be given to all columns at once that nothing is proposed for.
FOR_THE_REST = ("sensitive", "harmless", "identifier", "key")


def view(bench: Workbench, _: Form) -> Mapping[str, Any]:
    """Return the columns with their roles."""
    description = bench.description()
    if description is None:
        return {"rows": None, "names": bench.names}
    rows = [_row(bench, column) for column in description.columns]
    return {
        "records": description.records,
        "rows": rows,
        "roles": ROLES,
        "proposed": any(row["role"] is None and row["proposed"] for row in rows),
        "rest": sum(row["role"] is None and not row["proposed"] for row in rows),
        "rest_roles": FOR_THE_REST,
        "doubts": bench.doubts(),
    }


def _row(bench: Workbench, column: DescribedColumn) -> dict[str, Any]:
    """Return what the page shows of a column."""
    of = column.profile
    return {
        "name": str(of.name),
        "label": of.label,
        "role": bench.role_of(str(of.name)),
        "proposed": column.proposed.role if column.proposed.role in ROLES else None,
        "type": of.type,
        "distinct": of.distinct,
        "missing": of.missing,
        "own": of.single,
        "smallest": of.smallest,
        "largest": of.largest,
        "reason": column.reason,
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
    words = " ".join(_words(name, role) for name, role in roles.items())
    return bench.set_roles(roles, words)


def _words(name: str, role: str | None) -> str:
    """Return a change of a role in words."""
    if role is None:
        return said("columns", "taken", column=name)
    return said("columns", "changed", column=name, role=said("roles", role))


def accept(bench: Workbench, _: Form) -> str:
    """Give all columns without a role the role that they seem to have."""
    description = bench.description()
    if description is None:
        raise RefusedError(said("columns", "reading"))
    undecided = bench.undecided
    proposed = {
        str(column.name): column.proposed.role
        for column in description.columns
        if column.proposed.role in ROLES
    }
    rival = _rivals(bench, proposed)
    roles: dict[str, str | None] = {
        name: role
        for name, role in proposed.items()
        if name in undecided and role not in rival
    }
    words = said("columns", "accepted", n=len(roles))
    for role in rival:
        words += " " + said("columns", "rivals", role=said("roles", role))
    return bench.set_roles(roles, words)


def _rivals(bench: Workbench, proposed: Mapping[str, str | None]) -> list[str]:
    """Return roles of one column that several columns without a role seem to have."""
    undecided = bench.undecided
    left = [role for name, role in proposed.items() if name in undecided]
    taken = {role for name in bench.names if (role := bench.role_of(name))}
    return [x for x in ONE_COLUMN if left.count(x) > 1 or (x in left and x in taken)]


def rest(bench: Workbench, form: Form) -> str:
    """Give all columns without a role and without a proposal the role of a form."""
    role, description = form.text("role"), bench.description()
    assert description is not None
    if role not in FOR_THE_REST:
        raise ValueError(f"{role!r} is not a role for several columns")
    undecided = bench.undecided
    roles: dict[str, str | None] = {
        str(column.name): role
        for column in description.columns
        if str(column.name) in undecided and column.proposed.role not in ROLES
    }
    words = said("columns", "rest_given", n=len(roles), role=said("roles", role))
    return bench.set_roles(roles, words)


PAGE = Page("columns", view, {"roles": choose, "accept": accept, "rest": rest})
