"""What operations with a mind of their own do, one module per subject."""

from __future__ import annotations

from importlib import import_module

SUBJECTS = (
    "system",
    "users",
    "organizations",
    "collections",
    "spaces",
    "comments",
    "search",
    "content",
    "editing",
    "change_requests",
    "reviews",
)
"""The modules of this package that answer operations. What answers is registered when they are imported."""


def load() -> None:
    """Let every subject register what answers its operations. A platform does so when it is built."""
    for subject in SUBJECTS:
        import_module(f"{__name__}.{subject}")
