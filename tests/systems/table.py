"""The differences of other systems, one column each: forced.py simulates them, run.py runs whole suites on them.

A name in `lacks` is missing as it is missing there: AttributeError for a function or a constant, ModuleNotFoundError
for a module. A `behaviour` is one that forced.py imitates, with the error (errno, and winerror on Windows) that the
system gives.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

BEHAVIOURS = {
    "backslashes": "paths are C:\\a\\b; os.path is ntpath, os.sep is a backslash, os.name is nt",
    "open files stay": "a file that anybody has open is not renamed, replaced or removed, nor a folder around it",
    "text mode": "a file opened without O_BINARY turns line ends, and ends at Ctrl-Z",
    "folders have no handle": "a folder cannot be opened, nor a name looked up within a handle",
    "rename refuses": "rename does not replace; write-protected files are neither replaced nor removed",
    "windows names": "< > : \" | ? * and devices are no names; dots and spaces at the end of one are dropped",
    "short paths": "a path has at most 259 characters, without the prefix \\\\?\\",
    "mandatory locks": "there is msvcrt instead of fcntl, and its locks keep others from reading",
    "modes are one bit": "a file's mode says whether it is write-protected; owner and group are 0",
    "any case": "names that differ in case are one name; the first one's case is kept",
    "any form": "names that differ in their Unicode form are one name",
    "no system calls": "numbers of Linux's system calls mean something else, and must not be used",
    "no new calls": "openat2 and renameat2 give ENOSYS",
    "libraries show nothing": "library files of numcodecs show their functions to nobody",
    "no libraries": "ctypes loads nothing",
    "folders are not locked": "flock on what is not open for writing: EBADF, as NFS has it",
    "nothing is locked": "flock on any file of the store: ENOLCK",
    "silly rename": "a file that this machine has open and removes goes on living as .nfs0123456789abcdef01234567",
    "no links": "hard links: EPERM",
    "no attributes": "chown: EPERM; extended attributes: EOPNOTSUPP",
    "no modes": "chmod: EPERM",
    "no advice": "MADV_FREE: EINVAL",
    "full flush": "fsync leaves data in the disk's cache; fcntl has F_FULLFSYNC",
}  # fmt: skip


@dataclass(frozen=True)
class System:
    """One system, as zarrscope sees it."""

    name: str
    about: str
    platform: str
    lacks: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """For each module, the names that it lacks; without names, the module itself is missing."""
    behaviours: frozenset[str] = frozenset()
    release: str = ""
    """Of the kernel, where there is os.uname."""

    def __post_init__(self) -> None:
        unknown = self.behaviours - BEHAVIOURS.keys()
        assert not unknown, unknown

    def does(self, behaviour: str) -> bool:
        assert behaviour in BEHAVIOURS, behaviour
        return behaviour in self.behaviours


_LINUX_ONLY = tuple(
    """
    O_TMPFILE O_PATH O_DIRECT O_NOATIME sched_getaffinity sched_setaffinity listxattr getxattr setxattr removexattr
    memfd_create copy_file_range posix_fadvise posix_fallocate fdatasync eventfd splice pipe2 getrandom
    RTLD_DEEPBIND POSIX_FADV_WILLNEED POSIX_FADV_SEQUENTIAL
    """.split()
)
_POSIX_ONLY = tuple(
    """
    pread preadv pwrite pwritev readv writev fork forkpty register_at_fork getuid getgid geteuid getegid getgroups
    setuid setgid chown fchown lchown fchmod mkfifo mknod O_CLOEXEC O_NOFOLLOW O_DIRECTORY O_NONBLOCK O_SYNC O_DSYNC
    O_NOCTTY RTLD_NOLOAD RTLD_NOW RTLD_GLOBAL RTLD_LOCAL sync sysconf sysconf_names uname statvfs fstatvfs fchdir
    killpg getpgid setsid lockf posix_spawn wait3 wait4 nice getloadavg sched_yield WNOHANG ctermid confstr
    """.split()
)
_UNIX_SIGNALS = tuple(
    """
    SIGHUP SIGPIPE SIGKILL SIGALRM SIGCHLD SIGUSR1 SIGUSR2 SIGQUIT SIGTSTP SIGWINCH SIGCONT SIGSTOP pthread_sigmask
    pthread_kill siginterrupt alarm setitimer sigwait
    """.split()
)

_TABLE = (
    System(
        "windows",
        "Windows 10, NTFS, without long paths",
        "win32",
        lacks={
            "os": (*_LINUX_ONLY, *_POSIX_ONLY),
            "fcntl": (), "resource": (), "pwd": (), "grp": (), "termios": (), "tty": (),
            "signal": _UNIX_SIGNALS,
            "mmap": ("MAP_PRIVATE", "MAP_ANONYMOUS", "MADV_FREE", "MADV_HUGEPAGE"),
            "time": ("clock_gettime", "tzset"),
        },
        behaviours=frozenset({
            "backslashes", "open files stay", "text mode", "folders have no handle", "rename refuses", "windows names",
            "short paths", "mandatory locks", "modes are one bit", "any case", "libraries show nothing",
        }),
    ),
    System(
        "macos",
        "macOS 10.15, APFS: no positional reads into memory, names in any case and form",
        "darwin",
        lacks={
            "os": (*_LINUX_ONLY, "preadv", "pwritev"),
            "mmap": ("MADV_HUGEPAGE",),
        },
        behaviours=frozenset({"any case", "any form", "no system calls", "full flush"}),
        release="19.6.0",
    ),
    System(
        "old-linux",
        "Linux 3.10 with glibc 2.17: no openat2, renameat2, O_TMPFILE, MADV_FREE",
        "linux",
        lacks={"os": ("O_TMPFILE", "copy_file_range", "memfd_create", "getrandom", "preadv", "pwritev")},
        behaviours=frozenset({"no new calls", "no advice"}),
        release="3.10.0-1160.el7.x86_64",
    ),
    System(
        "nfs",
        "Linux 3.10 with the store on NFS: folders are not locked, removed files live on while they are open",
        "linux",
        lacks={"os": ("O_TMPFILE", "copy_file_range", "memfd_create", "getrandom")},
        behaviours=frozenset(
            {"no new calls", "no advice", "folders are not locked", "silly rename", "no attributes"}
        ),
        release="3.10.0-1160.el7.x86_64",
    ),
    System(
        "plain-mount",
        "Linux with the store on FUSE or CIFS: no locks, no links, no modes; and no native shortcut of any kind",
        "linux",
        lacks={"os": tuple("O_TMPFILE preadv pread writev sched_getaffinity sync sysconf RTLD_DEEPBIND".split())},
        behaviours=frozenset(
            {"no libraries", "nothing is locked", "no links", "no modes", "no attributes", "no advice"}
        ),
        release="6.1.0",
    ),
)  # fmt: skip

SYSTEMS: dict[str, System] = {each.name: each for each in _TABLE}


def named(name: Any) -> System:
    return SYSTEMS[name]
