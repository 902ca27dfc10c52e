"""What the programs that Octavo starts, an editor or a browser, get to know of its environment."""

from __future__ import annotations

from collections.abc import Mapping

_KEPT_FROM_THEM = ("OCTAVO_API_KEY",)


def for_children(environment: Mapping[str, str]) -> dict[str, str]:
    """`environment` without what is a key (K11)."""
    return {name: value for name, value in environment.items() if name not in _KEPT_FROM_THEM}
