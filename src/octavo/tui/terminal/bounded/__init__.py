"""Programs that read untrusted input, each in its own process with limits. See `limited_programs.py`."""
