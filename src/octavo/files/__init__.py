"""Keeps a folder of files in step with a space.

`pulled_folder.py` stores what was pulled, `space_reader.py` reads a space, `pull.py` writes it to the folder,
`local_changes.py` compares the folder with the last pull, and `proposal.py` makes a change request of the differences.
"""
