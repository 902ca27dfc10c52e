"""The version of the server."""

from octavo.api.operation import Model, Operation
from octavo.api.text import SafeLine


class Service(Model):
    """The version and build of the server."""

    version: SafeLine
    build: SafeLine = ""


class Get(Operation[Service], get="/"):
    """Get the version of the service."""
