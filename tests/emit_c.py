#!/usr/bin/env python3
"""Gradients as C (`grad --emit c`), compiled, called, and held against the same gradients as programs, which the
interpreter runs under --numerics compiled, bit for bit.

    tests/emit_c.py --bin build/kina-interp [--count 60] [--seed 1] [--only WORD ...] [--keep FOLDER]

The functions are those of emit_c.kina, the ops of the table by class, and the functions of tests/mlir: written ones
(cases.kina) and random ones (programs.py). Of those that have no gradient by themselves the --mode vjp of a function
around them is taken, which gives their values. gcc must find nothing to warn of. Where the interpreter ends with an
error the C must, too. Some of them run under the sanitizers, once for each request for memory that may fail.
"""
import argparse
import concurrent.futures
import ctypes
import math
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import tempfile

import kina

sys.path.insert(0, os.path.join(kina.ROOT, "tests", "mlir"))
import native  # noqa: E402
import programs  # noqa: E402
import run as lowered  # noqa: E402

GCC = ["gcc", "-O2", "-std=c11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]
SIZES = [0, 1, 2, 2, 3, 3, 4, 4]
LIMIT = 60  # seconds for a call
SANITIZED = 6
DRAWS = 50  # until sizes fit that no name tells: those of cotangents of what a run cuts out
C_TYPES = {"F32": "float", "F64": "double", "I32": "int32_t", "I64": "int64_t", "Bool": "bool"}
MODES = ["value_and_grad", "grad", "vjp", "jvp"]
HEAD = re.compile(r"^fn (\w+)\((.*)\) -> (.*?) \{", re.MULTILINE)
PORT = re.compile(r"(?:kina_(\w+)_(\d)|(float|double|int32_t|int64_t|bool)) (\w+)[,;]?(?: /\* (.*?) \*/)?")
DTYPES = {"f32": "F32", "f64": "F64", "i32": "I32", "i64": "I64", "bool": "Bool",
          "float": "F32", "double": "F64", "int32_t": "I32", "int64_t": "I64"}


class Port:
    """A parameter or result: its C name, element type, rank, and dims as its comment states them."""

    def __init__(self, match):
        suffix, rank, number, self.name, comment = match.groups()
        self.dtype = DTYPES[suffix or number]
        self.rank = int(rank or 0)
        stated = re.search(r"\[(.*)\]", comment or "")
        self.dims = stated.group(1).split(", ") if stated and self.rank else []
        item = native.SCALARS[self.dtype]
        self.kind = item if self.rank == 0 else type("Tensor", (ctypes.Structure,), {
            "_fields_": [("data", ctypes.POINTER(item)), ("dims", ctypes.c_int64 * self.rank)]})


class Emitted:
    """A gradient as C and as a program."""

    def __init__(self, folder, name, text, fn, mode, **sizes):
        self.sizes = sizes      # of dims by name, where they are not drawn
        self.name, self.text, self.fn, self.mode = name, text, fn, mode
        self.program, self.c = os.path.join(folder, f"{name}.kina"), os.path.join(folder, f"{name}.c")
        self.printed, self.library = os.path.join(folder, f"{name}.grad.kina"), os.path.join(folder, f"{name}.so")
        self.symbol = f"{fn}_{mode}"
        self.trouble, self.derivative, self.calls = None, "", 3

    def make(self, binary):
        with open(self.program, "w", encoding="utf-8") as f:
            f.write(self.text)
        given = ["grad", self.program, "--fn", self.fn, "--mode", self.mode]
        done = kina.Run(binary, [*given, "--emit", "c", "-o", self.c])
        if done.code != 0:
            self.trouble = f"exit code {done.code}: {done.err.strip()[:600]}"
            if kina.first_line(done.err) == kina.first_line(kina.Run(binary, given).err):
                self.trouble = "refused"    # as a program too
            if os.path.exists(self.c):
                self.trouble += "; and a file was written"
            return self
        printed = kina.Run(binary, [*given, "-o", self.printed])
        compiled = subprocess.run([*GCC, "-shared", "-fPIC", "-Wl,-Bsymbolic", "-o", self.library, self.c, "-lm"],
                                  capture_output=True, text=True)
        if printed.code != 0 or compiled.returncode != 0 or compiled.stderr:
            self.trouble = f"{printed.err}{compiled.stderr[:800]}"
            return self
        with open(self.printed, encoding="utf-8") as f:
            self.derivative = f.read()
        with open(self.c, encoding="utf-8") as f:
            c = f.read()
        head = re.search(rf"^int {self.symbol}\((.*?)struct", c, re.MULTILINE | re.DOTALL).group(1)
        self.parameters = [Port(m) for m in PORT.finditer(head)]
        body = re.search(rf"struct {self.symbol}_results {{\n(.*?)\n}};", c, re.DOTALL).group(1)
        self.results = [Port(m) for m in PORT.finditer(body)]
        return self

    def arguments(self, rng):
        sizes = dict(self.sizes)
        draw = native.special if rng.random() < 0.34 else native.plain
        found = []
        for p in self.parameters:
            shape = [int(d) if d.isdigit() else sizes.setdefault(d, rng.choice(SIZES)) for d in p.dims]
            count = 1
            for d in shape:
                count *= d
            found.append((p.dtype, shape, [draw(p.dtype, rng) for _ in range(count)], False))
        return found


def call(emitted, arguments):
    """What the function gives, called in a process of its own: [(shape, data)], or words."""
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receiver)
        with os.fdopen(sender, "wb") as to:
            signal.alarm(LIMIT)
            pickle.dump(call_here(emitted, arguments), to)
        os._exit(0)
    os.close(sender)
    with os.fdopen(receiver, "rb") as source:
        written_by_child = source.read()
    status = os.waitpid(child, 0)[1]
    return pickle.loads(written_by_child) if status == 0 else f"CRASH: status {status}"


