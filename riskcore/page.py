"""The public names of `riskcore.report.page` and `riskcore.report.utility_page`."""

from __future__ import annotations

from riskcore.report.audit_page import public_audit_page
from riskcore.report.page import (
    page,
    protection_page,
    protection_pages,
    public_page,
    public_protection_page,
    recoding_facts,
    write_page,
)
from riskcore.report.utility_page import comparison_page, trials_page

__all__ = [
    "comparison_page",
    "page",
    "protection_page",
    "protection_pages",
    "public_audit_page",
    "public_page",
    "public_protection_page",
    "recoding_facts",
    "trials_page",
    "write_page",
]
