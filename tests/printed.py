#!/usr/bin/env python3
"""Printed gradients as texts: of every function of the examples, held against tests/printed/EXAMPLE.FUNCTION.kina, and
of those of tests/lang/.

    tests/printed.py --bin build/kina-interp
    tests/printed.py --bin build/kina-interp --update    writes the texts; read their diff

Each text is its own layout, checks without a word, holds no handler, and can be differentiated and printed again, twice.
Those of tests/lang/ are not kept; what is refused there is the business of tests/certified.py. A trip count written
in the source stands in the text where it stood in the source, and changes nothing else of it.
"""
import argparse
import glob
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import kina

FUNCTION = re.compile(r"^(?=(?:fn|let) (\w+)(?: = fn)?\()", re.MULTILINE)
FLOATING = re.compile(r"(\w+): (?:tensor<)?F(?:32|64)\b")
COMMENT = re.compile(r"//.*")
TOKEN = re.compile(r"\w+|\S")
CONDITION = re.compile(r"while \([^\[]*")
COUNT = re.compile(r"(?<![\w.])(?<!e-)\d+(?![\w.])")
OTHER_COUNT = "7919"
FOLDER = "tests/printed"
ORDERS = 3


class Wrong(Exception):
    pass


def need(condition, said):
    if not condition:
        raise Wrong(said)


class Printer:
    def __init__(self, binary):
        self.binary = binary

    def run(self, *arguments, stdin=""):
        run = kina.Run(self.binary, list(arguments), stdin)
        need(run.trouble() is None, run.trouble())
        return run

    def gradient(self, source, name, *options):
        """The printed gradient of a function of the text `source`; None where it has none."""
        run = self.run("grad", "-", "--fn", name, *options, stdin=source)
        need(run.code == 0 or not run.out, f"grad of {name}: a text beside an error")
        return None if run.code in (3, 4) else run.out

    def sound(self, text, what):
        need("handle" not in code(text), f"{what}: a handler is left")
        need(self.run("fmt", "-", stdin=text).out == text, f"{what}: it is not its own layout")
        checked = self.run("check", "-", stdin=text)
        need(checked.code == 0 and not checked.err, f"{what}: {kina.first_line(checked.err)}")

    def again(self, source, name):
        """The gradient by the first floating parameter, that one's gradient, and so on."""
        for order in range(1, ORDERS + 1):
            head = next(f for f in FUNCTION.finditer(source) if f.group(1) == name)
            wrt = FLOATING.search(source, head.start()).group(1)
            text = self.gradient(source, name, "--mode", "grad", "--wrt", wrt)
            need(text is not None, f"order {order}: it is refused")
            self.sound(text, f"order {order}")
            source, name = text, name + "_grad"

    def without_counts(self, source, name, text):
        """Another number in a loop's condition is that number in the text, and nothing else."""
        for loop in CONDITION.finditer(source):
            for count in COUNT.finditer(loop.group()):
                at = loop.start() + count.start()
                other = self.gradient(source[:at] + OTHER_COUNT + source[at + len(count.group()):], name)
                back = other.replace(OTHER_COUNT, count.group())
                need(code(back) == code(text), f"what a loop does {count.group()} times is in the text")


def code(text):
    """What a text says whatever its layout: comments are cut to fit, and a comma more ends what is broken."""
    return [token for token in TOKEN.findall(COMMENT.sub("", text)) if token != ","]


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def code(text):
    """What a text says whatever its layout: comments are cut to fit, and a comma more ends what is broken."""
    return [token for token in TOKEN.findall(COMMENT.sub("", text)) if token != ","]


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def golden_of(path, name):
    return f"{FOLDER}/{os.path.basename(path)[:-5]}.{name}.kina"


def hold_against(golden, text, update):
    if update:
        with open(golden, "w", encoding="utf-8") as f:
            f.write(text)
    need(os.path.exists(golden), f"there is no {golden}")
    lines = zip(text.splitlines() + [""], read(golden).splitlines() + [""])
    changed = next((f"line {i}: {got!r}, expected {want!r}" for i, (got, want) in enumerate(lines, 1) if got != want), None)
    need(changed is None, f"{golden}: {changed}")


def check(printer, path, source, name, update):
    """Whether the function has a gradient; raises Wrong where that is not as it should be."""
    text = printer.gradient(source, name)
    if text is None:
        return False
    if path.startswith("examples/"):
        hold_against(golden_of(path, name), text, update)
    printer.sound(text, "the text")
    printer.again(source, name)
    printer.without_counts(source, name, text)
    return True


def check_program(printer, path, update):
    """(the functions that have gradients, what is wrong with some of those)"""
    source = read(path)
    printed, failed = [], []
    for name in FUNCTION.findall(source):
        printed.append(name)
        try:
            if not check(printer, path, source, name, update):
                printed.pop()
        except Wrong as wrong:
            failed.append(f"{path}, {name}: {wrong}")
    return printed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/kina-interp")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    printer = Printer(kina.interpreter(options.bin))
    os.chdir(kina.ROOT)
    paths = sorted(glob.glob("examples/*.kina") + glob.glob("tests/lang/**/*.kina", recursive=True))
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        results = list(pool.map(lambda path: check_program(printer, path, options.update), paths))
    failures = [failure for _, failed in results for failure in failed]
    passed = sum(len(printed) for printed, _ in results) - len(failures)
    gone = set(glob.glob(f"{FOLDER}/*.kina"))
    gone -= {golden_of(path, name) for path, (printed, _) in zip(paths, results) for name in printed}
    for golden in sorted(gone):
        if options.update:
            os.remove(golden)
        else:
            failures.append(f"{golden}: no example has this function with a gradient")
    for failure in failures:
        print(f"FAIL {failure}")
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