def call_here(emitted, arguments):
    """[(shape, data)] or the message."""
    library = ctypes.CDLL(emitted.library, mode=os.RTLD_LOCAL | os.RTLD_NOW)
    function, free = getattr(library, emitted.symbol), getattr(library, f"{emitted.symbol}_free")
    given, buffers = [], []
    for p, (dtype, shape, data, _) in zip(emitted.parameters, arguments):
        if p.rank == 0:
            given.append(p.kind(data[0]))
            continue
        buffers.append((native.SCALARS[dtype] * max(len(data), 1))(*data))
        entries = ctypes.cast(buffers[-1], ctypes.POINTER(native.SCALARS[dtype]))
        given.append(p.kind(entries, (ctypes.c_int64 * p.rank)(*shape)))
    before = [bytes(b) for b in buffers]
    kind = type("Results", (ctypes.Structure,), {"_fields_": [(r.name, r.kind) for r in emitted.results] +
                                                             [("error", ctypes.c_char_p)]})
    out = kind()
    code = function(*given, ctypes.byref(out))
    if [bytes(b) for b in buffers] != before:
        return "CRASH: an argument was overwritten"
    if code != 0:
        return out.error.decode()
    found = []
    for r in emitted.results:
        x = getattr(out, r.name)
        if r.rank == 0:
            found.append(([], [x]))
            continue
        shape, count = list(x.dims), 1
        for d in shape:
            count *= d
        found.append((shape, x.data[:count]))
    free(ctypes.byref(out))
    return found


def expected(binary, folder, emitted, arguments):
    head = re.search(rf"fn {emitted.symbol}\((.*?)\) (?:->|{{)", emitted.derivative, re.DOTALL).group(1)
    names = re.findall(r"(\w+): ", head)
    given = ["--numerics", "compiled", "--format", "json", "--fn", emitted.symbol]
    for i, (dtype, shape, data, _) in enumerate(arguments):
        path = os.path.join(folder, f"{emitted.name}.{i}.npy")
        lowered.save_npy(path, dtype, shape, data)
        given += ["--arg", f"{names[i]}=@{path}"]
    run = kina.Run(binary, [emitted.printed, *given])
    return kina.results(run) if run.code == 0 else kina.first_line(run.err)


def compare(binary, folder, emitted, seed):
    """Words on the first difference, or None."""
    if emitted.trouble:
        return None if emitted.trouble == "refused" else emitted.trouble
    rng = random.Random(f"{seed}:{emitted.name}")
    for _ in range(emitted.calls):
        for _ in range(DRAWS):
            arguments = emitted.arguments(rng)
            found = call(emitted, arguments)
            if not isinstance(found, str) or not found.startswith("the argument"):
                break
        want = expected(binary, folder, emitted, arguments)
        words = lowered.differences(want, found)
        if isinstance(found, str) and found.startswith("CRASH"):
            words = found
        if words:
            return f"{words} (of {arguments})"[:600]
    return None


def c_number(dtype, x):
    if dtype not in ("F32", "F64"):
        return "INT64_MIN" if x == -2**63 else str(int(x))
    return "NAN" if math.isnan(x) else ("-" if x < 0 else "") + "INFINITY" if math.isinf(x) else repr(x)


