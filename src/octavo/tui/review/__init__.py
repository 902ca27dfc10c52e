"""Change requests: the list, the view of a change request, diffs, reviews, conflicts and merges."""
