"""Widgets that show documents: pages, diffs, conflicts, pictures, rows and notes. They know no views."""
