"""What a page is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from riskcore.app.forms import Form
from riskcore.app.workbench import Workbench

if TYPE_CHECKING:
    from starlette.responses import Response

# The values of a template.
View: TypeAlias = Callable[[Workbench, Form], Mapping[str, Any]]
# It returns what was done, in words.
Action: TypeAlias = Callable[[Workbench, Form], str]

# It returns what is sent as it is, such as a file.
Answer: TypeAlias = "Callable[[Workbench, Form], Response]"
Does = TypeVar("Does", bound=Callable[..., Any])


def named(*functions: Does) -> dict[str, Does]:
    """Return actions, parts or answers by their names."""
    return {function.__name__: function for function in functions}


@dataclass(frozen=True, slots=True)
class Page:
    """A page, its actions, and the parts of it that are fetched by themselves.

    Its name stands in the address, in the texts, and in the names of its templates;
    ``/PAGE/NAME`` is the address of an action, a part and an answer.
    """

    name: str
    view: View
    actions: Mapping[str, Action] = field(default_factory=dict)
    parts: Mapping[str, View] = field(default_factory=dict)
    answers: Mapping[str, Answer] = field(default_factory=dict)
