"""Models and operations of the API. Imports only pydantic and the standard library. Start in operation.py."""

import sys
from types import SimpleNamespace

# Octavo uses no plugins of pydantic. To search for plugins, pydantic would import 34 modules of the standard library, and
# read the metadata of every installed package.
sys.modules.setdefault("pydantic.plugin._loader", SimpleNamespace(get_plugins=tuple))  # type: ignore[arg-type]  # not a module
