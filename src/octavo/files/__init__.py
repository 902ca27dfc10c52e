"""Synchronizes a folder of files with a space. `pulled_folder.py` stores the last pull and reads a space, and
`folder_merge.py` merges the content of the space into the folder. `local_changes.py` compares the folder with the last pull,
and `proposal.py` makes a change request from the differences. `folder_export.py` writes to a folder that was opened in
Octavo."""
