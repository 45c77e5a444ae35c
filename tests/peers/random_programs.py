#!/usr/bin/env python3
"""Random programs against PyTorch: values, gradients, tangents and, for every second program, second derivatives.

    tests/peers/random_programs.py --bin build/kina-interp [--count 200] [--seed 1] [--show K]

Every second program is in F32. The right numbers are PyTorch's in F64 (the programs' constants and
arguments are exact in F32), and the error allowed is 1e-12 in F64 and 1e-5 in F32 times the larger of 1
and the tensor's largest element. A program is dropped, and the next grown in its place, when a decision
in it is nearly a tie or when PyTorch itself, run in F32, comes near that error: then rounding alone could
tell the two apart. Nothing of this looks at Kina's numbers.
"""
import argparse
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from torch_or_skip import kina, torch_or_skip

TOLERANCE = {"F64": 1e-12, "F32": 1e-5}
MARGIN = {"F64": 1e-6, "F32": 1e-3}


class Reference:
    """A program's torch text, run at one precision."""

    def __init__(self, torch, program, arguments, dtype):
        import gamma  # here, since it needs PyTorch
        self.torch, self.dtype, self.nearest = torch, dtype, float("inf")
        # The programs make their constants through `full` and `const`, in this run's dtype.
        names = {"torch": torch, "gamma": gamma, "F": torch.nn.functional, "decide": self.decide, "larger": self.larger,
                 "smaller": self.smaller, "apart": self.apart,
                 "const": lambda data: torch.tensor(data, dtype=dtype),
                 "full": lambda shape, x: torch.full(shape, x, dtype=dtype)}
        exec(compile(program.torch, "<program>", "exec"), names)
        self.f = names["f"]
        self.n = program.count
        self.arguments = [torch.tensor(a, dtype=dtype, requires_grad=True) for a in arguments]

    def note(self, distance):
        if distance.numel():
            self.nearest = min(self.nearest, float(distance.detach().abs().min()))

    def decide(self, x, at):
        self.note(x - at)
        return x

    def larger(self, x, y):
        self.note(x - y)
        return self.torch.maximum(x, y)

    def smaller(self, x, y):
        self.note(x - y)
        return self.torch.minimum(x, y)

    def apart(self, x, axis):
        """x, whose largest (and smallest) entries along the axis must be clear."""
        ordered = self.torch.sort(x.detach(), axis).values
        self.note(self.torch.diff(ordered, dim=axis))
        return x

    def gradients(self, y, create=False):
        if not y.requires_grad:
            return [self.torch.zeros_like(a) for a in self.arguments]
        found = self.torch.autograd.grad(self.torch.sum(y), self.arguments, create_graph=create, allow_unused=True)
        return [self.torch.zeros_like(a) if g is None else g for a, g in zip(self.arguments, found)]

    def first(self):
        y = self.f(self.n, *self.arguments)
        return [y, *self.gradients(y)]

    def second(self):
        y = self.f(self.n, *self.arguments)
        total = sum(self.torch.sum(self.torch.sin(g)) for g in self.gradients(y, create=True))
        return [total, *self.gradients(total)]


def call(program, names):
    names = list(names)
    names.insert(program.count_at, "n")
    return f"f({', '.join(names)})"


def kina_text(program, arguments, tangents, second):
    """The whole program: reverse, forward and, if asked, reverse over reverse."""
    dtype = program.dtype
    names = [f"a{k}" for k in range(len(arguments))]
    text = program.functions
    if second:
        grads = [f"g{k}" for k in range(len(names))]
        total = " + ".join(f"sum(sin({g}))" if shape else f"sin({g})" for g, (_, shape) in zip(grads, program.parameters))
        text += f"fn second({program.signature()}) -> {dtype} {{\n" \
            f"  let (y, {', '.join(grads)}) = handle {call(program, [n for n, _ in program.parameters])} with reverseMode;\n" \
            f"  {total}\n}}\n"
    text += f"let n = {program.count};\n"
    for prefix, values in (("a", arguments), ("t", tangents)):
        for k, (value, (_, shape)) in enumerate(zip(values, program.parameters)):
            literal = kina.list_literal(value)
            text += f"let {prefix}{k}: {dtype} = {literal};\n" if not shape else \
                f"let {prefix}{k} = {program.type(shape)}({literal});\n"
    parts = [f"handle {call(program, names)} with reverseMode",
             f"handle {call(program, names)} with forwardMode({', '.join(f't{k}' for k in range(len(names)))})"]
    if second:
        parts.append(f"handle second{call(program, names)[1:]} with reverseMode")
    return text + "(" + ",\n ".join(parts) + ")\n"


def random_data(chance, shape):
    """Nested lists of multiples of 1/64 in [-1.5, 1.5]: exact in F32."""
    if not shape:
        return chance.randint(-96, 96) / 64
    return [random_data(chance, shape[1:]) for _ in range(shape[0])]


