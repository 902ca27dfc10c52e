"""The keys of the page view."""

from __future__ import annotations

from textual.binding import Binding

READING_KEYS = [
    Binding("slash", "find", "Find", key_display="/", tooltip="Find words in this page", id="page.filter"),
    Binding("f", "link_hints", "Links", tooltip="Put letters on links: type them to open, in upper case in the browser", id="page.link_hints"),
    Binding("t", "thread(1)", "Threads", tooltip="Go to the next block with an open thread", id="page.next_thread"),
    Binding("T", "thread(-1)", "Thread before", show=False, tooltip="Go to the block before with an open thread", id="page.prev_thread"),
    Binding("c", "comment", "Comment", tooltip="Say something about the block under the cursor", id="page.comment"),
    Binding("enter", "open", "Open", show=False, tooltip="Open the link, image, file or thread of the block under the cursor", id="page.open"),
    Binding("space", "read_on", "Read on", show=False, tooltip="Scroll one page, at the end go to what comes next", id="page.read_on"),
    Binding("right_curly_bracket", "heading(1)", "Next heading", show=False, tooltip="Go to the next heading", id="page.next_heading"),
    Binding("left_curly_bracket", "heading(-1)", "Heading before", show=False, tooltip="Go to the heading before", id="page.prev_heading"),
    Binding("n", "hit(1)", "Next hit", show=False, tooltip="Go to the next place that was found", id="page.next_hit"),
    Binding("N", "hit(-1)", "Hit before", show=False, tooltip="Go to the place before that was found", id="page.prev_hit"),
    Binding("backslash", "source", "Source", show=False, tooltip="The page as it is set, or its Markdown source", id="page.source"),
    Binding("W", "measure", "Measure", show=False, tooltip="Narrow, wide, or the whole pane with code in one piece", id="page.wrap"),
    Binding("y", "copy", "Copy", show=False, tooltip="Copy the block under the cursor: code and prompts exactly", id="page.yank"),
    Binding("Y", "copy_address", "Copy address", show=False, tooltip="Copy the address of the link under the cursor, else of the page", id="page.yank_url"),
    Binding("o", "open_outside", "In the browser", show=False, tooltip="Open the link under the cursor in the browser, else the page", id="page.open_browser"),
    Binding("right", "pan(1)", "Pan right", show=False, tooltip="Move wide code or a wide table to the left", id="page.pan_right"),
    Binding("left", "pan(-1)", "Pan left", show=False, tooltip="Move wide code or a wide table back", id="page.pan_left"),
]  # fmt: skip
