"""Every number that was chosen for speed, with its meaning, its unit and the measurement behind it.

To change a number, run the benchmark named beside it before and after, and write both results there. Limits against
hostile data (MAX_…), time-outs and numbers fixed by a file format are not here; the modules that use them define them.

"bench X" is `python tests/bench/run.py --only X`, on two cores, 2026-11-21; "by reason" means that the number was not
measured, and gives the reason for its size.
"""

from __future__ import annotations

# ---------------------------------------------------------------------------------------------- threads
FETCH_THREADS = 32
"""The most threads that wait for remote stores. By reason: they only wait, and a server accepts some tens of
connections."""
FILE_THREADS = 4
"""Threads that read files for viewers. Reading from the page cache hardly waits: more threads would only queue for the
GIL and delay a user interface (tests/bench/heartbeat.py: p99 12 ms instead of 22)."""
IDLE_SECONDS = 10.0
"""Seconds after which an idle thread ends. By reason: idle threads should not burden a login node."""
LOCK_PATIENCE_SECONDS = 0.002
"""Seconds that a thread waits for the lock on reading files. One thread at a time reads files in the page cache while
the others decode; in parallel they would only compete for the GIL at every call. A thread that has waited this long
reads in parallel, which is better on slow disks (bench tiny, full: 22 ms instead of 28)."""

# ---------------------------------------------------------------------------------------------- reading chunks
SERIAL_BYTES = 256 * 1024
"""Decoded bytes. A smaller local read stays on the calling thread, because waking another costs more than it saves
(bench raw)."""
SERIAL_TINY_BYTES = 512 * 1024
"""The same limit for tiny chunks, which spend half of the time in Python and in system calls (regions of 64³ at random
places in 128 MiB: two threads take a seventh less; always the same region, bench tiny: no gain)."""
SERIAL_COPIED_BYTES = 1 << 20
"""The same limit for chunks that are stored without compression (bench raw)."""
SERIAL_QUICK_BYTES = 8 << 20
"""The same limit if decoding is as fast as copying (bench raw, planes and regions of blosc-lz4: a sleeping thread takes
50 to 100 µs to wake, and as long again until the caller has its result)."""
JOB_BYTES = 1 << 20
"""Bytes that a thread decodes before it takes the next job (bench raw, full)."""
JOB_CHUNKS = 256
"""The most chunks in one job (bench tiny, full)."""
MERGED_CHUNKS = 8
"""Parts of this many chunks are decoded by one call (bench raw, XY plane of blosc-lz4: 2.3 ms instead of 3.8)."""
MERGED_BYTES = 32 << 20
"""Decoded bytes of the chunks whose parts one call decodes. By reason: this bounds the memory for reading them."""
TINY_BYTES = 32 * 1024
"""Chunks of at most this many decoded bytes are tiny: many are decoded by one call (bench tiny, full: 22 ms instead of
54)."""
PLANNED_CHUNKS = 4096
"""Chunks of a remote store that are planned at a time. By reason: enough for some rounds of requests."""
INFLATED_PIECE = 256 * 1024
"""Bytes of a deflate stream that are decoded at a time if most of them are skipped. By reason: they stay in the
processor's cache."""
BLOSC_HEAD = 4096
"""Bytes of a blosc chunk that are read first. By reason: one page, which holds the table of up to 1,000 blocks."""
ZEROED_BYTES = 64 * 1024 * 1024
"""Results of at least this many bytes are allocated as zeros, because the system clears new pages anyway. By reason."""
KEPT_FROM = 8 << 20
"""Results of at least this many bytes reuse memory in an application (memory.py); the C library itself keeps smaller
memory (bench raw, raw chunks, full: 13 ms of computing instead of 17)."""
KEPT_BYTES = 256 << 20
"""The most bytes of memory that is kept for reuse. By reason: a few screens of data."""

# ---------------------------------------------------------------------------------------------- ranges of shards
MAX_GAP = 64 * 1024
"""Bytes. Two ranges of one remote value with a smaller gap are fetched together. By reason: that costs less than
another round trip."""
LOCAL_GAP = 8 * 1024
"""Bytes. The same for a file, where it saves a system call (bench shards)."""
MAX_BLOCK = 8 * 1024 * 1024
"""Bytes of the largest merged range, so that decoding begins before everything has arrived (bench http, shards)."""
MIN_BLOCK = 128 * 1024
"""Bytes of the smallest range into which a fetch is split (bench http, shards)."""
RANGES_AT_ONCE = 64
"""A remote fetch is split into about this many ranges of MIN_BLOCK to MAX_BLOCK: several connections are faster than
one, and decoding begins with the first range (bench http, shards)."""
MAX_WHOLE = 8 * 1024 * 1024
"""Bytes. A remote shard that decodes to at most this is fetched whole if at least half of its chunks are wanted: that
saves a round trip, which takes longer than the unwanted bytes (bench http, shards)."""

