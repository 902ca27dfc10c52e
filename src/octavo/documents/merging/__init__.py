"""Three-way merge of pages (page_merge.py) and of whole revisions (revision_merge.py)."""
