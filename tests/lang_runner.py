#!/usr/bin/env python3
"""Runs the programs under tests/lang, each of which carries its expectation in comments.

    tests/lang_runner.py --bin build/kina-interp [FILE or FOLDER …]

tests/README.md describes the comments. One line for each program that fails; the last line counts.
"""
import argparse
import glob
import json
import os
import re
import shlex
import sys
from concurrent.futures import ThreadPoolExecutor

import kina

DIRECTIVE = re.compile(r"^\s*// (expect[a-z-]*|tolerance|args|stdin)(?::[ ]?(.*))?$")
KNOWN = {"expect", "expect-type", "expect-none", "expect-error", "expect-warning", "expect-stdout", "expect-stderr",
         "tolerance", "args", "stdin"}
FAULT = re.compile(r"^([KW]\d{4})(?: line (\d+)(?: column (\d+))?)?((?: \"[^\"]*\")*)$")


class Expectation:
    def __init__(self, text):
        self.lines = {name: [] for name in KNOWN}
        for line in text.splitlines():
            match = DIRECTIVE.match(line)
            if not match:
                continue
            if match.group(1) not in KNOWN:
                raise ValueError(f"unknown comment // {match.group(1)}")
            self.lines[match.group(1)].append(match.group(2) or "")
        self.data = [json.loads(line, parse_int=kina.integer) for line in self.lines["expect"]]
        self.types = [self.type(line) for line in self.lines["expect-type"]]
        self.errors = [self.fault(line) for line in self.lines["expect-error"]]
        self.warnings = [self.fault(line) for line in self.lines["expect-warning"]]
        self.tolerance = float(self.lines["tolerance"][0]) if self.lines["tolerance"] else None
        self.arguments = [word for line in self.lines["args"] for word in shlex.split(line)]
        self.stdin = "".join(line + "\n" for line in self.lines["stdin"])
        self.stdout = self.lines["expect-stdout"]
        if self.types and len(self.types) != len(self.data):
            raise ValueError(f"{len(self.data)} lines expect: and {len(self.types)} lines expect-type:")
        ends_well = bool(self.data or self.stdout or self.lines["expect-none"])
        if ends_well == bool(self.errors):
            raise ValueError("both results and an error are expected" if ends_well else "it has no expectation")

    @staticmethod
    def type(line):
        dtype, _, shape = line.strip().partition(" ")
        return dtype, json.loads(shape or "[]")

    @staticmethod
    def fault(line):
        match = FAULT.match(line.strip())
        if not match:
            raise ValueError(f"not of the form CODE [line L [column C]] \"word\" …: {line}")
        code, at, column, words = match.groups()
        return code, at and int(at), column and int(column), re.findall(r'"([^"]*)"', words)


def unmet(expected, printed, kind):
    """Why the expected diagnostics of one kind (K or W) are not exactly those printed, or None."""
    printed = [d for d in printed if d[0].startswith(kind)]
    left = list(printed)
    for code, line, column, words in expected:
        for candidate in left:
            if candidate[0] == code and line in (None, candidate[1]) and column in (None, candidate[2]) \
                    and all(word.lower() in candidate[3].lower() for word in words):
                left.remove(candidate)
                break
        else:
            shown = ", ".join(f"{d[0]} at {d[1]}:{d[2]}" for d in printed) or "none"
            at = f" at {line}:{column or '*'}" if line else ""
            same = next((d[3].splitlines()[0] for d in printed if d[0] == code), "")
            return f"no {code}{at} {words or ''} among: {shown} {same}"
    if left:
        return f"not expected: {kina.first_line(left[0][3])} (line {left[0][1]})"
    return None


def check_error(expect, run):
    if run.out:
        return f"there is output on standard output: {run.out[:60]!r}"
    code = kina.exit_code(expect.errors[0][0])
    if run.code != code:
        return f"exit code {run.code}, expected {code}: {kina.first_line(run.err)}"
    return unmet(expect.errors, kina.diagnostics(run.err), "K")


def check_results(expect, run):
    if run.code != 0:
        return f"exit code {run.code}: {kina.first_line(run.err)}"
    got = kina.results(run)
    if (expect.data or expect.lines["expect-none"]) and len(got) != len(expect.data):
        return f"{len(got)} results, expected {len(expect.data)}"
    for index, (result, data) in enumerate(zip(got, expect.data)):
        if expect.types and (result["dtype"], result["shape"]) != expect.types[index]:
            return f"result {index}: {result['dtype']} {result['shape']}, expected {expect.types[index]}"
        if kina.layout(result["data"]) != kina.layout(data):
            return f"result {index}: nested as {kina.layout(result['data'])}, expected {kina.layout(data)}"
        for g, w in zip(kina.flat(result["data"]), kina.flat(data)):
            if not kina.agrees(g, w, result["dtype"], expect.tolerance):
                return f"result {index} ({result['name']}): {g}, expected {w}"
    return unmet(expect.warnings, kina.diagnostics(run.err), "W")


def check_program(binary, path):
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as f:
        expect = Expectation(f.read())
    run = kina.Run(binary, [path, "--format", "json", *expect.arguments], expect.stdin)
    why = run.trouble() or (check_error if expect.errors else check_results)(expect, run)
    if why:
        return why
    for word in expect.lines["expect-stderr"]:
        if word not in run.err:
            return f"standard error lacks {word!r}"
    if expect.stdout:
        run = kina.Run(binary, [path, *expect.arguments], expect.stdin)
        if run.code != 0 or run.out.splitlines() != expect.stdout:
            return f"exit code {run.code}, standard output {run.out.splitlines()}, expected {expect.stdout}"
    # What the source alone tells, `check` tells too, and nothing else.
    run = kina.Run(binary, ["check", path])
    if expect.errors and kina.exit_code(expect.errors[0][0]) == 3:
        why = run.trouble() or check_error(expect, run)
    elif run.code != 0 or run.out:
        why = f"exit code {run.code}: {kina.first_line(run.out + run.err)}"
    return f"check: {why}" if why else None


def judged(binary, path):
    try:
        return check_program(binary, path)
    except (ValueError, KeyError, TypeError) as error:
        return f"{type(error).__name__}: {error}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(kina.ROOT, "build/kina-interp"))
    parser.add_argument("places", nargs="*", default=[os.path.join(kina.ROOT, "tests/lang")])
    options = parser.parse_args()
    binary = kina.interpreter(options.bin)
    paths = []
    for place in options.places:
        paths += glob.glob(os.path.join(place, "**/*.kina"), recursive=True) if os.path.isdir(place) else [place]
    paths = sorted(os.path.relpath(path) for path in paths)
    passed = 0
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for path, why in zip(paths, pool.map(lambda path: judged(binary, path), paths)):
            if why is None:
                passed += 1
            else:
                print(f"FAIL {path}: {why}")
    print(f"{passed} passed, {len(paths) - passed} failed")
    return 0 if passed == len(paths) and paths else 1


if __name__ == "__main__":
    sys.exit(main())
