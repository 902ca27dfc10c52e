"""The screen that the app opens first, if the command line names a REF or a URL."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from octavo.api.operation import ChangeRequestRef
from octavo.cli.item_rows import FoundThread, find_named
from octavo.cli.refs import References, Target
from octavo.cli.standard_streams import Failure
from octavo.tui.core.routes import Route, ToChangeRequest, ToPage, ToThread

if TYPE_CHECKING:
    from octavo.tui.core.session import Session


def route_finder(options: argparse.Namespace, text: str) -> Callable[[Session], Awaitable[Route]]:
    """Return a function that finds the screen for a REF or URL. It raises ApiError, or ValueError with a message."""

    async def find(session: Session) -> Route:
        references = References(session, options)
        try:
            return await _route_of(references, text)
        except Failure as failure:
            raise ValueError(str(failure)) from failure

    return find


async def _route_of(references: References, text: str) -> Route:
    item = await find_named(references, text)
    return _thread_route(item) if isinstance(item, FoundThread) else _target_route(item)


def _target_route(target: Target) -> Route:
    if target.change_request is not None:
        return ToChangeRequest(target.change_request.ref(target.space.ref), target.change_request)
    return ToPage(target.space.id, target.page.id if target.page is not None else None, target.block)


def _thread_route(thread: FoundThread) -> Route:
    target, comment = thread.target, thread.comment
    if isinstance(target.at, ChangeRequestRef):
        return ToChangeRequest(target.at, target.change_request, comment)
    page, node = comment.target.page, comment.target.node
    return ToThread(target.at, comment, page.id if page else None, node.id if node else "", "comments")
