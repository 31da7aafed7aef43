"""The pages of the app: what each shows, and what can be done there."""

from riskcore.app.pages import (
    best,
    columns,
    compare,
    data,
    export,
    history,
    leaks,
    protect,
    recode,
    risk,
    treat,
)

# In the order of the work.
_STEPS = data, columns, risk, recode, treat, protect, leaks, compare, history, export
PAGES = tuple(page.PAGE for page in (*_STEPS, best))
