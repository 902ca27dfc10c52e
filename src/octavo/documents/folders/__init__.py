"""Folders of Markdown files in the layout of GitBook's Git Sync: reads and writes pages, SUMMARY.md and front matter."""
