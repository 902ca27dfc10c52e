"""The interface over HTTP: sending, retrying, paging, and where keys are kept."""
