"""The data layer: loads, caches and stores the data that screens show, and sends the writes of the user.

The layer imports neither Textual nor an HTTP library. It reaches the server through the function `Send` (access.py).

Terms
    Needed response         A response that a part of Octavo needs (`NeededResponse` in sync_queue.py). It is fetched only if
                            no current response is cached
    Owner                   The part of Octavo that needs a response: `inbox`, `offline SPACE`, `view URL`, `views` for
                            polls of all views, or `call N` for a caller of `Syncer.get`
    Planner                 An object that says which responses its owner needs (`Planner` in syncer.py)
    Fingerprint             A text that usually changes when the response changes, like an ETag, which the server does not
                            send. A fingerprint is computed from an item of another response, such as the list that counts
                            the comments (inbox_plan.py)
    Recheck                 To fetch a response although its fingerprint is unchanged, because a fingerprint does not show
                            every change
    Pin                     A mark of an owner that protects a cached response from eviction
    Poll                    A run of the Poller: fetches the lists, then the responses of views, then updates the inbox
    Inbox update            A run of the InboxLoader. Its kind is `LISTS_CHANGED`, `POLL`, `REFRESH` or `START`
    Sync                    `Syncer.run` fetches the responses that a planner needs. An inbox update has up to three syncs

Reads
    live.py                 cached responses in memory, with subscriptions
    syncer.py               fetches the needed responses, in the order of sync_queue.py (no I/O)
    live_response.py        a response in memory, and its snapshots for screens; lists of callbacks
    queries.py              operations that several callers share
    loaders.py              all items of a list, pages and linked files, in as many requests as they need
    response_cache.py       responses and images on disk, their versions, and the pins that keep them
    polling.py              polls in the background: lists, responses on screen, inbox. Notices changes by other users
    inbox_plan.py           the responses that the inbox needs, and fingerprints
    inbox_loader.py         builds the rows of the inbox by the rules of inbox.py (no I/O)
    inbox_responses.py      the responses that rows are built from
    inbox_marks.py          the marks of inbox rows: done, snoozed, read
    offline_plan.py         the responses that an offline space needs; offline_spaces.py downloads the spaces one by one
    search_index.py         full-text search; search_text.py is its pure part
    space_names.py          names of spaces for the command line
    block_origins.py        who wrote each block of a page, in which change request
    term_search.py          the pages that still have a word or number that is to be replaced

    How a new reply gets into the inbox (the server notifies nobody)

    1. `BackgroundRefresh` (tui/app) checks every 5 seconds whether a poll is due. A poll is due every 30 seconds, or every 2
       or 10 minutes while the user is idle (`INTERVALS` in polling.py).
    2. `Poller.run` fetches the watched lists of spaces and of open and draft change requests. If a list has changed,
       `InboxLoader._on_list_loaded` begins the update `LISTS_CHANGED`. If a list cannot be fetched, the poll ends here.
    3. `Poller.run` fetches the responses of views, and then calls `InboxFeed.poll` (tui/core), which runs the update
       `POLL` of `InboxLoader`. If the inbox has no subscribers, no update runs.
    4. Each update calls `InboxPlanner.needed_responses`. The fingerprint of a list of threads has the number of open threads,
       and for a change request also `updatedAt`. The lists of the organization do not count replies. So a reply may leave the
       fingerprint of a change request's threads unchanged, and always leaves that of a space's threads unchanged.
    5. So `POLL` and `REFRESH` also recheck a few lists of threads (`InboxPlanner._rechecks`), of about
       `MAX_RECHECKED_PAGES` pages. The reply waits here, for many polls if there are many lists. An own list is a list with
       a thread of the user, or with replies in a thread that concerns the user (`needed_replies`). First, one other list is
       rechecked, then own lists, and then the remaining lists. On servers that do not report the times of replies, a
       recheck is also the only way to notice an edited reply. There, two of the pages are lists of replies.
    6. The list of threads arrives. It has the number of replies of each thread, so the fingerprint of the replies differs
       (`replies_fingerprint`), and `InboxPlanner.on_response` returns them as needed. Their rank is INBOX if the thread
       concerns the user, otherwise LATER. In each update, the replies of 200 threads of rank LATER get rank INBOX.
    7. The replies arrive. `inbox_of` makes a row if an open thread has posts of others after the last post of the user, and
       the user wrote in the thread, created its change request, or is mentioned in these posts.
    8. `InboxBuilder` publishes the rows to `InboxFeed`, which `InboxScreen` shows.

    If a view shows the list of open threads, the next poll fetches it with its fingerprint, and the inbox reads it from
    the cache. Responses that a view fetches without a fingerprint do not reach the inbox.

    Order of requests       Reads: `SyncQueue.start_one`, by rank. Every eighth read in the background is the one that
                            has waited longest. Writes of the outbox: `machine.next_due`, in the order they were written
                            in each space or change request. Direct writes, and the reads before and after them, are
                            sent at once.

Writes (writes/__init__.py explains how a comment is sent and survives a crash)
    writes/outbox.py        writes that may wait: comments, replies, and reviews with comments
    writes/direct.py        writes that the user waits for: merge, update, review, edit of pages
    writes/store.py         the stored writes, and the table of their kinds, with how to check, search for and undo each

Storage
    state_db.py             `state.db`: drafts, outbox, named values, marks. Never deleted
    drafts.py               unsent texts by key, and the target of each key
    proposed_notes.py       notes that programs propose for a change request
    database.py             SQLite files; `recover` saves the rows of a damaged state.db
    local_files.py          files of the user that are sent to the server: checks, texts and uploads

Rules (no I/O)
    access.py               permissions; the operations that the server or the plan does not have

The cache and the index may be lost. state.db must not be lost: a write is in it before the screen shows the write.
"""
