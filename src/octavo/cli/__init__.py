"""The command line. It imports all other packages, and no package imports it."""
