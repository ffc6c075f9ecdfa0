"""Every number that was chosen for speed, with its meaning, its unit and the measurement behind it.

To change a number, run the benchmark named beside it before and after, and write both results there. Limits against
hostile data (MAX_…), time-outs and numbers fixed by a file format are not here; the modules that use them define them.

"bench X" is `python tests/bench/run.py --only X`, on two cores, 2026-11-21. "Not measured" marks a number without a
benchmark; the reason for its size follows, if there is one.
"""

from __future__ import annotations

# ---------------------------------------------------------------------------------------------- threads
FETCH_THREADS = 32
"""The most threads that wait for remote stores. Not measured: waiting threads cost little, and a server
accepts some tens of connections."""
FILE_THREADS = 4
"""Threads that read files for viewers. Reading from the page cache hardly waits: more threads would only queue for the
GIL and delay a user interface (tests/bench/heartbeat.py: p99 12 ms instead of 22)."""
IDLE_SECONDS = 10.0
"""Seconds after which an idle thread ends. Not measured: idle threads should not burden a login node."""
LOCK_PATIENCE_SECONDS = 0.002
"""Seconds that a thread waits for the lock on reading files. One thread at a time reads files in the page cache while
the others decode; in parallel they would only compete for the GIL at every call. A thread that has waited this long
reads in parallel, which is better on slow disks (bench tiny, full: 22 ms instead of 28)."""

# ---------------------------------------------------------------------------------------------- reading chunks
SERIAL_BYTES = 256 * 1024
"""A local read of fewer decoded bytes stays on the calling thread, because waking another thread costs more than it
saves (bench raw)."""
SERIAL_TINY_BYTES = 512 * 1024
"""As SERIAL_BYTES, for tiny chunks, which spend half of the time in Python and in system calls. Measured for regions of
64³: two threads save a seventh of the time if the regions are at random places in 128 MiB, and none if it is always the
same region (bench tiny)."""
SERIAL_COPIED_BYTES = 1 << 20
"""As SERIAL_BYTES, for chunks that are stored without compression (bench raw)."""
SERIAL_QUICK_BYTES = 8 << 20
"""As SERIAL_BYTES, if decoding is as fast as copying (bench raw, planes and regions of blosc-lz4: a sleeping thread
takes 50 to 100 µs to wake, and as long again until the caller has its result)."""
JOB_BYTES = 1 << 20
"""Bytes that a thread decodes before it takes the next job (bench raw, full)."""
JOB_CHUNKS = 256
"""The most chunks in one job (bench tiny, full)."""
MERGED_CHUNKS = 8
"""Parts of at most this many chunks are decoded by one call (bench raw, XY plane of blosc-lz4: 2.3 ms instead of
3.8)."""
MERGED_BYTES = 32 << 20
"""Chunks whose parts are decoded by one call have at most this many decoded bytes together. Not measured: it limits
the memory for reading them."""
TINY_BYTES = 32 * 1024
"""Chunks of at most this many decoded bytes are tiny: many are decoded by one call (bench tiny, full: 22 ms instead of
54)."""
PLANNED_CHUNKS = 4096
"""Chunks of a remote store whose requests are planned at a time. Not measured: they take several rounds of requests."""
INFLATED_PIECE = 256 * 1024
"""Bytes of a deflate stream that are decoded at a time if most of them are skipped. Not measured: a piece of this size
stays in the processor's cache."""
BLOSC_HEAD = 4096
"""Bytes of a blosc chunk that are read first. Not measured: one page holds the table of up to 1,000 blocks."""
ZEROED_BYTES = 64 * 1024 * 1024
"""Results of at least this many bytes are allocated as zeros, because the system clears new pages anyway. Not
measured."""
KEPT_FROM = 8 << 20
"""Results of at least this many bytes reuse memory (memory.py); the C library itself keeps smaller memory (bench raw,
raw chunks, full: 13 ms of computing instead of 17)."""
KEPT_BYTES = 256 << 20
"""The most bytes of unused memory that are kept for the next results. Not measured: enough for a few screens of
data."""
KEPT_SECONDS = 1.0
"""Seconds that unused memory is kept at most, and a quarter more. Not measured: clearing 64 MiB of new memory takes
8 ms, which is less than a hundredth of the time between two reads of a program that reads less often."""