class Case:
    """A program that PyTorch finds well-conditioned, its text, and the numbers expected."""

    def __init__(self, torch, program, second):
        self.program = program
        chance = program.random
        arguments = [random_data(chance, shape) for _, shape in program.parameters]
        tangents = [random_data(chance, shape) for _, shape in program.parameters]
        exact = Reference(torch, program, arguments, torch.float64)
        self.want = [t.detach() for t in exact.first()]
        if second:
            self.want += [t.detach() for t in exact.second()]
        self.tangent_sum = sum(float(torch.sum(g * torch.tensor(t, dtype=torch.float64)))
                               for g, t in zip(self.want[1:1 + len(tangents)], tangents))
        self.scale = sum(float(torch.sum(torch.abs(g * torch.tensor(t, dtype=torch.float64))))
                         for g, t in zip(self.want[1:1 + len(tangents)], tangents))
        self.first_count = 1 + len(arguments)
        self.text = kina_text(program, arguments, tangents, second)
        # How far rounding alone moves the results, seen in F32 and scaled to the precision at hand.
        rough = Reference(torch, program, arguments, torch.float32)
        rough_got = rough.first() + (rough.second() if second else [])
        worst = max(self.error(g.detach().double(), w) for g, w in zip(rough_got, self.want))
        self.sound = exact.nearest > MARGIN[program.dtype] and worst < 0.3 * TOLERANCE["F32"] \
            and all(bool(torch.isfinite(w).all()) for w in self.want)

    @staticmethod
    def error(got, want):
        """The largest difference, relative to the larger of 1 and the tensor's largest element."""
        if not want.numel():
            return 0.0
        return float((got - want).abs().max()) / max(1.0, float(want.abs().max()))

    def judge(self, torch, run):
        if run.trouble() or run.code != 0:
            return run.trouble() or f"exit code {run.code}: {kina.first_line(run.err)}"
        got = kina.results(run)
        reverse, forward, second = got[:self.first_count], got[self.first_count:self.first_count + 2], \
            got[self.first_count + 2:]
        tolerance = TOLERANCE[self.program.dtype]
        if len(reverse + second) != len(self.want):
            return f"{len(got)} results, expected {len(self.want) + 2}"
        for result, want in zip(reverse + second + forward[:1], self.want + self.want[:1]):
            if result["dtype"] != self.program.dtype or result["shape"] != list(want.shape):
                return f"{result['name']}: {result['dtype']} {result['shape']}, expected {list(want.shape)}"
            value = torch.tensor([kina.number(x) for x in kina.flat(result["data"])], dtype=torch.float64)
            error = self.error(value.reshape(want.shape), want)
            if not error <= tolerance:
                return f"{result['name']}: off by {error:.1e}"
        total = sum(kina.number(x) for x in kina.flat(forward[1]["data"]))
        if not abs(total - self.tangent_sum) <= tolerance * max(1.0, self.scale) * 4:
            return f"tangent: its sum is {total}, expected {self.tangent_sum}"
        return None


def grow(torch, seed, index):
    """The index-th program of this seed."""
    from program import Program
    dtype = ("F64", "F32")[index % 2]
    for attempt in range(100):
        program = Program(f"{seed}/{index}/{attempt}", dtype)
        if max(len(program.functions), len(program.torch)) > 20000:
            continue
        case = Case(torch, program, second=index % 4 < 2)
        if case.sound:
            return case
    raise RuntimeError(f"program {index} of seed {seed}: no sound one in 100 tries")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(kina.ROOT, "build/kina-interp"))
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, metavar="K", help="print program K, in both texts, and stop")
    parser.add_argument("--keep", metavar="DIR", help="write every program there")
    options = parser.parse_args()
    torch = torch_or_skip("random programs", options.count)
    if options.show is not None:
        case = grow(torch, options.seed, options.show)
        print(case.text + "\n" + case.program.torch)
        return 0
    binary = kina.interpreter(options.bin)
    failed = 0
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(max_workers=2) as pool:
        folder = options.keep or scratch
        os.makedirs(folder, exist_ok=True)
        waiting = []
        for index in range(options.count):
            case = grow(torch, options.seed, index)
            path = os.path.join(folder, f"{index:03}.kina")
            with open(path, "w", encoding="utf-8") as f:
                f.write(case.text)
            waiting.append((index, case, pool.submit(kina.Run, binary, [path, "--format", "json"])))
        for index, case, run in waiting:
            try:
                why = case.judge(torch, run.result())
            except (ValueError, KeyError, TypeError) as error:
                why = f"{type(error).__name__}: {error}"
            if why:
                failed += 1
                print(f"FAIL program {index} ({case.program.dtype}): {why}"
                      f" [--seed {options.seed} --show {index} prints it]")
    print(f"{options.count - failed} passed, {failed} failed")
    return 1 if failed or not options.count else 0


if __name__ == "__main__":
    sys.exit(main())
