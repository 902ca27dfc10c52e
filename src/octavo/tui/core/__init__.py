"""Base of all views: the app as views use it (`Shell`), the base class `View`, navigation, and the state that views
share. Start at `shell.py` and `view.py`."""
