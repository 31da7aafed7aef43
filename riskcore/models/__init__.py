"""Superpopulation models: population uniques from the sizes of the sample's cells."""
