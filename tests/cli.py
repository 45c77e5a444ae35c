#!/usr/bin/env python3
"""The command line: options, exit codes, files, and what bad input does.

    tests/cli.py --bin build/kina-interp [--only WORD …]

Each function test_NAME is one test and fails by raising Wrong. Every run is bounded in time; whatever the
input, the interpreter ends with one of its exit codes, and never by a signal of its own.
"""
import argparse
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

import kina

CODES = {0, 1, 2, 3, 4, 5, 6, 130}
SQUARE = "fn f(x: tensor<F64, [N]>, k: F64) -> F64 { sum(x * x) * k }\n"
ENDLESS = "let v = while (true) [x = 0.0] { (x + 1.0) };\nv\n"
ADD = """fn add(x: tensor<F32, [2, N]>, w: tensor<F32, [N]>, n: I32, up: Bool) -> tensor<F32, [2, N]> {
    if (up) { x + w * F32(n) } else { x }
}
"""


class Wrong(Exception):
    pass


def need(condition, said):
    if not condition:
        raise Wrong(said)


class Kina:
    """The interpreter under test and a folder for this test's files."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        # Address-space limits and sanitizers do not go together, and sanitized runs are slower.
        self.sanitized = b"__asan_init" in open(binary, "rb").read()

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        return path

    def run(self, *arguments, stdin="", limit=60.0, **more):
        run = kina.Run(self.binary, list(arguments), stdin, limit, cwd=self.folder, **more)
        trouble = run.trouble()
        need(trouble is None, f"{' '.join(map(str, arguments))[:80]}: {trouble}")
        need(run.code in CODES, f"exit code {run.code}")
        return run

    def ends(self, code, *arguments, says=(), stdin="", limit=60.0, **more):
        """A run with this exit code; an error leaves standard output empty and says all the words."""
        run = self.run(*arguments, stdin=stdin, limit=limit, **more)
        codes = code if isinstance(code, tuple) else (code,)
        shown = " ".join(str(a)[:60] for a in arguments)
        need(run.code in codes, f"{shown}: exit code {run.code}, expected {code}: {kina.first_line(run.err)}")
        if run.code:
            need(run.out == "", f"{shown}: standard output beside an error: {run.out[:60]!r}")
            need(run.err.strip() != "", f"{shown}: no message")
        for word in says:
            need(word.lower() in run.err.lower(), f"{shown}: the message lacks {word!r}: {kina.first_line(run.err)}")
        return run

    def numbers(self, *arguments, **more):
        """The data of the results of a run with --format json."""
        run = self.ends(0, *arguments, "--format", "json", **more)
        return [result["data"] for result in kina.results(run)]


# ---- .npy files, written and read by hand ----

def npy(descr, shape, data, fortran=False, header=None, version=(1, 0)):
    text = header if header is not None else \
        "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }" % (descr, fortran, "".join(f"{d}, " for d in shape))
    size = struct.calcsize("<H" if version[0] == 1 else "<I")
    padding = -(8 + size + len(text) + 1) % 64
    text = text.encode() + b" " * padding + b"\n"
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H" if version[0] == 1 else "<I", len(text)) + text + data


def read_npy(path):
    with open(path, "rb") as f:
        raw = f.read()
    need(raw[:6] == b"\x93NUMPY", f"{path} does not begin as .npy")
    length = struct.unpack("<H", raw[8:10])[0]
    need((10 + length) % 64 == 0, "the data of a .npy file are not aligned to 64 bytes")
    header = eval(raw[10:10 + length].decode(), {"__builtins__": {}})
    kind = {"<f8": "d", "<f4": "f", "<f2": "e", "<V2": "H", "<i4": "i", "<i8": "q", "|b1": "?"}[header["descr"]]
    count = (len(raw) - 10 - length) // struct.calcsize(kind)
    return header["shape"], list(struct.unpack(f"<{count}{kind}", raw[10 + length:]))


def floats(*numbers):
    return struct.pack(f"<{len(numbers)}d", *numbers)


# ---- ways to give a program ----

def test_program_file(k):
    need(k.numbers(k.file("p.kina", "1.5 + 2.0\n")) == [3.5], "wrong number")


def test_standard_input(k):
    need(k.numbers("-", stdin="2 * 21\n") == [42], "a program from -")
    need(kina.results(k.ends(0, "--format", "json", stdin="2 * 21\n"))[0]["data"] == 42, "a program from a pipe")


def test_expression(k):
    need(k.numbers("-e", "[1.0, 2.0] * 2.0") == [[2, 4]], "-e")


def test_odd_file_names(k):
    k.file("-odd.kina", "7\n")
    k.file("two words.kina", "8\n")
    need(kina.results(k.ends(0, "--format", "json", "--", "-odd.kina"))[0]["data"] == 7 and k.numbers("two words.kina") == [8], "-- ends the options")
    need(k.numbers("-e", "-3") == [-3], "-e takes the next word whatever it is")


def test_text_output(k):
    run = k.ends(0, "-e", "(1.5, 2, [true, false])")
    need(run.out.splitlines()[0] == "0: F32", f"first line {run.out.splitlines()[:1]}")
    need("1: I32" in run.out and "2: tensor<Bool, [2]>" in run.out, f"types: {run.out!r}")
    need(run.err == "", f"standard error: {run.err!r}")


def test_text_form(k):
    run = k.ends(0, "-e", "fn f(x: tensor<F32, [2]>) -> F32 { sum(x * x) }\nhandle f([1.0, -0.5]) with reverseMode")
    need(run.out == "primal: F32\n1.25\ngrad x: tensor<F32, [2]>\n[2.0, -1.0]\n", f"{run.out!r}")


def test_program_without_final_expression(k):
    need(k.ends(0, "-e", ADD).out == "", "functions alone print nothing")
    need(k.numbers("-e", "let x = 1;") == [], "no results in JSON")
    need(k.ends(0, "-e", "print(7);").out == "7\n", "its items run all the same")


def test_names_of_results(k):
    source = k.file("p.kina", SQUARE + "let x = tensor<F64, [2]>([1.0, 2.0]);\nhandle f(x, 3.0) with reverseMode\n")
    names = [r["name"] for r in kina.results(k.ends(0, source, "--format", "json"))]
    need(names == ["primal", "grad x", "grad k"], f"names {names}")


def test_json_form(k):
    run = k.ends(0, "-e", "([[1.0, 0.0 / 0.0], [1.0 / 0.0, -1.0 / 0.0]], 0.1, true, 7)", "--format", "json")
    whole = json.loads(run.out)
    need(whole["schema"] == 1 and [r["name"] for r in whole["results"]] == ["0", "1", "2", "3"], "schema, names")
    need(whole["results"][0]["data"] == [[1, "NaN"], ["Infinity", "-Infinity"]], "NaN and infinities are words")
    need(whole["results"][0]["shape"] == [2, 2] and whole["results"][1]["shape"] == [], "shapes")
    need("0.1," in run.out or "0.1}" in run.out, "the shortest digits that read back")


def test_print_under_json(k):
    run = k.ends(0, "-e", 'print("hello", 1); 2', "--format", "json")
    need("hello 1" in run.err and kina.results(run)[0]["data"] == 2, "print goes to standard error under json")


def test_print_before_an_error(k):
    done = subprocess.run([k.binary, "-e", 'print("first");\nfn f(n: I32) -> I32 { 1 / n }\nf(0)'], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    need(done.stdout.decode().startswith("first\nerror[K0501]"), f"{done.stdout!r}")


def test_check(k):
    need(k.ends(0, "check", k.file("p.kina", "1 / 0\n")).out == "", "check runs nothing and prints nothing")
    k.ends(3, "check", k.file("q.kina", "fn never(x: F32) -> F32 { x + y }\n1\n"), says=["y"])


# ---- layout ----

def test_fmt(k):
    loose, laid = "// c\r\nlet x=1;x+(2) // d\n\n\n", "// c\nlet x = 1;\nx + 2 // d\n"
    need(k.ends(0, "fmt", "-", stdin=loose).out == laid, "standard input")
    path, wrong, good = k.file("a.kina", loose), k.file("wrong.kina", "let x = ;\n"), k.file("good.kina", laid)
    os.chmod(path, 0o640)
    os.symlink("a.kina", os.path.join(k.folder, "link.kina"))
    run = k.run("fmt", "--check", "a.kina", "good.kina", "-", stdin=loose)
    need(run.code == 5 and run.out == "a.kina\n<stdin>\n" and run.err == "", f"--check: {run.code} {run.out!r} {run.err!r}")
    need(open(path, newline="").read() == loose, "--check has written")
    run = k.run("fmt", "--check", "a.kina", "wrong.kina")
    need(run.code == 3 and "wrong.kina:1:9" in run.err, f"an error matters more: {run.code} {run.err!r}")
    before = os.stat(good).st_mtime_ns
    k.ends(3, "fmt", "wrong.kina", "link.kina", "good.kina", says=["K0010"])
    need(open(wrong).read() == "let x = ;\n", "a file with an error was touched")
    need(open(path, newline="").read() == laid, "the others are formatted all the same")
    need(os.path.islink(os.path.join(k.folder, "link.kina")), "a link was replaced by a file")
    need(os.stat(path).st_mode & 0o777 == 0o640, "permissions were lost")
    need(os.stat(good).st_mtime_ns == before, "a file in its layout was written")
    need(sorted(os.listdir(k.folder)) == ["a.kina", "good.kina", "link.kina", "wrong.kina"], "a temporary file is left")
    need(k.ends(0, "fmt", "--check", "a.kina", "good.kina").out == "", "nothing is left to do")
    k.ends(6, "fmt", "none.kina", says=["none.kina"])
    k.ends(2, "fmt", says=["fmt needs a file"])
    k.ends(2, "fmt", "--fn", "f", "a.kina", says=["--fn"])
    k.ends(2, "--check", "a.kina", says=["--check"])


# ---- printed gradients ----

ROOT = """fn root(a: F64) -> F64 {
    let r = while (abs(r * r - a) > 1e-12 * a) [r = a] { 0.5 * (r + a / r) };
    r
}
fn count(n: I32) -> I32 { n }
fn whole(x: F32) -> I32 { I32(x) }
fn pair(x: F32) -> (F32, F32) { (x, x * x) }
let k: F32 = 3.0;
let bound = fn(x: F32) -> F32 { x * k };
fn power(x: F32, n: I32) -> F32 { if (n < 1) { x } else { x * power(x, n - 1) } }
handle root(2.0) with reverseMode
"""


def test_grad(k):
    source = k.file("p.kina", ROOT)
    name, derivative = "root", source
    for order in range(3):  # the gradient, its own, and that one's
        printed = k.ends(0, "grad", derivative, "--fn", name, "--mode", "grad").out
        derivative, name = k.file(f"d{order}.kina", printed), name + "_grad"
        need("handle" not in printed, "a handler is left")
        need(k.ends(0, "fmt", "-", stdin=printed).out == printed, f"order {order + 1} is not its own layout")
        need(k.ends(0, "check", derivative).err == "", f"order {order + 1} has warnings")
    got = k.numbers(k.file("v.kina", k.ends(0, "grad", source, "--fn", "root").out), "--fn", "root_value_and_grad",
                    "--arg", "a=2.0")
    need(got == k.numbers(source), f"other bits than the engine: {got}")
    seeded = k.file("s.kina", k.ends(0, "grad", source, "--fn", "root", "--mode", "vjp").out)
    need(k.numbers(seeded, "--fn", "root_vjp", "--arg", "a=2.0", "--arg", "seed=2.0")[1] == 2 * got[1], "a cotangent")
    need("fn bound_value_and_grad(x: F32, k: F32)" in k.ends(0, "grad", source, "--fn", "bound").out, "a bound function")
    need("fn pair_jvp(x: F32, t_x: F32)" in k.ends(0, "grad", source, "--fn", "pair", "--mode", "jvp").out, "tangents")


def test_grad_as_c(k):
    source = k.file("p.kina", "fn f(x: tensor<F64, [N]>) -> F64 { sum(x * x) }\n"
                    "fn inverse(x: tensor<F64, [2, 2]>) -> F64 { sum(inv(x)) }\n")
    c, header, refused = (os.path.join(k.folder, name) for name in ("f.c", "f.h", "refused.c"))
    need(k.ends(0, "grad", source, "--fn", "f", "--emit", "kina").out == k.ends(0, "grad", source, "--fn", "f").out, "kina")
    need("int f_value_and_grad(\n    kina_f64_1 x," in k.ends(0, "grad", source, "--fn", "f", "--emit", "c").out, "a prototype")
    need(k.ends(0, "grad", source, "--fn", "f", "--emit", "c", "-o", c, "--emit-header", header).out == "", "-o")
    with open(c, encoding="utf-8") as f, open(header, encoding="utf-8") as h:
        need("struct f_value_and_grad_results {" in f.read() and "struct f_value_and_grad_results {" in h.read(), "files")
    k.ends(4, "grad", source, "--fn", "inverse", "--emit", "c", "-o", refused, says=["K0701", "`inv`", ":2:"])
    need(not os.path.exists(refused), "a refusal leaves no file")
    k.ends(2, "grad", source, "--fn", "f", "--emit", "rust", says=["--emit", "kina|c"])
    k.ends(2, "grad", source, "--fn", "f", "--emit-header", header, says=["--emit-header", "--emit c"])
    k.ends(6, "grad", source, "--fn", "f", "--emit", "c", "-o", os.path.join(k.folder, "nowhere", "f.c"), says=["K0602"])


def test_grad_errors(k):
    source = k.file("p.kina", ROOT)
    k.ends(3, "grad", source, "--fn", "count", says=["K0209", "floating"])
    for mode in ["value_and_grad", "grad", "vjp", "jvp"]:
        k.ends(3, "grad", source, "--fn", "whole", "--mode", mode, says=["K0209", "`whole`", "floating"])
    k.ends(3, "grad", source, "--fn", "pair", says=["K0209", "tuple", "--mode vjp"])
    k.ends(4, "grad", source, "--fn", "power", says=["K0703", "calls itself", "while"])
    k.ends(2, "grad", source, "--fn", "rot", says=["did you mean", "root"])
    k.ends(2, "grad", source, says=["--fn"])
    k.ends(2, "grad", source, "--fn", "root", "--wrt", "b", says=["--wrt", "b"])
    k.ends(2, "grad", source, "--fn", "power", "--wrt", "n", says=["--wrt", "floating"])
    k.ends(2, "grad", source, "--fn", "root", "--mode", "hessian", says=["--mode"])
    for wrong, word in [("x + y", "y"), ("x + true", "K0201"), ("x +", "K0010")]:
        program = k.file("q.kina", "fn f(x: F32) -> F32 { x * x }\nfn g(x: F32) -> F32 { " + wrong + " }\n")
        k.ends(3, "grad", program, "--fn", "f", says=[word])


def test_grad_names(k):
    """Names of any length, and those that mean something in C++ or in the C library's headers."""
    name = "v" + "e" * 400
    long = k.file("long.kina", f"fn f({name}: tensor<F32, [N]>) -> F32 {{ let {name}2 = {name} * {name}; sum({name}2) }}\n")
    need(f"d_{name}" in k.ends(0, "grad", long, "--fn", "f").out, "a long name")
    words = k.file("words.kina", "fn f(class: F32, new: F32, M_PI: F32) -> F32 { class * new * M_PI }\n")
    said = k.ends(0, "grad", words, "--fn", "f", "--emit", "c").out
    need(all(f"float v_{word}" in said and f"float {word}" not in said for word in ("class", "new", "M_PI")), said)


