"""The pages of the app: what each shows, and what can be done there."""

from riskcore.app.pages import columns, compare, history

# In the order of the work.
PAGES = (columns.PAGE, compare.PAGE, history.PAGE)
