"""Octavo: read, review and merge documentation from the keyboard."""

__version__ = "0.1.0"
