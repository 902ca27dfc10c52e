"""The app itself. Start at `octavo.py`, and at `routes.py` for the screens."""
