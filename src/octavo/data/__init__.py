"""The data layer: everything that screens show and send. No Textual, no HTTP: `Send` (sending.py) is the way to the server.

Reads
    live.py                 cached responses in memory, with subscriptions
    syncer.py               fetches what is wanted, in the order of sync_queue.py (pure)
    stamps.py, queries.py   whether a response has changed; operations that several callers share
    response_cache.py       responses on disk, their versions, and the pins that keep them
    polling.py              what views need: polls, and the changes of others
    inbox_plan.py           what the inbox needs; inbox_loader.py builds its rows by the rules of inbox.py (pure)
    inbox_marks.py          which rows of the inbox are done, snoozed or read
    offline_plan.py         what an offline space needs; offline_spaces.py downloads the spaces one after the other
    search_index.py         full-text search; search_documents.py and search_text.py are its pure parts
    availability.py         operations that the server or the plan does not have

    Open a page             A view calls `Live.watch`: its callback gets the cached response at once. `Live` adds a want of
                            rank NOW to the Syncer, which sends the request before all others, stores the response with its
                            version and calls the callback again.
    Refresh the inbox       The app calls `Poller.run`, which fetches the lists of the organization and then calls
                            `InboxLoader.poll`. The counters and dates in these lists give each response a stamp. `InboxPlan`
                            returns all responses that the inbox needs, with their stamps; the Syncer fetches those whose
                            stamp differs from the version on disk. Lists of threads lead on to replies. As the lists of the
                            organization do not count replies, a few lists of threads are fetched again in each round: first
                            those the user takes part in. `InboxLoader` builds the rows from the responses in a thread.
    Keep a space offline    `OfflinePlan` wants the space; the response leads to its page tree, threads and change requests,
                            and these lead to pages and replies. Each response is pinned, so that it is never evicted. After
                            a crash, only what has no current version on disk is fetched.

    What is sent next       Reads: `SyncQueue.next`, by rank. Writes of the outbox: `machine.next_due`, in the order they were
                            written in each place. Direct writes, and the reads before and after them, are sent at once.

Writes (writes/__init__.py tells how a comment survives a crash)
    writes/outbox.py        writes that may wait: comments, replies, and reviews with comments
    writes/direct.py        writes that the user waits for: merge, update, review, edit of pages
    writes/kinds.py         one row for each kind of write: check, find, undo

Storage
    state_db.py             `state.db`: drafts, outbox, facts, marks. Never deleted
    drafts.py               unsent texts by key; unsent_index.py finds the target of each key
    database.py             SQLite files; database_recovery.py saves the rows of a damaged state.db
    image_cache.py          images on disk; atomic_files.py saves files that the user names

Rules (pure)
    access.py               the sources of a role
    merge_rules.py          which merge rules are met
    comment_text.py         the text of a comment as a line, and its mentions

The cache and the index may be lost. state.db must not be lost: a write is in it before the screen shows the write.
"""
