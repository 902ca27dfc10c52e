"""Writes: everything that Octavo changes on the server.

A write either waits in the outbox (comments, replies, reviews with comments), or the user waits for it (direct.py). Both use
the table in kinds.py. Its row for an operation checks the target before sending (`check`), finds the write after a lost
response (`find`), and undoes it (`undo`). write_kind.py has the types.

Queue a comment, crash, restart:

1. `Outbox.add_all` stores the entry and deletes the unsent draft in one transaction (store.py, state.db). The state is `held`.
2. optimistic_updates.py shows the comment on the cached responses. `u` cancels it, and the text is a draft again (undo.py).
3. The undo delay ends. The instance with the lock `outbox` takes the entry (worker.py).
4. The row's `check` reads the newest threads: their ids are the baseline (delivery.py).
5. `machine.start` stores the state `sending` and the baseline. Only then does the request leave.
6. Octavo is killed. The server may have the comment, or not.
7. At the next start, the worker takes the lock. An entry in the state `sending` becomes `unknown`.
8. The row's `find` looks for a comment that is not in the baseline, and that no other write created. If it is there, the entry
   is done. If not, Octavo looks until the server can no longer act on the request, then asks the user: a comment sent twice
   would exist twice. If the user retries, Octavo looks once more before it sends. A write that only sets a state is checked
   and sent again without asking.

    outbox.py               the interface for screens: add, undo, retry, discard, submit a review
    machine.py              the states and steps of an entry, and which entry waits for which (no I/O)
    worker.py, delivery.py  when a step is taken; how one entry is sent and looked for
    store.py                the entries in state.db
    comment_kinds.py, change_request_kinds.py
                            rows of the table. The first also recognizes comments that Octavo wrote
    change_request_writes.py, content_writes.py, uploads.py
                            functions that screens call for direct writes
"""
