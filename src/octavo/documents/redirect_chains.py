"""Ends of the redirects of a site: a page, a loop or a dead end. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

End = Literal["leads", "loop", "dead end"]


@dataclass(frozen=True)
class RedirectChain:
    """A chain of redirects."""

    steps: tuple[str, ...]
    """The first URL, and the target of each redirect."""
    end: End
    """`dead end`: the target of the last redirect is no longer on the site."""

    @property
    def description(self) -> str:
        """Return the chain as text."""
        way = " → ".join(self.steps)
        if self.end == "loop":
            return f"{way}: a loop, so browsers show an error"
        return f"{way} → a page, section, or space that is no longer on the site" if self.end == "dead end" else way


def follow_redirects(source: str, targets: Mapping[str, str | None], site: str) -> RedirectChain:
    """Return the chain of redirects from a URL.

    `targets` maps each source to its target, or to None if the target no longer exists. URLs that do not begin with
    `site` are outside the site.
    """
    steps, seen = [source], {path_on_site(source, site)}
    while steps[-1] in targets or path_on_site(steps[-1], site) in targets:
        at = steps[-1] if steps[-1] in targets else path_on_site(steps[-1], site)
        target = targets[at]
        if target is None:
            return RedirectChain(tuple(steps), "dead end")
        steps.append(target)
        if (path := path_on_site(target, site)) in seen:
            return RedirectChain(tuple(steps), "loop")
        seen.add(path)
    return RedirectChain(tuple(steps), "leads")


def chain_ends(targets: Mapping[str, str | None], site: str) -> dict[str, End]:
    """Return how the chain of each redirect ends, by its source. Each redirect is followed once, as thousands may form
    one chain."""
    known: dict[str, End] = {}
    for source in targets:
        way: dict[str, None] = {}
        here, end = source, known.get(source)
        while end is None:
            way[here] = None
            target = targets[here]
            if target is None:
                end = "dead end"
                break
            here = target if target in targets else path_on_site(target, site)
            end = known.get(here, None if here in targets else "leads")
            if end is None and here in way:
                end = "loop"
        known |= dict.fromkeys(way, end)
    return known


def path_on_site(address: str, site: str) -> str:
    """Return the path of a URL on the site. Return the URL itself if it is outside the site."""
    if address.startswith("/"):
        return address.rstrip("/") or "/"
    try:
        here, there = urlsplit(site), urlsplit(address)
    except ValueError:
        return address  # browsers cannot read this URL either
    base = here.path.rstrip("/")
    if site and there.netloc == here.netloc and f"{there.path}/".startswith(f"{base}/"):
        return there.path[len(base) :].rstrip("/") or "/"
    return address
