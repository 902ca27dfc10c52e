"""Serves a small platform on a real socket: `python -m tests.cli.small_server` prints its origin. KEY and NEXT_KEY are Mia's."""

from __future__ import annotations

import asyncio

from octavo.server.serve import serve
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Clock, small_context

KEY, NEXT_KEY = "key-of-mia-0123456789", "next-key-of-mia-0123456789"
KEY_OF_JUN = "key-of-jun-0123456789"


def main() -> None:
    context = small_context(Clock())
    for key, person in ((KEY, "mia"), (NEXT_KEY, "mia"), (KEY_OF_JUN, "jun")):
        context.store.add_key(key, person)
    platform = Platform(context)
    asyncio.run(serve(platform, 0, lambda origin: print(origin, flush=True)))
    platform.close()
    context.store.close()


if __name__ == "__main__":
    main()
