"""What a page is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from riskcore.app.forms import Form
from riskcore.app.workbench import Workbench

# The values of a template.
View: TypeAlias = Callable[[Workbench, Form], Mapping[str, Any]]
# It returns what was done, in words.
Action: TypeAlias = Callable[[Workbench, Form], str]


@dataclass(frozen=True, slots=True)
class Page:
    """A page.

    Attributes
    ----------
    name : str
        In the address, in `texts.toml`, and of the template.
    view : function
        Of the workbench and the fields of the address; returns values of the template.
    actions : mapping of str to function
        What a form of the page can do, by name: the form is sent to ``/PAGE/ACTION``.
    parts : mapping of str to function
        Parts of the page that are fetched by themselves, from ``/PAGE/PART``, with a
        template ``PAGE_PART.html``.
    """

    name: str
    view: View
    actions: Mapping[str, Action] = field(default_factory=dict)
    parts: Mapping[str, View] = field(default_factory=dict)
