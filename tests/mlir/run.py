#!/usr/bin/env python3
"""Programs lowered to MLIR, built, called, and held against the interpreter under --numerics compiled, bit for bit.

    tests/mlir/run.py --bin build/kina-interp [--count 300] [--seed 1] [--show K] [--update]

Written functions (cases.kina) and random ones (programs.py), PER_MODULE of them in a module, half of those with their
gradients. Without MLIR's tools they are skipped, by name and with their number. Beside that the text of some modules is
held to that of golden/, which --update writes anew: read its diff.
"""
import argparse
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kina  # noqa: E402

import native  # noqa: E402
import programs  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PER_MODULE = 50
GOLDEN = ["ad_neg", "ad_neg_grad", "ad_basic", "ad_log_softmax", "ad_nll"]
TOOLS = ["mlir-opt-19", "mlir-translate-19", "llc-19"]
CASE = re.compile(r"^fn (\w+)\((.*)\) -> (.*?) \{", re.MULTILINE)
TYPE = re.compile(r"tensor<(\w+), \[([^\]]*)\]>|\b(F32|F64|I32|I64|Bool)\b")
DESCRIPTION = {"F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8", "Bool": "|b1"}


class Case:
    """A function to be called: its name, its parameters' names, and ports (dtype, dims, by value)."""

    def __init__(self, name, names, parameters, results):
        self.name, self.names, self.parameters, self.results = name, names, parameters, results


def ports(types):
    return [(t.group(3), (), True) if t.group(3) else
            (t.group(1), tuple(int(d) if d.isdigit() else d for d in filter(None, t.group(2).split(", "))), False)
            for t in TYPE.finditer(types)]


def written_cases():
    """The functions of cases.kina but for helpers and those that take functions."""
    with open(os.path.join(HERE, "cases.kina"), encoding="utf-8") as f:
        text = f.read()
    cases = [Case(m.group(1), re.findall(r"(\w+): ", m.group(2)), ports(m.group(2)), ports(m.group(3)))
             for m in CASE.finditer(text) if "fn(" not in m.group(2) and not m.group(1).startswith("helper")]
    return text, cases


def random_cases(count, seed):
    for k in range(count):
        f = programs.Function(f"f{k}", random.Random(f"{seed}:{k}"))
        parameters = [(v.dtype, v.dims, v.by_value) for v in f.parameters]
        names = [v.text for v in f.parameters]
        yield f.text, [Case(name, names, parameters, results) for name, results in f.signatures]


def save_npy(path, dtype, shape, data):
    head = f"{{'descr': '{DESCRIPTION[dtype]}', 'fortran_order': False, 'shape': ({''.join(f'{d}, ' for d in shape)})}}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + native.pack(dtype, data))


def arguments_of(case, rng, sizes):
    """(dtype, shape, flat data, by value) for each parameter; one time in three with numbers at the edges."""
    draw = native.special if rng.random() < 0.34 else native.plain
    found = []
    for dtype, dims, by_value in case.parameters:
        shape = [d if isinstance(d, int) else sizes[d] for d in dims]
        count = 1
        for d in shape:
            count *= d
        found.append((dtype, shape, [draw(dtype, rng) for _ in range(count)], by_value))
    return found


class Module:
    """A program that is built once."""

    def __init__(self, kina_interp, folder, name, text):
        self.binary, self.folder = kina_interp, folder
        self.program = os.path.join(folder, f"{name}.kina")
        self.library = os.path.join(folder, f"{name}.so")
        with open(self.program, "w", encoding="utf-8") as f:
            f.write(text)
        self.built = kina.Run(kina_interp, ["build", self.program, "-o", self.library], limit=120)

    def expected(self, case, arguments):
        """What the interpreter gives: a list of results, or words."""
        given = ["--numerics", "compiled", "--format", "json", "--fn", case.name]
        for i, (dtype, shape, data, _) in enumerate(arguments):
            path = os.path.join(self.folder, f"{i}.npy")
            save_npy(path, dtype, shape, data)
            given += ["--arg", f"{case.names[i]}=@{path}"]
        run = kina.Run(self.binary, [self.program, *given])
        return kina.results(run) if run.code == 0 else kina.first_line(run.err)


def differences(expected, found):
    """Words on the first difference, or None."""
    if isinstance(expected, str):
        return None if isinstance(found, str) else f"the interpreter says: {expected}"
    if isinstance(found, str):
        return found
    for i, (want, (shape, data)) in enumerate(zip(expected, found)):
        if want["shape"] != shape:
            return f"result {i} has shape {shape}, not {want['shape']}"
        for k, (w, got) in enumerate(zip(kina.flat(want["data"]), data)):
            if want["dtype"] in ("F32", "F64"):
                w = kina.number(w)
            if not kina.agrees(got, w, want["dtype"]):
                return f"result {i}, entry {k}: {got!r}, not {w!r}"
    return None


def compare(module, cases, seed, calls_each):
    """(case, words or None) for each call."""
    calls, wanted = [], []
    for case in cases:
        rng = random.Random(f"{seed}:{case.name}")
        for _ in range(calls_each):
            sizes = {"B": rng.randint(1, 4), "D": rng.randint(1, 4), "N": rng.randint(1, 5)}
            arguments = arguments_of(case, rng, sizes)
            wanted.append((case, module.expected(case, arguments)))
            calls.append((case.name, arguments, [(dtype, len(dims), by_value) for dtype, dims, by_value in case.results]))
    found = native.call_all(module.library, calls)
    return [(case, differences(want, got)) for (case, want), got in zip(wanted, found)]


