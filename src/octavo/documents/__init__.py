"""Platform markdown as a tree of blocks, and what changed between two of them. No Textual."""
