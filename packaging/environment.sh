# Functions of packaging/demo and packaging/check (bash, sourced): they make a Python environment, again only if it is
# outdated, and find and install missing system packages. They expect ROOT, the checkout's folder.

say() { printf '%s\n' "$*"; }

# find_python [CANDIDATE]: prints the path of a Python of at least 3.11 that can make environments. Each candidate is run,
# because a shim in PATH may start nothing.
find_python() {
    local candidate path
    [ $# -gt 0 ] || set -- python3 python3.13 python3.12 python3.11 python
    for candidate in "$@"; do
        while IFS= read -r path; do
            if "$path" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 </dev/null; then
                # the interpreter itself, not the shim that chose it
                "$path" -c 'import sys; print(getattr(sys, "_base_executable", None) or sys.executable)'
                return 0
            fi
        done < <(type -ap "$candidate" 2>/dev/null || true)
    done
    return 1
}

no_python() { # no_python [INTERPRETER-ASKED-FOR]
    [ $# = 0 ] || { say "$1 is no Python 3.11 or newer that can make environments." >&2; exit 1; }
    say "No Python 3.11 or newer that can make environments was found. On Debian: apt-get install python3 python3-venv" >&2
    exit 1
}

# forget_other_version FOLDER PYTHON: makes the environment count as outdated if it has another version of Python.
forget_other_version() {
    local version='import sys; print(sys.version)'
    [ "$("$1/bin/python" -c "$version" 2>/dev/null </dev/null)" = "$("$2" -c "$version" </dev/null)" ] || rm -f "$1/.stamp"
}

digest() {
    if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi | awk '{print $1}' | tr '\n' ' '
}

# environment FOLDER PYTHON STAMP CONSTRAINTS INSTALL-ARGUMENTS… : makes FOLDER a link to an environment with these
# packages. The stamp, which is written last, identifies the packages. A new environment is made in FOLDER.XXXXXX, and the
# link is changed to it when it is complete; if making it fails or is interrupted, the old environment stays.
environment() {
    local folder=$1 python=$2 stamp=$3 constraints=$4
    shift 4
    if [ -f "$folder/.stamp" ] && [ "$(cat "$folder/.stamp")" = "$stamp" ] \
        && "$folder/bin/python" -c '' >/dev/null 2>&1 </dev/null; then
        return 0
    fi
    if ! _writable "$ROOT"; then
        say "No environment can be made: $ROOT cannot be written to. Copy or clone it to a folder of your own." >&2
        return 1
    fi
    say "Making ${folder#"$ROOT"/} with $python (once; a minute or two)"
    _forget_leftovers "$folder"
    making=$(mktemp -d "$folder.XXXXXX") && rmdir "$making" || return 1 # venv makes it again, with the usual permissions
    if _filled "$making" "$python" "$constraints" "$@" && printf '%s' "$stamp" >"$making/.stamp"; then
        _turn_to "$folder" "$making" "$python" || { _unmake; return 1; }
        making=""
    else
        _unmake
        [ ! -x "$folder/bin/python" ] || say "The earlier environment is left as it was: ${folder#"$ROOT"/}" >&2
        return 1
    fi
}

_filled() { # _filled FOLDER PYTHON CONSTRAINTS INSTALL-ARGUMENTS…
    local folder=$1 python=$2 constraints=$3 uv
    shift 3
    "$python" -m venv --prompt zarrscope "$folder" || return 1
    uv=$(grep -h '^uv==' "$ROOT/packaging/constraints.txt")
    if "$folder/bin/python" -m pip install -q --disable-pip-version-check "$uv" </dev/null \
        && VIRTUAL_ENV="$folder" "$folder/bin/uv" pip install -q --python "$folder/bin/python" -c "$constraints" "$@" </dev/null; then
        return 0
    fi
    say "uv failed; trying pip"
    "$folder/bin/python" -m pip install -q --disable-pip-version-check -c "$constraints" "$@" </dev/null
}

# _turn_to LINK FOLDER PYTHON: makes the link lead to the folder, and removes the folder that it led to before.
_turn_to() {
    local link=$1 folder=$2 python=$3 before=""
    if [ -L "$link" ]; then
        before=$(readlink "$link")
        case $before in "${link##*/}."??????) before=$(dirname "$link")/$before ;; *) before="" ;; esac # a folder that was not made here is kept
    elif [ -e "$link" ]; then # a folder, as other tools make it
        before=$(mktemp -d "$link.XXXXXX") && rmdir "$before" && mv "$link" "$before" || return 1
    fi
    # os.replace is atomic; mv is not on every system
    "$python" -c 'import os, sys; os.symlink(sys.argv[1], sys.argv[2]); os.replace(sys.argv[2], sys.argv[3])' \
        "${folder##*/}" "$folder.link" "$link" || { [ -e "$link" ] || mv "$before" "$link"; return 1; }
    [ -z "$before" ] || rm -rf "$before"
}

