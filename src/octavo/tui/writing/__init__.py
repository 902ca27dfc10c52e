"""Pages written in change requests: in the editor of the person, and in the tree."""