HOST = r"""
#include <stdio.h>
#include <stdlib.h>
#include "pair.h"
int main(void) {
    float data[3] = {1, 2, 3};
    kina_F32_1 x = {data, data, 0, {3}, {1}};
    struct kina_results_pair r;
    _mlir_ciface_pair(&r, &x, 2);
    for (int64_t i = 0; i < r.r0.sizes[0]; i++) printf("%g ", (double)r.r0.aligned[r.r0.offset + i * r.r0.strides[0]]);
    printf("%g %lld\n", (double)r.r1, (long long)_mlir_ciface_twice(21));
    free(r.r0.allocated);
    return 0;
}
"""


def check_header(binary, folder):
    """Words on what is wrong with the header of a library, or None: a C program that includes it calls it."""
    program, header = os.path.join(folder, "pair.kina"), os.path.join(folder, "pair.h")
    library, host = os.path.join(folder, "libpair.so"), os.path.join(folder, "host.c")
    with open(program, "w", encoding="utf-8") as f:
        f.write("fn pair(x: tensor<F32, [N]>, s: F32) -> (tensor<F32, [N]>, F32) { (x * s, sum(x)) }\n"
                "fn twice(n: I64) -> I64 { n + n }\n")
    with open(host, "w", encoding="utf-8") as f:
        f.write(HOST)
    built = kina.Run(binary, ["build", program, "-o", library, "--emit-header", header], limit=120)
    if built.code != 0:
        return f"not built: {built.err}"
    compiler = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", host, library, f"-Wl,-rpath,{folder}", "-o", host + ".out"]
    compiled = subprocess.run(compiler, capture_output=True, text=True)
    if compiled.returncode != 0:
        return f"the header does not compile: {compiled.stderr}"
    shown = subprocess.run([host + ".out"], capture_output=True, text=True, timeout=60).stdout
    return None if shown == "2 4 6 6 42\n" else f"a C program that includes the header shows {shown!r}"


def describe(grown):
    """One line on what is among the random functions."""
    of = [case for _, cases in grown for case in cases]
    ports = [p for case in of for p in case.parameters + case.results]
    gradients = [(text, cases) for text, cases in grown if len(cases) > 1]
    print(f"random: {len(grown)} functions, {sum('while' in text for text, _ in grown)} with loops, "
          f"{sum('if (' in text for text, _ in grown)} with branches; {len(gradients)} gradients, "
          f"{sum('while' in text for text, _ in gradients)} of loops; "
          f"ranks {sorted({len(dims) for _, dims, _ in ports})}, {sorted({dtype for dtype, _, _ in ports})}, "
          f"{sum(by_value for _, _, by_value in ports)} numbers by value, "
          f"{sum(not dims and not by_value for _, dims, by_value in ports)} as tensors")


def check_golden(binary, update):
    """How many modules have the text that golden/ has, and how many have not."""
    passed = 0
    for name in GOLDEN:
        own = os.path.join(HERE, "golden", f"{name}.kina")
        program = own if os.path.exists(own) else os.path.join(kina.ROOT, "examples", f"{name}.kina")
        path = os.path.join(HERE, "golden", f"{name}.mlir")
        run = kina.Run(binary, ["mlir", program])
        if update and run.code == 0:
            with open(path, "w", encoding="utf-8") as f:
                f.write(run.out)
        with open(path, encoding="utf-8") as f:
            same = run.code == 0 and f.read() == run.out
        passed += same
        if not same:
            print(f"golden {name}: exit code {run.code}, and the text is not that of {path}")
    return passed, len(GOLDEN) - passed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/kina-interp")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--show", type=int, help="print the K-th random function")
    parser.add_argument("--update", action="store_true", help="write golden/ anew")
    options = parser.parse_args()
    if options.show is not None:
        print(list(random_cases(options.show + 1, options.seed))[-1][0], end="")
        return 0
    binary = kina.interpreter(options.bin)
    text, cases = written_cases()
    passed, failed = check_golden(binary, options.update)
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        print(f"skipped for want of {missing[0]}: {len(cases)} written and {options.count} random functions")
        print(f"{passed} passed, {failed} failed, {len(cases) + options.count} skipped")
        return 1 if failed else 0
    grown = list(random_cases(options.count, options.seed))
    describe(grown)
    modules = [("cases", text, cases, 3)]
    for first in range(0, len(grown), PER_MODULE):
        some = grown[first:first + PER_MODULE]
        modules.append((f"random{first}", "".join(words for words, _ in some), [c for _, of in some for c in of], 2))
    with tempfile.TemporaryDirectory() as folder:
        words = check_header(binary, folder)
        passed, failed = passed + (words is None), failed + (words is not None)
        if words is not None:
            print(f"header: {words}")
        for name, source, of, calls_each in modules:
            module = Module(binary, folder, name, source)
            if module.built.code != 0:
                failed += len(of)
                print(f"{name}: not built ({module.built.code}): {module.built.err.strip()[:2000]}")
                continue
            wrong = {}
            for case, words in compare(module, of, options.seed, calls_each):
                if words is not None:
                    wrong.setdefault(case.name, words)
            for case_name, words in wrong.items():
                print(f"{name}: {case_name}: {words}")
            passed += len(of) - len(wrong)
            failed += len(wrong)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
