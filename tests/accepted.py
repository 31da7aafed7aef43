"""The leaks that tests of other things accept."""

# For ``protect(accept=...)``: any column, and the order of the records.
ANY_LEAK = {"*": "a test"}
