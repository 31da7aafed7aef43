"""Re-identification risk of survey microdata, numerically rigorous.

Names are loaded when first used; see ``help(riskcore.individual_risk)``,
``help(riskcore.assess)`` and the README.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from riskcore.common.results import reported_by as _reported_by
from riskcore.common.version import __version__ as __version__


def _homes() -> dict[str, str]:
    """Return the module of each public name, from ``__init__.pyi``.

    Type checkers read the same file. Each of its lines is ``from HOME import NAME as
    NAME``.
    """
    listed = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    words = [line.split() for line in listed.splitlines() if line.startswith("from ")]
    return {name: home for _, home, _, name, *_ in words if name != "__version__"}


_HOMES = _homes()
__all__ = [*_HOMES]

# Results stand below the reports that they show themselves by, and do not know them.
_reported_by(lambda: import_module("riskcore.report.results"))


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'riskcore' has no attribute {name!r}")
    home = _HOMES[name]
    if home == __name__:
        return import_module(f"{home}.{name}")
    globals()[name] = getattr(import_module(home), name)
    return globals()[name]


def __dir__() -> list[str]:
    special = [name for name in globals() if name.startswith("__")]
    return sorted([*special, *__all__])
