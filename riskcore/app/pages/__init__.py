"""The pages of the app: what each shows, and what can be done there."""

from riskcore.app.pages import (
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
PAGES = (
    data.PAGE,
    columns.PAGE,
    risk.PAGE,
    recode.PAGE,
    treat.PAGE,
    protect.PAGE,
    leaks.PAGE,
    compare.PAGE,
    history.PAGE,
    export.PAGE,
)
