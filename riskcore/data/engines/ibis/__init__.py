"""The engine ibis."""
