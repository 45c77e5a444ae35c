#!/usr/bin/env python3
"""Every op against PyTorch: value, gradients for a random cotangent, tangent, and jacobian times the cotangent, in F64.

    tests/peers/ops_torch.py --bin build/kina-interp [--only NAME …]

The ops are read from runtime/ops.def and interp/builtins.def, so that one without a case fails. The error
allowed is 1e-12 times the larger of 1 and the tensor's largest element.
"""
import argparse
import os
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from torch_or_skip import kina, torch_or_skip

TOLERANCE = 1e-12
JACOBIAN_ENTRIES = 3000     # of the largest that is asked for
# Kinds of builtins that are about files, ownership and messages, not numbers; other tests have them.
NO_NUMBERS = {"EFFECT", "TAPE"}


def table(path, macro):
    """(id, third column) of a .def file's rows that have a surface name."""
    with open(os.path.join(kina.ROOT, path), encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.DOTALL)
    rows = re.findall(rf"^{macro}\(\s*(\w+)\s*,\s*\"([^\"]*)\"\s*,\s*(\w+)", text, re.MULTILINE)
    return [(row[0], row[2]) for row in rows if row[1]]


def dtype_name(torch, tensor):
    return {torch.float64: "F64", torch.float32: "F32", torch.int32: "I32", torch.int64: "I64",
            torch.bool: "Bool"}[tensor.dtype]


def kina_type(torch, tensor):
    name = dtype_name(torch, tensor)
    return f"tensor<{name}, [{', '.join(map(str, tensor.shape))}]>" if tensor.dim() else name


def literal(torch, tensor):
    def one(x):
        if isinstance(x, bool):
            return "true" if x else "false"
        if isinstance(x, int):
            return str(x)
        return {"inf": "inf", "-inf": "-inf", "nan": "nan"}.get(str(x)) or kina.f64_literal(x)
    return kina.list_literal(tensor.tolist(), one)


def binding(torch, name, tensor):
    kind = kina_type(torch, tensor)
    if tensor.dim() == 0:
        return f"let {name}: {kind} = {literal(torch, tensor)};\n"
    if tensor.numel() == 0:
        return f"let {name} = {kind}(0.0);\n"
    return f"let {name} = {kind}({literal(torch, tensor)});\n"


