#!/bin/sh
# Sees to it that what the Makefile needs is on the machine.
#
#   install.sh build test …          installs what is missing from Debian's packages, naming it
#   install.sh --check build …       installs nothing; names what is missing and the package that brings it
#
# The groups: build (the library and the interpreter), test, peers (cross-checks), lint, format. A need is
# tested by what it gives (a header, a command, a library), so that things installed in other ways count.
set -u

cc=${CC:-gcc}
check_only=
missing=

header() { printf '#include <%s>\n' "$1" | $cc -E -x c - >/dev/null 2>&1; }
command_() { command -v "$1" >/dev/null 2>&1; }
library() { case $($cc -print-file-name="$1" 2>/dev/null) in /*) return 0 ;; *) return 1 ;; esac }
module() { [ -d "/usr/lib/python3/dist-packages/$1" ] || python3 -c "import $1" >/dev/null 2>&1; }

# need KIND THING PACKAGE WHY
need() {
    "$1" "$2" && return
    missing="$missing $3"
    case $1 in
    header) what="the header $2" ;;
    library) what="the library $2" ;;
    module) what="the Python module $2" ;;
    *) what="the command $2" ;;
    esac
    [ -n "$check_only" ] && echo "Missing: $what ($4); Debian's package $3 brings it." >&2
}

group() {
    case $1 in
    build)
        need command_ "${cc%% *}" "${cc%% *}" "the C compiler"
        need header stdio.h libc6-dev "the C library"
        need header sleef.h libsleef-dev "vector exponentials, sines and the like"
        need header zlib.h zlib1g-dev "reading .npz files"
        need header cjson/cJSON.h libcjson-dev "reading manifests"
        need header ffi.h libffi-dev "calling compiled functions"
        need header histedit.h libedit-dev "editing lines at the prompt"
        need library libopenblas.so.0 libopenblas0-pthread "matrix products"
        ;;
    test)
        need header check.h check "the unit tests"
        need command_ pkg-config pkg-config "the flags of Check"
        need command_ python3 python3 "the test drivers"
        need command_ bash bash "testing its completion"
        ;;
    peers)
        need module numpy python3-numpy "PyTorch's arrays"
        need module torch python3-torch "comparing values and gradients with PyTorch"
        need command_ mlir-opt-19 mlir-19-tools "compiling programs through MLIR"
        need command_ llc-19 llvm-19 "compiling programs through MLIR"
        ;;
    lint)
        need command_ clang-tidy clang-tidy "make lint"
        need command_ cppcheck cppcheck "make lint"
        ;;
    plots) need command_ gnuplot gnuplot-nox "drawing" ;;
    format) need command_ clang-format clang-format "make format" ;;
    *)
        echo "install.sh: no group '$1'" >&2
        exit 2
        ;;
    esac
}

survey() {
    missing=
    for g in $groups; do group "$g"; done
    missing=${missing# }
}

give_up() {
    echo "$1" >&2
    echo "Kina needs, of Debian's packages: $missing" >&2
    exit 1
}

# As root, or through sudo. apt's own lock is waited for; another's `apt-get update` is tried again.
apt() { $sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 "$@" </dev/null; }
update() {
    for try in 1 2 3 4 5 6 7 8 9 10 11 12; do
        apt update >"$log" 2>&1 && return 0
        grep -q "Could not get lock" "$log" || return 1
        [ "$try" = 1 ] && echo "Another program is using apt; waiting for it."
        sleep 10
    done
    return 1
}
# shellcheck disable=SC2086  # the packages are several words
known() { apt-cache show --no-all-versions $missing >/dev/null 2>&1; }
# shellcheck disable=SC2086
install() { apt install -y --no-install-recommends $missing >"$log" 2>&1; }

[ "${1:-}" = --check ] && check_only=1 && shift
groups=$*
survey
[ -z "$missing" ] && exit 0
if [ -n "$check_only" ]; then
    echo "'make deps' installs what is missing." >&2
    exit 1
fi

command_ apt-get || give_up "This machine has no apt-get, so nothing can be installed from here."
sudo=
if [ "$(id -u)" != 0 ]; then
    command_ sudo || give_up "Installing packages needs root, and there is no sudo here."
    sudo=sudo
    sudo -n true 2>/dev/null || [ -t 2 ] || give_up "sudo would ask for a password, and there is no terminal."
    sudo -v || give_up "sudo refused."
fi
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
echo "Installing from Debian's packages: $missing${sudo:+ (with sudo)}"
# apt-get update calls it a success when a server could not be reached, so what counts is what is known now.
known || { update; known; } || {
    tail -n 5 "$log" >&2
    give_up "The lists of packages could not be fetched, or lack some of these. Is the network reachable?"
}
# A list that is out of date names files that the server no longer has.
install || { update && install; } || {
    tail -n 15 "$log" >&2
    give_up "apt-get could not install them."
}
survey
[ -z "$missing" ] || give_up "Installed, and yet not found."
