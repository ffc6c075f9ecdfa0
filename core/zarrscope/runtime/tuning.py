"""Every number that was chosen for speed, with its meaning, its unit and the measurement behind it.

To change a number, run the benchmark named beside it before and after, and write both results there. Limits against
hostile data (MAX_…), time-outs and numbers fixed by a file format are not here; the modules that use them define them.

"bench X" is `python tests/bench/run.py --only X`, on two cores, 2026-11-21; "by reason" means that the number was not
measured, and gives the reason for its size.
"""

from __future__ import annotations

# ---------------------------------------------------------------------------------------------- threads
FETCH_THREADS = 32
"""Threads that wait for remote stores, at most. By reason: they wait, and a server bears some tens of connections."""
FILE_THREADS = 4
"""Threads that read files for viewers. Reading what the page cache holds hardly waits: more threads would only queue
for Python's lock, and a user interface behind them (tests/bench/heartbeat.py: p99 12 ms instead of 22)."""
IDLE_SECONDS = 10.0
"""Seconds after which a thread that has nothing to do ends. By reason: idle threads should not burden a login node."""
LOCK_PATIENCE_SECONDS = 0.002
"""Seconds that a thread waits for the file lock. Of files in the page cache one thread at a time reads, and the others
decode: reading in parallel, they would only take Python's lock from each other at every call. A thread that has waited
this long reads in parallel, which suits slow disks (bench tiny, full: 22 ms instead of 28)."""

# ---------------------------------------------------------------------------------------------- reading chunks
SERIAL_BYTES = 256 * 1024
"""Decoded bytes. A local read of less stays on the calling thread: waking another costs more than it saves (bench
raw)."""
SERIAL_TINY_BYTES = 512 * 1024
"""The same limit for tiny chunks, where half of the time is spent in Python and in system calls (regions of 64³ at
random places in 128 MiB: two threads take a seventh less; always the same region, bench tiny: no gain)."""
SERIAL_COPIED_BYTES = 1 << 20
"""The same limit for chunks that are stored without compression (bench raw)."""
SERIAL_QUICK_BYTES = 8 << 20
"""The same limit where decoding is as fast as copying (bench raw, planes and regions of blosc-lz4: a sleeping thread
takes 50 to 100 µs to wake, and as long again to be waited for)."""
JOB_BYTES = 1 << 20
"""Bytes that a thread decodes before it takes the next job (bench raw, full)."""
JOB_CHUNKS = 256
"""Chunks in one job at most (bench tiny, full)."""
MERGED_CHUNKS = 8
"""Parts of this many chunks are decoded by one call (bench raw, XY plane of blosc-lz4: 2.3 ms instead of 3.8)."""
MERGED_BYTES = 32 << 20
"""Decoded bytes of the chunks whose parts one call decodes. By reason: this bounds the memory for reading them."""
TINY_BYTES = 32 * 1024
"""Chunks that decode to no more bytes than this are tiny: many are decoded by one call (bench tiny, full: 22 ms instead
of 54)."""
PLANNED_CHUNKS = 4096
"""Chunks of a remote store that are planned at once. By reason: some rounds of its requests."""
INFLATED_PIECE = 256 * 1024
"""Bytes of a deflate stream that are decoded at once where most of them are only passed over. By reason: they stay in
the processor's cache."""
BLOSC_HEAD = 4096
"""Bytes of a blosc chunk that are read first. By reason: a page, which holds the table of up to 1,000 blocks."""
ZEROED_BYTES = 64 * 1024 * 1024
"""A result of so many bytes is asked for as zeros, which the system gives when they are first touched. By reason."""
KEPT_FROM = 8 << 20
"""Bytes from which on an application's results lie in memory that is used again (memory.py): smaller memory the C
library keeps itself … (bench raw, raw chunks, full: 13 ms of computing instead of 17)"""
KEPT_BYTES = 256 << 20
"""… and not more bytes than this in all. By reason: a few screens of data."""

# ---------------------------------------------------------------------------------------------- ranges of shards
MAX_GAP = 64 * 1024
"""Bytes. Two ranges of one remote value with a smaller gap are fetched together: cheaper than another round trip."""
LOCAL_GAP = 8 * 1024
"""Bytes. The same for a file, where it saves a system call (bench shards)."""
MAX_BLOCK = 8 * 1024 * 1024
"""Bytes of the largest merged range, so that decoding begins before everything has arrived (bench http, shards)."""
MIN_BLOCK = 128 * 1024
"""Bytes of the smallest range that a fetch is split into (bench http, shards)."""
RANGES_AT_ONCE = 64
"""A remote fetch is split into about so many ranges of MIN_BLOCK to MAX_BLOCK: several connections carry more than
one, and decoding begins with the first range (bench http, shards)."""
MAX_WHOLE = 8 * 1024 * 1024
"""Bytes. A remote shard that decodes to at most this is fetched whole when at least half of its chunks are wanted: that
saves a round trip, which takes longer than the unwanted bytes (bench http, shards)."""

