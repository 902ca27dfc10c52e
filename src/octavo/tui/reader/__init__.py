"""Widgets that show documents: pages, diffs, conflicts, images, table rows and footnotes."""
