"""Long pages: the time until a page is there, keys while it loads and afterwards, and the memory it takes.

`OCTAVO_CORPUS` may name a folder with `pages/*.md`. Then one of the pages consists of these.
"""

from __future__ import annotations

from tests.benchmarks.installation import CTRL_Q, Installation, key_times, times
from tests.benchmarks.terminal import Terminal, peak_memory, processor_time
from tests.benchmarks.texts import TITLE, long_block, made_page, real_page


def prepare(installation: Installation) -> None:
    """Write each page to a folder of its own, and open the folder once."""
    for name, text in _pages(installation.is_quick).items():
        folder = installation.home / name
        folder.mkdir(parents=True)
        (folder / "README.md").write_text(text, "utf-8")
        with _open(installation, name) as app:
            app.rest()
            app.quit(CTRL_Q)


def _pages(is_quick: bool) -> dict[str, str]:
    """Return the pages by name."""
    if is_quick:
        return {"3 KB": made_page(3000)}
    pages = {"190 KB": made_page(190_000), "1 MB": made_page(1_000_000), "one table": long_block("table")}
    pages |= {"one paragraph": long_block("paragraph"), "one stepper": long_block("stepper")}
    if text := real_page(190_000):
        pages["real, 190 KB"] = text
    return pages


def _open(installation: Installation, name: str) -> Terminal:
    return installation.octavo("open", str(installation.home / name))


def measure(installation: Installation) -> dict[str, float]:
    """Open each page, and press keys in it."""
    figures: dict[str, float] = {}
    for name in _pages(installation.is_quick):
        installation.forget_first_picture()
        with _open(installation, name) as app:
            figures |= times(f"{name}: first lines", app.wait_for(TITLE))
            app.press(b"\t")
            early = [app.press(b"j", quiet=0.05) for _ in range(installation.count)]
            figures[f"{name}: slowest j while it loads, ms"] = max(each.frame for each in early if each) * 1000
            app.rest()
            figures[f"{name}: completely loaded, CPU ms"] = processor_time(app.pid) * 1000
            figures |= key_times(f"{name}: j", app, [b"j"] * installation.count)
            figures |= key_times(f"{name}: G and g", app, [b"G", b"g"] * (installation.count // 2))
            figures[f"{name}, MiB"] = peak_memory(app.pid)
            app.quit(CTRL_Q)
    return figures
