"""Programs that read untrusted input, each in its own process with limits. See `external_editor.py`."""
