"""The data layer: loads, caches and stores everything that screens show, and sends everything that the user writes.

The layer imports neither Textual nor an HTTP library. It reaches the server through the function `Send` (access.py).

Terms
    Want                    A response that a part of Octavo needs, as in git's fetch protocol (`Want` in sync_queue.py)
    Owner                   The name of the part that needs a response: `inbox`, `offline SPACE`, `view URL`, `views` for polls
                            of all views, or `call N` for a caller of `Syncer.get`
    Stamp                   A text that changes when the response changes. It replaces an ETag, which the server does not
                            send. It is computed from an item of another response, such as the list that counts the
                            comments (inbox_plan.py)
    Pin                     A cache entry that names the owner of a response. A pinned response is never evicted
    Round                   One pass of the Syncer over all wants of an owner
    Instance                A running Octavo process. Several instances may share the files of a profile

Reads
    live.py                 cached responses in memory, with subscriptions
    syncer.py               fetches the wanted responses, in the order of sync_queue.py (pure)
    live_response.py        a response in memory, and its snapshots for screens; lists of callbacks
    queries.py              operations that several callers share
    loaders.py              all items of a list, pages and linked files, in as many requests as they need
    response_cache.py       responses and images on disk, their versions, and the pins that keep them
    polling.py              runs the background rounds: lists, responses on screen, inbox. Notices changes by other users
    inbox_plan.py           the wants of the inbox, and stamps; inbox_loader.py builds its rows by the rules of inbox.py (pure)
    inbox_responses.py      the responses that rows are built from
    inbox_marks.py          the marks of inbox rows: done, snoozed, read
    offline_plan.py         the wants of an offline space; offline_spaces.py downloads the spaces one by one
    search_index.py         full-text search; search_text.py is its pure part
    space_names.py          names of spaces for the command line
    block_origins.py        who wrote each block of a page, in which change request
    term_search.py          the pages that still have a word or number that is to be replaced

    Open a page             A view calls `Live.watch`: its callback gets the cached response at once. `Live` adds a want of
                            rank NOW to the Syncer, which sends the request before all others, stores the response with
                            its version and calls the callback again.
    Refresh the inbox       The app calls `Poller.run`, which fetches the lists of the organization and then updates
                            the inbox (`InboxLoader.poll`). The counters and dates in these lists give each response a stamp.
                            `InboxPlanner` returns all responses that the inbox needs, with their stamps; the Syncer
                            fetches those whose stamp differs from the version on disk. Each list of threads adds wants
                            for replies. As the lists of the organization do not count replies, each `poll` and
                            `refresh` also fetches a few lists of threads again: one that the user does not take part
                            in, then those with recent posts in threads of the user, then others. `InboxLoader` builds
                            the rows from the responses in a thread.
    Keep a space offline    `OfflinePlanner` returns a want for the space. The response adds wants for its page tree, threads
                            and change requests, and these add wants for pages and replies. Each response is pinned, so that
                            it is never evicted. After a crash, Octavo fetches only the responses that have no current
                            version on disk.

    Order of requests       Reads: `SyncQueue.next`, by rank. Writes of the outbox: `machine.next_due`, in the order they were
                            written in each place. Direct writes, and the reads before and after them, are sent at once.

Writes (the docstring of writes/__init__.py explains how a comment survives a crash)
    writes/outbox.py        writes that may wait: comments, replies, and reviews with comments
    writes/direct.py        writes that the user waits for: merge, update, review, edit of pages
    writes/store.py         the stored writes, and the table of their kinds, with how to check, find and undo each

Storage
    state_db.py             `state.db`: drafts, outbox, facts, marks. Never deleted
    drafts.py               unsent texts by key, and the target of each key
    proposed_notes.py       notes that programs propose for a change request
    database.py             SQLite files; `recover` saves the rows of a damaged state.db
    local_files.py          files of the user that are sent to the server: checks, texts and uploads

Rules (pure)
    access.py               permissions; the operations that the server or the plan does not have

The cache and the index may be lost. state.db must not be lost: a write is in it before the screen shows the write.
"""
