"""The terminal app. Only this package imports Textual. Start at `app/octavo.py`."""
