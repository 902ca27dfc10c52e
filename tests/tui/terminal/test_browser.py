"""The browser gets the URL, and neither the API key nor the terminal."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from octavo.tui.terminal.external_editor import Browser, find_browser

ADDRESS = "https://status.saltmarsh.example/"
PROGRAM = """#!{python}
import json, os, sys
about = dict(
    arguments=sys.argv[1:], environment=dict(os.environ), leads=os.getsid(0) == os.getpid(),
    files=[os.readlink(f"/proc/self/fd/{{number}}") for number in (0, 1, 2)],
)
with open({told!r} + ".new", "w") as file:
    json.dump(about, file)
os.rename({told!r} + ".new", {told!r})
sys.exit({code})
"""


def set_up_browser(folder: Path, *, code: int = 0) -> dict[str, str]:
    """Return an environment with a browser that writes to `folder`/told how it was started."""
    program = folder / "own-browser"
    program.write_text(PROGRAM.format(python=sys.executable, told=str(folder / "told"), code=code))
    program.chmod(0o700)
    words = f"no-such-browser:{program} --new-tab %s &"
    return {"PATH": os.environ["PATH"], "DISPLAY": ":7", "BROWSER": words, "OCTAVO_API_KEY": "secret-of-mia"}


def test_browser_gets_url_without_api_key_and_terminal(tmp_path: Path) -> None:
    environment = set_up_browser(tmp_path)
    found = find_browser(ADDRESS, environment)
    assert isinstance(found, Browser)
    assert found.start(ADDRESS, environment).wait(120) == 0
    told = json.loads((tmp_path / "told").read_text())
    assert told["arguments"] == ["--new-tab", ADDRESS]
    assert "secret-of-mia" not in json.dumps(told)
    assert told["environment"]["DISPLAY"] == ":7"
    assert told["files"] == ["/dev/null"] * 3
    assert told["leads"]


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "javascript:alert(1)", "mailto:a@b.example", "--version", "http://a\x1b[2J"]
)
def test_only_web_links_are_opened(url: str) -> None:
    with pytest.raises(ValueError, match="only http and https"):
        Browser(("true",)).start(url, {})
    assert url.startswith("http") or isinstance(find_browser(url, {"DISPLAY": ":7", "PATH": os.environ["PATH"]}), str)


@pytest.mark.parametrize(
    ("without", "reason"),
    [
        ({"DISPLAY": ""}, "no graphical display"),
        ({"SSH_TTY": "/dev/pts/7"}, "connected over SSH"),
        ({"BROWSER": "", "PATH": "/nowhere"}, "BROWSER to the command"),
        ({"BROWSER": "lynx:'half", "PATH": "/nowhere"}, "BROWSER to the command"),
    ],
)
@pytest.mark.skipif(sys.platform == "darwin", reason="a Mac has a display and a browser")
def test_missing_browser_is_explained(tmp_path: Path, without: dict[str, str], reason: str) -> None:
    found = find_browser(ADDRESS, {**set_up_browser(tmp_path), **without})
    assert isinstance(found, str)
    assert reason in found
