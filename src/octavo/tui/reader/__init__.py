"""Widgets that show documents: pages, diffs, conflicts, images, table rows and footnotes.

A view is a `Reader` with `Contents`. The contents split a document into chunks: blocks, or slices of a long block. The
reader scrolls the lines of these chunks. The first visible line (`top`) is a chunk and a line in it, so the text never
moves when chunks above are rendered.

    block                 a node of the document, such as a paragraph or a table. May contain blocks
    slice                 a part of a long block
    chunk                 a top-level block or a slice: what is rendered in one step
    render                to make the lines of a chunk. To lay out chunks is to render them and to store their heights
    line, styled text     a line of text of a chunk, and a part of it with one style
    row, strip            a line on the screen, and what Textual paints there
    span                  the lines of a selectable block

    reading_pane.py       Reader: painting, keys, “Loading…” and errors. Base of the three views
    viewport.py           Viewport: layout, scrolling. BackgroundLayout: layout in the thread, and deferred content.
                          Contents: base of the three contents below
    page_view.py          PageView: a page          page_contents.py, page_loading.py, page_navigation.py
    diff_view.py          DiffView: a diff          diff_contents.py, diff_navigation.py
                                                   multi_page_diff.py: the diff of several pages, one below the other
    three_way_view.py     ThreeWayView: conflicts

A `Reader` owns a `Viewport` and its parts. A part is called when the lines, the layout or the top change. Parts know the
viewport, but not the `Reader`:

    block_cursor.py       the selected block, and link hints: the letters that open links and other clickable spans
    find_bar.py           find in page, and text selected with the mouse
    reading_position.py   positions, and functions that compute one position from another

Opened from a page:

    link_opening.py, linked_files.py, page_dialogs.py

How a page of 1 MB gets on screen:

1. A body above 256 KB is decoded in a thread: from the network in `client/responses.py`, from disk in `data/live.py`.
   `OpenSpace._show_page` gets the response, and `show_page` calls `PageView.show_markdown`, which calls `PageLoader.load`.
2. `load` begins the work in the background thread (`terminal/polite_thread.py`): `PageParse.steps` parses the Markdown
   block by block and splits the blocks into chunks. After a key is read, the thread pauses until a frame is written, but
   at most 0.2 seconds. A page below 6,000 characters is parsed in `load`, without the thread.
3. After 24 blocks, the first screen is ready. It has more blocks if a position is restored.
4. `load` blocks the event loop for at most 20 ms, until the first screen is ready:
   - If it is ready, `load` shows it (`PageLoader._show`).
   - If not, `LinePainter.keep_frame` keeps the old frame for at most 60 ms, and `PageLoader._show_first_screen` shows the
     first screen when it is ready. Until then, keys that move wait in `ScrollWidget.waiting_commands`.
   - Before the first frame of the app, `load` also waits for the first block (100 ms at most). If the first screen is
     still not ready, `load` shows the blocks that are parsed (`PageParse.beginning`).
5. `PageLoader._show_chunks` gives the chunks to `PageContents` and calls `Reader.reset_lines`, which makes `VirtualLines` of
   them, with estimated heights and no lines (`render/virtual_lines.py`).
6. `VirtualLines.lines` renders a chunk when its lines are first needed. `reset_lines` renders the chunks in view, because
   the top depends on their heights. If all chunks together have at most 300 lines, it renders all (`lay_out_short`).
7. Textual calls `Reader.render_lines`. `LinePainter.paint` takes the rows from `top` on. It adds search matches, the cursor
   bar, thread marks and link hints to each row, and keeps the frame until something changes.
8. Meanwhile, the thread parses the rest. Moves beyond the first screen wait (`PageNavigation.repeat_when_parsed`).
9. `PageLoader._show_rest` appends the chunks below the first screen, posts `PageLoaded`, and repeats the moves that
   waited.
10. `BackgroundLayout.begin` lays out all chunks in the thread (`lay_out_chunks`). It keeps all heights, but at most
    2,500 lines: other lines are rendered when they come into view.

How `n` finds the next change of a diff:

1. When the diff was opened, `DiffBuilder` built its chunks in the thread, and `DiffNavigation.show_chunks` showed them.
   `open_page` selected the block of the last position on this page, else the first change. The first chunk of each
   change has its `change_number`; all other chunks have -1.
2. `n` is the command `next_change` in `CHANGE_COMMANDS` (end of diff_navigation.py). It calls
   `DiffNavigation.go_to_change(1)`. If the diff is still loading, the command waits in `ScrollWidget.waiting_commands`.
   During a search, `FindBar.step` goes to the next match instead.
3. `go_to_change` starts at the chunk of the selected block, or at the edge of the page if no block was selected.
4. `_change_from` asks `following_changes` for the chunks of all later changes, in the order of the page or by risk. It
   returns the `BlockSpan` of the first that has a selectable block: the block, if possible of the new version, and all
   lines of the chunk. A chunk without lines is rendered now.
5. `BlockCursor.select` stores the block and asks `scrolled_top` for the new top: the change gets a third down the pane,
   unless all its lines are already in the upper two thirds.
6. `Viewport.go_to` sets `top`. `select` repaints and posts `PaneMoved`. The status line then shows `change 2 of 7`.
7. If there is no later change, `go_beyond` says so. In a diff of several pages, `MultiPageNavigation` overrides
   `_change_from` and `go_beyond` (multi_page_diff.py): it goes to the first change of the next page, or to its heading.
   There, `n` never waits. If the next page is not loaded yet, `go_beyond` says “Still loading”.
"""
