from __future__ import annotations

import asyncio
import contextlib
import os
import re
from difflib import unified_diff
from pathlib import Path

import pytest

from tests.journeys.stage import Run, Stage
from tests.journeys.tours import TOURS, ambiguous_keys, go

PICTURES = Path(__file__).parent / "pictures"
SIZES = [(80, 24), (120, 36), (200, 60)]
ALSO_NARROW = (("changes", 80),)
"""A view that looks different in a narrow terminal. Every run checks this view there."""

_COUNT = re.compile(r"Comments \d\d")


def without_count(text: str) -> str:
    """Return `text` without the number of comments, because it depends on the order in which lists load."""
    return _COUNT.sub("Comments **", text)


def differs(name: str, text: str) -> str:
    """Return the difference between `text` and the approved picture. With UPDATE_PICTURES=1, approve `text`."""
    path = PICTURES / f"{name}.txt"
    if os.environ.get("UPDATE_PICTURES") == "1":
        path.write_text(text, encoding="utf-8")
    if not path.exists():
        return f"There is no picture {name}. UPDATE_PICTURES=1 takes it; then look at it.\n{text}"
    approved, text = without_count(path.read_text(encoding="utf-8")), without_count(text)
    changed = "\n".join(unified_diff(approved.splitlines(), text.splitlines(), "approved", "shown", lineterm="", n=2))
    return f"{name} looks different:\n{changed}" if changed else ""


async def wait_for_picture(run: Run, name: str) -> None:
    """Wait up to 3 s until the screen equals the picture, because a scroll bar or a preview is painted last."""
    path = PICTURES / f"{name}.txt"
    if not path.exists():
        return
    approved = without_count(path.read_text(encoding="utf-8"))
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(3):
            while approved != without_count(run.text):
                await run.pilot.pause(0.05)


@pytest.mark.before_release("changes-80x24", "sites-120x36", "space-120x36", "talking-120x36")
@pytest.mark.parametrize(
    ("tour", "size"),
    [
        pytest.param(tour, size, marks=[] if size[0] == 120 or (tour, size[0]) in ALSO_NARROW else [pytest.mark.long])
        for tour in TOURS
        for size in SIZES
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value[0]}x{value[1]}",
)
async def test_views_and_dialogs_match_the_approved_pictures(stage: Stage, tour: str, size: tuple[int, int]) -> None:
    wrong: list[str] = []
    start = tour if tour not in ("space", "talking") else "content"
    async with stage.play(start=start, size=size, in_order=True) as run:
        for stop in TOURS[tour]:
            await go(run, stop)
            assert ambiguous_keys(run) == [], stop.name
            name = f"{stop.name}-{size[0]}x{size[1]}"
            await wait_for_picture(run, name)
            wrong.append(differs(name, run.text))
    assert not any(wrong), "\n".join(filter(None, wrong))


@pytest.mark.before_release
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_sign_in_matches_the_approved_picture(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.library() as platform, stage.show(stage.settings(), None, platform, size=size) as run:
        await run.see("forget the API key when you quit")
        wrong = [differs(f"sign-in-{size[0]}x{size[1]}", run.text)]
        await run.type("gb_api_0123456789abcdefghij")
        wrong.append(differs(f"sign-in-typed-{size[0]}x{size[1]}", run.text))
    assert not any(wrong), "\n".join(filter(None, wrong))


@pytest.mark.long  # The number of threads depends on the order in which lists load.
async def test_ascii_mode_matches_the_approved_pictures(stage: Stage) -> None:
    wrong: list[str] = []

    async def check(name: str) -> None:
        await wait_for_picture(run, name)
        wrong.append(differs(name, run.text))

    async with stage.play(ascii=True) as run:
        await run.press("j", "j", "enter", "t", "enter")
        await run.see("1 of 2", "Elisa Moretti")
        await check("ascii-thread-120x36")
        await run.press("escape", "3", "/", *"refused", "enter", "enter")
        await run.see("0 of 2 viewed", "bad-time", "1! ", "+7")
        await check("ascii-change-request-120x36")
        await run.press("m")
        await run.see("checked just now")
        await check("ascii-merge-120x36")
        await run.press("escape", "1")
        await run.see("REVIEW REQUESTED")
        await check("ascii-inbox-120x36")
    assert not any(wrong), "\n".join(filter(None, wrong))