# ---------------------------------------------------------------------------------------------- ranges of shards
MAX_GAP = 64 * 1024
"""Two ranges of one remote value with fewer bytes between them are fetched together. Not measured: these bytes take
less time than another round trip."""
LOCAL_GAP = 8 * 1024
"""As MAX_GAP, for two ranges of a local file: reading them together saves a system call (bench shards)."""
MAX_BLOCK = 8 * 1024 * 1024
"""The most bytes of ranges that are merged into one: decoding should begin before everything has arrived (bench http,
shards)."""
MIN_BLOCK = 256 * 1024
"""Bytes of the smallest range into which a fetch is split. With 128, 256, 512 and 1,024 KiB, three planes of the demo
volume, each of 64 chunks of 120 KB in four shards, took 204, 155, 75 and 46 requests, the same bytes, and within the
spread the same time, at 30 ms and at 200 ms a request; the least computing was 64, 61, 51 and 47 ms (2026-11-28, beside
other work; bench viewing counts the requests). It is not larger because a new connection carries 128 KB in four round
trips, 256 in five, 512 in six."""
RANGES_AT_ONCE = 64
"""A remote fetch is split into about this many ranges of MIN_BLOCK to MAX_BLOCK: several connections are faster than
one, and decoding begins with the first range (bench http, shards)."""
MAX_WHOLE = 8 * 1024 * 1024
"""A remote shard is fetched whole if its chunks within the array have at most this many decoded bytes, and at least
half of them are wanted: that saves a round trip, which takes longer than the unwanted bytes (bench http, shards)."""

# ---------------------------------------------------------------------------------------------- writing
SLAB_BYTES = 8 << 20
"""Decoded bytes per slab: each thread gathers and encodes one slab of a shard's inner chunks at a time (bench
write)."""
SYSTEM_CALL_BYTES = 1 << 30
"""The most bytes that one system call reads or writes. Not measured: Linux transfers just under 2 GiB at most."""
SYSTEM_CALL_PIECES = 512
"""The most buffers that one system call writes. Not measured: POSIX guarantees 16, all systems accept 1,024."""

