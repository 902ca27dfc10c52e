"""Handlers for operations that need more than plain REST, one module per subject."""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from octavo.api.operation import Operation

_MODULES_BY_AREA = {
    "adaptive_schema": ("sites",),
    "collections": ("spaces",),
    "content": ("content", "content_edits"),
    "fonts": ("uploads",),
    "imports": ("uploads",),
    "invites": ("access",),
    "mcp_servers": ("sites",),
    "openapi": ("openapi_specs",),
    "organizations": ("members", "organizations"),
    "permissions": ("access",),
    "redirects": ("sites",),
    "share_links": ("sites",),
    "site_structure": ("site_structure", "site_view"),
    "sso": ("organizations",),
    "storage": ("uploads",),
    "subdomains": ("organizations",),
    "system": ("organizations",),
    "teams": ("members",),
    "translations": ("organizations",),
    "urls": ("links",),
    "users": ("members",),
}
"""The modules with the handlers of each area of the API. All other areas have one module with the same name."""


def load_for(operation: type[Operation[Any]]) -> None:
    """Import the modules with the handlers of an operation, so that they register their handlers."""
    area = operation.__module__.rpartition(".")[2]
    for name in _MODULES_BY_AREA.get(area, (area,)):
        import_module(f"{__name__}.{name}")


def load() -> None:
    """Import all handler modules."""
    for subject in iter_modules(__path__, f"{__name__}."):
        import_module(subject.name)
