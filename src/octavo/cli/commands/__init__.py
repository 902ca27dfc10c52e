"""The commands of Octavo, one module each."""
