"""The start page: which file is opened, and how it is read."""

from __future__ import annotations

from typing import Any

from riskcore.app.desk import Desk
from riskcore.app.folders import LARGEST
from riskcore.app.forms import Form
from riskcore.app.pages.reading import fields_of, reading_of, values
from riskcore.app.texts import said
from riskcore.data.files.reading import Reading


def view(desk: Desk, form: Form, refused: tuple[Form, str] | None) -> dict[str, Any]:
    """Return the files that can be opened; one that was refused with its reading."""
    asked, error = refused or (Form(), "")
    fields = fields_of(Reading()) | {name: asked.text(name) for name in asked.fields}
    return {
        "listing": desk.folders.listing(form.text("folder") or "."),
        "sent": desk.folders.sent(),
        "recent": desk.folders.recent(),
        "can_send": desk.folders.uploads is not None,
        "largest": LARGEST,
        "refused_file": asked.text("file"),
        "error": error,
        **values(fields),
    }


def open_file(desk: Desk, form: Form) -> str:
    """Open the file that a form names, read as the form says."""
    how = reading_of(form, desk.folders.path) if form.has("reads") else None
    desk.open(desk.folders.path(form.text("file")), how, new=form.has("new"))
    return ""


def read(desk: Desk, form: Form) -> str:
    """Read the file that is open in another way."""
    return desk.read(reading_of(form, desk.folders.path), form.text("work"))


def demo(desk: Desk, _: Form) -> str:
    """Open a survey of nobody."""
    desk.demo()
    return said("start", "demo_made")


def remove(desk: Desk, form: Form) -> str:
    """Remove a file that was sent."""
    desk.remove(form.text("file"))
    return said("start", "removed")


ACTIONS = {"open": open_file, "read": read, "demo": demo, "remove": remove}