# ---------------------------------------------------------------------------------------------- requests at once
IN_FLIGHT = 128
"""The most parallel requests to a remote store (bench http: a plane in 86 ms; tensorstore takes 227 with 32 requests,
and 95 with 128)."""
PUTS_AT_ONCE = 32
"""The most values that are sent to a remote store in parallel (bench s3_writes: 128 chunks take 0.7 times as long as
in the fastest other library, and 4.8 times as long if they are sent one by one)."""
PUT_BYTES = 64 << 20
"""The most bytes, in total, of values that are sent in parallel. Not measured: they are held in memory."""
FEWEST_IN_FLIGHT = 4
"""The fewest parallel requests after a server reported too many. Not measured."""
SSH_PIPE_BYTES = 1 << 20
"""The size of the pipe from ssh, if the system can change it. Reading values of 9 MB at 30 ms takes a tenth less time
than with the usual 64 KiB (bench ssh)."""
SSH_PIECE_BYTES = 64 << 10
"""Bytes that are written to the pipe to ssh at a time. Not measured: the usual size of a pipe."""
SSH_CHANNELS = 5
"""The most channels of a connection over ssh, the first one included: four values of 2.2 MB take one round trip by five
channels and two by four (bench ssh, and 368 and 759 ms at 300 ms). An OpenSSH server allows ten by default."""
SSH_SHARED_BYTES = 64 << 10
"""Smaller values are carried by one channel. Not measured: what the system sends at once."""
SSH_LONG_WAY_SECONDS = 0.005
"""Further channels are opened only if a round trip takes at least this time: on a shorter way one channel is fast
enough (bench ssh)."""
SSH_LARGE_READ_BYTES = 1 << 20
"""Further channels are opened only after one read that fetched at least this number of bytes. Not measured."""
SSH_AHEAD_BYTES = 2 << 20
"""The most bytes of a shard's chunks that are sent with its index: OpenSSH sends as many before it waits for a
confirmation. Not measured."""
SSH_AT_ONCE = 16
"""The most requests that the far side of ssh handles in parallel. Not measured: a file server answers some tens."""
SSH_PAGE = 500
"""The most names in one message with a listing over ssh. Not measured: some ten kilobytes."""
SFTP_CHANNELS = 8
"""The most channels of one SFTP connection. Not measured: by default servers allow ten sessions (MaxSessions)."""
SFTP_PIECE_BYTES = 4 << 20
"""Bytes of read requests that are sent over SFTP before waiting for answers. Not measured: they are held in memory."""
SFTP_PAGE = 200
"""Names of a listing over SFTP that are passed on together. Not measured: the first should be shown early."""
SFTP_REMOVED_AT_ONCE = 64
"""Files that are removed in parallel over SFTP. Not measured: a few rounds of requests."""
REDIS_AT_ONCE = 64
"""The most values that are requested from Redis in one round trip. Not measured: they are held in memory."""
REDIS_PAGE = 1000
"""The number of keys that Redis examines for one answer of a listing. Not measured: the server serves nobody else
meanwhile."""
LMDB_PAGE = 1024
"""The most keys of LMDB that are listed in one transaction. Not measured: a long one keeps LMDB from reusing pages."""
SQLITE_PAGE = 256
"""The most keys that one query returns when one level of an SQLite file is listed. Not measured."""
LONG_LISTING_SECONDS = 0.4
"""Seconds after which the listing of one level of a bucket counts as slow; the whole is then listed beside it. Not
measured: a level of 4,000 names takes this long at 100 ms a request."""
MULTIPART_BYTES = 64 << 20
"""Values of more bytes are uploaded in parts, which the service combines in one step. Not measured: a failed part is
sent again alone."""
SERIES_AT_ONCE = 16
"""Images of bioformats2raw that are requested in parallel if no document states their number. Not measured: most
files hold a few."""
ARCHIVE_PIECE_BYTES = 16 << 20
"""Bytes that are copied at a time when an archive is written anew. Not measured: they are held in memory."""
ARCHIVE_TAIL_BYTES = 1 << 17
"""Bytes that are read first from the end of a remote archive. Not measured: they include the directory of some
1,500 entries, and a server of 10 MB/s sends them in half of a round trip."""
ARCHIVE_DIRECTORY_BYTES = 1 << 22
"""Bytes of an archive's directory that are read first; each further piece is as long as those before it. Not measured:
they hold some 50,000 entries, and a false end record makes that many bytes be read in vain."""
ARCHIVE_PENDING_SHARE = 16
"""New values are held back until they are this many times as long as the directory of their archive, which is written
again after them. Not measured: outdated directories then waste a sixteenth of the archive."""
ARCHIVE_PENDING_BYTES = 1 << 26
"""At most this many bytes of new values are held back before they are written to their archive. Not measured: they are
held in memory."""
SCANNED_AT_ONCE = 64
"""Prefixes of a store that are scanned in parallel. Not measured: they take a few rounds of requests to a remote store.
"""
VALUES_AT_ONCE = 64
"""Values that are copied or compared in parallel, and chunks that are converted in parallel. Not measured: each
may take a few MiB of memory."""
FOLDERS_AT_ONCE = 16
"""Folders that are scanned before the first result is passed on. Not measured: no file handle stays open while the
caller handles a result."""
SEARCHED_AT_ONCE = 16
"""Folders of a remote place that are searched for hierarchies in parallel. Not measured: each search takes some rounds
of requests."""
SEARCHED_DOWN_AT_ONCE = 2
"""The same where the search goes down instead of across: a wide step would use up the limit before it comes to the
arrays. Not measured."""
CHILDREN_AT_ONCE = 64
"""Children whose documents are fetched, or that are opened, in parallel (bench listing, and round trips of http)."""

# ---------------------------------------------------------------------------------------------- files and documents
FILE_PIECE_BYTES = 1 << 20
"""Bytes of a file that a comparison reads at a time. Not measured: they stay in the processor's cache."""
JSON_PIECE = 1 << 16
"""Characters of a long JSON text that are examined at a time: a single call for 4 MB keeps Python's lock for 3 to 25 ms
(tests/bench/form.py). Finding the members of 4 MB takes 12 ms, in pieces of 2**20 17 (2026-11-30)."""
LARGE_DOCUMENT = 64 << 10
"""Documents of more bytes are kept in parsed form from the opening of a hierarchy on. Not measured: smaller ones take
less than a millisecond to parse again."""