# ---------------------------------------------------------------------------------------------- writing
SLAB_BYTES = 8 << 20
"""Decoded bytes per slab: each thread gathers and encodes one slab of a shard's inner chunks at a time (bench
write)."""
SYSTEM_CALL_BYTES = 1 << 30
"""Bytes of one system call. By reason: Linux transfers a little less than 2 GiB at once."""
SYSTEM_CALL_PIECES = 512
"""Pieces of one system call. By reason: POSIX promises 16, all systems take 1,024."""

# ---------------------------------------------------------------------------------------------- requests at once
IN_FLIGHT = 128
"""Requests under way at a remote store (bench http: a plane in 86 ms; tensorstore with 32 takes 227, with 128 95)."""
PUTS_AT_ONCE = 32
"""Values on their way to a remote store at the same time (bench s3_writes: 128 chunks in .7 of the time of the fastest
other library; one after the other in 4.8 of it) …"""
PUT_BYTES = 64 << 20
"""… and no more bytes of them than this, where there is more than one. By reason: they are held in memory."""
FEWEST_IN_FLIGHT = 4
"""Requests that stay when a server says that it is asked too much. By reason."""
ARCHIVE_TAIL_BYTES = 1 << 17
"""Bytes from the end of a distant archive that are read first. By reason: the directory of some 1,500 entries is among
them, and they take a server of 10 MB/s half a round trip."""
ARCHIVE_PENDING_SHARE = 16
"""Values are added to an archive once they are so many times as long as its directory, which is written anew behind
them. By reason: a sixteenth of the archive is lost to old directories."""
ARCHIVE_PENDING_BYTES = 1 << 26
"""… or as long as that. By reason: it is held in memory."""
SCANNED_AT_ONCE = 64
"""Prefixes of a store that are looked into side by side. By reason: some rounds at a remote store."""
VALUES_AT_ONCE = 64
"""Values that are asked for at once where they are copied or compared, and chunks where they are converted. By reason:
so many of a few MiB are in memory."""
FOLDERS_AT_ONCE = 16
"""Folders that are looked into before the first is told. By reason: no handle is held while others act on it."""
CHILDREN_AT_ONCE = 64
"""Children whose documents are fetched, or that are opened, side by side (bench listing, and round trips of http)."""

# ---------------------------------------------------------------------------------------------- whole arrays
CHECKED_AT_ONCE = 256
"""Chunks (shards) decoded between two reports of progress. By reason: a second or so."""
CHECKED_PARTS = 8
"""Pieces of a batch on a cluster, and the number of batches that run there at once. By reason."""
CHECKED_INNER_CHUNKS = 1024
"""Inner chunks of a shard that are fetched at once. By reason: their ranges are merged."""
CHECKED_BYTES = 512 << 20
"""Decoded bytes of chunks that `check` has at the same time. By reason: what a laptop has to spare."""
COMPARED_BYTES = 16 << 20
"""Bytes of a block that `diff` compares. By reason: some chunks of each side."""
REGION_BYTES = 32 << 20
"""Bytes of a region that is converted at once. By reason: some chunks, and a core's share of memory."""
TASK_BYTES = 32 << 20
"""Bytes that one task of a cluster reads. By reason: sending the task costs little in comparison."""
TASKS_PER_THREAD = 2
"""Tasks of a cluster that wait for each of its threads. By reason: one runs, one is on its way."""

# ---------------------------------------------------------------------------------------------- what is remembered
VIEW_BYTES = 1 << 30
"""Bytes of chunks that viewers keep, or a quarter of the machine's memory where that is less. By reason."""
LAZY_BLOCK_BYTES = 32 << 20
"""Decoded bytes of one of dask's blocks, where a view is computed with. By reason: a task of dask costs a millisecond,
and each core holds one block."""
SHARD_INDEX_BYTES = 32 * 1024 * 1024
"""Bytes of the indexes of shards that one array keeps. By reason: two million inner chunks."""
DOCUMENT_BYTES = 64 * 1024 * 1024
"""Bytes of documents of one remote hierarchy that are kept. By reason."""
PARSED_DOCUMENTS = 512
"""Documents of which is remembered what they said: half of opening an array again (bench warm) …"""
PARSED_BYTES = 8 << 10
"""… of at most so many bytes each. By reason: documents of arrays have 1 KiB."""
ALIKE_DOCUMENTS = 512
"""Documents of which the kind of node is remembered, since many nodes of a plate or a time series have the same: a
quarter of listing 2,000 such nodes (bench listing) …"""
ALIKE_BYTES = 4 << 10
"""… of at most so many bytes each. By reason, as above."""
FOLDERS_REMEMBERED = 4096
"""Folders remembered as swept of what killed writers left, and as spelled right. By reason: those of a large store."""
SWEPT_NAMES = 20_000
"""Names of a folder that such a sweep looks at. By reason: a million chunks side by side would keep a save waiting."""