class Trial:
    """One case: its program and the numbers expected of it."""

    def __init__(self, torch, name, case, number):
        self.torch, self.name, self.case = torch, name, case
        generator = torch.Generator().manual_seed(number)

        def like(t):
            return torch.rand(t.shape, dtype=torch.float64, generator=generator).to(t.dtype) - 0.5
        names = "xyz"[:len(case.operands)]
        floating = [t.is_floating_point() for t in case.operands]
        operands = [t.detach().clone().requires_grad_(f) for t, f in zip(case.operands, floating)]
        value = case.reference(*operands)
        self.value = value.detach()
        parameters = ", ".join(f"{n}: {kina_type(torch, t)}" for n, t in zip(names, operands))
        self.text = f"fn f({parameters}) -> {kina_type(torch, value)} {{ {case.kina} }}\n"
        self.text += "".join(binding(torch, n, t.detach()) for n, t in zip(names, operands))
        call = f"f({', '.join(names)})"
        self.gradients = None
        if not value.is_floating_point() or not any(floating):
            self.text += call + "\n"
            return
        seed = like(self.value)
        differentiated = [t for t, f in zip(operands, floating) if f]
        gradients = torch.autograd.grad(value, differentiated, grad_outputs=seed, allow_unused=True) \
            if value.requires_grad else [None] * len(differentiated)
        self.gradients = [torch.zeros_like(t) if g is None else g for t, g in zip(differentiated, gradients)]
        tangents = [like(t) for t in differentiated]
        self.text += binding(torch, "s", seed)
        self.text += "".join(binding(torch, f"t{k}", t) for k, t in enumerate(tangents))
        self.text += f"(handle {call} with reverseMode(seed = s),\n handle {call} with forwardMode(" \
            + ", ".join(f"t{k}" for k in range(len(tangents))) + ")"
        self.whole = self.value.numel() * max(t.numel() for t in differentiated) <= JACOBIAN_ENTRIES and \
            all(self.value.dim() + t.dim() <= 8 and bool(torch.isfinite(g).all())
                for t, g in zip(differentiated, self.gradients))
        self.text += f",\n jacobian(f){call[1:]})\n" if self.whole else ")\n"
        self.seed = seed
        self.product = sum(float(torch.sum(g.double() * t.double())) for g, t in zip(self.gradients, tangents))
        self.scale = sum(float(torch.sum(torch.abs(g.double() * t.double()))) for g, t in zip(self.gradients, tangents))
        # A gradient or a tangent that is rounded to F32 agrees to F32's digits only.
        narrow = "F32(" in case.kina or torch.float32 in [t.dtype for t in (value, *differentiated)]
        self.tangent_tolerance = 1e-6 if narrow else 10 * TOLERANCE

    def tensor(self, result, want):
        numbers = [x if isinstance(x, bool) else kina.number(x) if want.is_floating_point() else x
                   for x in kina.flat(result["data"])]
        return self.torch.tensor(numbers, dtype=want.dtype).reshape(want.shape)

    def compare(self, result, want, what):
        torch = self.torch
        if result["shape"] != list(want.shape) or result["dtype"] != dtype_name(torch, want):
            return f"{what}: {result['dtype']} {result['shape']}, expected {kina_type(torch, want)}"
        got = self.tensor(result, want)
        if not want.numel():
            return None
        if not want.is_floating_point():
            return None if torch.equal(got, want) else f"{what}: {got.tolist()}, expected {want.tolist()}"
        same = (got == want) | (torch.isnan(got) & torch.isnan(want))
        finite = want[torch.isfinite(want)]
        largest = max(1.0, float(finite.abs().max())) if finite.numel() else 1.0
        near = (got - want).abs() <= TOLERANCE * largest
        if bool((same | near).all()):
            return None
        where = int(torch.nonzero(~(same | near).reshape(-1))[0])
        return f"{what}: entry {where} is {float(got.reshape(-1)[where])!r}, expected {float(want.reshape(-1)[where])!r}"

    def judge(self, run):
        if run.trouble() or run.code != 0:
            return run.trouble() or f"exit code {run.code}: {kina.first_line(run.err)}"
        results = kina.results(run)
        expected = 1 if self.gradients is None else (2 if self.whole else 1) * len(self.gradients) + 3
        if len(results) != expected:
            return f"{len(results)} results, expected {expected}"
        why = self.compare(results[0], self.value, "value")
        if why or self.gradients is None:
            return why
        for k, gradient in enumerate(self.gradients):
            why = self.compare(results[1 + k], gradient, f"gradient {k}")
            if why:
                return why
        why = self.compare(results[len(self.gradients) + 1], self.value, "value under forwardMode")
        if why:
            return why
        tangent = self.tensor(results[len(self.gradients) + 2], self.value)
        product = float(self.torch.sum(tangent.double() * self.seed.double()))
        scale = max(1.0, self.scale, float(self.torch.sum((tangent.double() * self.seed.double()).abs())))
        if not abs(product - self.product) <= self.tangent_tolerance * scale:
            return f"tangent: its product with the cotangent is {product}, expected {self.product}"
        return self.judge_jacobian(results[len(self.gradients) + 3:]) if self.whole else None

    def judge_jacobian(self, results):
        """Each times the cotangent is the gradient."""
        for k, (result, gradient) in enumerate(zip(results, self.gradients)):
            whole = self.torch.zeros((*self.value.shape, *gradient.shape), dtype=gradient.dtype)
            if result["shape"] != list(whole.shape):
                return f"jacobian {k}: shape {result['shape']}, expected {list(whole.shape)}"
            product = self.torch.tensordot(self.seed.to(gradient.dtype), self.tensor(result, whole), dims=self.value.dim())
            scale = max(1.0, float(gradient.abs().max())) if gradient.numel() else 1.0
            if not bool(((product - gradient).abs() <= self.tangent_tolerance * scale).all()):
                return f"jacobian {k}: times the cotangent {product.tolist()}, expected {gradient.tolist()}"
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(kina.ROOT, "build/kina-interp"))
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--keep", metavar="DIR", help="write every program there")
    options = parser.parse_args()
    binary = kina.interpreter(options.bin)
    ops = [name for name, _ in table("runtime/ops.def", "OP")]
    builtins = [name for name, kind in table("interp/builtins.def", "BUILTIN") if kind not in NO_NUMBERS]
    torch = torch_or_skip("ops against PyTorch", len(ops) + len(builtins))
    from op_cases import CASES
    names = options.only or [*ops, *builtins, "indexing"]
    failed = passed = 0
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(max_workers=2) as pool:
        folder = options.keep or scratch
        os.makedirs(folder, exist_ok=True)
        waiting = []
        for name in names:
            if not CASES.get(name):
                failed += 1
                print(f"FAIL {name}: there is no case for it in tests/peers/op_cases.py")
            for number, case in enumerate(CASES.get(name, [])):
                trial = Trial(torch, name, case, number)
                path = os.path.join(folder, f"{name}-{number}.kina")
                with open(path, "w", encoding="utf-8") as f:
                    f.write(trial.text)
                waiting.append((f"{name}, case {number}, {case.kina}", trial,
                                pool.submit(kina.Run, binary, [path, "--format", "json"])))
        for what, trial, run in waiting:
            try:
                why = trial.judge(run.result())
            except (ValueError, KeyError, TypeError) as error:
                why = f"{type(error).__name__}: {error}"
            failed, passed = failed + bool(why), passed + (not why)
            if why:
                print(f"FAIL {what}: {why}")
    for name in sorted(set(CASES) - {*ops, *builtins, "indexing"}):
        failed += 1
        print(f"FAIL {name}: tests/peers/op_cases.py has cases for it, but no table names it")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
