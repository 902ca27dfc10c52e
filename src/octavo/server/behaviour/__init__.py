"""What operations with a mind of their own do, one module per subject."""
