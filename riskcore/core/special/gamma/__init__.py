"""Differences of log Gamma and its derivatives."""
