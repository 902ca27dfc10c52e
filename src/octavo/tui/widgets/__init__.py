"""Widgets that know nothing of the API: lists, trees, inputs, dialogs, the key bar and themes. Key bindings are
declared in `commands.py`."""
