"""The lists of a change request, asked in one way: who follows the same list shares its answer, also that of an earlier run."""

from __future__ import annotations

from octavo.api import comments, reviews
from octavo.api.places import ChangeRequestRef, Discussion
from octavo.data.organization_lists import MOST


def reviews_of(at: ChangeRequestRef) -> reviews.List:
    """What was said of a change request by those who reviewed it."""
    return reviews.List(at=at, format="markdown", limit=MOST)


def requested_of(at: ChangeRequestRef) -> reviews.ListRequested:
    """Who is asked to review it."""
    return reviews.ListRequested(at=at, limit=MOST)


def open_threads_of(at: Discussion) -> comments.List:
    """The threads of a change request, or of a space, that wait for somebody."""
    return comments.List(at=at, status="open", format="markdown", limit=MOST)