def test_certify(k):
    source = k.file("p.kina", ROOT)
    said = k.ends(0, "certify", source, "--fn", "root", "--random", "6").out
    need("1 function certified" in said and "second order" in said, said)
    need("captured value" in k.ends(0, "certify", source, "--fn", "bound", "--random", "2").out, "a bound function")
    k.ends(3, "certify", source, "--fn", "count", says=["K0209"])
    k.ends(3, "certify", k.file("q.kina", "1 + 1\n"), says=["no function with a gradient"])
    k.ends(4, "certify", source, "--fn", "power", says=["K0703"])
    # The place of an error in the printed program is none of the source's.
    endless = k.file("q.kina", "fn f(x: F64) -> F64 { let y = while (true) [y = x] { y * 0.5 }; y }\n")
    said = k.ends(1, "certify", endless, "--time-limit", "50ms", says=["K0510", "printed for `f`"]).err
    need("-->" not in said, said)


# ---- functions and arguments ----

def test_fn_with_literals(k):
    source = k.file("p.kina", SQUARE)
    need(k.numbers(source, "--fn", "f", "--arg", "x=[1.0, 2.0]", "--arg", "k=3.0") == [15], "literals")
    need(k.numbers(source, "--fn", "f", "--arg", "k=3", "--arg", "x=[1, 2]") == [15], "in any order, integers for floats")


def test_fn_argument_errors(k):
    source = k.file("p.kina", SQUARE)
    k.ends(2, source, "--fn", "g", says=["g"])
    k.ends(2, source, "--fn", "f", "--arg", "k=1.0", says=["x"])
    k.ends(2, source, "--fn", "f", "--arg", "x=[1.0]", "--arg", "k=1.0", "--arg", "z=1.0", says=["z"])
    for bad in ("k=[1.0, 2.0]", "k=one", "k=", "k", "k=1.0junk", "=1.0"):
        k.ends((2, 3, 6), source, "--fn", "f", "--arg", "x=[1.0]", "--arg", bad)
    k.ends((2, 6), source, "--fn", "f", "--arg", "x=@none.npy", "--arg", "k=1.0", says=["none.npy"])


def test_bad_literals(k):
    """Each bad value of an argument is a usage error that names the argument."""
    source = k.file("p.kina", "fn add(x: tensor<F32, [2, N]>, w: tensor<F32, [N]>, n: I32, up: Bool) -> tensor<F32, [2, N]> "
                              "{ if (up) { x + w * F32(n) } else { x } }\n")
    good = {"x": "[[1,2],[3,4]]", "w": "[1,2]", "n": "1", "up": "true"}
    need(k.numbers(source, "--fn", "add", *(f"--arg={a}={v}" for a, v in good.items())) == [[[2, 4], [4, 6]]], "good ones")
    bad = {"n": ["1.5", "", "x", "1e3", "2147483648", "true", "[1]", "1 2", "0x10"], "up": ["1", "yes"], "w": ["[1,2,3]"],
           "x": ["1", "[1,2]", "[[1,2],[3]]", "[[1,2]]", "[[[1]],[[2]]]", "[[1,2],[3,4]", "[[1,2],[3,4]]]", "[[1,,2],[3,4]]",
                 "[[1e39,2],[3,4]]", "]", "[", "[" * 100000, "[[1,2],[3,q]]"]}
    for name, values in bad.items():
        for value in values:
            given = dict(good, **{name: value})
            k.ends(2, source, "--fn", "add", *(f"--arg={a}={v}" for a, v in given.items()), says=["K0802", f"--arg {name}"])


def test_literals_are_rounded_once(k):
    # Halfway between two F32 numbers but for the last digit: by way of F64 it would round to even.
    digits = "1.00000017881393432617187499"
    need(k.numbers("-e", "fn f(x: F32) -> F32 { x }", "--fn", "f", "--arg", f"x={digits}") == [1.0000001], "an argument")
    need(k.numbers("-e", digits) == [1.0000001], "a literal of a program")
    need(k.numbers("-e", "fn f(x: I64) -> I64 { x }", "--fn", "f", "--arg", "x=-9223372036854775808") == [-2 ** 63], "least I64")


def test_seed_cotangent(k):
    k.file("g.npy", npy("<f4", [2], struct.pack("<2f", 10.0, -1.0)))
    source = k.file("p.kina", "fn f(x: tensor<F32, [2]>) -> tensor<F32, [2]> { x * x }\nhandle f([1.0, 2.0]) with reverseMode\n")
    need(k.numbers(source, "--seed-cotangent", "@g.npy") == [[1, 4], [20, -4]], "--seed-cotangent")
    k.ends(6, source, "--seed-cotangent", "@none.npy", says=["none.npy"])


def test_literals(k):
    source = k.file("add.kina", ADD)
    call = [source, "--fn", "add", "--arg", "x=[[1, 2.5], [-3e0, inf]]", "--arg=w=[1,nan,]"]
    need(k.numbers(*call, "--arg", "n=2", "--arg", "up=true") == [[[3, "NaN"], [-1, "NaN"]]], "mixed literals")
    need(k.numbers(*call, "--arg", "n=-2", "--arg", "up=false") == [[[1, 2.5], [-3, "Infinity"]]], "infinity")
    run = k.ends(0, source, "--fn", "add", "--arg", "x=[[],[]]", "--arg", "w=[]", "--arg", "n=1", "--arg", "up=true",
                 "--format", "json")
    need(kina.results(run)[0]["shape"] == [2, 0], "empty lists")