# ---------------------------------------------------------------------------------------------- writing
SLAB_BYTES = 8 << 20
"""Decoded bytes per slab: each thread gathers and encodes one slab of a shard's inner chunks at a time (bench
write)."""
SYSTEM_CALL_BYTES = 1 << 30
"""Bytes of one system call. By reason: Linux transfers a little less than 2 GiB at a time."""
SYSTEM_CALL_PIECES = 512
"""Buffers of one system call. By reason: POSIX guarantees 16, all systems accept 1,024."""

# ---------------------------------------------------------------------------------------------- requests at once
IN_FLIGHT = 128
"""Parallel requests to a remote store (bench http: a plane in 86 ms; tensorstore takes 227 with 32, and 95 with
128)."""
PUTS_AT_ONCE = 32
"""Values that are being sent to a remote store in parallel (bench s3_writes: 128 chunks take 0.7 of the time of the
fastest other library; one after the other 4.8 of it)."""
PUT_BYTES = 64 << 20
"""The most bytes of several values that are being sent. By reason: they are held in memory."""
FEWEST_IN_FLIGHT = 4
"""The fewest parallel requests after a server reported too many. By reason."""
ARCHIVE_TAIL_BYTES = 1 << 17
"""Bytes that are read first from the end of a remote archive. By reason: they include the directory of some 1,500
entries, and take a server of 10 MB/s half a round trip."""
ARCHIVE_PENDING_SHARE = 16
"""Values are added to an archive when they are this many times as long as its directory, which is written again after
them. By reason: old directories then waste a sixteenth of the archive."""
ARCHIVE_PENDING_BYTES = 1 << 26
"""Values are also added when they reach this many bytes. By reason: they are held in memory."""
SCANNED_AT_ONCE = 64
"""Prefixes of a store that are scanned in parallel. By reason: some rounds of requests to a remote store."""
VALUES_AT_ONCE = 64
"""Values that are copied or compared in parallel, and chunks that are converted in parallel. By reason: each may have a
few MiB, in memory."""
FOLDERS_AT_ONCE = 16
"""Folders that are scanned before the first result is passed on. By reason: no handle stays open while the caller
handles a result."""
CHILDREN_AT_ONCE = 64
"""Children whose documents are fetched, or that are opened, in parallel (bench listing, and round trips of http)."""

# ---------------------------------------------------------------------------------------------- whole arrays
CHECKED_AT_ONCE = 256
"""Chunks (shards) decoded between two reports of progress. By reason: a second or so."""
CHECKED_PARTS = 8
"""Pieces of a batch on a cluster, and the number of batches that run there at once. By reason."""
CHECKED_INNER_CHUNKS = 1024
"""Inner chunks of a shard that are fetched at once. By reason: their ranges are merged."""
CHECKED_BYTES = 512 << 20
"""The most decoded bytes of chunks that `check` holds at a time. By reason: a laptop can spare this much."""
COMPARED_BYTES = 16 << 20
"""Bytes of a block that `diff` compares. By reason: some chunks of each side."""
REGION_BYTES = 32 << 20
"""Bytes of a region that is converted at a time. By reason: some chunks, and a core's share of memory."""
TASK_BYTES = 32 << 20
"""Bytes that one task of a cluster reads. By reason: sending the task costs little in comparison."""
TASKS_PER_THREAD = 2
"""Tasks per thread of a cluster. By reason: one runs and one is being sent."""

# ---------------------------------------------------------------------------------------------- caches
VIEW_BYTES = 1 << 30
"""The most bytes of chunks that viewers keep; a quarter of the machine's memory if that is less. By reason."""
LAZY_BLOCK_BYTES = 32 << 20
"""Decoded bytes of one of dask's blocks when a view is computed with. By reason: a dask task costs a millisecond, and
each core holds one block."""
SHARD_INDEX_BYTES = 32 * 1024 * 1024
"""Bytes of cached shard indexes per array. By reason: two million inner chunks."""
DOCUMENT_BYTES = 64 * 1024 * 1024
"""Bytes of cached documents per remote hierarchy. By reason."""
PARSED_DOCUMENTS = 512
"""The most parsed documents that are cached: it saves half of the time for opening an array again (bench warm)."""
PARSED_BYTES = 8 << 10
"""Larger documents, in bytes, are not cached in parsed form. By reason: documents of arrays have 1 KiB."""
ALIKE_DOCUMENTS = 512
"""The most documents whose node kind is cached, because many nodes of a plate or a time series have equal documents: it
saves a quarter of listing 2,000 such nodes (bench listing)."""
ALIKE_BYTES = 4 << 10
"""Larger documents, in bytes, are not cached by kind. By reason, as above."""
FOLDERS_REMEMBERED = 4096
"""The most folders that are remembered as cleaned of leftovers, and as checked for their spelling. By reason: enough
for a large store."""
SWEPT_NAMES = 20_000
"""The most names of a folder that such a cleaning examines. By reason: a folder of a million chunks would delay a
save."""
