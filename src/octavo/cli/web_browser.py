"""Opens the URL of a resource in the web browser, for `--web`."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from octavo.cli.standard_streams import USAGE, Failure
from octavo.tui.terminal.external_editor import find_browser

if TYPE_CHECKING:
    from octavo.tui.core.session import Session


def add_web_option(command: argparse.ArgumentParser) -> None:
    command.add_argument("--web", action="store_true", help="open it in the web browser instead")


def check_web_option(options: argparse.Namespace) -> None:
    """Raise Failure if `--web` is used with an option for JSON."""
    if options.web and any(getattr(options, name, None) is not None for name in ("json", "ndjson", "jq")):
        raise Failure("Could not open the browser: use --web without --json, --ndjson and --jq.", USAGE)


def open_in_browser(session: Session, url: str | None) -> None:
    """Open a URL in the browser. Raises Failure if there is no URL or no browser."""
    if session.is_embedded or not url:
        causes = {"demo": "the demo is not on the web", "folder": "a folder is not on the web"}
        cause = causes.get(session.kind, "the server has no link for it")
        raise Failure(f"Could not open the browser: {cause}.")
    start_browser(url)


def start_browser(url: str) -> None:
    """Open a URL in the browser. Raises Failure if there is no browser."""
    browser = find_browser(url, os.environ)
    if isinstance(browser, str):
        raise Failure(f"Could not open {url}: {browser}")
    try:
        browser.start(url, os.environ)
    except (OSError, ValueError) as error:
        raise Failure(f"Could not start {browser.name}: {error}") from error
