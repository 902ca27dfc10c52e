"""The inbox: items that need the user's attention."""
