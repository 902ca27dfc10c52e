"""Take the pictures of the README and of the gallery: the real app on the demo, with a stopped clock.

    .venv/bin/python screenshots/take.py [NAME ...]

Writes `NAME-dark.svg` and `NAME-light.svg` beside this file. Nothing leaves the machine, and the same screens give the
same files.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

# The tests are found only now.
from octavo.client.origin import DEFAULT_ORIGIN  # noqa: E402
from octavo.server.demo.library import build  # noqa: E402
from octavo.server.rest import RequestContext  # noqa: E402
from octavo.server.store import Store  # noqa: E402
from screenshots.svg import picture  # noqa: E402
from tests.journeys.stage import Run, Stage  # noqa: E402

SIZE = (120, 36)
Scene = Callable[[Run], Awaitable[None]]


async def content(run: Run) -> None:
    """A page with its tree, and the threads beside it."""
    await run.press("/", *"surge alerts", "enter", "escape", "enter")
    await run.see("Surge alerts", "THREADS", "Noor Haddad", "Quality flags")


async def change_request(run: Run) -> None:
    """The diff of a changed page, with a thread in it."""
    await run.press("3")
    await run.see("Open 7")
    await run.press("/", *"refused", "enter")
    await run.see("1 of ")
    await run.press("enter")
    await run.see("┊ ● Yuki Tanabe", "+7")


async def comments(run: Run) -> None:
    """The threads of a space, and one of them in full."""
    await run.press("4")
    await run.see("Open")


async def inbox(run: Run) -> None:
    """The rows that need an action, and the reason of each."""
    await run.press("1")
    await run.see("REVIEW REQUESTED")


async def merge(run: Run) -> None:
    """The dialog that shows the effects of a merge before the merge."""
    await change_request(run)
    await run.press("escape", "m")
    await run.see("Merge")


async def conflicts(run: Run) -> None:
    """A conflict, with the texts of both sides."""
    await run.press("3")
    await run.see("Open 7")
    await run.press("/", *"retry", "enter", "enter")
    await run.see("67 h 11 min")
    await run.press("U")
    await run.see("may conflict: Retries")
    await run.press("y")
    await run.see("conflict 1 of 1", "0 of 1 resolved")


async def search(run: Run) -> None:
    """The pages of all spaces that contain the typed words."""
    await run.press("s", *"water level")
    await run.see("result")
    await run.gone("so far")


async def sign_in(run: Run) -> None:
    """The first start."""
    await run.see("demo")


SCENES: dict[str, Scene] = {
    scene.__name__.replace("_", "-"): scene
    for scene in (sign_in, content, change_request, comments, conflicts, inbox, merge, search)
}


async def take(names: list[str], target: Path) -> None:
    """Write the pictures of the scenes `names` to the folder `target`, each in a dark and in a light theme."""
    with tempfile.TemporaryDirectory(prefix="octavo-pictures-") as folder:
        library = Path(folder, "library.db")
        store = Store(library)
        build(RequestContext(store))
        store.set_setting("library", "demo")
        store.close()
        for name in names:
            for theme in ("dark", "light"):
                await _take(_machine(Path(folder, f"{name}-{theme}"), library), name, theme, target)


def _machine(folder: Path, library: Path) -> Stage:
    folder.mkdir()
    return Stage(folder, library)


async def _take(stage: Stage, name: str, theme: str, target: Path) -> None:
    async with AsyncExitStack() as opened:
        if name == "sign-in":
            platform = await opened.enter_async_context(stage.library())
            settings = stage.settings(theme=theme)
            run = await opened.enter_async_context(
                stage.show(settings, None, platform, size=SIZE, origin=DEFAULT_ORIGIN)
            )
        else:
            run = await opened.enter_async_context(stage.play(size=SIZE, theme=theme))
        await SCENES[name](run)
        colors = run.app.theme_variables
        strips = run.app.screen._compositor.render_strips(run.app.size)
        title = f"Octavo: {(SCENES[name].__doc__ or name).rstrip('.')}"
        drawn = picture(strips, title, color=colors["foreground"], ground=colors["background"])
        (target / f"{name}-{theme}.svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(take(sys.argv[1:] or list(SCENES), HERE))