def host(emitted, arguments):
    """A C program that calls the function again and again, letting one more request for memory succeed each time."""
    given = []
    for p, (dtype, shape, data, _) in zip(emitted.parameters, arguments):
        numbers = ", ".join(c_number(dtype, x) for x in data)
        if p.rank == 0:
            given.append(numbers)
            continue
        element = C_TYPES[dtype]
        kind = f"kina_{dtype.lower()}_{p.rank}"
        given.append(f"({kind}){{({element}[]){{{numbers or '0'}}}, {{{', '.join(map(str, shape))}}}}}")
    return f"""#include <stdio.h>
#include <stdlib.h>
static long allowed;
static void *meagre(size_t size) {{ return allowed-- > 0 ? malloc(size) : NULL; }}
#define malloc meagre
#include "{emitted.c}"
int main(void) {{
    struct {emitted.symbol}_results out;
    for (long requests = 0;; requests++) {{
        allowed = requests;
        int code = {emitted.symbol}({', '.join([*given, '&out'])});
        bool right = (code != 0) == (out.error != NULL) && (code == 1) == (allowed < 0);
        if (!right) return printf("code %d, %ld left\\n", code, allowed), 1;
        {emitted.symbol}_free(&out);
        if (code != 1) return 0;
    }}
}}
"""


