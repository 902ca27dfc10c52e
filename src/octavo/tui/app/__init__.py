"""The app itself. Start at `octavo.py`, then at `routes.py`, which opens the screens."""
