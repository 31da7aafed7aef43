"""Measures of a file: its risk, rules of release, diversity, uniques."""
