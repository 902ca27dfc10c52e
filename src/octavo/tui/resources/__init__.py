"""The tables for sites and the organization: declarations of resources, the screen that shows them, and their forms."""
