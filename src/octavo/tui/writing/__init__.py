"""Pages written in change requests: in the person's editor, in the tree, and put back as they were."""
