#!/bin/sh
# No #include points up. Layers, lowest first: runtime, kernels, ad, interp, interp/tools. The tests may
# include anything. Also: each foreign library has one file (or few) that may name it, so that what is
# promised about it (one BLAS thread, say) is arranged in one place.
cd "$(dirname "$0")/.." || exit 2
passed=0 failed=0

fault() {
    echo "FAIL $1"
    failed=$((failed + 1))
}

# layer_of PATH: its height
layer_of() {
    case $1 in
    runtime/*) echo 0 ;;
    kernels/*) echo 1 ;;
    ad/*) echo 2 ;;
    interp/tools/*) echo 4 ;;
    interp/*) echo 3 ;;
    *) echo none ;;
    esac
}

# Every include of a file of ours is written from the project's root.
for file in runtime/*.[ch] runtime/*.def kernels/*.[ch] ad/*.[ch] interp/*.[ch] interp/*.def interp/tools/*.[ch] interp/tools/repl/*.[ch]; do
    [ -f "$file" ] || continue
    own=$(layer_of "$file")
    before=$failed
    for target in $(sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"\([^"]*\)".*/\1/p' "$file"); do
        height=$(layer_of "$target")
        if [ "$height" = none ]; then
            fault "$file includes \"$target\", which is not written from the root of the project"
        elif [ "$height" -gt "$own" ]; then
            fault "$file includes \"$target\", which lies above it"
        elif [ ! -f "$target" ]; then
            fault "$file includes \"$target\", which does not exist"
        fi
    done
    [ "$failed" = "$before" ] && passed=$((passed + 1))
done

# only WHO PATTERN FILES…: no other file of the four layers matches PATTERN
only() {
    who=$1 pattern=$2
    shift 2
    before=$failed
    for file in $(grep -lE "$pattern" runtime/*.[ch] kernels/*.[ch] ad/*.[ch] interp/*.[ch] interp/tools/*.[ch] interp/tools/repl/*.[ch] 2>/dev/null); do
        case " $* " in
        *" $file "*) ;;
        *) fault "$file names $who, which is left to: $*" ;;
        esac
    done
    [ "$failed" = "$before" ] && passed=$((passed + 1))
}
only BLAS 'cblas_|openblas_|<cblas\.h>|libopenblas\.so' kernels/blas.c
only libffi '<ffi\.h>|libffi\.so|ffi_prep_cif' interp/tools/ffi.c interp/tools/ffi.h
only libedit '<histedit\.h>|libedit\.so' interp/tools/repl/editline.c interp/tools/repl/editline.h
only cJSON '<cjson/|cJSON_' interp/tools/oracle_manifest.c
only zlib '<zlib\.h>' runtime/npz.c

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
