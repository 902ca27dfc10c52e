"""`octavo open`: opens what a REF or a URL names, in the app or in the web browser."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from octavo.cli.failures import USAGE, Failure
from octavo.cli.session_choice import folder_named

if TYPE_CHECKING:
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

    return run_connected(options, work, action="find what to open")
