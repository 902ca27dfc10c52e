"""Follows the redirects of a site to a page, a loop or a dead end. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

End = Literal["leads", "loop", "dead end"]


@dataclass(frozen=True)
class RedirectChain:
    """Redirects that a browser follows one after the other."""

    steps: tuple[str, ...]
    """The first URL, and the target of each redirect."""
    end: End
    """`leads` if the chain ends at a URL that exists. `dead end` if the last target is no longer on the site."""

    @property
    def description(self) -> str:
        """Return the chain as text for the user."""
        steps = " → ".join(self.steps)
        if self.end == "loop":
            return f"{steps}: a loop, so browsers show an error"
        return f"{steps} → a page, section, or space that is no longer on the site" if self.end == "dead end" else steps


def follow_redirects(source: str, targets: Mapping[str, str | None], site: str) -> RedirectChain:
    """Return the chain of redirects from a URL.

    `targets` maps each source to its target, or to None if the target no longer exists. URLs that do not begin with
    `site` are outside the site.
    """
    steps, seen = [source], {path_on_site(source, site)}
    while steps[-1] in targets or path_on_site(steps[-1], site) in targets:
        source_in_targets = steps[-1] if steps[-1] in targets else path_on_site(steps[-1], site)
        target = targets[source_in_targets]
        if target is None:
            return RedirectChain(tuple(steps), "dead end")
        steps.append(target)
        if (path := path_on_site(target, site)) in seen:
            return RedirectChain(tuple(steps), "loop")
        seen.add(path)
    return RedirectChain(tuple(steps), "leads")


def chain_ends(targets: Mapping[str, str | None], site: str) -> dict[str, End]:
    """Return how the chain of each redirect ends, by the source of the redirect. Each redirect is followed only once,
    because thousands may form one chain."""
    ends: dict[str, End] = {}
    for source in targets:
        visited: dict[str, None] = {}
        current, end = source, ends.get(source)
        while end is None:
            visited[current] = None
            target = targets[current]
            if target is None:
                end = "dead end"
                break
            current = target if target in targets else path_on_site(target, site)
            end = ends.get(current, None if current in targets else "leads")
            if end is None and current in visited:
                end = "loop"
        ends |= dict.fromkeys(visited, end)
    return ends


def path_on_site(url: str, site: str) -> str:
    """Return the path of a URL on the site. Return the URL itself if it is outside the site."""
    if url.startswith("/"):
        return url.rstrip("/") or "/"
    try:
        site_parts, url_parts = urlsplit(site), urlsplit(url)
    except ValueError:
        return url  # an invalid URL cannot be on the site
    base = site_parts.path.rstrip("/")
    if site and url_parts.netloc == site_parts.netloc and f"{url_parts.path}/".startswith(f"{base}/"):
        return url_parts.path[len(base) :].rstrip("/") or "/"
    return url
