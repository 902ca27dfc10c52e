"""Writes: the changes that Octavo makes on the server.

There are two ways to send a write. Comments, replies and reviews with comments wait in the outbox. For all other
writes, the user waits (direct.py). Both ways use the table in store.py, which has a `WriteKind` for each operation. The
most important functions of a `WriteKind` are `check`, which compares the target before sending, `search`, which searches
the server for the result after a lost response, and `undo`, which returns the write that undoes it.

Terms
    Entry       A write in the outbox, with its state (`OutboxEntry` in machine.py)
    Lost write  A write whose response was lost. The server may or may not have made the change
    Baseline    The IDs that the server had before the first attempt. An item with another ID may be the lost write
    Search      Requests to the server for the result of a lost write

How a comment is sent:

0. The composer saves the draft 0.3 seconds after the last key press, but at most 1 second after the first key press
   that is not saved. It also saves when it closes, and waits until the text is on disk before it sends
   (tui/comments/composer.py, data/drafts.py).
1. `Outbox.add_all` stores the entry and deletes the draft in one transaction (store.py, state.db). The state is `held`.
2. optimistic_updates.py shows the comment in the cached responses. `u` cancels the comment, and its text is a draft again.
3. The undo delay ends: `OutboxWorker` makes the entry `queued`. Of all Octavo processes of a profile, only the one with
   the file lock `outbox` does steps 3 to 6 (worker.py).
4. `OutboxDelivery.deliver` calls `check`, which reads the newest threads, or the replies of the thread
   (comment_kinds.py). Their IDs are the baseline.
5. `OutboxEntries.apply` stores the state `sending` and the baseline (`machine.start`). Then the request is sent.
6. The response arrives: one transaction stores the ID of the comment, and moves the entry from the table `outbox` to
   the table `sent` (`machine.confirm`).

What happens after a kill:

    After step    On disk                   At the next start
    0             the draft                 Nothing is sent. When the user opens the composer for this thread or block
                                            again, it has the draft. At most the text of the last second is lost.
    1, 2          `held`                    If the undo delay has ended since, it begins again (`OutboxWorker._take_over`).
    3, 4          `queued`                  Step 4 is repeated. After a day, the user is asked (`wait_for_user`).
    5             `sending`, the baseline   The server may or may not have the comment. The entry becomes `unknown`.
    6             the entry in `sent`       Nothing happens.

The kernel releases the lock of a killed process. If another Octavo process is running, its worker gets the lock within a
second. Otherwise, the first `Live.watch` or the first new write of the next process starts a worker.

What happens to an `unknown` entry, after a kill or after a lost response (delivery.py):

1. `search` looks for an item with the same author, page and text (or at least the same letters). The item must not be in
   the baseline, and no other write may have created it. If there is such an item, the entry is done.
2. Otherwise, the search is repeated until the server can no longer act on the request (`may_arrive_until`).
3. Then Octavo asks the user, because a comment that is sent twice exists twice. Octavo does not send the comment again by
   itself. It searches for a day, less and less often. The entry is done if the comment arrives late.
4. If the user retries, Octavo searches once more before it sends, and keeps the baseline. The comment exists
   twice only if the first request arrives after this search.

A write that only sets a state, such as “resolved”, is checked and sent again without asking.

    outbox.py               the interface for screens: add, undo, retry, discard, submit a review. The undo history is in
                            tui/core/write_queue.py
    machine.py              the states of an entry, and which entry waits for which other entry (no I/O)
    worker.py               decides when an entry is sent or searched for
    delivery.py             sends an entry, and searches for a lost write
    store.py                the entries in state.db, and the table of the kinds of writes
    comment_kinds.py, change_request_kinds.py
                            rows of the table. comment_kinds.py also recognizes the comments that Octavo has created
    change_request_writes.py, content_writes.py
                            functions that screens call for direct writes
"""
