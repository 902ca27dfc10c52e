"""Pages and their changes as lines: layout without widgets, and the two widgets that show it."""
