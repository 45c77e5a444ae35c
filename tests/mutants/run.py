#!/usr/bin/env python3
"""Puts one fault at a time into a copy of the tree: the tests must notice each. What `make mutants` runs.

    tests/mutants/run.py [--only N …] [--keep]

The faults stand in tests/mutants/list, in blocks set apart by an empty line:

    # what the fault breaks
    file: ad/reverse.c
    old: the exact text, found once in the file
    new: what replaces it            (in both, \\n stands for the end of a line)
    certify: a program               (only where it is `kina-interp certify` that has to exit with 5)

The copy starts with the objects of build/, so that only what the fault touches is compiled. Suites run from
the quickest to the slowest and stop at the first that fails.
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DIFFERS = 5  # the exit code of a comparison that found a difference
LIMIT = 240  # seconds for one suite: a fault may make a loop endless


def read_faults():
    faults = []
    with open(os.path.join(ROOT, "tests/mutants/list"), encoding="utf-8") as f:
        blocks = f.read().split("\n\n")
    for block in blocks:
        fault = {}
        for line in block.splitlines():
            key, _, value = ("why", "", line[1:]) if line.startswith("# ") else line.partition(":")
            if key in fault and "file" in fault:
                sys.exit(f"tests/mutants/list: a second {key}, {line!r}: no empty line before it?")
            fault.setdefault(key, value[1:].replace("\\n", "\n"))
        if "file" in fault:
            missing = {"why", "old", "new"} - set(fault)
            if missing:
                sys.exit(f"tests/mutants/list: a fault in {fault['file']} lacks {', '.join(sorted(missing))}")
            faults.append(fault)
    return faults


def copy_tree(to):
    """The sources and what is built of them, with their times, so that make sees nothing to do."""
    ignore = shutil.ignore_patterns(".git", "san", "__pycache__")
    shutil.copytree(ROOT, to, ignore=ignore, symlinks=True, copy_function=shutil.copy2, dirs_exist_ok=True)


def suites():
    python = sys.executable
    kina = ["--bin", "build/kina-interp"]
    programs = [os.path.basename(path)[:-2] for path in sorted(glob.glob(os.path.join(ROOT, "tests/*.c")))]
    return [("lang", [python, "tests/lang_runner.py", *kina]),
            *((name, [f"build/tests/{name}"]) for name in programs),
            ("checkpointed programs", [python, "tests/checkpoints.py", "--count", "100", *kina]),
            ("budgets", [python, "tests/budgets.py", "--count", "30", *kina]),
            ("random programs", [python, "tests/peers/random_programs.py", "--count", "40", *kina]),
            ("ops against PyTorch", [python, "tests/peers/ops_torch.py", *kina]),
            ("units", ["build/tests/unit"]),
            ("printed gradients", [python, "tests/printed.py", *kina]),
            ("certified programs", [python, "tests/certified.py", *kina]),
            ("compiled programs", [python, "tests/mlir/run.py", "--count", "50", *kina]),
            ("gradients as C", [python, "tests/emit_c.py", "--count", "10", *kina]),
            ("command line", [python, "tests/cli.py", *kina])]


def quiet(command, tree):
    """The exit code, None when it took too long, and the output."""
    try:
        done = subprocess.run(command, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, timeout=LIMIT, env=dict(os.environ, CK_FORK="no"))
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        return None, ""


def certify(program, tree):
    return quiet(["build/kina-interp", "certify", program], tree)[0]


def build(tree):
    jobs = f"-j{os.cpu_count() or 1}"
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS")}
    return subprocess.run(["make", "--silent", jobs, "tests"], cwd=tree, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env=environment)


def try_fault(fault, tree):
    """(caught, what to say about it)"""
    path = os.path.join(tree, fault["file"])
    if not os.path.exists(path):
        return False, f"stale: there is no {fault['file']}"
    with open(path, encoding="utf-8") as f:
        text = f.read()
    found = text.count(fault["old"])
    if found != 1 or fault["old"] == fault["new"]:
        return False, f"stale: its text is in {fault['file']} {found} times"
    stat = os.stat(path)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text.replace(fault["old"], fault["new"]))
    try:
        made = build(tree)
        if made.returncode != 0:
            return False, "does not compile: " + next((l for l in made.stdout.splitlines() if "error" in l), "")
        if "certify" in fault:
            code = certify(fault["certify"], tree)
            return code == DIFFERS, f"certify of {fault['certify']} exits with {code}"
        for name, command in suites():
            code, _ = quiet(command, tree)
            if code != 0:
                return True, f"caught by {name}" + (" (it did not end)" if code is None else "")
        return False, "noticed by no suite"
    finally:
        # The text goes back with a new time, so that make compiles it once more.
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.utime(path, (time.time(), max(time.time(), stat.st_mtime)))


def fails_already(tree, faults):
    """Ends the script when something that has to notice one of the faults fails without any."""
    for program in sorted({fault["certify"] for fault in faults if "certify" in fault}):
        if certify(program, tree) != 0:
            sys.exit(f"without any fault, certify of {program} fails already")
    for name, command in suites() if any("certify" not in fault for fault in faults) else []:
        code, output = quiet(command, tree)
        if code != 0:
            print(output)
            sys.exit(f"without any fault, {name} fails already")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", type=int, metavar="N")
    parser.add_argument("--keep", action="store_true", help="leave the copy of the tree")
    options = parser.parse_args()
    faults = read_faults()
    tree = tempfile.mkdtemp(prefix="kina-mutants-")
    passed = failed = 0
    try:
        copy_tree(tree)
        made = build(tree)
        if made.returncode != 0:
            print(made.stdout)
            sys.exit("the tree does not build")
        chosen = [(i, f) for i, f in enumerate(faults, 1) if not options.only or i in options.only]
        fails_already(tree, [fault for _, fault in chosen])
        for number, fault in chosen:
            start = time.monotonic()
            caught, said = try_fault(fault, tree)
            passed, failed = passed + caught, failed + (not caught)
            mark = "" if caught else "FAIL "
            print(f"{mark}mutant {number:02} {said} ({time.monotonic() - start:.0f} s): {fault['why']}", flush=True)
    finally:
        if options.keep:
            print(f"the copy is in {tree}")
        else:
            shutil.rmtree(tree, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
