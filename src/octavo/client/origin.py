"""Checks the origins of servers (a token belongs to one origin), and finds variables that prevent connections."""

from __future__ import annotations

import ipaddress
import os
import re
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

DEFAULT_ORIGIN = "https://api.gitbook.com"
PORTS = {"https": 443, "http": 80}
_HOST_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?")


def origin_of(base_url: str) -> str:
    """Return the origin of the base URL that the user entered, such as `https://host:8080`. Raises ValueError with a
    sentence if the URL is invalid, or if its server is on another machine and the connection is not encrypted."""
    parts, host, port = _parse_base_url(base_url.strip())
    if parts.username is not None or parts.password is not None:
        raise ValueError(
            "The base URL contains a user name or password. Remove both, and enter the API key separately."
        )
    if parts.query or parts.fragment or parts.path.rstrip("/") not in ("", "/v1"):
        raise ValueError(
            f"The base URL {_start_of_url(base_url)} contains more than a host. Use https://host, with or without /v1."
        )
    scheme = parts.scheme.lower()
    if scheme == "http" and not is_loopback(host):
        raise ValueError(
            f"Without encryption, others could read your API key on its way to {host}. Use https://{host}."
        )
    name = f"[{host}]" if ":" in host else host
    return f"{scheme}://{name}" if port == PORTS[scheme] else f"{scheme}://{name}:{port}"


def split_origin(origin: str) -> tuple[str, str, int]:
    """Return the scheme, host and port of an http or https URL. Raises ValueError for any other text."""
    parts, host, port = _parse_base_url(origin)
    return parts.scheme.lower(), host, port


def host_of(origin: str) -> str:
    """Return the host of an origin, with its port if that is not the default port."""
    return urlsplit(origin).netloc


def is_loopback(host: str) -> bool:
    """Return whether `host` is `localhost` or a loopback address, such as `127.0.0.1`. Other names are not resolved."""
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(host: str) -> bool:
    try:
        return "%" not in str(ipaddress.ip_address(host))
    except ValueError:
        return False


def _parse_base_url(url: str) -> tuple[SplitResult, str, int]:
    refusal = f"{_start_of_url(url)} is not a base URL. Enter a URL such as {DEFAULT_ORIGIN}, or http://127.0.0.1:8080 for a local server."
    if not url.isprintable() or "\\" in url or any(each.isspace() for each in url):
        raise ValueError(refusal)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        host = host if ":" in host else host.encode("idna").decode().lower()
    except ValueError:  # a UnicodeError is a ValueError
        raise ValueError(refusal) from None
    if parts.scheme.lower() not in PORTS or not (_is_address(host) if ":" in host else _HOST_NAME.fullmatch(host)):
        raise ValueError(refusal)
    return parts, host, port or PORTS[parts.scheme.lower()]


def _start_of_url(url: str) -> str:
    """Return the beginning of a URL for messages, without its user name and password."""
    url_without_user = url.rpartition("@")[2] if "@" in url else url
    return repr(url_without_user[:80])


PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
NO_PROXY_PROBLEM = (
    "The environment variable NO_PROXY (or no_proxy) has an invalid entry. "
    "Use host names separated by commas, without square brackets."
)


def environment_problem(*, proxies: bool, certificates: bool) -> str:
    """Return a sentence about an environment variable that prevents connections. Empty if there is none. Variables for
    `proxies` and `certificates` are checked only if these are True."""
    return (_proxy_problem() if proxies else "") or (_certificate_problem() if certificates else "")


def proxy_variable_for(scheme: str, host: str) -> str:
    """Return the name of the environment variable that has the proxy for `host`. Empty if no proxy is used."""
    from urllib.request import proxy_bypass  # lazy: it is slow to load, and the HTTP library has loaded it by then

    for upper in (f"{scheme.upper()}_PROXY", "ALL_PROXY"):
        for name in (upper.lower(), upper):
            if os.environ.get(name):
                return "" if proxy_bypass(host) else name
    return ""


def _proxy_problem() -> str:
    for name in (each for upper in PROXIES for each in (upper, upper.lower())):
        value = os.environ.get(name, "")
        if value and (reason := _why_unusable(value)):
            return f"The environment variable {name} {reason}. Correct the variable, or unset it to connect without a proxy."
    return ""


def _why_unusable(proxy: str) -> str:
    invalid_url = "is not a valid proxy URL"
    try:
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        host, port = (parts.hostname or "").encode("idna"), parts.port
    except ValueError:
        return invalid_url
    if parts.scheme.lower().startswith("socks"):
        return "names a SOCKS proxy, which Octavo cannot use"
    is_usable = parts.scheme.lower() in ("http", "https") and host and port != 0 and proxy.isprintable()
    return "" if is_usable else invalid_url


def _certificate_problem() -> str:
    path = os.environ.get("SSL_CERT_FILE", "")
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
