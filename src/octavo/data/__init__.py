"""The data layer: everything that screens show and send. No Textual, no HTTP: `Send` (sending.py) is the way to the server.

Reads
    live.py                 cached responses in memory, with subscriptions
    response_cache.py       responses on disk, their versions, and the pins that keep them
    freshness.py, news.py   the time of the next reading, and the changes of others
    stamps.py, queries.py   which response has changed; operations that several callers share
    inbox.py                rows of the inbox (pure); inbox_answers.py loads what they need; inbox_marks.py: done, snoozed, read
    offline.py              spaces that are available offline
    search_index.py         full-text search; search_documents.py and search_text.py are its pure parts

Writes (writes/__init__.py tells how a comment survives a crash)
    writes/outbox.py        writes that may wait: comments, replies, and reviews with comments
    writes/direct.py        writes that the user waits for: merge, update, review, edit of pages
    writes/kinds.py         one row for each kind of write: check, find, undo, optimistic update

Storage
    state_db.py             `state.db`: drafts, outbox, facts, marks. Never deleted
    drafts.py               unsent texts by key; unsent_index.py finds the target of each key
    database.py             SQLite files; database_recovery.py saves the rows of a damaged state.db
    image_cache.py          images on disk; atomic_files.py saves files that the user names

Rules (pure)
    access.py               the sources of a role
    merge_rules.py          which merge rules are met; merge_basis.py: the changes since the checks
    redirect_chains.py      loops and dead ends of redirects
    comment_text.py         the text of a comment as a line, and its mentions

The cache and the index may be lost. state.db must not be lost: a write is in it before the screen shows the write.
"""
