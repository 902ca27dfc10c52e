"""`octavo serve`: serves the embedded platform over HTTP, only to this machine."""

from __future__ import annotations

import argparse
import asyncio
import shlex
from dataclasses import replace
from pathlib import Path

from octavo.cli.access import read_settings
from octavo.cli.platform_folders import demo_folder, no_folder_message, platform_folder_of
from octavo.cli.platforms import open_demo_platform, open_folder_platform
from octavo.cli.sessions import login_name
from octavo.cli.standard_streams import USAGE, Failure, tell, why_read_only, write_out
from octavo.server.serve import serve


def run(options: argparse.Namespace) -> int:
    settings = read_settings()
    to_load: Path | None = options.load
    if to_load is not None and not to_load.is_dir():
        raise Failure(no_folder_message(to_load))
    if to_load is not None and options.role:
        raise Failure("--as works only with the demo, so it cannot be combined with --load.", USAGE)
    demo = demo_folder(settings, large=options.large, role=options.role)
    start_over_hint = "Choose another folder with --data, or delete this folder to start over."
    folder = (
        replace(demo, path=options.data, start_over=start_over_hint)
        if options.data
        else platform_folder_of(settings, to_load)
        if to_load
        else demo
    )
    problems: list[str] = []
    try:
        unlock = folder.lock_shared()
        platform = (
            open_folder_platform(folder, to_load, login_name(), problems)
            if to_load is not None
            else open_demo_platform(folder, large=options.large)
        )
    except OSError as error:
        raise Failure(folder.why_not_opened(error)) from error

    tell(*problems)
    if why_read_only(options):
        platform.read_only_reason = (
            "This server is read-only. To make changes, start it without --read-only and OCTAVO_READ_ONLY."
        )
    platform.context = replace(platform.context, allows_private_imports=options.allow_private_imports)

    def announce(origin: str) -> None:
        key_file = shlex.quote(str(folder.key_file))
        write_out(
            f"Serving on {origin}\nThe API key is in {folder.key_file}\n"
            f'To connect, run: OCTAVO_API_KEY="$(cat {key_file})" octavo --base-url {origin}\n'
        )

    try:
        asyncio.run(serve(platform, options.port, announce))
    except OSError as error:
        raise Failure(
            f"Could not listen on port {options.port}: {error.strerror}. Choose another port with --port."
        ) from error
    finally:
        platform.close()
        platform.context.store.close()
        unlock()
    return 0
