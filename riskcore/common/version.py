"""The version, defined only here in the package."""

__version__ = "0.1.0"