def test_argument_messages(k):
    source = k.file("add.kina", ADD)
    good = {"x": "[[1,2],[3,4]]", "w": "[1,2]", "n": "1", "up": "true"}

    def fails(*words, more=(), **changed):
        given = {**good, **changed}
        arguments = [f"--arg={name}={value}" for name, value in given.items() if value is not None]
        k.ends(2, source, "--fn", "add", *arguments, *more, says=["error[K0802]", *words])

    fails("'n'", "add(x: tensor<F32, [2, N]>", n=None)
    fails("'w', 'n'", n=None, w=None)
    fails("no parameter 'z'", z="1")
    fails("given twice", more=["--arg", "n=2"])
    fails("tensor<F32, [2, N]>", "tensor<F32, [3, 2]>", x="[[1,2],[3,4],[5,6]]")
    fails("N is 2 in --arg x and 3 in --arg w", w="[1,2,3]")
    k.ends(2, "-e", "fn f(x: tensor<F32, [N]>, y: tensor<F32, [N + 1, N]>) -> F32 { 1.0 }", "--fn", "f", "--arg", "x=[1, 2]",
           "--arg", "y=[[1, 2], [3, 4]]", says=["--arg y", "3", "2"])
    k.ends(2, source, "--fn", "ad", says=["no top-level function 'ad', did you mean 'add'?"])
    k.ends(2, "-e", "fn g(f: fn(F32) -> F32) -> F32 { f(1.0) }", "--fn", "g", "--arg", "f=1", says=["'f'", "fn(F32)"])


