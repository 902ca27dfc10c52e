"""The version of the service."""

from octavo.api.operation import Model, Operation
from octavo.api.text import SafeLine


class Service(Model):
    """Which build of the interface answers."""

    version: SafeLine
    build: SafeLine = ""


class Get(Operation[Service], get="/"):
    """Get the version of the service."""
