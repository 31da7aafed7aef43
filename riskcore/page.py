"""The public name of `riskcore.report.page`."""

from __future__ import annotations

from riskcore.report.page import (
    page,
    protection_page,
    public_page,
    public_protection_page,
    recoding_facts,
    write_page,
)

__all__ = [
    "page",
    "protection_page",
    "public_page",
    "public_protection_page",
    "recoding_facts",
    "write_page",
]
