#!/usr/bin/env python3
"""Certifies every program that differentiates: those of examples/ and tests/lang/ that hold a handler or a derivative.

    tests/certified.py --bin build/kina-interp [FILE or FOLDER …]

`kina-interp certify` has to agree with the engine on all of a program's functions. A program whose own expectation is
an error of its source or its files has to meet that error here too. What else is refused stands in REFUSED with the
reason, and what is known to differ in DIFFERENT. A line `// certify: …` in a program gives further options, where its
loops are long. The last line counts; before it stands what the functions hold, of which nothing may be missing when
all programs are certified.
"""
import argparse
import collections
import glob
import os
import re
import shlex
import sys
from concurrent.futures import ThreadPoolExecutor

import kina
from lang_runner import Expectation

DIFFERENTIATES = re.compile(r"\b(handle|grad|vjp|jvp|hvp|jacobian|hessian)\b")
OPTIONS = re.compile(r"^// certify: (.*)$", re.MULTILINE)
CONSTRUCTS = re.compile(r'\[CONSTRUCT_\w+\] = "(.*)"')
HELD = re.compile(r"^  (\S.*?) +(\d+)$", re.MULTILINE)
COMMENT = re.compile(r"//.*")
INPUTS = "4"  # plain, special, empty dims, few trips

NO_FUNCTION = "K0209", "no function with a gradient"
# Programs that are refused: the error's code, words of its message, and why that is right.
REFUSED = {
    "tests/lang/derivatives/nested.kina": ("K0703", "as many rows as the run says", "as every jacobian has"),
    "tests/lang/handlers/no_floating_parameter.kina": (*NO_FUNCTION, "that is its subject"),
    "tests/lang/handlers/wrt_of_a_builtin.kina": (*NO_FUNCTION, "it differentiates a builtin"),
    "tests/lang/seeds/power_of_two.kina": (*NO_FUNCTION, "its function has no floating parameter"),
    "tests/lang/values/empty_and_long.kina": (*NO_FUNCTION, "it differentiates a builtin"),
    "tests/lang/values/strong_mul.kina": (*NO_FUNCTION, "it differentiates a builtin"),
    "tests/lang/written/triangles_of_anything.kina": (*NO_FUNCTION, "it differentiates a builtin"),
}

# Programs that differ, and why.
DIFFERENT = {
    "tests/lang/checkpoint/squares_three_times.kina":
        "of three reverse handlers in one another around a loop, contributions of the outer two are grouped by tapes",
}


def expected_error(path, text):
    """(code, words) of the error that certify has to end with, or None."""
    if path in REFUSED:
        return REFUSED[path][:2]
    errors = Expectation(text).errors if path.startswith("tests/lang/") else []
    # An error of the run is none of the source: its functions have gradients all the same.
    static = [code for code, *_ in errors if kina.exit_code(code) in (3, 6)]
    return (static[0], "") if static else None


def certify(binary, path):
    """(why it failed or None, what its functions held)"""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    options = [word for line in OPTIONS.findall(text) for word in shlex.split(line)]
    run = kina.Run(binary, ["certify", path, "--random", INPUTS, *options], limit=120)
    error = expected_error(path, text)
    if run.trouble() or (run.code == 5) != (path in DIFFERENT):
        return run.trouble() or ("they differ:\n" + run.out if run.code == 5 else "it no longer differs"), {}
    if run.code == 5:
        return None, {}
    found = kina.diagnostics(run.err)
    if error:
        code, words = error
        met = any(d[0] == code and words in d[3] for d in found) and run.code == kina.exit_code(code) and not run.out
        return None if met else f"no {code} {words}: exit code {run.code}, {kina.first_line(run.err or run.out)}", {}
    if run.code != 0:
        return f"exit code {run.code}: {kina.first_line(run.err)}", {}
    return None, {what: int(count) for what, count in HELD.findall(run.out)}


def programs(paths):
    for path in paths:
        files = glob.glob(os.path.join(path, "**/*.kina"), recursive=True) if os.path.isdir(path) else [path]
        for name in sorted(files):
            with open(name, encoding="utf-8") as f:
                if DIFFERENTIATES.search(COMMENT.sub("", f.read())):
                    yield name


def construct_names(path):
    with open(path, encoding="utf-8") as f:
        return CONSTRUCTS.findall(f.read())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/kina-interp")
    parser.add_argument("paths", nargs="*", help="programs, or folders of them")
    options = parser.parse_args()
    binary = kina.interpreter(options.bin)
    os.chdir(kina.ROOT)
    names = list(programs(options.paths or ["examples", "tests/lang"]))
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        results = list(pool.map(lambda name: certify(binary, name), names))
    failed, held = 0, collections.Counter()
    for name, (why, holds) in zip(names, results):
        held.update(holds)
        if why:
            failed += 1
            print(f"FAIL {name}: {why}")
    constructs = [name for path in sorted(glob.glob("interp/certify*.c")) for name in construct_names(path)]
    print("functions that hold a: " + ", ".join(f"{what} {held[what]}" for what in constructs))
    missing = [what for what in constructs or ["anything that has a name"] if held[what] == 0]
    missing += [f"{name}, which is refused and gone" for name in REFUSED if not os.path.exists(name)]
    if missing and not options.paths:
        failed += 1
        print("FAIL no program holds: " + ", ".join(missing))
    print(f"{len(names) - failed} passed, {failed} failed")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main())
