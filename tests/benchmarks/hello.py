"""The smallest Textual app: what anything drawn with Textual costs before it does anything of its own."""

from textual.app import App, ComposeResult
from textual.widgets import Static


class Hello(App[None]):
    def compose(self) -> ComposeResult:
        yield Static("HELLO, TERMINAL")


if __name__ == "__main__":
    Hello().run()
