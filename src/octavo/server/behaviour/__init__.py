"""What operations with a mind of their own do, one module per subject."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

SUBJECTS = (
    "system",
    "users",
    "organizations",
    "collections",
    "spaces",
    "comments",
    "search",
    "revisions",
    "content",
    "change_requests",
    "reviews",
    "editing",
)
"""The modules of this package, whose handlers register when they are imported."""


def load() -> None:
    """Let every subject register its handlers."""
    for subject in SUBJECTS:
        if find_spec(f"{__name__}.{subject}"):
            import_module(f"{__name__}.{subject}")
