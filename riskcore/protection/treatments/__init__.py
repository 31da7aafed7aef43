"""Treatments: columns whose values change, and weights."""
