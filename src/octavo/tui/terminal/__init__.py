"""The terminal and the machine: what would be of use to any program in a terminal."""
