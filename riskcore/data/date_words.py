"""The words of rules on dates, which commands know without NumPy."""

# What dates become, and the orders of day and month in text that must be told apart.
PARTS = ("year", "quarter", "month", "age")
ORDERS = ("dmy", "mdy")
