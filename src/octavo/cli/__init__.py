"""The command line: the composition root. The only room that knows all the others."""
