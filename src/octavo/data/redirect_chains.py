"""Where the redirects of a site lead in the end: through each other, round in a circle, or to nothing. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

End = Literal["leads", "loop", "dead end"]


@dataclass(frozen=True)
class RedirectChain:
    """The way from an address."""

    steps: tuple[str, ...]
    """The address one began with, and each it leads to."""
    end: End
    """`dead end`: the last step is of a redirect to what is not on the site any more."""

    @property
    def description(self) -> str:
        """The way, in words."""
        way = " → ".join(self.steps)
        if self.end == "loop":
            return f"{way}: a loop, so browsers show an error"
        return f"{way} → a page, section or space that is no longer on the site" if self.end == "dead end" else way


def follow_redirects(source: str, targets: Mapping[str, str | None], site: str) -> RedirectChain:
    """Where an address of a site leads. `targets`: what each redirect leads to, by its source; None where that is gone.
    `site` is the address of the site, without which an address is not one of it."""
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
    """How each redirect ends, by its source. Each is looked at once: of thousands there may be one chain."""
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
    """The path on the site an address is of; the address itself where it is of another."""
    if address.startswith("/"):
        return address.rstrip("/") or "/"
    try:
        here, there = urlsplit(site), urlsplit(address)
    except ValueError:
        return address  # one no browser reads either
    base = here.path.rstrip("/")
    if site and there.netloc == here.netloc and f"{there.path}/".startswith(f"{base}/"):
        return there.path[len(base) :].rstrip("/") or "/"
    return address
