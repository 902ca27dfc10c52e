"""One screen per file, its .tcss beside it."""
