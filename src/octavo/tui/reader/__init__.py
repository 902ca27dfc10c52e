"""Widgets that show documents: pages, diffs, conflicts, images, table rows and footnotes.

A view is a `Reader` with `Contents`. The contents split a document into units: blocks, or slices of a long block. The
reader scrolls the lines of these units. Its position `top` is a unit and a line in it, so layout of lines above never
moves the text.

    block                 a node of the document, such as a paragraph or a table. May contain blocks
    slice                 a part of a long block
    unit                  a top-level block or a slice: what is laid out in one step
    line, piece           a line of text of a unit, and a part of it with one style
    row, strip            a line on the screen, and what Textual paints there
    span                  the lines of a selectable block

    reading_pane.py       Reader: painting, keys, “Loading…” and errors. Base of the three views
    viewport.py           Viewport: layout, scrolling. BackgroundLayout: layout in the thread, and deferred content.
                          Contents: base of the three contents below
    page_view.py          PageView: a page          page_contents.py, page_loading.py, page_navigation.py
    diff_view.py          DiffView: a diff          diff_contents.py, diff_navigation.py, diff_scroll.py
    three_way_view.py     ThreeWayView: conflicts

A `Reader` owns a `Viewport` and its parts. A part is called when the lines, the layout or the top change. Parts know the
viewport, but not the `Reader`:

    block_cursor.py       the selected block, and link hints: the letters that open links and other clickable spans
    find_bar.py           find in page, and text selected with the mouse
    reading_position.py   positions, and functions that compute one position from another

Opened from a page:

    link_opening.py, linked_files.py, page_dialogs.py

How a page of 1 MB gets on screen:

1. `PageView.show_markdown` calls `PageLoader.load`. `PageLoad.steps` parses the Markdown block by block in a thread. The
   thread pauses after each key and after the first screen, until a frame is written (`terminal/polite_thread.py`).
   Pages below 6 KB are parsed without the thread.
2. After 24 blocks, the first screen is ready: `PageLoader._show` gives its units to `PageContents` and calls
   `Reader.reset_lines`. The event loop waits at most 20 ms for this. After that, `LinePainter.keep_frame` keeps the old
   frame for 60 ms, and `PageLoader._show_first_screen` shows the first screen when it is ready. Until then, keys that move
   wait in `ScrollWidget.waiting_commands`. Later, moves beyond the first screen wait in
   `PageNavigation.repeat_when_parsed`.
3. `reset_lines` makes `VirtualLines` of the units, with estimated heights and no lines (`render/virtual_lines.py`).
   `VirtualLines.lines` renders a unit when its lines are first needed: the units in view already in `reset_lines`, to
   find where the text ends.
4. Textual calls `Reader.render_lines`. `LinePainter.paint` takes the rows from `top` on. It adds search matches, the cursor
   bar, thread marks and link hints to each row.
5. The thread parses the rest and measures all units. `PageLoader._show_rest` appends the units below the first screen,
   follows jumps and moves that waited for them, and posts `PageLoaded`. Of pages above 256 KB, only the heights are kept,
   and lines are rendered when they come into view.

How `n` finds the next change of a diff:

1. When the diff was opened, `DiffBuilder` built its units and laid them out in the thread, `DiffNavigation.show_units`
   showed them, and `open_page` selected the first change. The first unit of each change has its `change_number`, the
   others have -1. If `n` comes earlier, it waits in `ScrollWidget.waiting_commands`.
2. `n` runs the first command of `CHANGES`: `DiffNavigation.go_to_change(1)`. During a search, `FindBar.step` goes to the
   next match instead.
3. `_change_from` asks `following_changes` for the units of all later changes, in the order of the page or by risk. It
   returns the `BlockSpan` of the first: the block and the lines of the unit. A unit without lines is rendered now.
4. `BlockCursor.select` stores the block and asks `scrolled_top` for the new top: a third down the pane.
   `Viewport.go_to` sets `top`, repaints, and posts `PaneMoved`. The status line then shows `change 2 of 7`.
"""