def test_fn_with_files(k):
    source = k.file("p.kina", SQUARE)
    k.file("x.npy", npy("<f8", [2], floats(1.0, 2.0)))
    need(k.numbers(source, "--fn", "f", "--arg", "x=@x.npy", "--arg", "k=3.0") == [15], ".npy")
    with zipfile.ZipFile(os.path.join(k.folder, "all.npz"), "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("x.npy", npy("<f8", [3], floats(1.0, 2.0, 3.0)))
        z.writestr("k.npy", npy("<f8", [], floats(0.5)))
    need(k.numbers(source, "--fn", "f", "--arg", "x=@all.npz:x", "--arg", "k=@all.npz:k") == [7], ".npz, compressed")
    k.ends((2, 6), source, "--fn", "f", "--arg", "x=@all.npz:y", "--arg", "k=1.0", says=["y"])
    k.file("m.npy", npy("<f8", [1, 2], floats(1.0, 2.0)))
    k.ends((2, 6), source, "--fn", "f", "--arg", "x=@m.npy", "--arg", "k=1.0", says=["[1, 2]"])


def test_argument_files_of_another_type(k):
    source = k.file("add.kina", ADD)
    rest = ["--arg", "w=[1,2]", "--arg", "n=1", "--arg", "up=true"]
    k.file("wide.npy", npy("<f8", [2, 2], floats(1, 2, 3, 4)))
    k.file("flat.npy", npy("<f4", [4], struct.pack("<4f", 1, 2, 3, 4)))
    k.file("cut.npy", npy("<f4", [2, 2], struct.pack("<3f", 1, 2, 3)))
    k.ends(2, source, "--fn", "add", "--arg", "x=@wide.npy", *rest, says=["--arg x", "F32", "f8"])
    k.ends(2, source, "--fn", "add", "--arg", "x=@flat.npy", *rest, says=["tensor<F32, [2, N]>", "tensor<F32, [4]>"])
    k.ends(6, source, "--fn", "add", "--arg", "x=@cut.npy", *rest, says=["cut.npy", "--arg x"])
    k.ends(6, source, "--fn", "add", "--arg", "x=@none.npy", *rest, says=["none.npy", "--arg x"])
    k.file("x.npy", npy("<f4", [2, 2], struct.pack("<4f", 1, 2, 3, 4)))
    need(k.numbers(source, "--fn", "add", "--arg", "x=@x.npy", *rest, "--no-files") == [[[2, 4], [4, 6]]],
         "--no-files is about the program")


def test_load(k):
    source = k.file("p.kina", 'let x: tensor<F64, [N]> = load("x.npy");\nx\n')
    for descr, raw in (("<f8", floats(1.0, -2.5)), ("<f4", struct.pack("<2f", 1.0, -2.5)),
                       (">f8", struct.pack(">2d", 1.0, -2.5)), ("<f2", struct.pack("<2e", 1.0, -2.5))):
        k.file("x.npy", npy(descr, [2], raw))
        if descr == "<f4":  # exact, but another floating type than the one asked for
            k.run(source, "--format", "json")
            continue
        need(k.numbers(source) == [[1, -2.5]], f"{descr}: wrong numbers")
    k.file("x.npy", npy("<f8", [2, 3], floats(*range(6)), fortran=True))
    matrix = k.file("m.kina", 'let x: tensor<F64, [2, 3]> = load("x.npy");\nx\n')
    need(k.numbers(matrix) == [[[0, 2, 4], [1, 3, 5]]], "Fortran order")
    k.ends(6, source, says=["x.npy"])
    other = k.file("o.kina", 'let x: tensor<F64, [3, 3]> = load("x.npy");\nx\n')
    k.ends(1, other, says=["K0502", "`x` has size 2 on axis 0 where its type says 3"])
    ints = k.file("i.kina", 'let x: tensor<I64, [2]> = load("x.npy");\nx\n')
    k.file("x.npy", npy("<i4", [2], struct.pack("<2i", 7, -8)))
    need(k.numbers(ints) == [[7, -8]], "narrower integers")
    os.makedirs(os.path.join(k.folder, "sub"))
    below = k.file("sub/p.kina", 'let x: tensor<F64, [1]> = load("y.npy");\nx\n')
    k.file("sub/y.npy", npy("<f8", [1], floats(4.0)))
    need(k.numbers(below) == [[4]], "load is relative to the program's file")


def test_lying_npy(k):
    """Each is one error with exit code 6 that names the file, at once and in little memory."""
    source = k.file("p.kina", 'let x: tensor<F64, [N]> = load("x.npy");\nsum(x)\n')
    good = npy("<f8", [4], floats(1, 2, 3, 4))
    bad = {
        "empty": b"", "magic only": good[:6], "cut in the header": good[:40], "cut in the data": good[:-5],
        "other magic": b"\x93NUMPZ" + good[6:], "text": b"not a numpy file at all\n" * 9,
        "version 9": good[:6] + b"\x09" + good[7:], "header longer than the file": good[:8] + b"\xff\xff" + good[10:],
        "huge header": npy("<f8", [4], b"", version=(2, 0))[:8] + b"\xff\xff\xff\x7f" + b" " * 100,
        "more entries than bytes": npy("<f8", [400000], floats(1, 2)),
        "2^62 entries": npy("<f8", [2 ** 62], floats(1, 2)), "2^64 entries": npy("<f8", [2 ** 64], floats(1, 2)),
        "product overflows": npy("<f8", [2 ** 32, 2 ** 32], floats(1, 2)),
        "negative": npy("<f8", [], floats(1), header="{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }"),
        "objects": npy("|O", [4], floats(1, 2, 3, 4)), "structure": npy("", [4], floats(1, 2, 3, 4),
                                                                      header="{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (4,), }"),
        "no shape": npy("", [], floats(1), header="{'descr': '<f8', 'fortran_order': False, }"),
        "not a dictionary": npy("", [], floats(1), header="42"), "unclosed": npy("", [], floats(1), header="{'descr': '<f8"),
        "complex": npy("<c16", [2], floats(1, 2, 3, 4)), "rank 40": npy("<f8", [1] * 40, floats(1)),
        "another rank": npy("<f8", [2, 2], floats(1, 2, 3, 4)), "integers": npy("<i8", [4], floats(1, 2, 3, 4)),
        "bytes behind": good + b"more",
    }
    for what, raw in bad.items():
        k.file("x.npy", raw)
        start = time.monotonic()
        run = k.run(source, "--format", "json")
        if what in ("bytes behind", "integers") and run.code == 0:
            continue  # tolerated by NumPy, or an exact conversion
        need(run.code == 6, f"{what}: exit code {run.code}: {kina.first_line(run.err)}")
        need("x.npy" in run.err and len(kina.diagnostics(run.err)) == 1, f"{what}: not one error naming the file")
        need(run.out == "" and time.monotonic() - start < 10, f"{what}: output, or slow")


def test_lying_npz(k):
    source = k.file("p.kina", "fn f(x: tensor<F64, [N]>) -> F64 { sum(x) }\n")
    with zipfile.ZipFile(os.path.join(k.folder, "a.npz"), "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("x.npy", npy("<f8", [1000], floats(*range(1000))))
    with open(os.path.join(k.folder, "a.npz"), "rb") as f:
        good = f.read()
    chance = random.Random(7)
    for cut in list(range(0, len(good), max(1, len(good) // 40))):
        k.file("b.npz", good[:cut])
        k.ends(6, source, "--fn", "f", "--arg", "x=@b.npz:x", says=["b.npz"])
    for _ in range(60):
        raw = bytearray(good)
        for _ in range(3):
            raw[chance.randrange(len(raw))] = chance.randrange(256)
        k.file("b.npz", bytes(raw))
        run = k.run(source, "--fn", "f", "--arg", "x=@b.npz:x")
        need(run.code in (0, 6), f"a damaged .npz: exit code {run.code}")


def test_missing_files(k):
    k.ends(6, "none.kina", says=["none.kina"])
    k.ends(6, k.folder)
    k.ends(6, "-e", 'let x: tensor<F32, [2]> = load("none.npy"); x', says=["none.npy"])
    k.ends(6, "-e", 'save("no/such/folder/x.npy", [1.0])', says=["no/such/folder"])


def test_save(k):
    k.ends(0, "-e", 'save("s.npy", [[1.0, 2.0], [3.0, 4.0]])')
    need(read_npy(os.path.join(k.folder, "s.npy")) == ((2, 2), [1, 2, 3, 4]), "what save wrote")
    need(k.numbers("-e", 'let x: tensor<F32, [2, 2]> = load("s.npy"); x') == [[[1, 2], [3, 4]]], "save, then load")
    need(os.listdir(k.folder) == ["s.npy"], f"left behind: {os.listdir(k.folder)}")


def test_save_narrow(k):
    numbers = [0.1, -2.5, 65504.0, 1e-7, 0.0]
    literal = f"tensor<F64, [5]>({numbers})"
    half = list(struct.unpack("<5e", struct.pack("<5e", *numbers)))
    k.ends(0, "-e", f'save("s.npy", {literal}, F16)')
    need(read_npy(os.path.join(k.folder, "s.npy")) == ((5,), half), "what was saved as F16")
    need(k.numbers("-e", 'let x: tensor<F64, [5]> = load("s.npy"); x') == [half], "F16, then load")
    k.ends(0, "-e", f'save("s.npy", {literal}, storage=BF16)')
    need(read_npy(os.path.join(k.folder, "s.npy")) == ((5,), [0x3DCD, 0xC020, 0x4780, 0x33D7, 0]), "what was saved as BF16")
    k.ends(0, "-e", f'save("s.npy", {literal}, F32)')
    single = list(struct.unpack("<5f", struct.pack("<5f", *numbers)))
    need(read_npy(os.path.join(k.folder, "s.npy")) == ((5,), single), "what was saved as F32")
    # Written out, the argument stays, and no variable takes the word away from it.
    program = k.file("p.kina", """fn f(F16: F32) -> F32 {
  let BF16 = F16 * F16;
  sin(BF16) * BF16 + cos(F16)
}
fn g(x: F32) -> F32 {
  let y = f(x * 3.0);
  save("s.npy", [y], F16);
  y + f(y)
}
""")
    written = k.ends(0, "grad", program, "--fn", "g").out
    need(", F16);" in written, f"the type to store is not written out:\n{written}")
    k.ends(0, "check", k.file("written.kina", written))


def test_no_files(k):
    k.ends((1, 4, 6), "-e", 'save("s.npy", [1.0])', "--no-files")
    need(not os.path.exists(os.path.join(k.folder, "s.npy")), "--no-files wrote a file")


def test_out(k):
    source = k.file("p.kina", SQUARE + "let x = tensor<F64, [2]>([1.0, 2.0]);\nhandle f(x, 3.0) with reverseMode\n")
    out = os.path.join(k.folder, "out")
    os.mkdir(out)
    k.ends(0, source, "--out", out)
    arrays = sorted(read_npy(os.path.join(out, name)) for name in os.listdir(out))
    need(arrays == sorted([((), [15.0]), ((2,), [6.0, 12.0]), ((), [5.0])]), f"--out wrote {arrays}")
    k.ends(6, source, "--out", os.path.join(k.folder, "p.kina"))
    k.ends(6, source, "--out", "/dev/null/x")
    os.makedirs(os.path.join(k.folder, "taken/1.npy"))  # a folder in the way of the second result
    k.ends(6, "-e", "(1, 2)", "--out", "taken")
    left = [name for name in os.listdir(os.path.join(k.folder, "taken")) if name.startswith(".")]
    need(not left, f"left behind: {left}")


def test_names_of_out_files(k):
    program = ["-e", "fn f(x: tensor<F32, [2]>) -> F32 { sum(x * x) }\nhandle f([1.0, -0.5]) with reverseMode"]
    k.ends(0, *program, "--out", "deep/er")
    out = os.path.join(k.folder, "deep/er")
    need(sorted(os.listdir(out)) == ["grad_x.npy", "primal.npy"], f"{os.listdir(out)}")
    need(read_npy(os.path.join(out, "grad_x.npy")) == ((2,), [2, -1]), "what is in them")


# ---- options ----

def test_help_and_version(k):
    run = k.ends(0, "--help")
    need("Examples:" in run.out.split("Usage:")[0], "help begins with examples")
    need(k.ends(0, "check", "--help").out != run.out, "each verb has its own help")
    with open(os.path.join(kina.ROOT, "interp/tools/options.def"), encoding="utf-8") as f:
        table = f.read()
    flags = re.findall(r'^OPTION\(\w+, "(-[^"]*)"', table, re.MULTILINE)
    verbs = re.findall(r'^VERB\(\w+, "(\w+)"', table, re.MULTILINE)
    shown = "".join([run.out] + [k.ends(0, verb, "--help").out for verb in verbs])
    lacking = [flag for flag in flags if not re.search(rf"^  {flag}\b", shown, re.MULTILINE)]
    need(len(flags) > 10 and not lacking, f"--help lacks {lacking}")
    need(len(k.ends(0, "--version").out.splitlines()) >= 3, "--version names commit, BLAS, vector functions")


def test_nan_check(k):
    """The first op that makes a NaN or an infinity of finite operands ends the run, wherever it is performed."""
    def stops(program, *says):
        k.ends(1, "-e", program, "--nan-check", says=["K0516", *says])

    stops("log([[1.0, 2.0], [0.0, 1.0]])", "`log` makes -inf", "element [1, 0]", "operand 1 is 0.0 there")
    stops("let x = [3.0e38, 1.0]; sum(x * [2.0, 1.0])", "`*` makes inf", "operand 2 is 2.0 there")
    # Unwatched, the product takes over the buffer of its operand.
    stops("fn f(x: tensor<F32, [2]>) -> F32 { sum((x + x) * [3.0, 1.0]) }\nf([1.0e38, 1.0])", "operand 1 is 2e+38 there")
    stops("let x = [[3.0e38, 3.0e38]]; sum(transpose(x), axis=0)", "`sum` makes inf", "from 3e+38 to 3e+38")
    root = "fn f(x: {0}) -> F32 {{ sum(sqrt(x)) }}\nhandle f({1}) with {2}"
    for mode in ("reverseMode", "forwardMode({1})"):
        for kind, at in (("F32", "0.0"), ("tensor<F32, [2]>", "[1.0, 0.0]")):
            tangent = at.replace("0.0", "1.0")
            stops(root.format(kind, at, mode.format(0, tangent)), "`/` makes inf", "sum(sqrt(x))")
    stops(root.format("F32", "0.0", "reverseMode"), "in the backward sweep")
    # Operands that were infinite already, and whole numbers, are no beginning.
    for fine in ("[1.0, inf] * 0.0", "where([true, false], [1.0, 2.0], -inf)", "2147483647 + 1"):
        k.ends(0, "-e", fine, "--nan-check")
    checked, plain = (k.ends(0, "-e", "fn f(x: F64) { x * exp(x) / 3.0 }\nhandle f(1.1) with reverseMode", *more).out
                      for more in (["--nan-check"], []))
    need(checked == plain, "looking changes a result")


def test_explain(k):
    """The pages themselves are held against the program by tests/docs.py."""
    page = k.ends(0, "explain", "k0301").out
    need(page.startswith("K0301: dims differ\n") and "\nWrong:\n" in page and "\nRight:\n" in page, page)
    listed = k.ends(0, "explain").out.splitlines()
    need("K0301  dims differ" in listed and len(listed) > 100, "the list of codes")
    need(len(kina.read_json(k.ends(0, "explain", "K0301", "--format", "json").out)["pages"]) == 1, "one page as JSON")
    k.ends(2, "explain", "K0300", says=["no error has the code K0300", "did you mean K03"])
    k.ends(2, "explain", "pears", says=["no error has the code pears", "lists the codes"])
    k.ends(2, "explain", "K0301", "-e", "1", says=["explain takes no -e"])


def test_usage_errors(k):
    good = k.file("p.kina", "1\n")
    k.ends(2, good, "--fulll", says=["--full"])
    k.ends(2, "chekc", good, says=["check"])
    k.ends(2, good, "--format", "xml", says=["text", "json"])
    k.ends(2, good, "--format", says=["--format"])
    k.ends(2, good, good)
    for option, values in {"--threads": ("0", "-1", "two", "1e9", ""), "--max-memory": ("", "12XB", "-1", "lots", "99999999999GiB"),
                           "--time-limit": ("", "soon", "-1s", "1y", "1e400s")}.items():
        for value in values:
            k.ends(2, good, option, value, says=[option])
    k.ends(2, "-e", "1", good)
    need(json.loads(k.ends(0, "--format=text", "-e", "1", "--format=json").out)["results"], "--option=value, the last counts")
    k.ends(2, "check", good, "--stats", says=["check", "--stats"])
    k.ends(2, good, "--arg", "x=1", says=["--fn"])


def test_words_of_usage_errors(k):
    for arguments, word in (
            (["--forma", "json"], "unknown option --forma, did you mean --format?"),
            (["--forma=json"], "did you mean --format?"),
            (["--wibble"], "unknown option --wibble"),
            (["chek", "a.kina"], "did you mean check?"),
            (["zzzzzz"], "no file and no verb is called zzzzzz"),
            ([""], "no file and no verb"),
            (["-e", "1", "--fn", "--stats"], "--fn needs a value"),
            (["-e", "1", "--stats=yes"], "--stats takes no value"),
            (["-e", "1", "--arg", "x=1"], "--arg needs --fn"),
            (["-e", "1", "--seed-cotangent", "1.0"], "@"),
            (["-e", "1", "--seed-cotangent", "@g.npy", "--fn", "f"], "--seed-cotangent is for the final expression"),
            (["a.kina", "b.kina"], "a.kina and b.kina"),
            (["check", "-e", "1", "--stats"], "check takes no --stats")):
        k.ends(2, *arguments, says=["error[K08", word])


def test_terminal_without_a_program(k):
    """Nobody means to type a program there: a hint, and no waiting."""
    master, slave = os.openpty()
    try:
        for words in ["check"], ["--stats"]:
            done = subprocess.run([k.binary, *words], stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=20)
            need(done.returncode == 2 and b"--help" in done.stderr, f"exit code {done.returncode}: {done.stderr[:80]!r}")
    finally:
        os.close(master)
        os.close(slave)


def test_sessions(k):
    good = k.file("good.kina", "fn f(x: F32) -> F32 { x + 0.5 }\nf(1.0)\n")
    bad = k.file("bad.kina", "fn f(x: F32) -> F32 { x + true }\n")
    run = k.ends(0, "repl", stdin="1 + 1\nundefined\n:nothing\nit + 2", says=["K0101", "<repl>:2:1", "K0801"])
    need(run.out == "it: I32 = 2\nit: I32 = 4\n", f"{run.out!r}")
    need(k.ends(0, "repl", good, stdin="f(it)\n").out.endswith("it: F32 = 1.5\nit: F32 = 2.0\n"), "a program comes first")
    need(k.ends(0, "repl", bad, stdin="7\n", says=["K0201", bad]).out == "it: I32 = 7\n", "a wrong program is no end")
    need(k.ends(0, "repl", stdin=":quit\n1\n").out == "", ":quit")
    k.ends(0, "repl", stdin="")
    k.ends(0, "repl", stdin="fn f(\n", says=["K0010"])
    k.ends(6, "repl", "missing.kina", says=["missing.kina"])
    k.ends(2, "repl", "-e", "1", says=["repl takes no -e"])
    k.ends(2, "repl", "--deny-warnings", says=["repl takes no"])
    for data in b"\xff\xfe1\n2\n", b"\0\n2\n", b"1\r\n2\r\n", b"(" * 5000 + b")" * 5000 + b"\n2\n", b"1" * 100000 + b"\n2\n":
        need(k.ends(0, "repl", stdin=data).out.endswith("it: I32 = 2\n"), f"behind {data[:20]!r}")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([k.binary, "repl"], input=b"1\n2\n", stdout=full, stderr=subprocess.PIPE, timeout=20)
    need(done.returncode == 6, f"a full disk: exit code {done.returncode}")


def test_interrupt_of_a_session(k):
    """Through a pipe an interrupt ends the session, in an evaluation and between two."""
    for typed in "print(1);\n", 'print(1); while (true) [x = 0.0] { x }\n':
        p = subprocess.Popen([k.binary, "repl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        p.stdin.write(b"0\n" + typed.encode())
        p.stdin.flush()
        p.stdout.readline()
        time.sleep(0.1)
        p.send_signal(signal.SIGINT)
        need(p.wait(20) == 130, f"exit code {p.returncode}")
        for pipe in p.stdin, p.stdout, p.stderr:
            pipe.close()


def test_stats(k):
    source = k.file("p.kina", SQUARE + "let x = tensor<F64, [2]>([1.0, 2.0]);\nhandle f(x, 3.0) with reverseMode\n")
    run = k.ends(0, source, "--stats")
    need("tape" in run.err and "tape" not in run.out, "--stats is a table on standard error")
    stats = json.loads(k.ends(0, source, "--stats", "--format", "json").out)["stats"]
    for key in ("ops", "tape_records", "tape_bytes", "peak_live_bytes", "seconds_forward", "seconds_backward"):
        need(isinstance(stats.get(key), (int, float)) and stats[key] >= 0, f"stats lacks {key}")
    need(stats["ops"] >= 3 and stats["tape_records"] >= 3, f"{stats}")


def test_stats_of_loops(k):
    """What a loop kept and repeated, and the least that so much memory allows."""
    source = k.file("p.kina", "fn f(x: F64, n: I32) -> F64 { let r = while (i < n) [r = x, i = 0] { (sin(r) * 1.1, i + 1) }; r }\n"
                              "handle f(0.5, 300) with reverseMode\n")
    for policy, optimum in (("slots=10", 1136 / 300), ("k=7", None), ("auto", None), ("memory=40KiB", None), ("memory=64KiB", None)):
        loop = json.loads(k.ends(0, source, "--checkpoint", policy, "--stats", "--format", "json").out)["stats"]["loops"][0]
        runs, best = loop["executions_per_iteration"], loop["optimum_per_iteration"]
        need(1 <= best <= runs <= 2.2 * best, f"{policy}: {runs} executions an iteration, at best {best}")
        need(optimum is None or abs(best - optimum) < 1e-4 and runs == best, f"{policy}: {runs}, at best {best}")
        need(loop["iterations_advanced"] + loop["iterations_taped"] == round(300 * runs), f"{policy}: {loop}")
        need("the optimum for the same memory" in k.ends(0, source, "--checkpoint", policy, "--stats").err, policy)


def test_full(k):
    short, full = k.ends(0, "-e", "arange(5000)").out, k.ends(0, "-e", "arange(5000)", "--full").out
    need("…" in short and len(short) < 2000, "a long tensor is abridged")
    need("…" not in full and "4321" in full, "--full prints all of it")


def test_threads_and_numerics(k):
    source = k.file("p.kina", "let x = random_normal(3, [300, 200]);\nlet y = tanh(x @ transpose(x));\n(sum(y), y)\n")
    one = k.ends(0, source, "--format", "json", "--threads", "1").out
    need(one == k.ends(0, source, "--format", "json", "--threads", "2").out, "bits depend on the number of threads")
    need(one == k.ends(0, source, "--format", "json").out, "bits depend on the default number of threads")
    exact = k.ends(0, source, "--format", "json", "--numerics", "reference")
    pairs = zip(*(kina.flat(kina.read_json(text)["results"][1]["data"]) for text in (one, exact.out)))
    need(all(abs(a - b) < 1e-5 for a, b in pairs), "reference numerics are far from fast ones")
    plain = [k.ends(0, source, "--format", "json", "--numerics", "compiled", "--threads", n).out for n in "12"]
    need(plain[0] == plain[1] != one, "compiled numerics depend on the number of threads, or are the fast ones")


def test_diagnostics_json(k):
    run = k.ends(3, "-e", "x + y", "--diagnostics", "json")
    faults = [json.loads(line) for line in run.err.splitlines()]
    need(len(faults) == 2 and all(f["code"].startswith("K01") for f in faults), f"one object a line: {run.err!r}")


def test_color(k):
    need("\x1b" not in k.ends(3, "-e", "x").err, "color without a terminal")
    need("\x1b" in k.ends(3, "-e", "x", "--color", "always").err, "--color always")


def test_color_settings(k):
    plain = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    need("\x1b" in k.ends(3, "-e", "x", "--color", "always", env=dict(plain, NO_COLOR="1")).err, "always beats NO_COLOR")
    for settings, colored in (({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
        master, slave = os.openpty()
        process = subprocess.Popen([k.binary, "-e", "x"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=slave,
                                   env=dict(plain, **settings))
        process.communicate(timeout=20)
        os.close(slave)
        err = os.read(master, 10000)
        os.close(master)
        need((b"\x1b" in err) == colored, f"{settings}: {err[:60]!r}")


def test_deny_warnings(k):
    source = "fn f(x: F32) -> F32 { let unused = x * 2.0; x }\nf(1.0)"
    need("warning[W" in k.ends(0, "-e", source).err, "an unused let is a warning and stops nothing")
    k.ends(3, "-e", source, "--deny-warnings", says=["unused"])


def test_all_errors_at_once(k):
    run = k.ends(3, "-e", "let a = x1;\nlet b = x2;\nlet c = [1.0, 2.0] + [1.0, 2.0, 3.0];\na")
    need(len(kina.diagnostics(run.err)) == 3, f"{len(kina.diagnostics(run.err))} of three errors reported")
    place = kina.diagnostics(run.err)[1]
    need(place[1:3] == (2, 9), f"the second is at {place[1]}:{place[2]}, expected 2:9")


def test_columns(k):
    """Columns count characters; a line may end in \\r\\n and hold tabs."""
    for text, line, column in (("let é = 1;\r\nlet ü = é + wrong;\r\né\r\n", 2, 13), ("let a = 1;\n\t\twrong\n", 2, 3),
                               ("let 変 = 1; wrong\n", 1, 12)):
        faults = [f for f in kina.diagnostics(k.run(k.file("p.kina", text)).err) if "wrong" in f[3].splitlines()[0]]
        if faults:  # names beyond ASCII may be refused, with an error of their own
            need(faults[0][1:3] == (line, column), f"{text!r}: {faults[0][1]}:{faults[0][2]}, expected {line}:{column}")


# ---- bad programs ----

def test_any_bytes(k):
    chance = random.Random(11)
    alphabet = [b"fn ", b"let ", b"while ", b"if ", b"handle ", b"with ", b"(", b")", b"[", b"]", b"{", b"}", b"x", b"=", b"@",
                b"1.0", b";", b",", b"\"", b"tensor<", b"F32", b"->", b"\x00", b"\xff", b"\xe2\x82", b"\n", b"//", b"."]
    for number in range(300):
        if number % 2:
            raw = bytes(chance.randrange(256) for _ in range(chance.randrange(200)))
        else:
            raw = b" ".join(chance.choice(alphabet) for _ in range(chance.randrange(60)))
        run = k.run(k.file("p.kina", raw), "--time-limit", "2s", "--max-memory", "256MiB")
        need(run.code in (0, 1, 3), f"bytes number {number}: exit code {run.code}")
        need(run.code == 0 or (run.out == "" and run.err), f"bytes number {number}: output beside an error, or no message")


def test_odd_bytes(k):
    for raw in (b"\x00", b"1 \x00 2", b"\xff\xfe1\x00", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"let x = \"", b"\"\\"):
        k.ends(3, k.file("p.kina", raw))
    run = k.run(k.file("p.kina", b"\xef\xbb\xbf7\n"))
    need(run.code == 3 or "7" in run.out, "a byte order mark is skipped or refused")
    for raw in (b"", b"\n\n", b"// only a comment", b"// no line end: \xc3\xa9"):
        need(k.ends(0, k.file("p.kina", raw)).out == "", "an empty program returns nothing")


def test_damaged_programs(k):
    """A real program with bytes removed, doubled and changed."""
    chance = random.Random(5)
    text = (SQUARE + "let x = tensor<F64, [3]>([1.0, 2.0, 3.0]);\nlet w = while (i < 3) [s = x, i = 0] "
            "{ (if (sum(s) > 1.0) { s * 0.5 } else { s + 1.0 }, i + 1) };\nhandle f(w, 0.5) with reverseMode\n").encode()
    k.ends(0, k.file("p.kina", text))
    for _ in range(200):
        raw = bytearray(text)
        for _ in range(chance.randint(1, 3)):
            at, kind = chance.randrange(len(raw)), chance.randrange(3)
            if kind == 0:
                del raw[at]
            elif kind == 1:
                raw[at:at] = raw[at:at + chance.randint(1, 8)]
            else:
                raw[at] = chance.randrange(32, 127)
        run = k.run(k.file("p.kina", bytes(raw)), "--time-limit", "2s", "--max-memory", "256MiB")
        need(run.code in (0, 1, 3), f"{bytes(raw)!r}: exit code {run.code}")


def test_deep_nesting(k):
    """A million of anything nested is one error; long chains that do not nest are none."""
    million = 1000000
    for open_, close in (("(", ")"), ("[", "]"), ("{", "}"), ("-", ""), ("!", ""), ("f(", ")"), ("if (true) { ", " } else { 1 }"),
                         ("fn() { ", " }"), ("let x = ", ""), ("(", ""), ("[", ""), ("{", ""), ("while (true) [x = ", "")):
        run = k.run(k.file("p.kina", open_ * million + "1" + close * million), limit=60)
        need(run.code == 3, f"a million {open_!r}: exit code {run.code}: {kina.first_line(run.err)}")
        need(len(run.err) < 100000, f"a million {open_!r}: a message of {len(run.err)} bytes")
    long = 100000
    need(k.numbers(k.file("p.kina", "let x = 1 in\n" * long + "x\n")) == [1], "10^5 lines of let … in")
    need(k.numbers(k.file("p.kina", "1" + " + 1" * long + "\n")) == [long + 1], "10^5 sums")
    need(k.numbers(k.file("p.kina", "if (false) { 1 } else " * 20000 + "{ 2 }\n")) == [2], "20000 times else if")


def test_long_names_and_numbers(k):
    name = "x" * 200000
    need(k.numbers(k.file("p.kina", f"let {name} = 3;\n{name}\n")) == [3], "a name of 200000 letters")
    k.ends(3, k.file("p.kina", f"{name}\n"))
    k.ends(3, "-e", "9" * 5000)
    need(kina.as_f32(k.numbers("-e", "0." + "1" * 5000)[0]) == kina.as_f32(1 / 9), "a long fraction")
    k.ends(3, "-e", "9223372036854775808")


def test_overflowing_dims(k):
    for text in ("zeros([9223372036854775807, 9223372036854775807])", "zeros([4294967296, 4294967296])",
                 "zeros([-1])", "tensor<F32, [99999999999999999999]>", "reshape([1.0], [9223372036854775807, 3])",
                 "broadcast([1.0], [1152921504606846976, 16, 1])", "let n: I64 = -3; zeros([n])",
                 "let n: I64 = 9223372036854775807; zeros([n, n])", "arange(-1)"):
        run = k.run("-e", text)
        need(run.code in (1, 3), f"{text}: exit code {run.code}")


def test_deep_recursion(k):
    source = k.file("p.kina", "fn down(n: I32) -> I32 { if (n == 0) { 0 } else { 1 + down(n - 1) } }\n")
    need(k.numbers(source, "--fn", "down", "--arg", "n=1000") == [1000], "a thousand calls deep")
    run = k.run(source, "--fn", "down", "--arg", "n=1000000", limit=60)
    if run.code != 0:
        need(run.code == 1 and "K0508" in run.err, f"10^6 calls deep: {run.code}, {kina.first_line(run.err)}")
    k.ends(1, k.file("q.kina", "fn forever(x: F64) -> F64 { forever(x + 1.0) }\nforever(0.0)\n"), says=["K0508"])
    k.ends(1, k.file("r.kina", "fn forever(x: F64) -> F64 { forever(x * 1.5) }\n"
                               "let x: F64 = 1.0;\nhandle forever(x) with reverseMode\n"), says=["K0508"])


def test_time_limit(k):
    for text in (ENDLESS, "fn f(x: F64) -> F64 { " + ENDLESS.replace("\n", " ").replace("0.0]", "x]").replace("+ 1.0", "* 1.0") +
                 "}\nlet x: F64 = 1.0;\nhandle f(x) with forwardMode(1.0)\n"):
        start = time.monotonic()
        k.ends(1, k.file("p.kina", text), "--time-limit", "500ms", says=["K0510"])
        need(time.monotonic() - start < 5, "the time limit came late")


def test_memory_limit(k):
    k.ends(1, "-e", "zeros([100000000])", "--max-memory", "64MiB", says=["K0507"])
    k.ends(1, k.file("p.kina", "fn f(x: F64) -> F64 { let v = while (i < 100000000) [y = x, i = 0] { (sin(y), i + 1) }; v }\n"
                               "let x: F64 = 1.0;\nhandle f(x) with reverseMode\n"), "--max-memory", "64MiB", says=["K0507"])
    # Every limit between nothing and enough: an error or the right result.
    source = k.file("q.kina", "fn f(x: tensor<F32, [3]>) -> F32 { let y = while (i < 3) [y = x, i = 0] { (y * 1.5, i + 1) };\n"
                              "sum(exp(y / 9.0)) }\nhandle f([1.0, 2.0, 0.5]) with reverseMode\n")
    want, limit, enough = k.numbers(source), 1, False
    while not enough and limit < 1 << 26:
        run = k.run(source, "--format", "json", "--max-memory", str(limit))
        need(run.code in (0, 1), f"--max-memory {limit}: exit code {run.code}")
        enough = run.code == 0
        need(enough or ("K0507" in run.err and run.out == ""), f"--max-memory {limit}: {kina.first_line(run.err)}")
        limit += limit // 3 + 1
    need([r["data"] for r in kina.results(run)] == want, "a result under a limit")
    need(k.numbers("-e", "sum(ones([1000]))", "--max-memory", "64MiB") == [1000], "enough memory")
    k.ends((1, 2, 3), "-e", "1", "--max-memory", "1")


def test_every_memory_limit(k):
    """Wherever memory ends, it is one ordinary error; with enough, the result is the same."""
    program = ["-e", "fn f(x: tensor<F32, [3]>) -> F32 { let y = while (sum(x) < 99.0) [x = x, i = 0] { (x * 2.0, i + 1) };\n"
               "sum(exp(y / 99.0)) }\nhandle f([1.0, 2.0, 0.5]) with reverseMode", "--format", "json"]
    want, limit = k.ends(0, *program).out, 1
    while True:
        run = k.run(*program, "--max-memory", str(limit))
        need(run.code == 0 or run.code == 1 and "K0507" in run.err and run.out == "", f"limit {limit}: {run.code}, {run.err[:80]}")
        if run.code == 0:
            break
        limit += limit // 6 + 1
    need(run.out == want, "the memory limit changed the result")


def test_system_out_of_memory(k):
    if k.sanitized:
        return
    def little():
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    k.ends(1, "-e", "let x = zeros([2000000000]); sum(x + 1.0)", says=["K050"], preexec_fn=little)


# ---- disks, pipes, signals ----

def full_disk(folder):
    """A file system of a few pages at `folder`, or False where this user may not mount one."""
    return subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def test_full_disk(k):
    """A file that cannot be written whole is not left behind; nor is its predecessor lost."""
    out = os.path.join(k.folder, "out")
    os.mkdir(out)
    program = "random_normal(1, [200000])"

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
    k.ends(6, "-e", program, "--out", out, preexec_fn=small_files)
    need(os.listdir(out) == [], f"left behind: {os.listdir(out)}")
    k.ends(0, "-e", 'save("s.npy", [1.0])')
    k.ends(6, "-e", f'save("s.npy", {program})', preexec_fn=small_files)
    need(read_npy(os.path.join(k.folder, "s.npy")) == ((1,), [1.0]), "save lost the old file")
    if full_disk(out):
        try:
            k.ends(6, "-e", program, "--out", out)
            need(os.listdir(out) == [], f"left behind on the full disk: {os.listdir(out)}")
        finally:
            subprocess.run(["umount", out], check=True)


def test_full_standard_output(k):
    endless = "while (true) [i = 0] { print(i); i + 1 }"
    for arguments in (["-e", "arange(100000)", "--full"], ["-e", "1"], ["-e", "1", "--format", "json"], ["-e", endless],
                      ["--help"], ["--version"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([k.binary, *arguments], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, timeout=60)
        need(done.returncode == 6 and b"standard output" in done.stderr, f"{arguments} to a full device: {done.returncode}")


def test_endless_print_into_full_device(k):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([k.binary, "-e", "let i = while (true) [i = 0] { print(i); i + 1 };"], stdin=subprocess.DEVNULL,
                              stdout=full, stderr=subprocess.PIPE, timeout=60)
    need(done.returncode == 6 and b"standard output" in done.stderr, f"exit code {done.returncode}: {done.stderr[:80]!r}")


def test_closed_streams(k):
    for words, code in (("-e 1 >&-", 6), ("- <&-", 6), ("-e x 2>&-", 3), ("-e 1 2>&-", 0)):
        done = subprocess.run(f"'{k.binary}' {words}", shell=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        need(done.returncode == code, f"{words}: exit code {done.returncode}, expected {code}")


def test_closed_pipe(k):
    for program in ("arange(1000000)", "let i = while (i < 100000) [i = 0] { print(i, \"and much more text behind it\"); i + 1 };\ni"):
        process = subprocess.Popen([k.binary, "-e", program, "--full"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        process.stdout.read(10)
        process.stdout.close()
        err = process.stderr.read()
        process.stderr.close()
        code = process.wait(timeout=60)
        need(err == b"", f"a closed pipe: {err[:80]!r}")
        need(code == 0, f"a closed pipe: exit code {code}")


def interrupted(k, text, more_to_come=False):
    """Starts the interpreter on a program from a pipe and sends Ctrl-C's signal; (exit code, output, errors)."""
    # A job in a shell's background, which this test may be part of, ignores the signal and so would its children.
    process = subprocess.Popen([k.binary, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    try:
        process.stdin.write(text.encode())
        process.stdin.flush()
        if not more_to_come:
            process.stdin.close()
            process.stdin = None
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=20)
        out, err = process.communicate()
        return process.returncode, out, err
    finally:
        process.kill()


def test_interrupt(k):
    for text in (ENDLESS, "let v = while (true) [x = ones([400, 400])] { x @ x * 0.0025 };\nv\n"):
        code, out, err = interrupted(k, text)
        need(code == 130, f"Ctrl-C: exit code {code}")
        need(b"interrupt" in err.lower() and out == b"", f"Ctrl-C: {err[:80]!r}")


def test_interrupt_while_reading(k):
    code, _, _ = interrupted(k, "let x = 1;\n", more_to_come=True)
    need(code == 130, f"exit code {code}")


def test_host_locale(k):
    run = k.ends(0, "-e", "1.5 + 0.25", env=dict(os.environ, LC_ALL="de_DE.UTF-8", LANG="de_DE.UTF-8"))
    need("1.75" in run.out, f"numbers follow the host's locale: {run.out!r}")


# ---- long runs ----

FORWARD = r"forward: \d+ s, \d+ iterations, [\d.e+]+/s, [\d.]+ MiB live"
BACKWARD = """fn f(x: F64) -> F64 {
    @checkpoint(slots=2)
    let y = while (i < 100000) [y = x, i = 0] { (sin(y), i + 1) };
    y
}
handle f(1.0) with reverseMode
"""


def on_terminal(k, *arguments, **more):
    """What a run writes to a terminal that is its standard error."""
    master, slave = os.openpty()
    process = subprocess.Popen([k.binary, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave,
                               cwd=k.folder, env=dict(os.environ, **more))
    os.close(slave)
    seen = b""
    try:
        while part := os.read(master, 4096):
            seen += part
    except OSError:
        pass
    os.close(master)
    process.wait()
    return seen.decode()


def test_progress(k):
    long, short = ["-e", ENDLESS, "--time-limit", "2500ms"], ["-e", "1 + 1"]
    seen = on_terminal(k, *long, TERM="xterm", NO_COLOR="1")
    need(re.search("\r\033\\[K" + FORWARD, seen), f"no line on a terminal: {seen[:100]!r}")
    need(re.search(r"live\r\033\[Kerror\[K0510\]", seen), f"the line is not taken away: {seen[-300:]!r}")
    need(max(len(line) for line in re.split(r"\r|\n", seen) if "live" in line) < 80, "wider than a terminal")
    need(on_terminal(k, *short, TERM="xterm") == "", "a line for a short run")
    for arguments, more in ((long, {"TERM": "dumb"}), ([*long, "--progress=never"], {"TERM": "xterm"})):
        need("live" not in on_terminal(k, *arguments, NO_COLOR="1", **more), "a line that nobody wants")
    need("live" not in k.ends(1, *long).err, "a line where there is no terminal")
    plain = k.ends(1, *long, "--progress=plain").err
    need(re.search("^" + FORWARD + "$", plain, re.MULTILINE) and "\r" not in plain, f"plain lines: {plain[:100]!r}")
    both = k.run("-e", BACKWARD, "--time-limit", "3500ms", "--progress=plain").err
    need(re.search(r"^backward: \d+ s, \d+ iterations", both, re.MULTILINE), f"no backward part: {both[:200]!r}")


# ---- manual pages, completion, installation ----

def words_of(table, verb=None):
    """The flags in a help text."""
    return set(re.findall(r"^  (--?[a-z][a-z-]*)", table, re.MULTILINE))


def test_help_fits_terminals(k):
    verbs = re.findall(r"^  kina-interp ([a-z]+) \[", k.run("--help").out, re.MULTILINE)
    need(len(verbs) > 5, f"verbs of --help: {verbs}")
    for words in ([], *([verb] for verb in verbs), ["explain"]):
        shown = k.ends(0, *words, *(["--help"] if words != ["explain"] else [])).out
        wide = [line for line in shown.splitlines() if len(line) > 80]
        need(not wide, f"{words}: {wide}")


def test_manual(k):
    flags = words_of(k.run("--help").out)
    need(len(flags) > 15, f"flags of --help: {flags}")
    page = k.ends(0, "--generate", "man").out
    shown = page.replace("\\-", "-")
    for flag in flags:
        need(f"\\fB{flag}\\fR" in shown, f"the manual page lacks {flag}")
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=page.encode(), stderr=subprocess.PIPE)
        need(done.stderr == b"", f"groff says {done.stderr[:200]}")
    k.ends(2, "--generate", "fishh", says=["--generate", "man|bash|zsh|fish", "did you mean fish?"])


def test_bash_completion(k):
    script = k.file("completion", k.ends(0, "--generate", "bash").out)

    def completes(*words):
        call = f'. {script}; COMP_WORDS=({" ".join(map(repr, words))}); COMP_CWORD={len(words) - 1}; _kina_interp; ' \
               'printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "--norc", "-c", call], cwd=k.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        need(done.stderr == b"", f"bash says {done.stderr[:200]}")
        return set(done.stdout.decode().split())

    k.file("prog.kina", "1\n")
    need(completes("kina-interp", "ch") == {"check"}, "verbs")
    need("prog.kina" in completes("kina-interp", "check", "pr"), "files")
    need(completes("kina-interp", "check", "--deny") == {"--deny-warnings"}, "options")
    need(completes("kina-interp", "check", "--fn") == set(), "an option of another verb")
    need(completes("kina-interp", "prog.kina", "--format", "") == {"text", "json"}, "values")
    for verb in ("", "fmt", "oracle"):
        offered, flags = completes("kina-interp", *[w for w in [verb] if w], "--"), words_of(k.run(*[w for w in [verb] if w], "--help").out)
        need(offered == {f for f in flags if f.startswith("--")}, f"options of {verb}: {offered ^ flags}")


def test_other_completions(k):
    """Shells that are here read the scripts and offer verbs, options and values."""
    fish = k.file("fish", k.ends(0, "--generate", "fish").out)
    zsh = k.file("_kina-interp", k.ends(0, "--generate", "zsh").out)
    for flag in words_of(k.run("--help").out):
        need(f"'{flag}[" in open(zsh).read(), f"zsh's lacks {flag}")
        need(re.search(rf" -[ls] {flag.lstrip('-')} ", open(fish).read()), f"fish's lacks {flag}")
    if shutil.which("zsh"):
        done = subprocess.run(["zsh", "-n", zsh], stderr=subprocess.PIPE)
        need(done.returncode == 0 and done.stderr == b"", f"zsh says {done.stderr[:200]}")
    if shutil.which("fish"):
        def offers(line):
            done = subprocess.run(["fish", "--no-config", "-c", f"source {fish}; complete -C {line!r}"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env=dict(os.environ, HOME=k.folder))
            need(done.stderr == b"", f"fish says {done.stderr[:200]}")
            return {row.split("\t")[0] for row in done.stdout.decode().splitlines()}

        need("check" in offers("kina-interp ch"), "fish: verbs")
        need({"text", "json"} <= offers("kina-interp --format "), "fish: values")
        need("--fn" not in offers("kina-interp check --f"), "fish: an option of another verb")


def test_install(k):
    """What is installed works where it is, and is all removed again."""
    build = os.path.dirname(k.binary)
    if k.sanitized or not os.path.exists(os.path.join(build, "kina-bench")):
        return
    settings = [f"B={build}", f"DESTDIR={k.folder}/root", "PREFIX=/opt/kina", "-o", "all", "-o", f"{build}/kina-bench"]

    def make(goal):
        done = subprocess.run(["make", "-s", "-C", kina.ROOT, goal, *settings], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        need(done.returncode == 0, f"make {goal}: {done.stdout[-300:]}")
        return {os.path.relpath(os.path.join(at, name), f"{k.folder}/root/opt/kina")
                for at, _, names in os.walk(f"{k.folder}/root") for name in names}

    found = make("install")
    for name in ("bin/kina-interp", "bin/kina-bench", "share/man/man1/kina-interp.1", "share/man/man1/kina-bench.1",
                 "share/bash-completion/completions/kina-interp", "share/zsh/site-functions/_kina-interp",
                 "share/fish/vendor_completions.d/kina-interp.fish"):
        need(name in found and os.path.getsize(f"{k.folder}/root/opt/kina/{name}") > 0, f"{name} is not installed")
    done = subprocess.run([f"{k.folder}/root/opt/kina/bin/kina-interp", "-e", "1 + 1"], stdout=subprocess.PIPE)
    need(done.stdout == b"0: I32\n2\n", "the installed program")
    need(make("uninstall") == set(), "uninstall leaves files")


def test_start(k):
    """A small program loads nothing that it does not use."""
    if k.sanitized:
        return
    loaded = k.run("-e", "1 + 1", env=dict(os.environ, LD_DEBUG="files")).err
    need("libc.so" in loaded, "LD_DEBUG shows nothing")
    for library in ("openblas", "libffi", "libgfortran"):
        need(library not in loaded, f"{library} is loaded for 1 + 1")


# ---- MLIR ----

TAPED = """fn square(x: tensor<F64, [3]>) -> F64 { sum(x * x) }
fn f(x: tensor<F64, [3]>, a: F64) -> F64 {
    let s = square(x);
    let y = if (s > 1.0) { x * a } else { x };
    let r = while (i < 3) [r = y, i = 0] {
        let q = while (j < 2) [q = r, j = 0] { (q * a, j + 1) };
        (tanh(q), i + 1)
    };
    sum(r) + a * a
}
let x = tensor<F64, [3]>([1.0, 2.0, 3.0]);
handle f(x, 0.5) with reverseMode
"""


def tape_of(k, *arguments):
    return kina.read_json(k.ends(0, "tape", *arguments, "--format", "json").out)


def test_tape(k):
    program = k.file("p.kina", TAPED)
    shown = tape_of(k, program)
    records = shown["records"]
    need([r["index"] for r in records] == list(range(1, 38)), "one record after the other")
    need((shown["parameters"], shown["result"], shown["more_sweeps"]) == (2, 37, 0), "parameters and result")
    inner = ["carry", "mul", "carry", "mul", "carry", "loop", "tanh", "carry"]
    need([r.get("op", r["kind"]) for r in records] ==
         ["input", "input", "identity", "mul", "sum", "mul", "identity", "branch", "carry"] + 3 * inner +
         ["loop", "sum", "scalar", "scalar"], "kinds of records")
    need([(r["trips"], r["line"]) for r in records if r["kind"] == "loop"] == 3 * [(2, 6)] + [(3, 5)], "trip counts")
    call, product, branch = records[2], records[3], records[7]
    need((call["operands"], call["line"], call["source"]) == ([1], 3, "square(x)"), "the call's parameter")
    need((product["operands"], product["saves"], product["saved_bytes"]) == ([3, 3], ["in1", "in2"], 48), "x * x saves")
    need((branch["tag"], branch["operands"]) == (0, [1, 2]), "the branch reads x and a")
    need((records[15]["saves"], records[15]["saved_bytes"]) == (["out"], 24), "tanh saves its result")
    need(records[35]["partials"] == [0.5, 0.5], "a * a is kept as its partials")
    need(shown["order"] == [{"step": "records", "depth": 0, "first": 3, "last": 37}], "all of it in one go")
    other = tape_of(k, program, "--fn", "f", "--arg", "x=[0.5,0.5,0.5]", "--arg", "a=2")["records"]
    need([r["tag"] for r in other if r["kind"] == "branch"] == [1], "the other branch")


def test_tape_of_checkpoints(k):
    program = k.file("p.kina", """fn f(x: tensor<F64, [2]>, n: I32) -> F64 {
    @checkpoint(k=3) let y = while (i < n) [y = x, i = 0] {
        @checkpoint(k=1) let z = while (j < 2) [z = y, j = 0] { (sin(z), j + 1) };
        (z * z, i + 1)
    };
    sum(y)
}
handle f([0.5, -1.0], 5) with reverseMode
""")
    shown = tape_of(k, program)
    loop = [r for r in shown["records"] if r["kind"] == "checkpoint"][-1]
    need((loop["policy"], loop["trips"], loop["states"], loop["taped_ahead"]) == ("k=3", 5, [0, 3], [3, 4]), f"{loop}")
    inner = [("loop", 2), ("sweep", 1, 1), ("tape", 0, 0), ("sweep", 0, 0)]
    outer = [("loop", 5), ("sweep", 3, 4), *inner, *inner, ("tape", 0, 2), ("sweep", 0, 2), *inner, *inner, *inner]
    steps = [(m["step"], m["trips"]) if m["step"] == "loop" else (m["step"], m["first"], m["last"])
             for m in shown["order"] if m["step"] != "records"]
    need(steps == outer, f"the way back: {steps}")
    need([m["depth"] for m in shown["order"] if m["step"] == "loop"] == [0] + 5 * [1], "loops in loops")
    slots = tape_of(k, "-e", "fn f(x: F64, n: I32) -> F64 { let y = while (i < n) [y = x, i = 0] { (sin(y), i + 1) }; y } 1",
                    "--fn", "f", "--arg", "x=0.5", "--arg", "n=20", "--checkpoint", "slots=3")
    ahead = [m["last"] for m in slots["order"] if m["step"] == "sweep"]
    need(ahead[0] == 19 and sorted(ahead, reverse=True) == ahead, "each sweep ends where the one before began")
    swept = [i for m in slots["order"] if m["step"] == "sweep" for i in range(m["first"], m["last"] + 1)]
    need(sorted(swept) == list(range(20)), "each iteration is swept once")
    need(any(m["step"] == "advance" for m in slots["order"]), "few slots advance")
    window = tape_of(k, "-e", "fn f(x: tensor<F64, [64]>, n: I32) -> F64 { let y = while (i * i < n) [y = x, i = 0] {"
                     "(sin(exp(sin(y * y)) * cos(y)), i + 1) }; sum(y * y) } 1", "--fn", "f", "--arg",
                     f"x={[0.5] * 64}", "--arg", "n=900", "--checkpoint", "memory=120KiB")
    gone = window["records"][1]
    begun = [r for r in window["records"] if r["kind"] == "checkpoint"][0]["taped_ahead"][0]
    need((gone["kind"], gone["last"] - 1) == ("forgotten", 7 * begun) and begun > 0, "7 records an iteration are given up")


def test_tape_as_text(k):
    program = k.file("p.kina", TAPED)
    lines = k.ends(0, "tape", program).out.splitlines()
    need(max(map(len, lines)) <= 80, "80 columns")
    need(re.search(r"^ +8  branch +%1 %2 +then +4: if ", "\n".join(lines), re.MULTILINE), "the branch's row")
    need(lines[-1] == "  %37 to %3" and lines[-2] == "the way back:", "the way back")
    call = [program, "--fn", "f", "--arg", "x=[1,2,3]", "--arg", "a=1"]
    need(k.ends(0, "tape", *call).out.splitlines() != lines, "other arguments")
    long = k.file("long.kina", "fn f(x: F64) -> F64 { let v = while (i < 50) [v = x, i = 0] { (v * 0.5, i + 1) }; v }\n"
                               "print(1.0);\n(handle f(1.0) with reverseMode, handle f(2.0) with reverseMode)\n")
    short, full = k.ends(0, "tape", long).out, k.ends(0, "tape", long, "--full").out
    need("    …  63 records\n" in short and "…  6" not in full, "the middle is left out")
    need(len(full.splitlines()) - len(short.splitlines()) == 62, "--full shows it")
    need(short.endswith("\nlater sweeps that are not shown: 1\n"), "later handles are counted")
    k.ends(1, "tape", "-e", "1.0", says=["nothing ran under reverseMode", "--fn NAME"])
    k.ends(3, "tape", "-e", "fn f(x: I32) -> I32 { x } 1", "--fn", "f", "--arg", "x=1", says=["has no gradient"])
    k.ends(2, "tape", program, "--stats", says=["tape takes no --stats"])


def test_mlir(k):
    program = k.file("p.kina", "fn f(x: F32) -> F32 { x * x }\nf(3.0)\n")
    shown = k.ends(0, "mlir", program).out
    need("func.func @f(%x: f32) -> f32 attributes {llvm.emit_c_interface} {" in shown, shown)
    need("func.func @main() -> tensor<f32> {" in shown, shown)
    need(k.ends(0, "mlir", program, "-o", "p.mlir").out == "", "-o leaves standard output alone")
    with open(os.path.join(k.folder, "p.mlir"), encoding="utf-8") as f:
        need(f.read() == shown, "the file of -o")
    need("attributes" not in k.ends(0, "mlir", program, "--abi", "plain").out, "--abi plain")
    k.ends(4, "mlir", "-e", "fn f(x: F32) { print(x); }", says=["print", "K0701"])
    k.ends(3, "mlir", "-e", "fn f(x: F32) { y }", says=["K0101"])
    k.ends(6, "mlir", program, "-o", "no/such/folder.mlir", says=["cannot write"])
    k.ends(2, "mlir", program, "--abi", "other", says=["--abi"])


def tool(folder, name, script):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"#!/bin/sh\n{script}\n")
    os.chmod(path, 0o755)


def test_build_without_tools(k):
    program = k.file("p.kina", "fn f(x: F32) -> F32 { x * x }\n")
    tools, scratch = os.path.join(k.folder, "tools"), os.path.join(k.folder, "scratch")
    os.mkdir(tools)
    os.mkdir(scratch)
    where = dict(os.environ, PATH=tools, TMPDIR=scratch)
    k.ends(2, "build", program, says=["-o"])
    k.ends(6, "build", program, "-o", "p.so", env=where, says=["mlir-opt-19", "mlir-19-tools"])
    tool(tools, "mlir-opt-19", "exit 0")
    tool(tools, "mlir-translate-19", "exit 0")
    k.ends(6, "build", program, "-o", "p.so", env=where, says=["llc-19", "llvm-19"])
    tool(tools, "clang-19", "echo 'this is wrong' >&2; exit 1")
    k.ends(6, "build", program, "-o", "no/such/p.so", env=where, says=["cannot write", "no/such/p.so"])
    run = kina.Run(k.binary, ["build", program, "-o", "p.so"], cwd=k.folder, env=where)
    need(run.code == 70 and "clang-19 failed: this is wrong" in run.err, f"{run.code}: {run.err}")
    k.ends(6, "build", program, "-o", "p.so", env=dict(where, TMPDIR="/no/such/folder"), says=["cannot write"])
    need(os.listdir(scratch) == [], "temporary files are left")


# ---- the prompt: what its transcripts cannot hold ----

def test_prompt_draws(k):
    tools = os.path.join(k.folder, "bin")
    os.mkdir(tools)
    typed = "fn f(x: F64) -> F64 { log(x) }\n:plot f -1 1 a'b.svg\n"
    none = k.ends(0, "repl", stdin=typed, env=dict(os.environ, PATH=tools), says=["gnuplot-nox"])
    need(os.listdir(k.folder) == ["bin"] and "derivative" not in none.out, "a picture without gnuplot")
    # It keeps its script and makes the file that this names.
    tool(tools, "gnuplot", "cat >script; name=$(sed -n \"s/''/'/g; s/^set output '\\(.*\\)'\\$/\\1/p\" script); : >\"$name\"")
    drawn = k.ends(0, "repl", stdin=typed, env=dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}"))
    need("f and its derivative over [-1, 1]: a'b.svg" in drawn.out and drawn.err == "", drawn.out + drawn.err)
    need(sorted(os.listdir(k.folder)) == ["a'b.svg", "bin", "script"], f"{os.listdir(k.folder)}")
    with open(os.path.join(k.folder, "script"), encoding="utf-8") as f:
        script = f.read()
    need("title \"f'\"" in script and "\n1 0\n" in script and "\n1 1\n" in script, "the end of both curves")
    need("nan" not in script.lower() and "inf" not in script.lower(), "a gap is an empty line")
    tool(tools, "gnuplot", "cat >/dev/null; exit 1")
    k.ends(0, "repl", stdin=typed, env=dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}"), says=["cannot write 'a'b.svg'"])
    k.ends(0, "repl", "--no-files", stdin=typed + ":load a\n:read x y\n:save x y\n", says=[":plot", ":load", ":read", ":save"])


def test_prompt_reloads(k):
    path = k.file("m.kina", "fn f(x: F64) -> F64 { x * x }\nfn g(x: F64) -> F64 { f(x) + 1.0 }\n")
    with subprocess.Popen([k.binary, "repl"], cwd=k.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as prompt:
        prompt.stdin.write(":load m.kina\ng(3.0)\n")
        prompt.stdin.flush()
        said = [prompt.stdout.readline() for _ in range(3)]
        need(said[-1] == "it: F64 = 10.0\n", f"{said}")
        k.file("m.kina", "fn f(x: F64) -> F64 { x * 2.0 }\nfn g(x: F64) -> F64 { f(x) + 1.0 }\n")
        prompt.stdin.write(":reload\ng(3.0)\n")
        prompt.stdin.flush()
        said = [prompt.stdout.readline() for _ in range(3)]
        need(said[-1] == "it: F64 = 7.0\n", f"{said}")
        os.unlink(path)
        rest = prompt.communicate(":reload\ng(3.0)\n")[0]
        need("K0601" in rest and rest.endswith("it: F64 = 7.0\n"), rest)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(kina.ROOT, "build/kina-interp"))
    parser.add_argument("--only", nargs="+", metavar="WORD", help="tests with one of these words in their names")
    options = parser.parse_args()
    binary = kina.interpreter(options.bin)
    tests = [(name[5:], test) for name, test in list(globals().items()) if name.startswith("test_")]
    if options.only:
        tests = [t for t in tests if any(word in t[0] for word in options.only)]
    failed = 0
    for name, test in tests:
        folder = tempfile.mkdtemp(prefix="kina-cli-")
        try:
            test(Kina(binary, folder))
        except (Wrong, ValueError, KeyError, OSError, subprocess.SubprocessError) as error:
            failed += 1
            print(f"FAIL {name}: {error if isinstance(error, Wrong) else f'{type(error).__name__}: {error}'}")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
