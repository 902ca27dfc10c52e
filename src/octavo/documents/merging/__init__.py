"""Three-way merge: of the text of a page (`text`), and of the page tree and files of a revision (`tree`)."""
