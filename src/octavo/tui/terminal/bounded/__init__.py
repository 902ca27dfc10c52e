"""Programs that work on what outsiders wrote, each in a process of its own. They import nothing of Octavo."""
