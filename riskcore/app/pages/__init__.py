"""The pages of the app: what each shows, and what can be done there."""

from riskcore.app.pages import columns, export, leaks, protect

# In the order of the work.
PAGES = (columns.PAGE, protect.PAGE, leaks.PAGE, export.PAGE)
