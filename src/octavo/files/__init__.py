"""Synchronizes a folder of files with a space. `pulled_folder.py` stores what was pulled and reads a
space, `folder_merge.py` brings its content into the folder, `local_changes.py` compares the folder with the last pull, and
`proposal.py` makes a change request from the differences."""
