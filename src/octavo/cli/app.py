"""Opening the app: the session the command line asks for, and the screen it begins with."""

from __future__ import annotations

import argparse
import os
import sys

from octavo import settings as settings_module
from octavo.cli.arguments import FAILED, NOT_SIGNED_IN, Failure


def run(options: argparse.Namespace) -> int:
    """Open the app and stay until it is left. Raises Failure."""
    # Nothing made while the app is put together is garbage: looking for some only costs time before the first paint.
    import gc

    gc.disable()
    settings = settings_module.read(os.environ)
    if not sys.stdout.isatty():
        raise Failure("the app needs a terminal. In a script, use: octavo api NAME", FAILED)

    from octavo.cli import sessions
    from octavo.client.origin import DEFAULT
    from octavo.tui.app import Octavo

    session, origin = None, DEFAULT
    try:
        if options.command == "demo":
            session = sessions.demo(
                settings, reset=options.reset, latency=options.latency / 1000, fail=options.fail / 100
            )
        elif options.command == "open":
            session = sessions.folder(settings, options.folder)
        else:
            from octavo.cli.access import resolve

            access, key = resolve(settings, options)
            origin = access.origin
            if access.source in ("env", "keyring", "file"):
                session = sessions.server(settings, access.origin, access.name, key)
            elif access.source == "session" and access.profile is not None:
                raise Failure(
                    f"the key of {access.profile.name} was kept for one session only. Sign in again: octavo auth login",
                    NOT_SIGNED_IN,
                )
    except (ValueError, OSError) as error:
        raise Failure(str(error), FAILED) from error

    app = Octavo(settings, sessions.Ways(settings, origin, os.environ), session)
    gc.freeze()
    gc.enable()
    app.run()
    return app.return_code or 0
