"""Writes: everything that Octavo changes on the server.

There are two ways to send a write. Comments, replies and reviews with comments wait in the outbox. For all other
writes, the user waits (direct.py). Both ways use the table in store.py. Its row for an operation, a `WriteKind`, has
three functions: `check` compares the target before sending, `find` searches for the write after a lost response, and
`undo` returns the opposite write. The rows are in comment_kinds.py and change_request_kinds.py.
Two words in this package:
    Baseline    The ids that the server had before the first attempt. An item that is not in it may be the lost write
    Place       A space or a change request. The writes to a place are sent in order

How a comment survives a crash:

0. The composer saves the draft shortly after each key press, and once more before it closes (tui/comments/composer.py,
   data/drafts.py).
1. `Outbox.add_all` stores the entry and deletes the unsent draft in one transaction (store.py, state.db). The state is
   `held`.
2. optimistic_updates.py shows the comment on the cached responses. `u` cancels it, and the text is a draft again.
3. The undo delay ends. The instance with the lock `outbox` sends the entry (worker.py).
4. The row's `check` reads the newest threads: their ids are the baseline (delivery.py).
5. `machine.start` stores the state `sending` and the baseline. Only then is the request sent.
6. Octavo is killed. The server may or may not have received the comment.
7. At the next start, the first `Live.watch` or the first new write starts the worker, which takes the lock. If another
   instance is running, its worker takes the lock within a second. An entry in the state `sending` becomes `unknown`.
8. The row's `find` searches for a comment that is not in the baseline and that no other write created. If there is such a
   comment, the entry is done. Otherwise Octavo searches until the server can no longer act on the request, and then asks
   the user, because a comment sent twice would exist twice. If the user retries, Octavo searches once more before it
   sends. A write that only sets a state is checked and sent again without asking.

    outbox.py               the interface for screens: add, undo, retry, discard, submit a review. The undo history is in
                            tui/core/write_queue.py
    machine.py              the states and steps of an entry, and which entry waits for which other entry (pure)
    worker.py, delivery.py  when a step is taken; how an entry is sent and searched for
    store.py                the entries in state.db
    comment_kinds.py, change_request_kinds.py
                            rows of the table. comment_kinds.py also recognizes the comments that Octavo created
    change_request_writes.py, content_writes.py
                            functions that screens call for direct writes
"""
