"""The pages of the app: what each shows, and what can be done there."""

from riskcore.app.pages import columns, compare, export, history, recode, risk, treat

# In the order of the work.
PAGES = (
    columns.PAGE,
    risk.PAGE,
    recode.PAGE,
    treat.PAGE,
    compare.PAGE,
    history.PAGE,
    export.PAGE,
)
