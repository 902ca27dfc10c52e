"""Finds environment variables that prevent connections. Messages contain the name of a variable, but never its
value."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
NO_PROXY_PROBLEM = (
    "The environment variable NO_PROXY (or no_proxy) has an invalid entry. "
    "Use host names separated by commas, without square brackets."
)


def environment_problem(*, proxies: bool, certificates: bool, environ: Mapping[str, str] = os.environ) -> str:
    """Return a sentence about the first unusable variable. Empty if all are usable."""
    return (_proxy_problem(environ) if proxies else "") or (_certificate_problem(environ) if certificates else "")


def proxy_for(scheme: str, host: str) -> str:
    """Return the name of the variable that sets the proxy for `host`. Empty if no proxy is used."""
    from urllib.request import proxy_bypass  # lazy: slow to load; the HTTP library has loaded it by then

    for upper in (f"{scheme.upper()}_PROXY", "ALL_PROXY"):
        for name in (upper.lower(), upper):
            if os.environ.get(name):
                return "" if proxy_bypass(host) else name
    return ""


def _proxy_problem(environ: Mapping[str, str]) -> str:
    for name in (each for upper in PROXIES for each in (upper, upper.lower())):
        value = environ.get(name, "")
        if value and (reason := _unusable(value)):
            return f"The environment variable {name} {reason}. Correct the variable, or unset it to connect without a proxy."
    return ""


def _unusable(proxy: str) -> str:
    nowhere = "is not a valid proxy URL"
    try:
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        host, port = (parts.hostname or "").encode("idna"), parts.port
    except ValueError:
        return nowhere
    if parts.scheme.lower().startswith("socks"):
        return "names a SOCKS proxy, which Octavo cannot use"
    usable = parts.scheme.lower() in ("http", "https") and host and port != 0 and proxy.isprintable()
    return "" if usable else nowhere


def _certificate_problem(environ: Mapping[str, str]) -> str:
    path = environ.get("SSL_CERT_FILE", "")
    if not path:
        return ""
    try:
        reason = "" if b"CERTIFICATE-----" in Path(path).read_bytes() else "contains no certificates"
    except (OSError, ValueError):
        reason = "cannot be read"
    return (
        f"The environment variable SSL_CERT_FILE names a file that {reason}. Correct the variable, or unset it."
        if reason
        else ""
    )
