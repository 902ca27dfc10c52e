"""What screens know: live answers, the shelf, drafts and the outbox. No Textual, no HTTP."""
