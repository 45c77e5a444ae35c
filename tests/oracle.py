#!/usr/bin/env python3
"""Compiled functions against the interpreter: `kina-interp oracle`.

    tests/oracle.py --bin build/kina-interp [--only WORD ...]

The libraries are C by hand, with the interface that MLIR gives its functions: oracle/faults.c has one function for
each way of being wrong, and functions for all types and shapes are written here. Each test_NAME is one test.
"""
import argparse
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

import kina

FOLDER = os.path.join(kina.ROOT, "tests", "oracle")
X = "x=[[1,-2,3],[-4,5,-6]]"
C_TYPES = {"F32": "float", "F64": "double", "I32": "int32_t", "I64": "int64_t", "Bool": "_Bool"}


class Wrong(Exception):
    pass


class Skip(Exception):
    pass


def need(condition, why):
    if not condition:
        raise Wrong(why)


def compile_c(source, library, *more):
    compiler = os.environ.get("CC", "gcc").split()
    done = subprocess.run([*compiler, "-std=c17", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", *more, "-o", library, source],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    need(done.returncode == 0 and not done.stdout, f"{source}: {done.stdout.decode()[:300]}")


class Oracle:
    def __init__(self, binary, faults, folder):
        self.binary, self.faults, self.folder = binary, faults, folder
        self.program = os.path.join(FOLDER, "faults.kina")

    def path(self, name):
        return os.path.join(self.folder, name)

    def file(self, name, text):
        with open(self.path(name), "w" if isinstance(text, str) else "wb") as f:
            f.write(text)
        return self.path(name)

    def library(self, text, name="lib"):
        """A library of C functions, with the types that they need."""
        head = "#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n"
        for dtype, c_type in C_TYPES.items():
            for rank in range(9):
                sizes = f"int64_t size[{rank}], stride[{rank}];" if rank else ""
                head += f"typedef struct {{ {c_type} *allocated, *aligned; int64_t offset; {sizes} }} {dtype}_{rank};\n"
        compile_c(self.file(f"{name}.c", head + text), self.path(f"{name}.so"), "-shared", "-fPIC")
        return self.path(f"{name}.so")

    def run(self, *arguments, limit=60.0, **more):
        run = kina.Run(self.binary, ["oracle", *map(str, arguments)], limit=limit, cwd=self.folder, **more)
        need(run.trouble() is None, f"{arguments}: {run.trouble()}")
        return run

    def ends(self, code, *arguments, says=(), **more):
        run = self.run(*arguments, **more)
        need(run.code == code, f"{arguments}: exit code {run.code}, expected {code}: {run.out[-300:]}{run.err[-300:]}")
        for word in says:
            need(word in run.out + run.err, f"{arguments}: {word!r} is not in: {run.out}{run.err}")
        return run

    def fault(self, code, fn, *more, says=()):
        """A function of faults.c on X."""
        return self.ends(code, self.program, "--so", self.faults, "--fn", fn, "--arg", X, *more, says=says)


# ---- right ones, and how they may hand over their results ----

def test_right(k):
    run = k.fault(0, "neg")
    need(run.out == "0: tensor<F32, [2, 3]>: max ulp 0, max abs 0.0, mismatches 0 of 6\nPASS neg\n", run.out)
    need(run.err == "", run.err)
    k.fault(0, "ad", says=["primal: tensor<F32, [2, 3]>: max ulp 0", "grad x: tensor<F32, [2, 3]>: max ulp 0", "PASS ad"])


def test_offset_and_strides(k):
    k.fault(0, "strided", says=["mismatches 0 of 6", "note: result `0` has offset 30 and strides [5, -4]"])


def test_aliased_results(k):
    k.fault(0, "aliased", says=["note: result `1` shares the buffer of `0`"])


def test_result_in_argument(k):
    k.fault(0, "in_argument", says=["note: result `0` lies in argument `x`"])


def test_constant_result(k):
    k.fault(0, "constant", says=["note: result `0` is a constant of the library"])


def test_no_result(k):
    need(k.fault(0, "nothing").out == "PASS nothing\n", "a function without results")


# ---- each way of being wrong ----

def test_wrong_value(k):
    k.fault(5, "wrong_value", says=["max ulp 524288, max abs 0.25, mismatches 1 of 6, first at [1, 1]: "
                                    "expected -5.0 (0xc0a00000), found -4.75 (0xc0980000)", "FAIL wrong_value"])


def test_wrong_sign(k):
    run = k.fault(5, "wrong_sign", says=["note: result `grad x` has the opposite sign throughout"])
    need("primal: tensor<F32, [2, 3]>: max ulp 0" in run.out and run.out.count("mismatches 6 of 6") == 1, run.out)


def test_swapped(k):
    k.fault(5, "swapped", says=["note: results `primal` and `grad x` are in each other's place"])


def test_wrong_dims(k):
    k.fault(5, "wrong_dims", says=["not compared", "fault: result `0` has the dims [3, 2], expected [2, 3]"])


def test_nan(k):
    k.fault(5, "gives_nan", says=["max ulp inf, max abs inf, mismatches 1 of 6, first at [1, 2]: expected 6.0 (0x40c00000), "
                                  "found nan (0xffffffff)"])
    k.fault(5, "gives_nan", "--ulp", "1000000000", "--rtol", "9", says=["mismatches 1 of 6"])


def test_overwritten_argument(k):
    k.fault(5, "overwrites", says=["mismatches 0 of 6", "fault: argument `x` was overwritten: 6 of 6 elements, first at "
                                   "[0, 0]: 1.0 before, -1.0 after", "FAIL overwrites"])
    k.fault(0, "overwrites", "--allow-overwrite", says=["note: argument `x` was overwritten", "PASS overwrites"])
    k.fault(5, "writes_behind", "--allow-overwrite", says=["fault: memory next to argument `x` was overwritten"])


def test_number_of_results(k):
    k.fault(5, "too_few", says=["primal: tensor<F32, [2, 3]>: max ulp 0", "fault: the library gave no result `grad x`"])
    k.fault(5, "too_many", says=["fault: the library wrote behind its last result"])


def test_crashes(k):
    k.fault(5, "segfault", says=["fault: the library crashed with SIGSEGV", "while it computed"])
    k.fault(5, "divides", says=["SIGFPE"])
    k.fault(5, "aborts", says=["SIGABRT"])
    k.fault(5, "exits", says=["ended its process with code 3 while it computed"])
    k.fault(5, "wild_result", says=["SIGSEGV", "while result `0` was read"])
    k.fault(5, "wild_buffer", says=["while result `0` was freed", "mismatches 0 of 6"])


def test_hang(k):
    began = time.monotonic()
    k.fault(5, "hangs", "--time-limit", "300ms", says=["ran into the time limit while it computed"])
    need(time.monotonic() - began < 30, "it was not ended")


def test_interrupt(k):
    process = subprocess.Popen([k.binary, "oracle", k.program, "--so", k.faults, "--fn", "hangs", "--arg", X],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for _ in range(200):
        time.sleep(0.05)
        children = open(f"/proc/{process.pid}/task/{process.pid}/children").read() or \
            "".join(open(f"/proc/{process.pid}/task/{t}/children").read() for t in os.listdir(f"/proc/{process.pid}/task"))
        if children.strip():
            break
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    need(process.returncode == 130, f"exit code {process.returncode}")
    need(not os.path.exists(f"/proc/{children.split()[0]}"), "the library's process lives on")


# ---- bounds ----

def test_bounds(k):
    far = ("wrong_value", "--numerics", "fast")
    k.fault(2, *far, says=["only compiled numerics can be held to the bit", "--ulp"])
    k.fault(5, *far, "--ulp", "524287")
    k.fault(0, *far, "--ulp", "524288", says=["max ulp 524288", "mismatches 0"])
    k.fault(5, *far, "--atol", "0.2")
    k.fault(0, *far, "--atol", "0.25")
    k.fault(5, *far, "--rtol", "0.04")
    k.fault(0, *far, "--rtol", "0.05")
    k.fault(0, *far, "--rtol", "0.04", "--atol", "0.05")
    k.fault(2, *far, "--rtol", "-1", says=["--rtol takes a number"])
    k.fault(2, *far, "--ulp", "1.5", says=["--ulp takes a whole number"])


def test_signed_zeros(k):
    k.file("p.kina", "fn f(x: F32) -> F32 { x }\n")
    so = k.library("float _mlir_ciface_f(float x) { return x + 0.0f; }\n")
    k.ends(5, "p.kina", "--so", so, "--fn", "f", "--arg", "x=-0.0", says=["expected -0.0 (0x80000000), found 0.0 (0x00000000)"])
    k.ends(0, "p.kina", "--so", so, "--fn", "f", "--arg", "x=-0.0", "--ulp", "1")


def test_bytes_of_bool(k):
    k.file("p.kina", "fn f(x: tensor<Bool, [2]>) -> tensor<Bool, [2]> { x }\n")
    so = k.library("""void _mlir_ciface_f(Bool_1 *out, Bool_1 *x) {
    unsigned char *p = malloc(2);
    p[0] = x->aligned[0], p[1] = 2;
    *out = (Bool_1){(void *)p, (void *)p, 0, {2}, {1}};
}
""")
    k.ends(5, "p.kina", "--so", so, "--fn", "f", "--arg", "x=[true,true]",
           says=["mismatches 1 of 2, first at [1]: expected true (0x01), found neither (0x02)"])


def test_nan_is_nan(k):
    k.file("p.kina", "fn f(x: F64) -> F64 { x }\n")
    so = k.library("double _mlir_ciface_f(double x) { return -x; }\n")
    k.ends(0, "p.kina", "--so", so, "--fn", "f", "--arg", "x=nan")


# ---- signatures ----

def copier(dtype, rank):
    """C and Kina of a function that gives its argument back, in a buffer of its own."""
    c_type, kind = C_TYPES[dtype], f"{dtype}_{rank}"
    count = " * ".join(["1"] + [f"x->size[{i}]" for i in range(rank)])
    name = f"copy_{dtype}_{rank}"
    c = f"""void _mlir_ciface_{name}({kind} *out, {kind} *x) {{
        *out = *x;
        out->allocated = out->aligned = malloc({count} * sizeof({c_type}) + 1);
        memcpy(out->aligned, x->aligned, {count} * sizeof({c_type}));
    }}\n"""
    dims = ", ".join("ABCDEFGH"[i] for i in range(rank))
    return c, f"fn {name}(x: tensor<{dtype}, [{dims}]>) -> tensor<{dtype}, [{dims}]> {{ x }}\n", name


def test_types_and_ranks(k):
    parts = [copier(dtype, rank) for dtype in C_TYPES for rank in range(9)]
    so = k.library("".join(c for c, _, _ in parts))
    k.file("p.kina", "".join(text for _, text, _ in parts))
    tests = [{"fn": name, "random": 3} for _, _, name in parts]
    k.file("m.json", json.dumps({"program": "p.kina", "so": "lib.so", "tests": tests}))
    run = k.ends(0, "--manifest", "m.json")
    need(run.out.endswith("45 passed, 0 failed\n") and so, run.out)


def test_empty_tensor(k):
    c, text, name = copier("F32", 2)
    so = k.library(c)
    k.file("p.kina", text)
    k.ends(0, "p.kina", "--so", so, "--fn", name, "--arg", "x=[[],[]]", says=["tensor<F32, [2, 0]>", "mismatches 0 of 0"])


def test_numbers_by_value(k):
    k.file("p.kina", """fn mixed(a: F32, b: F64, c: I32, d: I64, e: Bool, t: tensor<F32, []>) -> (F32, F64, I32, I64, Bool, tensor<F32, []>) {
  (a, b, c, d, e, t)
}
fn inferred(a: F32) { a }
fn f32(x: F32) -> F32 { x }
fn f64(x: F64) -> F64 { x }
fn i32(x: I32) -> I32 { x }
fn i64(x: I64) -> I64 { x }
fn bool(x: Bool) -> Bool { x }
""")
    so = k.library("""struct mixed { float a; double b; int32_t c; int64_t d; _Bool e; F32_0 t; };
static F32_0 boxed(float x) {
    float *p = malloc(sizeof x);
    *p = x;
    return (F32_0){p, p, 0};
}
void _mlir_ciface_mixed(struct mixed *out, float a, double b, int32_t c, int64_t d, _Bool e, F32_0 *t) {
    *out = (struct mixed){a, b, c, d, e, boxed(*t->aligned)};
}
void _mlir_ciface_inferred(F32_0 *out, float a) { *out = boxed(a); }
float _mlir_ciface_f32(float x) { return x; }
double _mlir_ciface_f64(double x) { return x; }
int32_t _mlir_ciface_i32(int32_t x) { return x; }
int64_t _mlir_ciface_i64(int64_t x) { return x; }
_Bool _mlir_ciface_bool(_Bool x) { return x; }
""")
    for fn in ("mixed", "inferred", "f32", "f64", "i32", "i64", "bool"):
        k.ends(0, "p.kina", "--so", so, "--fn", fn, "--random", "20", says=[f"PASS {fn}: 20 trials"])


def test_scalars(k):
    k.fault(2, "by_value", says=["--arg x"])
    for fn, x in (("by_value", 0), ("by_memref", 0)):
        given = (k.program, "--so", k.faults, "--fn", fn, "--arg", "x=2.5")
        k.ends(0, *given, says=["mismatches 0 of 1"])
        k.ends(0, *given, "--scalars", fn[3:])
    k.ends(0, k.program, "--so", k.faults, "--fn", "by_value", "--symbol", "_mlir_ciface_by_memref", "--scalars", "memref", "--random", "1")
    k.ends(0, k.program, "--so", k.faults, "--fn", "by_memref", "--symbol", "_mlir_ciface_by_value", "--scalars", "value", "--random", "1")
    # Only the lowest bit of a Bool counts.
    k.ends(0, k.program, "--so", k.faults, "--fn", "is_set", "--arg", "x=false")


def test_many_parameters(k):
    kinds = [("F32", 1), ("F64", 0), ("I64", 2), ("F32", None), ("I32", None), ("F64", None)]
    params = [kinds[i % len(kinds)] for i in range(130)]
    kina_types = [t if r is None else f"tensor<{t}, [{', '.join(['3'] * r)}]>" for t, r in params]
    c_types = [C_TYPES[t] + " " if r is None else f"{t}_{r} *" for t, r in params]
    reads = [f"(double)p{i}" if r is None else f"(double)*p{i}->aligned" for i, (t, r) in enumerate(params)]
    firsts = [f"F64(p{i}{'' if not r else '[' + ', '.join(['0'] * r) + ']'})" for i, (t, r) in enumerate(params)]
    k.file("p.kina", f"fn f({', '.join(f'p{i}: {t}' for i, t in enumerate(kina_types))}) -> (F64, F64) {{\n"
           f"  ({' + '.join(firsts)}, {' - '.join(firsts)})\n}}\n")
    so = k.library(f"struct two {{ double a, b; }};\nvoid _mlir_ciface_f(struct two *out, {', '.join(f'{t}p{i}' for i, t in enumerate(c_types))}) {{\n"
                   f"  out->a = {' + '.join(reads)};\n  out->b = {' - '.join(reads)};\n}}\n")
    k.ends(0, "p.kina", "--so", so, "--fn", "f", "--random", "3", says=["PASS f"])


def test_manifest_has_all_digits(k):
    k.file("p.kina", "fn f(x: I64, y: tensor<I64, [2]>, z: F64) -> (I64, tensor<I64, [2]>, F64) { (x, y, z) }\n")
    so = k.library("""struct r { int64_t x; I64_1 y; double z; };
void _mlir_ciface_f(struct r *out, int64_t x, I64_1 *y, double z) {
    int64_t *p = malloc(16);
    p[0] = y->aligned[0], p[1] = y->aligned[1];
    *out = (struct r){x, {p, p, 0, {2}, {1}}, z};
    if (x != 9007199254740993 || p[0] != INT64_MAX || p[1] != INT64_MIN || z != 0.1) out->x = 0;
}
""")
    k.file("m.json", '{"program": "p.kina", "so": "lib.so", "random": 1, "seed": 7, "tests": [\n'
           '  {"name": "1 \\"-2", "fn": "f", "args": {"x": 9007199254740993, "y": [9223372036854775807, -9223372036854775808], "z": 1e-1}},\n'
           '  {"fn": "f", "args": {"x": 9223372036854775808, "y": [1, 2], "z": 0}}]}')
    k.ends(5, "--manifest", "m.json", says=['PASS 1 "-2', "'9223372036854775808' is out of range for I64", "1 passed, 1 failed"])
    need(so, "a library")


def test_nested_results(k):
    k.file("p.kina", "fn f(x: F32) -> (F32, (F64, I32), F32) { (x, (F64(x), 7), -x) }\n")
    so = k.library("struct r { float a; double b; int32_t c; float d; };\n"
                   "void _mlir_ciface_f(struct r *out, float x) { *out = (struct r){x, (double)x, 7, -x}; }\n")
    k.ends(0, "p.kina", "--so", so, "--fn", "f", "--random", "2")


def test_refused_signatures(k):
    k.file("p.kina", "fn f(g: fn(F32) -> F32) -> F32 { g(1.0) }\nfn h(p: (F32, F32)) -> F32 { p.0 }\n")
    for fn in ("f", "h"):
        run = k.run("p.kina", "--so", k.faults, "--fn", fn, "--random", "1")
        need(run.code in (2, 4), f"{fn}: exit code {run.code}: {run.err}")


# ---- random arguments ----

def test_random_arguments(k):
    k.file("p.kina", "fn f(x: tensor<F32, [N]>, w: tensor<F32, [N, M]>) -> tensor<F32, [M]> { x @ w }\n")
    so = k.library("""void _mlir_ciface_f(F32_1 *out, F32_1 *x, F32_2 *w) {
    int64_t n = w->size[0], m = w->size[1];
    float *c = malloc(m * sizeof *c);
    for (int64_t j = 0; j < m; j++) {
        c[j] = 0.0f;
        for (int64_t k = 0; k < n; k++) c[j] += x->aligned[k] * w->aligned[k * m + j];
    }
    if (n == 4) c[0] += 1.0f;
    *out = (F32_1){c, c, 0, {m}, {1}};
}
""")
    given = ("p.kina", "--so", so, "--fn", "f")
    run = k.ends(5, *given, "--random", "100", "--seed", "5", says=["FAIL f: trial "])
    need(run.out == k.run(*given, "--random", "100", "--seed", "5").out, "the seed does not settle the values")
    seed = run.out.split("--seed ")[1].split()[0]
    again = k.ends(5, *given, "--random", "1", "--seed", seed)
    line = next(line for line in again.out.splitlines() if line.startswith("0: "))
    need(line.split("first at ")[1] == run.out.split("first at ")[1].splitlines()[0], "the seed that is named repeats another trial")
    k.ends(0, *given, "--random", "20", "--arg", "x=[1,2,3]", says=["PASS f: 20 trials"])
    k.ends(2, *given, says=["needs an --arg for"])


def test_random_integers_suit_the_program(k):
    k.file("p.kina", "fn f(x: tensor<F32, [4]>, i: I64, n: I32) -> F32 { x[i] + F32(8 / n) }\n")
    so = k.library("float _mlir_ciface_f(F32_1 *x, int64_t i, int32_t n) { return x->aligned[i] + (float)(8 / n); }\n")
    k.ends(0, "p.kina", "--so", so, "--fn", "f", "--random", "50")


# ---- numerics ----

def test_compiled_numerics(k):
    k.file("p.kina", "fn f(x: tensor<F32, [N]>) -> F32 { sum(exp(x) * tanh(x)) }\n")
    so = k.library("""#include <math.h>
float _mlir_ciface_f(F32_1 *x) {
    float s = 0.0f;
    for (int64_t i = 0; i < x->size[0]; i++) s += expf(x->aligned[i]) * tanhf(x->aligned[i]);
    return s;
}
""", "sums")
    numbers = [((i * 37) % 101 - 50) / 16 for i in range(500)]
    given = ("p.kina", "--so", so, "--fn", "f", "--arg", "x=" + json.dumps(numbers))
    need(k.ends(0, *given, says=["max ulp 0"]), "")
    need("max ulp 0," not in k.ends(0, *given, "--numerics", "reference", "--rtol", "1e-3").out, "reference is compiled")


# ---- manifests ----

def test_manifest(k):
    shutil.copy(k.faults, k.path("faults.so"))
    shutil.copy(k.program, k.path("faults.kina"))
    os.mkdir(k.path("sub"))
    k.file("sub/m.json", json.dumps({
        "so": "../faults.so", "program": "../faults.kina", "args": {"x": [[1, 2, 3], [4, 5, 6]]}, "time-limit": "500ms",
        "tests": [{"fn": "neg"}, {"name": "two wrong", "fn": "wrong_value"}, {"fn": "ad", "random": 3, "args": {}},
                  {"fn": "overwrites", "allow-overwrite": True}, {"fn": "by_value", "args": {"x": 2.5}}, {"fn": "hangs"},
                  {"fn": "wrong_value", "name": "near", "numerics": "fast", "ulp": 1000000}, {"fn": "absent", "args": {"x": "1.0"}},
                  {"fn": "none"}, {"fn": "neg", "program": "nowhere.kina"}, {"fn": "segfault"}]}))
    run = k.ends(5, "--manifest", "sub/m.json")
    verdicts = [line for line in run.out.splitlines() if line.startswith(("PASS", "FAIL"))]
    need([v.split(":")[0] for v in verdicts] == [
        "PASS neg", "FAIL two wrong", "PASS ad", "PASS overwrites", "PASS by_value", "FAIL hangs", "PASS near", "FAIL absent",
        "FAIL none", "FAIL neg", "FAIL segfault"], verdicts)
    need(run.out.endswith("\n5 passed, 6 failed\n"), run.out[-60:])
    need("FAIL absent: error[K0605]: " in run.out and "FAIL neg: error[K0601]: " in run.out, run.out)
    need(run.err == "", run.err)
    whole = json.loads(k.ends(5, "--manifest", "sub/m.json", "--format", "json").out)
    need((whole["passed"], whole["failed"], len(whole["tests"])) == (5, 6, 11), whole)
    need(whole["tests"][1]["results"][0]["first"]["found_bits"] == "0xc0980000", whole["tests"][1])
    need(whole["tests"][7]["error"]["code"] == "K0605" and whole["tests"][5]["faults"], whole)


def test_manifest_of_a_wrong_program(k):
    k.file("bad.kina", "\nfn f(x: F32) -> F32 { y }\n")
    k.file("m.json", json.dumps({"so": k.faults, "tests": [{"fn": "f", "program": "bad.kina"}, {"fn": "neg", "program": k.program, "random": 1}]}))
    run = k.ends(5, "--manifest", "m.json", says=["FAIL f: error[K0101]: bad.kina:2: name `y` is not defined\nPASS neg\n1 passed, 1 failed\n"])
    need("--> bad.kina:2:23" in run.err, run.err)


def test_manifest_mistakes(k):
    for text, words in (("{", ["line 1", "JSON"]), ("[]", ["tests"]), ('{"tests": [{"fn": "f"}]}', ["test 0", "program"]),
                        ('{"program": "p", "so": "s", "tests": [{}]}', ["test 0", "fn"]),
                        ('{"tests": [], "numerisc": 1}', ["numerisc", "numerics"]),
                        ('{"program": "p", "so": "s", "tests": [{"fn": "f", "args": 3}]}', ["args"])):
        k.file("m.json", text)
        k.ends(6, "--manifest", "m.json", says=["K0603", *words])
    k.file("m.json", '{"program": "p", "so": "s", "tests": [{"fn": "f", "ulp": "many"}]}')
    k.ends(2, "--manifest", "m.json", says=["--ulp takes", "test 0"])
    k.ends(6, "--manifest", "nowhere.json", says=["K0601"])
    k.file("m.json", '{"tests": []}')
    need(k.ends(0, "--manifest", "m.json").out == "0 passed, 0 failed\n", "an empty manifest")
    k.ends(2, "p.kina", "--manifest", "m.json", says=["program"])
    k.ends(2, "--manifest", "m.json", "--fn", "f", says=["--fn"])


def test_progress(k):
    k.file("m.json", json.dumps({"so": k.faults, "program": k.program, "tests": [{"fn": "neg", "random": 1}, {"fn": "ad", "random": 1}]}))
    terminal, other = os.openpty()
    with open(k.path("out"), "wb") as out:
        done = subprocess.run([k.binary, "oracle", "--manifest", k.path("m.json")], stdout=out, stderr=other)
    os.close(other)
    shown = os.read(terminal, 10000).decode()
    os.close(terminal)
    need(done.returncode == 0 and "1 of 2: neg" in shown and "2 of 2: ad" in shown, f"a terminal shows how far it is: {shown!r}")
    need(shown.endswith("\r\x1b[K"), f"what was shown is gone in the end: {shown!r}")
    with open(k.path("out"), encoding="utf-8") as f:
        need(f.read() == "PASS neg\nPASS ad\n2 passed, 0 failed\n", "standard output")


def test_many_comparisons(k):
    shutil.copy(k.faults, k.path("faults.so"))
    shutil.copy(k.program, k.path("faults.kina"))
    tests = [{"name": f"{fn} {i}", "fn": fn, "random": 1, "seed": i} for i in range(50) for fn in ("neg", "ad")]
    k.file("m.json", json.dumps({"so": "faults.so", "program": "faults.kina", "tests": tests}))
    need(k.ends(0, "--manifest", "m.json").out.endswith("100 passed, 0 failed\n"), "a hundred comparisons")


# ---- what MLIR makes of functions written by hand ----

def compile_mlir(k, name, deallocate, **more):
    """hand.mlir as a library; without deallocation results may lie in arguments, constants and each other."""
    for tool in ("mlir-opt-19", "mlir-translate-19", "llc-19"):
        if shutil.which(tool) is None:
            raise Skip(f"there is no {tool} ('make peers' installs it)")
    passes = ["-convert-elementwise-to-linalg",
              "-one-shot-bufferize=bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map",
              *["-buffer-deallocation-pipeline"][:deallocate], "-convert-bufferization-to-memref", "-convert-linalg-to-loops",
              "-expand-strided-metadata", "-lower-affine", "-convert-scf-to-cf", "-convert-math-to-llvm", "-convert-math-to-libm",
              "-convert-arith-to-llvm", "-finalize-memref-to-llvm", "-convert-func-to-llvm", "-convert-cf-to-llvm",
              "-reconcile-unrealized-casts"]
    at = k.path(name)
    for command in (["mlir-opt-19", *passes, os.path.join(FOLDER, "hand.mlir"), "-o", f"{at}.llvm.mlir"],
                    ["mlir-translate-19", "--mlir-to-llvmir", f"{at}.llvm.mlir", "-o", f"{at}.ll"],
                    ["llc-19", "-O2", "-relocation-model=pic", "-filetype=obj", f"{at}.ll", "-o", f"{at}.o"],
                    ["gcc", "-shared", f"{at}.o", "-lm", "-o", f"{at}.so"]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        need(done.returncode == 0, f"{command[0]}: {done.stdout.decode()[:400]}")
    return f"{at}.so"


def test_mlir_owned(k):
    so = compile_mlir(k, "owned", True)
    program = os.path.join(FOLDER, "hand.kina")
    writes = k.ends(5, program, "--so", so, "--fn", "neg", "--random", "1", says=["argument `x` was overwritten"])
    need("mismatches 0 of" in writes.out, "what is written over is the argument, not the result")
    names = ("kept", "ad", "sums", "product", "functions", "mixed", "number", "positive", "same", "sevens", "twice")
    k.file("m.json", json.dumps({"program": program, "so": so, "random": 20, "tests": [
        *({"fn": fn} for fn in names), {"fn": "neg", "allow-overwrite": True}]}))
    run = k.ends(0, "--manifest", "m.json")
    need(run.out.endswith("12 passed, 0 failed\n"), run.out)
    sums = json.dumps([[((i * j * 37) % 101 - 50) / 7 for i in range(500)] for j in range(4)])
    k.ends(0, program, "--so", so, "--fn", "sums", "--arg", "x=" + sums, says=["max ulp 0, "])


def test_mlir_not_owned(k):
    so = compile_mlir(k, "free", False)
    given = (os.path.join(FOLDER, "hand.kina"), "--so", so, "--random", "20", "--fn")
    k.ends(0, *given, "same", says=["note: result `0` lies in argument `x`"])
    k.ends(0, *given, "sevens", says=["note: result `0` is a constant of the library"])
    k.ends(0, *given, "twice", says=["note: result `1` shares the buffer of `0`"])
    k.ends(0, *given, "neg", "--allow-overwrite", says=["note: result `0` lies in argument `x`", "note: argument `x` was overwritten"])


# ---- test runners, as docs/oracle.md shows them ----

EXAMPLES = os.path.join(kina.ROOT, "examples", "oracle")


def checks(lines, prefix, output):
    """Whether the output has the lines of a FileCheck file in their order."""
    at = 0
    for line in lines:
        if not line.startswith(prefix + ": "):
            continue
        pattern = "".join(part if i % 2 else re.escape(part) for i, part in enumerate(re.split(r"\{\{|\}\}", line[len(prefix) + 2:])))
        found = re.compile(pattern).search(output, at)
        need(found, f"{line!r} is not in {output!r}")
        at = found.end()


def test_lit_example(k):
    with open(os.path.join(EXAMPLES, "ad.test"), encoding="utf-8") as f:
        lines = f.read().splitlines()
    filecheck = next((p for p in map(shutil.which, ("FileCheck", "FileCheck-19", "FileCheck-14")) if p), None)
    for line in lines:
        if not line.startswith("RUN: "):
            continue
        command = line[5:]
        for name, value in (("%cc", os.environ.get("CC", "gcc")), ("%kina", f"'{k.binary}'"), ("%S", EXAMPLES), ("%t", k.path("t"))):
            command = command.replace(name, value)
        command, _, check = command.partition(" | FileCheck %s")
        prefix = check.partition("--check-prefix=")[2] or "CHECK"
        done = subprocess.run(["sh", "-c", command.removeprefix("not ")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        need(done.returncode == (5 if command.startswith("not ") else 0), f"{command}: {done.returncode}: {done.stdout}")
        if k.binary in command:
            checks(lines, prefix, done.stdout.decode())
        if k.binary in command and filecheck:
            subprocess.run([filecheck, os.path.join(EXAMPLES, "ad.test"), f"--check-prefix={prefix}"], input=done.stdout, check=True)


def test_pytest_example(k):
    """Its hooks and tests as pytest would call them."""
    os.makedirs(os.path.join(kina.ROOT, "build"), exist_ok=True)
    compile_c(os.path.join(EXAMPLES, "ad.c"), os.path.join(kina.ROOT, "build", "ad.so"), "-shared", "-fPIC")
    script = """import sys, types
sys.path.insert(0, sys.argv[1])
import test_compiled as t
found = types.SimpleNamespace()
found.parametrize = lambda name, tests, ids: found.__dict__.update(tests=tests, ids=ids)
t.pytest_generate_tests(found)
for test in found.tests:
    t.test_agrees(test)
print(len(found.tests))
"""
    done = subprocess.run([sys.executable, "-B", "-c", script, EXAMPLES], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, KINA=k.binary))
    need(done.returncode == 0 and done.stdout.strip() == b"4", done.stdout.decode())


# ---- bad input ----

def test_libraries_that_are_none(k):
    given = (k.program, "--fn", "neg", "--random", "1", "--so")
    k.ends(6, *given, "nowhere.so", says=["K0601", "nowhere.so"])
    k.ends(6, *given, ".", says=["K0601"])
    k.ends(6, *given, k.file("empty.so", ""), says=["K0603", "an empty file"])
    k.ends(6, *given, k.file("text.so", "this is no library, however long it may be made to be, is it?\n"),
           says=["K0603", "expected a shared object", "another kind of file"])
    with open(k.faults, "rb") as f:
        library = bytearray(f.read())
    foreign = bytearray(library)
    foreign[18:20] = struct.pack("<H", 243 if library[18] != 243 else 62)
    k.ends(6, *given, k.file("foreign.so", bytes(foreign)), says=["K0603", "found one for RISC-V" if library[18] != 243 else "x86-64"])
    k.ends(6, *given, k.file("short.so", bytes(library[:200])), says=["K0603"])
    compile_c(os.path.join(FOLDER, "faults.c"), k.path("object.o"), "-c")
    k.ends(6, *given, "object.o", says=["an object file that is not linked yet"])


def test_missing_functions(k):
    run = k.ends(6, k.program, "--so", k.faults, "--fn", "absent", "--random", "1", says=["K0605", "has no function _mlir_ciface_absent"])
    need("it has _mlir_ciface_" in run.err, run.err)
    k.fault(6, "plain", says=["without a C interface", "llvm.emit_c_interface"])
    k.fault(6, "neg", "--symbol", "_mlir_ciface_nge", says=["did you mean _mlir_ciface_neg?"])
    k.fault(2, "nge", says=["K0802", "did you mean 'neg'?"])


def test_unresolved_library(k):
    so = k.library("void nowhere_defined(void);\nvoid _mlir_ciface_neg(void) { nowhere_defined(); }\n")
    k.ends(6, k.program, "--so", so, "--fn", "neg", "--random", "1", says=["K0603", "nowhere_defined"])


def test_arguments_that_do_not_fit(k):
    def npy(kind, shape):
        header = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (kind, "".join(f"{d}, " for d in shape))
        header = header.encode() + b" " * (-(11 + len(header)) % 64) + b"\n"
        size = int(kind[2])
        for d in shape:
            size *= d
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(size)
    given = (k.program, "--so", k.faults, "--fn", "neg", "--arg")
    k.file("right.npy", npy("<f4", (2, 3)))
    k.file("wide.npy", npy("<f8", (2, 3)))
    k.file("long.npy", npy("<f4", (3, 3)))
    k.file("flat.npy", npy("<f4", (6,)))
    k.ends(0, *given, "x=@right.npy")
    k.ends(2, *given, "x=@wide.npy", says=["K0802", "expected F32", "'f8'"])
    k.ends(2, *given, "x=@long.npy", says=["K0802", "expected tensor<F32, [2, 3]>, found tensor<F32, [3, 3]>"])
    k.ends(2, *given, "x=@flat.npy", says=["K0802"])
    k.ends(2, *given, "y=@right.npy", says=["no parameter 'y'"])
    k.ends(6, *given, "x=@nowhere.npy", says=["K0601"])


def test_command_line(k):
    k.ends(2, k.program, "--fn", "neg", says=["--so LIB"])
    k.ends(2, k.program, "--so", k.faults, says=["--fn NAME"])
    k.ends(2, k.program, "--so", k.faults, "--fn", "neg", "--random", "0", says=["--random takes"])
    k.ends(2, k.program, "--so", k.faults, "--fn", "neg", "--scalars", "some", says=["value|memref"])
    need("--manifest" in k.ends(0, "--help").out, "--help")
    k.file("bad.kina", "fn f(x: F32) -> F32 { y }\n")
    k.ends(3, "bad.kina", "--so", k.faults, "--fn", "f", says=["K0101"])
    k.file("fails.kina", "fn f(x: F32) -> F32 { assert(false); x }\n")
    k.ends(1, "fails.kina", "--so", k.faults, "--fn", "f", "--arg", "x=1", says=["K0505"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(kina.ROOT, "build/kina-interp"))
    parser.add_argument("--only", nargs="+", metavar="WORD", help="tests with one of these words in their names")
    options = parser.parse_args()
    binary = kina.interpreter(options.bin)
    tests = [(name[5:], test) for name, test in list(globals().items()) if name.startswith("test_")]
    if options.only:
        tests = [t for t in tests if any(word in t[0] for word in options.only)]
    failed = skipped = 0
    with tempfile.TemporaryDirectory(prefix="kina-oracle-") as shared:
        faults = os.path.join(shared, "faults.so")
        compile_c(os.path.join(FOLDER, "faults.c"), faults, "-shared", "-fPIC")
        for name, test in tests:
            with tempfile.TemporaryDirectory(prefix="kina-oracle-") as folder:
                try:
                    test(Oracle(binary, faults, folder))
                except Skip as why:
                    skipped += 1
                    print(f"SKIP {name}: {why}")
                except (Wrong, ValueError, KeyError, OSError, subprocess.SubprocessError) as error:
                    failed += 1
                    print(f"FAIL {name}: {error if isinstance(error, Wrong) else f'{type(error).__name__}: {error}'}")
    print(f"{len(tests) - failed - skipped} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