# _forget_leftovers LINK: removes environments that were begun beside it more than a day ago and never completed.
_forget_leftovers() {
    local found current
    current=$(readlink "$1" 2>/dev/null || true)
    find "$(dirname "$1")" -maxdepth 1 -name "${1##*/}.??????" -mtime +0 2>/dev/null | while IFS= read -r found; do
        [ "${found##*/}" = "$current" ] || rm -rf "$found"
    done
}

_writable() { [ -w "$1" ]; }

making="" # the environment that is being made
_unmake() {
    [ -z "$making" ] || rm -rf "$making" "$making.link"
    making=""
}

# Ctrl-C ends the whole script. Without these traps a program that ends with its own exit status when it is interrupted,
# as uv and pytest do, would count as failed, and the next step would begin.
trap '_unmake; say "Interrupted." >&2; exit 130' INT
trap '_unmake; exit 143' TERM
trap '_unmake; exit 129' HUP

# Prints the packages of system-packages.txt that this machine lacks, each on a line "package thing".
missing_packages() {
    local package thing probe
    while read -r package thing probe; do
        case $package in '' | '#'*) continue ;; esac
        provides "$probe" || echo "$package $thing"
    done <"$ROOT/packaging/system-packages.txt"
}

provides() {
    local kind=${1%%:*} what=${1#*:} name
    case $kind in
        command)
            for name in ${what//|/ }; do command -v "$name" >/dev/null && return 0; done
            ;;
        library)
            # outside Linux, toolkits bring these libraries or use those of the system
            [ "$(uname)" = Linux ] || return 0
            { PATH="$PATH:/sbin:/usr/sbin" ldconfig -p 2>/dev/null || true; } | grep -F "$what" >/dev/null && return 0
            compgen -G "/usr/lib*/*/$what" >/dev/null && return 0
            compgen -G "/usr/lib*/$what" >/dev/null && return 0
            ;;
        file)
            [ "$(uname)" = Linux ] || return 0
            compgen -G "$what" >/dev/null && return 0
            ;;
    esac
    return 1
}

# install_packages PACKAGE… : installs Debian packages, as root or through sudo, with retries, because package servers fail
# now and then.
install_packages() {
    command -v apt-get >/dev/null || { say "Packages are installed automatically only on Debian. Install these yourself: $*" >&2; return 1; }
    local root=() try
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || { say "Not root, and no sudo: install $*" >&2; return 1; }
        root=(sudo -n)
    fi
    local apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=400 -o Acquire::Retries=3)
    for try in 1 2 3; do
        if "${apt[@]}" update </dev/null >/dev/null 2>&1 \
            && "${apt[@]}" install --no-install-recommends "$@" </dev/null >"$ROOT/.apt.log" 2>&1; then
            rm -f "$ROOT/.apt.log"
            return 0
        fi
        say "apt-get failed (try $try of 3)"
        sleep $((try * 5))
    done
    tail -n 20 "$ROOT/.apt.log" >&2 2>/dev/null || true
    rm -f "$ROOT/.apt.log"
    return 1
}

# install_without_starting PACKAGE… : installs packages without starting their services, which Debian would do without
# this file.
install_without_starting() {
    local rule=/usr/sbin/policy-rc.d made=no code=0
    if [ ! -e "$rule" ] && [ -w /usr/sbin ]; then
        printf '#!/bin/sh\nexit 101\n' >"$rule" && chmod +x "$rule" && made=yes
    fi
    [ -e "$rule" ] || return 1
    install_packages "$@" || code=$?
    [ "$made" = no ] || rm -f "$rule"
    return "$code"
}
