"""Synchronizes a folder of files with a space. `pulled_folder.py` stores what was pulled, `space_reader.py` reads a
space, `pull.py` writes its content to the folder, `local_changes.py` compares the folder with the last pull, and
`proposal.py` makes a change request from the differences."""
