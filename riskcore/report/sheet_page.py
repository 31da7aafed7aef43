"""The page of a result that is facts and tables."""

from __future__ import annotations

from riskcore.common.sheet import Sheet
from riskcore.report.provenance import Provenance
from riskcore.report.templating import need_jinja, render


def sheet_page(
    sheet: Sheet, *, title: str, provenance: Provenance | None = None
) -> str:
    """Return the figures of a result as HTML, for internal use.

    Parameters
    ----------
    sheet : Sheet
    title : str
        Title of the page.
    provenance : Provenance, optional
        As in `riskcore.page.page`.

    Returns
    -------
    str
        A page that needs no network. The same arguments give the same text.

    Raises
    ------
    ImportError
        If Jinja2 is not installed (``pip install jinja2``).

    Examples
    --------
    >>> sheet = Sheet("Cells", [("records", "40")], [], verdict="All is well.")
    >>> '<p class="verdict">All is well.</p>' in sheet_page(sheet, title="Survey")
    True
    """
    need_jinja()
    made = provenance or Provenance()
    return render(
        "sheet.html",
        title=title,
        verdict=sheet.verdict,
        sheet=sheet,
        facts=list(made.facts()),
        command=made.shown_command,
    )
