"""Shared helpers: checks of arguments, warnings, HTML."""
