"""The version, which stands nowhere else in the package."""

__version__ = "0.1.0"
