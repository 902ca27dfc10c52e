"""The help topics: Markdown files beside this module, shown by `octavo help` and in the app."""

from __future__ import annotations

from pathlib import Path

TOPICS = {
    "start": "First steps: read, comment, review, write, merge",
    "keys": "All keys of all views and dialogs",
    "review": "Review a change request: risk order, only meaning",
    "signs": "Symbols such as ● ○ ✓ ✗, and the header",
    "commands": "The command line: commands, options, API operations",
    "refs": "Name a space, a change request, a page or a thread",
    "json": "Output of commands: tables, pipes, JSON, jq",
    "api": "Call API operations from the shell",
    "agents": "Programs that review: read a change, propose notes",
    "settings": "Settings, environment variables, folders",
    "accounts": "Sign in, profiles, API keys",
    "files": "A space as files: pull, status, propose",
    "folders": "Your own Markdown files, local server",
    "offline": "Read and write without a connection",
    "check": "Find broken links and other mistakes",
    "linters": "Programs such as Vale that check pages",
    "scripts": "Review, comment, wait and merge from the shell",
    "exit-codes": "Exit codes of the commands",
    "security": "What Octavo protects, and what it does not",
    "troubleshooting": "Problems and their solutions",
    "changelog": "Changes in each version",
}
"""Names of the help topics, in the order in which users see them, and a summary of each in one line."""


def file_of(topic: str) -> Path:
    """Return the Markdown file of a topic."""
    return Path(__file__).with_name(f"{topic}.md")


def text_of(topic: str) -> str:
    """Return the Markdown of a topic."""
    return file_of(topic).read_text(encoding="utf-8")