def sanitize(folder, emitted, seed):
    """Words on what AddressSanitizer, UBSan and LeakSanitizer find, or None."""
    source, program = os.path.join(folder, f"{emitted.name}.host.c"), os.path.join(folder, f"{emitted.name}.host")
    rng = random.Random(f"{seed}:{emitted.name}:host")
    for _ in range(DRAWS):
        arguments = emitted.arguments(rng)
        found = call(emitted, arguments)
        if not isinstance(found, str):
            break
    with open(source, "w", encoding="utf-8") as f:
        f.write(host(emitted, arguments))
    sanitizers = ["-std=c11", "-O0", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover"]
    compiled = subprocess.run(["gcc", *sanitizers, "-o", program, source, "-lm"], capture_output=True, text=True)
    if compiled.returncode != 0:
        return compiled.stderr[:400]
    done = subprocess.run([program], capture_output=True, text=True, timeout=LIMIT)
    return None if done.returncode == 0 else f"{done.stdout}{done.stderr}"[:900]


def around(text, match):
    """The program with a function that has a gradient around one that may have none."""
    name, parameters, results = match.groups()
    names = ", ".join(re.findall(r"(\w+): ", parameters))
    return (f"{text}\nfn around_{name}(around: F64, {parameters}) -> (F64, {results}) "
            f"{{ (around, {name}({names})) }}\n")


# Of emit_c.kina, which derivatives are written.
OWN = [("calls_itself", "value_and_grad"), ("calls_itself", "jvp"), ("by_rules", "value_and_grad"), ("by_rules", "jvp"),
       ("wide", "vjp"), ("wide", "jvp"), ("cells", "value_and_grad"), ("cells", "jvp"), ("swapped", "grad"),
       ("swapped", "jvp"), ("in_parts", "value_and_grad"), ("empty_between", "grad"),
       ("held", "vjp"), ("moved", "vjp"), ("while_", "value_and_grad"), ("drawn", "vjp"), ("divided", "grad"),
       ("indexed", "value_and_grad"), ("taken", "vjp"), ("stretched", "vjp"), ("carried", "value_and_grad"),
       ("asserted", "jvp")]


# How an op of a class is called on x, y, z, which stretch, i and j, integers, and b and c, Bool.
FLOATS, NUMBERS = ("F32", "F64"), ("F32", "F64", "I32", "I64")
CALLS = {
    "UNARY": ("x", FLOATS), "UNARY_NUMERIC": ("x", NUMBERS), "BINARY": ("x, y", FLOATS),
    "BINARY_NUMERIC": ("x, y", NUMBERS), "BINARY_INTEGER": ("x, y", ("I32", "I64")), "COMPARE": ("x, y", NUMBERS),
    "COMPARE_ORDER": ("x, y", NUMBERS), "TERNARY_NUMERIC": ("x, y, z", NUMBERS), "REDUCE": ("x", NUMBERS),
    "REDUCE_ONE": ("x", NUMBERS), "REDUCE_NONEMPTY": ("x", NUMBERS), "REDUCE_FLOAT": ("x", FLOATS),
    "REDUCE_BOOL": ("x < y", NUMBERS), "ARG_REDUCE": ("x", NUMBERS),
}
NOT_WRITTEN = {"digamma", "polygamma", "lgamma"}     # lgamma is, its derivative is not


def table():
    """The op table: (name in programs, class)."""
    with open(os.path.join(kina.ROOT, "runtime", "ops.def"), encoding="utf-8") as f:
        return re.findall(r'^OP\(\w+, "([^"]*)", (\w+),', f.read(), re.MULTILINE)


def walk(folder):
    """Each elementwise op and each reduction, the ops of a class and an element type in one function."""
    for dtype in NUMBERS:
        for of in CALLS:
            given, dtypes = CALLS[of]
            ops = [name for name, its in table() if its == of and dtype in dtypes and name not in NOT_WRITTEN]
            if not ops:
                continue
            calls = []
            for op in ops:
                word = op[0].isalpha()
                calls.append(f"{op}({given})" if word else f" {op} ".join(f"{v}" for v in given.split(", ")))
                if "REDUCE" in of:
                    calls += [f"{op}({given}, axis=1)", f"{op}({given}, axis=0, keepdims=true)"]
            if of == "UNARY":
                calls.append("lgamma(stop_gradient(x))")
            if of == "UNARY_NUMERIC":
                calls += [f"{to}(x)" for to in C_TYPES]
            parameters = f"around: F64, x: tensor<{dtype}, [A, 3, 1]>, y: tensor<{dtype}, [1, 3, N]>, z: {dtype}"
            name = f"{of.lower()}_{dtype.lower()}"
            text = f"fn {name}({parameters}) {{ (around, {', '.join(calls)}) }}\n"
            yield Emitted(folder, name, text, name, "vjp", A=7, N=11)


def missing(texts):
    """Ops of programs that no text of these calls, but for those that the unit test lists."""
    with open(os.path.join(kina.ROOT, "tests", "unit", "test_emit_c.c"), encoding="utf-8") as f:
        listed = set(re.findall(r"\bOP_(\w+)", f.read()))
    names = {name: name for name, _ in table() if name and name[0].isalpha() and name not in listed}
    names.update({"full": "(full|zeros|ones)", "full_like": "(full|zeros|ones)_like"})
    return [name for name, pattern in names.items() if not any(re.search(rf"\b{pattern}\(", text) for text in texts)]


def written(folder):
    with open(os.path.join(kina.ROOT, "tests", "emit_c.kina"), encoding="utf-8") as f:
        text = f.read()
    for fn, mode in OWN:
        emitted = Emitted(folder, f"{fn}_{mode}", text, fn, mode)
        emitted.calls = 12      # some have ways to fail
        yield emitted
    with open(os.path.join(kina.ROOT, "tests", "mlir", "cases.kina"), encoding="utf-8") as f:
        text = f.read()
    for m in HEAD.finditer(text):
        if "fn(" not in m.group(2) and not m.group(1).startswith("helper"):
            yield Emitted(folder, m.group(1), around(text, m), f"around_{m.group(1)}", "vjp")


def grown(folder, count, seed):
    for k in range(count):
        rng = random.Random(f"{seed}:{k}")
        f = programs.Function(f"f{k}", rng)
        f.text = f.text.replace("lgamma(", "erf(")  # its derivative is not written
        if f.differentiated:
            yield Emitted(folder, f.name, f.text, f.name, rng.choice(MODES))
        else:
            head = [m for m in HEAD.finditer(f.text) if m.group(1) == f.name][0]
            yield Emitted(folder, f.name, around(f.text, head), f"around_{f.name}", "vjp")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(kina.ROOT, "build/kina-interp"))
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", nargs="+", metavar="WORD")
    parser.add_argument("--keep", metavar="FOLDER", help="leave the files there")
    options = parser.parse_args()
    binary = kina.interpreter(options.bin)
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="kina-emit-") as folder:
        if options.keep:
            folder = os.path.abspath(options.keep)
            os.makedirs(folder, exist_ok=True)
        of = [*walk(folder), *written(folder), *grown(folder, options.count, options.seed)]
        of = [e for e in of if not options.only or any(word == e.name for word in options.only)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for emitted in pool.map(lambda e: e.make(binary), of):
                words = compare(binary, folder, emitted, options.seed)
                if words is None and emitted.trouble is None and len(emitted.name) % SANITIZED == 0:
                    words = sanitize(folder, emitted, options.seed)
                passed += words is None
                failed += words is not None
                if words is not None:
                    print(f"{emitted.name}: {words}")
    left_out = [] if options.only else missing([e.text + e.derivative for e in of])
    if left_out:
        print(f"no function calls {', '.join(left_out)}")
    failed += len(left_out)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
