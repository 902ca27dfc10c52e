"""Roles, and what a caller may do with a resource."""

from __future__ import annotations

from typing import Annotated, Literal

from octavo.api.text import Known, SafeLine

Role = Literal["admin", "create", "edit", "review", "comment", "read"]
"""A role, as written. Null stands for a guest."""

RoleName = Annotated[SafeLine, Known("admin", "create", "edit", "review", "comment", "read")]
"""A role, as read."""

DefaultLevel = Role | Literal["inherit"]
"""The default level of a space or collection, as written. Null stands for nothing."""

DefaultLevelName = Annotated[SafeLine, Known("admin", "create", "edit", "review", "comment", "read", "inherit")]
"""The default level, as read."""
