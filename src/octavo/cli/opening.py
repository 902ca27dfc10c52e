"""`octavo open`: opens what a REF or a URL names, in the app or in the web browser."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from octavo.cli.app import folder_named
from octavo.cli.arguments import USAGE, Failure

if TYPE_CHECKING:
    from octavo.cli.refs import References, Target
    from octavo.tui.core.routes import Route
    from octavo.tui.core.session import Session


def run(options: argparse.Namespace) -> int:
    if options.target and folder_named(options.target) is None:
        from octavo.cli.refs import parse_ref  # lazy: the API, which `octavo` alone loads after its first picture

        if "://" not in options.target:
            parse_ref(options.target)  # fails before the app is opened
    if options.web:
        return _open_in_browser(options)
    from octavo.cli import app  # lazy: only if the app is opened

    return app.run(options)


def _open_in_browser(options: argparse.Namespace) -> int:
    from octavo.cli.connection import run_connected  # lazy: for --web only
    from octavo.cli.refs import References
    from octavo.cli.web_browser import open_in_browser

    if not options.target or folder_named(options.target) is not None:
        raise Failure("Could not open the browser: --web needs a REF or a URL.", USAGE)

    async def work(session: Session) -> int:
        open_in_browser(session, (await References(session, options).target(options.target)).url)
        return 0

    return run_connected(options, work, doing="find what to open")


def route_finder(options: argparse.Namespace, text: str) -> Callable[[Session], Awaitable[Route]]:
    """Return a function that finds the screen for a REF or URL. It raises ApiError, or ValueError with a message."""
    from octavo.cli.refs import References  # lazy: the API, after the first picture

    async def find(session: Session) -> Route:
        references = References(session, options)
        try:
            return await _route_of(references, text)
        except Failure as failure:
            raise ValueError(str(failure)) from failure

    return find


async def _route_of(references: References, text: str) -> Route:
    from octavo.cli.threads import find_thread  # lazy: only with a REF

    try:
        target = await references.target(text)
    except Failure:
        if "/" in text or "#" in text or ":" in text:
            raise
        found = await find_thread(references, text)  # an id alone may name a thread
        return await _thread_route(references, found.target, found.comment.id)
    if target.block and target.page is None:
        return await _thread_route(references, target, target.block)
    return _target_route(target)


def _target_route(target: Target) -> Route:
    from octavo.tui.core.routes import ToChangeRequest, ToPage  # lazy: as above

    if target.change_request is not None:
        return ToChangeRequest(target.change_request.ref(target.space.ref), target.change_request)
    return ToPage(target.space.id, target.page.id if target.page is not None else None, target.block)


async def _thread_route(references: References, target: Target, thread_id: str) -> Route:
    from octavo.api.places import ChangeRequestRef  # lazy: as above
    from octavo.cli.threads import thread_at
    from octavo.tui.core.routes import ToChangeRequest, ToThread

    comment = (await thread_at(references, target, thread_id)).comment
    if isinstance(target.at, ChangeRequestRef):
        return ToChangeRequest(target.at, target.change_request, comment)
    page, node = comment.target.page, comment.target.node
    return ToThread(target.at, comment, page.id if page else None, node.id if node else "", "comments")
