#!/usr/bin/env python3
"""The result of reverseMode as it leaves a compiler: examples/ad_neg_grad.kina as a shared library.

    tests/validate_reverse_mode_abi.py --bin build/kina-interp [--so LIB]

The function ad(x) = handle -x with reverseMode is called through ctypes, by the C interface that MLIR gives a function
of two results: a struct of two descriptors, then x's. With a patterned x the primal has to be -x and the gradient -1
everywhere; where PyTorch is installed it has to say the same. The library is LIB, or one by hand
(examples/oracle/ad.c), and, where the interpreter has the verb and MLIR's tools are installed, one that `kina-interp
build` makes of the program. Each is held against the interpreter by `kina-interp oracle` too.
"""
import argparse
import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import kina

PROGRAM = os.path.join(kina.ROOT, "examples", "ad_neg_grad.kina")
BY_HAND = os.path.join(kina.ROOT, "examples", "oracle", "ad.c")
X = [0.5 * i - 0.75 * (i % 3) for i in range(4)]
PASSED, FAILED, SKIPPED = [], [], []


class Descriptor(ctypes.Structure):
    _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.POINTER(ctypes.c_float)), ("offset", ctypes.c_int64),
                ("size", ctypes.c_int64 * 2), ("stride", ctypes.c_int64 * 2)]

    def numbers(self):
        return [self.aligned[self.offset + i * self.stride[0] + j * self.stride[1]]
                for i in range(self.size[0]) for j in range(self.size[1])]


class Outs(ctypes.Structure):
    _fields_ = [("primal", Descriptor), ("grad_x", Descriptor)]


def judge(what, good, why=""):
    (PASSED if good else FAILED).append(what)
    if not good:
        print(f"FAIL {what}: {why}")


def call(library):
    """(primal, gradient) of ad, x being injected."""
    data = (ctypes.c_float * 4)(*X)
    at = ctypes.cast(data, ctypes.c_void_p)
    x = Descriptor(at, ctypes.cast(data, ctypes.POINTER(ctypes.c_float)), 0, (2, 2), (2, 1))
    outs = Outs()
    function = ctypes.CDLL(library)._mlir_ciface_ad
    function.restype = None
    function(ctypes.byref(outs), ctypes.byref(x))
    return outs.primal.numbers(), outs.grad_x.numbers()


def validate(binary, name, library):
    primal, gradient = call(library)
    judge(f"{name}: the primal is -x", primal == [-v for v in X], primal)
    judge(f"{name}: the gradient is -1", gradient == [-1.0] * 4, gradient)
    given = "x=" + json.dumps([X[:2], X[2:]])
    for more in (["--arg", given], ["--random", "20"]):
        run = kina.Run(binary, ["oracle", PROGRAM, "--so", library, "--fn", "ad", *more])
        judge(f"{name}: the interpreter agrees ({more[0]})", run.code == 0, run.out + run.err)
    try:
        import torch
    except ImportError:
        return
    x = torch.tensor([X[:2], X[2:]], requires_grad=True)
    y = -x
    y.backward(torch.ones(2, 2))
    judge(f"{name}: PyTorch agrees", primal == y.flatten().tolist() and gradient == x.grad.flatten().tolist(), (primal, gradient))


def rejects(binary):
    """The wrapper's result type has to be (R, T0)."""
    with open(PROGRAM, encoding="utf-8") as f:
        text = f.read()
    tensor = r"tensor<F32, \[2, 2\], @host>"
    right = re.compile(rf"-> \(\s*{tensor},\s*{tensor},?\s*\)")
    judge("the program annotates its wrapper", len(right.findall(text)) == 1)
    for wrong in ("-> tensor<F32, [2, 2], @host>", "-> (tensor<F32, [2, 2], @host>, tensor<F32, [2, 3], @host>)",
                  "-> (tensor<F32, [2, 2], @host>, (tensor<F32, [2, 2], @host>, tensor<F32, [2, 2], @host>))"):
        run = kina.Run(binary, ["check", "-"], stdin=right.sub(wrong, text))
        judge(f"a wrapper {wrong} is rejected", run.code == 3, f"exit code {run.code}")


def build(binary, folder):
    """The library that the interpreter makes; None where it cannot."""
    if "kina-interp build " not in kina.Run(binary, ["--help"]).out:
        return None
    library = os.path.join(folder, "built.so")
    run = kina.Run(binary, ["build", PROGRAM, "-o", library], limit=120)
    if shutil.which("mlir-opt-19") is None or run.code == 4:
        print(f"SKIP built: {kina.first_line(run.err)}")
        SKIPPED.append("built")
        return None
    judge("kina-interp build", run.code == 0, run.err)
    return library if run.code == 0 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(kina.ROOT, "build/kina-interp"))
    parser.add_argument("--so", metavar="LIB", help="judge this library alone")
    options = parser.parse_args()
    binary = kina.interpreter(options.bin)
    with tempfile.TemporaryDirectory(prefix="kina-abi-") as folder:
        if options.so:
            validate(binary, options.so, os.path.abspath(options.so))
        else:
            by_hand = os.path.join(folder, "by_hand.so")
            subprocess.run([*os.environ.get("CC", "gcc").split(), "-O2", "-shared", "-fPIC", BY_HAND, "-o", by_hand], check=True)
            validate(binary, "by hand", by_hand)
            built = build(binary, folder)
            if built:
                validate(binary, "built", built)
        rejects(binary)
    print(f"{len(PASSED)} passed, {len(FAILED)} failed" + (f", {len(SKIPPED)} skipped" if SKIPPED else ""))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
