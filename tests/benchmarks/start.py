"""Start and end of Octavo: the time until the first screen is there, the memory by then, and the time to quit.

The smallest Textual app shows what of this any Textual app takes.
"""

from __future__ import annotations

from tests.benchmarks.installation import CTRL_Q, PAGE, TREE, Installation, times
from tests.benchmarks.terminal import Terminal, peak_memory

SMALLEST_APP = """
from textual.app import App
from textual.widgets import Static

class Smallest(App):
    def compose(self):
        yield Static("HELLO, TERMINAL")

Smallest().run()
"""


def prepare(installation: Installation) -> None:
    """Open the demo once: only a first start creates the library."""
    installation.prepare_demo()


def measure(installation: Installation) -> dict[str, float]:
    """Start the programs one after the other."""
    figures: dict[str, float] = {}
    with installation.octavo("--version") as version:
        figures |= times("octavo --version", version.wait_for("octavo "))
    with installation.run("-c", SMALLEST_APP) as app:
        figures |= times("smallest Textual app", app.wait_for("HELLO, TERMINAL"))
        figures |= _end("smallest Textual app", app)
    installation.forget_first_picture()
    with installation.octavo("demo") as demo:
        figures |= times("demo without picture", demo.wait_for(PAGE, TREE))
        figures |= _end("demo", demo)
    with installation.octavo("demo") as demo:
        figures |= times("demo with picture", demo.wait_for(PAGE, TREE))
        demo.settle(1.0)
        demo.quit(CTRL_Q)
    return figures


def _end(name: str, app: Terminal) -> dict[str, float]:
    """Quit an app once it has started completely."""
    app.settle(1.0)
    memory = peak_memory(app.pid)
    _, gone = app.quit(CTRL_Q)
    return {f"{name}, MiB": memory, f"{name}, quit, ms": gone * 1000}
