"""`octavo serve`: the embedded platform over HTTP, only on this machine."""

from __future__ import annotations

import argparse
import asyncio
import shlex
from dataclasses import replace
from pathlib import Path

from octavo.cli.arguments import USAGE, Failure, read_settings, tell, write_out
from octavo.cli.platforms import build_demo, build_folder, demo_place, folder_place
from octavo.cli.sessions import person


def run(options: argparse.Namespace) -> int:
    from octavo.server.serve import serve

    settings = read_settings()
    load: Path | None = options.load
    if load is not None and not load.is_dir():
        raise Failure(f"Could not open {load}: it is not a folder. Use a folder with Markdown files.")
    if load is not None and options.role:
        raise Failure("--as works only with the demo. Use --as or --load, not both.", USAGE)
    demo = demo_place(settings, large=options.large, role=options.role)
    named = "Choose another folder with --data, or delete this folder to start over."
    place = (
        replace(demo, folder=options.data, start_over=named)
        if options.data
        else folder_place(settings, load)
        if load
        else demo
    )
    left_out: list[str] = []
    try:
        let_go = place.hold()
        platform = build_folder(place, load, person(), left_out) if load else build_demo(place, large=options.large)
    except OSError as error:
        raise Failure(place.why_not(error)) from error

    tell(*left_out)
    if options.read_only:
        platform.read_only = (
            "This server is read-only (octavo serve --read-only). To make changes, start it without --read-only."
        )
    platform.world = replace(platform.world, private_imports=options.allow_private_imports)

    def announce(origin: str) -> None:
        key_file = shlex.quote(str(place.key_file))
        write_out(
            f"Serving on {origin}\nThe API key is in {place.key_file}\n"
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
        platform.world.store.close()
        let_go()
    return 0
