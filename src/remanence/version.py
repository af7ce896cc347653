"""The version of Remanence."""

__version__ = "0.1.0"
