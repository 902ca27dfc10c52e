"""The handlers of operations that `rest.py` cannot handle. A module handles one or more areas of the API."""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from octavo.api.operation import Operation

_MODULE_OF_AREA = {
    "adaptive_schema": "sites",
    "collections": "spaces",
    "fonts": "uploads",
    "imports": "uploads",
    "invites": "access",
    "mcp_servers": "sites",
    "openapi": "openapi_specs",
    "pdf": "uploads",
    "permissions": "access",
    "redirects": "sites",
    "reviews": "comments",
    "share_links": "sites",
    "sso": "organizations",
    "storage": "uploads",
    "subdomains": "organizations",
    "system": "organizations",
    "teams": "organizations",
    "translations": "organizations",
    "urls": "links",
    "users": "organizations",
}
"""Module with the handlers of an area, if its name differs from that of the area."""


def load_for(operation: type[Operation[Any]]) -> None:
    """Import the module that contains the handler of an operation. The import registers its handlers."""
    area = operation.__module__.rpartition(".")[2]
    import_module(f"{__name__}.{_MODULE_OF_AREA.get(area, area)}")


def load() -> None:
    """Import the handlers of all areas."""
    for subject in iter_modules(__path__, f"{__name__}."):
        import_module(subject.name)
