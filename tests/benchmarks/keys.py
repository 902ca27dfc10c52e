"""Keys in the demo: the time from a key to its frame, and the processor time until then."""

from __future__ import annotations

from tests.benchmarks.installation import Installation, key_times

LETTERS = [letter.encode() for letter in "harbour tide"]
VIEWS = (b"3", b"4", b"1", b"2")


def prepare(installation: Installation) -> None:
    """Open the demo once: its next start shows a page."""
    installation.prepare_demo()


def measure(installation: Installation) -> dict[str, float]:
    """Press keys in the page tree, in a page, in lists and in dialogs."""
    figures: dict[str, float] = {}
    count = installation.count
    with installation.demo() as demo:
        figures |= key_times("j in the page tree", demo, [b"j"] * count)
        demo.press(b"\t")
        figures |= key_times("j in a page", demo, [b"j"] * count)
        figures |= key_times("space in a page", demo, [b" ", b"g"] * (count // 2))
        demo.press(b"g")
        for view in VIEWS * 2:  # The first switch to a view imports and builds the view.
            demo.press(view)
            demo.settle(0.6)
        figures |= key_times("switch to another view", demo, [b"3", b"2"] * (count // 2))
        demo.press(b"4")
        demo.settle(0.6)
        figures |= key_times("j in the list of threads", demo, [b"j"] * count)
        demo.press(b"/")
        figures |= key_times("letter in a filter", demo, LETTERS[:count])
        demo.press(b"\r")
        demo.press(b"2")
        figures |= key_times("open or close the help", demo, [b"?", b"\x1b"] * (count // 2))
    return figures
