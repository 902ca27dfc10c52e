"""Three-way merge of pages (page_merge.py) and of revisions (revision_merge.py)."""
