"""`octavo open`: opens what a REF or a URL names, in the app or in the web browser."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from octavo.cli.session_choice import folder_named
from octavo.cli.standard_streams import USAGE, Failure
from octavo.lazy_import import lazy

if TYPE_CHECKING:
    from octavo.tui.core.session import Session

_run_app = lazy("octavo.cli.app:run")
# lazy: the API. Without a target, Octavo shows its first picture before it loads the API.
_parse_ref = lazy("octavo.cli.refs:parse_ref")
_references = lazy("octavo.cli.refs:References")
_run_connected = lazy("octavo.cli.connection:run_connected")
_open_url = lazy("octavo.cli.web_browser:open_in_browser")


def run(options: argparse.Namespace) -> int:
    if options.target and folder_named(options.target) is None and "://" not in options.target:
        _parse_ref(options.target)  # fails before the app is opened
    if options.web:
        return _open_in_browser(options)
    code: int = _run_app(options)
    return code


def _open_in_browser(options: argparse.Namespace) -> int:
    if not options.target or folder_named(options.target) is not None:
        raise Failure("Could not open the browser: --web needs a REF or a URL.", USAGE)

    async def work(session: Session) -> int:
        _open_url(session, (await _references(session, options).target(options.target)).url)
        return 0

    code: int = _run_connected(options, work, action="find what to open")
    return code