# ---------------------------------------------------------------------------------------------- whole arrays
CHECKED_AT_ONCE = 256
"""Chunks (or shards) that `check` decodes between two reports of progress. Not measured: they take about a second."""
CHECKED_PARTS = 8
"""On a cluster, `check` divides CHECKED_AT_ONCE chunks into this many tasks, and sends the tasks of this many such
batches together. Not measured."""
CHECKED_INNER_CHUNKS = 1024
"""Inner chunks of a shard that are fetched at once. Not measured: their ranges are merged."""
CHECKED_RANGE_BYTES = 8 << 20
"""Bytes of a shard that are read at a time if they need not be decoded. Not measured."""
CHECKED_GAP = 8 * 1024
"""As LOCAL_GAP, for the inner chunks that `check` reads. Not measured."""
LISTED_AT_ONCE = 2048
"""Keys that `check` lists between two reports of progress. Not measured."""
VISITED_CHUNKS = 1 << 16
"""The chunks of a grid with at most this many are requested one by one, without a listing first. Not measured: a
listing takes a request for each thousand names."""
INDEX_ENTRIES_AT_ONCE = 1 << 20
"""Entries of a shard's index that are processed at once. Not measured: the intermediate arrays take ten times their
memory."""
SPANS_AT_ONCE = 1 << 16
"""Byte ranges of inner chunks that are computed at once. Not measured: Python's numbers take ten times the memory of
numpy's."""
CHECKED_BYTES = 512 << 20
"""The most decoded bytes of chunks that `check` holds at a time. Not measured: a laptop can spare this much."""
COMPARED_BYTES = 16 << 20
"""The most bytes of a block that `diff` compares at a time. Not measured: a block holds a few chunks of each side."""
REGION_BYTES = 32 << 20
"""Bytes of a region that is converted at a time. Not measured: a region holds a few chunks and fits into a core's share
of memory."""
EXPORTED_BYTES = 32 << 20
"""Bytes of values that an export reads at a time. Not measured: a few chunks."""
EXPORTED_PLANE_BYTES = 128 << 20
"""Larger planes are exported in tiles, so that no complete plane is in memory. Not measured."""
EDITED_EDGE = 256
"""The length of a block of edited values along the last two axes; along the others it is one element long. Not
measured: a brush touches a few such blocks."""
EDITED_BOX = 1 << 22
"""The most elements in the bounding box of scattered positions for which the whole box is read through the cache. Not
measured: four megabytes of bytes."""
TASK_BYTES = 32 << 20
"""Bytes that one task of a cluster reads. Not measured: sending the task costs little in comparison."""
TASKS_PER_THREAD = 2
"""Unfinished tasks per thread of a cluster. Not measured: one runs, and the next one is being sent."""

# ---------------------------------------------------------------------------------------------- caches
VIEW_BYTES = 1 << 30
"""The most bytes of chunks that viewers keep; a quarter of the machine's memory if that is less. Not measured."""
LAZY_BLOCK_BYTES = 32 << 20
"""Decoded bytes of one block when a view is converted to a dask array. Not measured: a dask task costs a millisecond,
and each core holds one block."""
SHARD_INDEX_BYTES = 32 * 1024 * 1024
"""The most bytes of cached shard indexes per array. Not measured: enough for two million inner chunks."""
DOCUMENT_BYTES = 64 * 1024 * 1024
"""The most bytes of cached documents per remote hierarchy. Not measured."""
PARSED_DOCUMENTS = 512
"""The most parsed documents that are cached: the cache saves half of the time for opening an array again (bench
warm)."""
PARSED_BYTES = 8 << 10
"""Documents of more bytes are not cached in parsed form. Not measured: most documents of arrays have about 1 KiB."""
ALIKE_DOCUMENTS = 512
"""The most documents whose node kind is cached, because many nodes of a plate or a time series have equal documents:
the cache saves a quarter of the time for listing 2,000 such nodes (bench listing)."""
ALIKE_BYTES = 4 << 10
"""The node kind of a document of more bytes is not cached. Not measured: most documents of arrays have about 1 KiB."""
FOLDERS_REMEMBERED = 4096
"""The most folders for which a process remembers that it removed leftover temporary files and checked the spelling of
names. Not measured: enough for a large store."""
SWEPT_NAMES = 20_000
"""The most names of a folder that are examined to find leftover temporary files. Not measured: examining a folder of a
million chunks would delay a save."""
