"""Treatments: values of a column become others, by a rule in words."""
