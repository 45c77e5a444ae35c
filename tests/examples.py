#!/usr/bin/env python3
"""Runs every examples/NAME.kina and holds its output against examples/expected/NAME.txt.

    tests/examples.py --bin build/kina-interp
    tests/examples.py --bin build/kina-interp --update    writes the expected files; read their diff

Words must be the same. Numbers with a point or an exponent may differ by the file's `// tolerance: 1e-5`
(that is the default), relative to the larger of 1 and their size: BLAS rounds differently from processor
to processor. A line `// args: …` in an example gives further arguments. Examples run from the root.
"""
import argparse
import glob
import os
import re
import shlex
import sys

import kina

NUMBER = re.compile(r"[-+]?\d+\.\d+(?:[eE][-+]?\d+)?|[-+]?\d+[eE][-+]?\d+")


def differs(got, want, tolerance):
    """The first line where two texts differ by more than rounding, or None."""
    got, want = got.splitlines(), want.splitlines()
    for number, (g, w) in enumerate(zip(got, want), 1):
        if NUMBER.split(g) != NUMBER.split(w):
            return f"line {number}: {g!r}, expected {w!r}"
        for a, b in zip(map(float, NUMBER.findall(g)), map(float, NUMBER.findall(w))):
            if not kina.agrees(a, b, "F64", tolerance):
                return f"line {number}: {a}, expected {b} within {tolerance}"
    if len(got) != len(want):
        return f"{len(got)} lines, expected {len(want)}"
    return None


def comment(text, name, default):
    match = re.search(rf"^// {name}: (.*)$", text, re.MULTILINE)
    return match.group(1) if match else default


def check(binary, path, expected, update):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    run = kina.Run(binary, [path, *shlex.split(comment(text, "args", ""))], limit=300)
    if run.trouble() or run.code != 0:
        return run.trouble() or f"exit code {run.code}: {kina.first_line(run.err)}"
    if update:
        os.makedirs(os.path.dirname(expected), exist_ok=True)
        with open(expected, "w", encoding="utf-8") as f:
            f.write(run.out)
    if not os.path.exists(expected):
        return f"there is no {expected}"
    with open(expected, encoding="utf-8") as f:
        return differs(run.out, f.read(), float(comment(text, "tolerance", "1e-5")))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/kina-interp")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    binary = kina.interpreter(options.bin)
    os.chdir(kina.ROOT)
    names = {os.path.basename(path)[:-5] for path in glob.glob("examples/*.kina")}
    names |= {os.path.basename(path)[:-4] for path in glob.glob("examples/expected/*.txt")}
    failed = 0
    for name in sorted(names):
        path = f"examples/{name}.kina"
        why = check(binary, path, f"examples/expected/{name}.txt", options.update) if os.path.exists(path) \
            else "the example is gone"
        if why:
            failed += 1
            print(f"FAIL {name}: {why}")
    print(f"{len(names) - failed} passed, {failed} failed")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main())
