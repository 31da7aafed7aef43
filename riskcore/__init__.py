"""Re-identification risk of survey microdata, numerically rigorous.

Names are loaded when first used; see ``help(riskcore.individual_risk)``,
``help(riskcore.assess)`` and the README.
"""

from __future__ import annotations

from importlib import import_module

from riskcore.common.late import homes_of as _homes_of
from riskcore.common.late import late as _late
from riskcore.common.results import reported_by as _reported_by
from riskcore.common.version import __version__ as __version__

_HOMES = _homes_of(__file__)
__all__ = [*_HOMES]
__getattr__, __dir__ = _late(globals(), _HOMES)

# Results stand below the reports that they show themselves by, and do not know them.
_reported_by(lambda: import_module("riskcore.report.results"))
