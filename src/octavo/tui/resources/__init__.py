"""The tables of Sites and Admin: declarations of the kinds of items, the screen that shows them, and the forms that
create and edit items. Start at `resource.py` and `resource_browser.py`."""
