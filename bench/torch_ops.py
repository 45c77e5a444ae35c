#!/usr/bin/env python3
"""Measures whole ops against PyTorch: conv2d, softmax, sum, transpose, take and cumsum, forward and with the gradient.

    bench/torch_ops.py --bin build/kina-interp [--ops sum,take] [--sizes 1000,1000000] [--threads 1]

Each is the sum over what the op makes of so many F32 elements. A figure is microseconds of processor time on one
thread, else of the clock, and the least of --rounds, in each of which both are measured in turn; the ratio is Kina's
to PyTorch's. Kina's is the difference between twice as many runs and so many, so that starting does not count. For a fair comparison of large tensors both want GLIBC_TUNABLES=
glibc.malloc.hugetlb=1, and of threads OMP_WAIT_POLICY=PASSIVE; the script sets them for itself and for Kina.
"""
import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile
import time

TUNED = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", "OMP_WAIT_POLICY": "PASSIVE"}
CONV = {10 ** 3: (1, 4, 16), 10 ** 4: (1, 8, 35), 10 ** 5: (4, 8, 56), 10 ** 6: (8, 16, 88), 10 ** 7: (32, 32, 99)}


class Op:
    """name, its operands' shapes for n elements, the op in Kina on x (and y), and in torch."""

    def __init__(self, name, shapes, kina, torch, index=False, work=1):
        self.name, self.shapes, self.kina, self.torch = name, shapes, kina, torch
        self.index, self.work = index, work

    def runs(self, n):
        return max(3, min(3000, int(2e7 / n / self.work)))


def conv_shapes(n):
    batch, channels, side = CONV[min(CONV, key=lambda size: abs(size - n))]
    return [(batch, channels, side, side), (channels, channels, 3, 3)]


def square(n):
    side = math.isqrt(n)
    return (side, n // side)


OPS = [
    Op("conv2d", conv_shapes, "conv2d(x, y, padding=1)", "torch.nn.functional.conv2d(x, y, padding=1)", work=10),
    Op("softmax", lambda n: [(n // 100, 100)], "softmax(x)", "torch.softmax(x, -1)"),
    Op("sum", lambda n: [(n,)], "x", "x"),
    Op("transpose", lambda n: [square(n), square(n)[::-1]], "transpose(x) * y", "x.t() * y"),
    Op("take", lambda n: [(n,)], "take(x, at)", "torch.index_select(x, 0, at)", index=True),
    Op("cumsum", lambda n: [(n,)], "cumsum(x)", "torch.cumsum(x, 0)"),
]


def program(op, n, gradient, runs):
    shapes = [list(s) for s in op.shapes(n)]
    names = "xy"[:len(shapes)]
    text = "".join(f"let {name} = random_uniform({k}, {shape});\n" for k, (name, shape) in enumerate(zip(names, shapes)))
    if op.index:
        text += f"let at = mod(random_bits(9, [{n}]), {n});\n"
    parameters = ", ".join(f"{name}: tensor<F32, {shape}>" for name, shape in zip(names, shapes))
    call = f"loss({', '.join(names)})"
    grads = [f"d{name}" for name in names]
    step = f"let l = {call};"
    if gradient:
        step = f"let (l, {', '.join(grads)}) = handle {call} with reverseMode; " + " ".join(f"drop({g});" for g in grads)
    return (text + f"fn loss({parameters}) -> F32 {{ sum({op.kina}) }}\n"
            f"fn run(n: I32) -> F32 {{\n  let t = while (i < n) [t = 0.0, i = 0] {{ {step} (t + l, i + 1) }};\n  t\n}}\n"
            f"run({runs})\n")


class Kina:
    """The op in processes of its own: the same program with so many runs and with twice as many."""

    def __init__(self, binary, op, n, gradient, threads):
        self.binary, self.threads, self.runs = binary, threads, op.runs(n)
        self.programs = [program(op, n, gradient, times * self.runs) for times in (1, 2)]
        self.least = [math.inf, math.inf]

    def once(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".kina") as f:
            f.write(text)
            f.flush()
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run([self.binary, f.name, "--threads", str(self.threads)], check=True, stdout=subprocess.DEVNULL)
            wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        return wall if self.threads > 1 else after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def measure(self):
        self.least = [min(least, self.once(text)) for least, text in zip(self.least, self.programs)]

    def microseconds(self):
        return (self.least[1] - self.least[0]) / self.runs * 1e6


class Torch:
    """The op in this process."""

    def __init__(self, torch, op, n, gradient, threads):
        self.torch, self.gradient, self.runs, self.least = torch, gradient, op.runs(n), math.inf
        self.clock = time.perf_counter if threads > 1 else time.process_time
        self.operands = [torch.rand(shape, requires_grad=True) for shape in op.shapes(n)]
        self.scope = {"torch": torch, "at": torch.randint(0, n, (n,)) if op.index else None, **dict(zip("xy", self.operands))}
        self.code = compile(op.torch, op.name, "eval")

    def once(self):
        with self.torch.set_grad_enabled(self.gradient):
            total = eval(self.code, self.scope).sum()
        if self.gradient:
            for x in self.operands:
                x.grad = None
            total.backward()

    def measure(self):
        self.once()
        start = self.clock()
        for _ in range(self.runs):
            self.once()
        self.least = min(self.least, (self.clock() - start) / self.runs)

    def microseconds(self):
        return self.least * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/kina-interp")
    parser.add_argument("--ops", default=",".join(op.name for op in OPS))
    parser.add_argument("--sizes", default="1000,10000,100000,1000000,10000000")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if any(os.environ.get(key) != value for key, value in TUNED.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **TUNED})
    import torch
    torch.set_num_threads(options.threads)
    print(f"{'':10s} {'elements':>9s} {'forward':>10s} {'PyTorch':>10s} {'ratio':>6s} {'gradient':>10s} {'PyTorch':>10s} {'ratio':>6s}")
    for op in (op for op in OPS if op.name in options.ops.split(",")):
        for n in map(int, options.sizes.split(",")):
            figures = []
            for gradient in (False, True):
                both = [Kina(options.bin, op, n, gradient, options.threads),
                        Torch(torch, op, n, gradient, options.threads)]
                for _ in range(options.rounds):
                    for one in both:
                        one.measure()
                ours, theirs = (one.microseconds() for one in both)
                figures.append(f"{ours:10.1f} {theirs:10.1f} {ours / theirs:6.2f}")
            print(f"{op.name:10s} {n:9d} {' '.join(figures)}", flush=True)


if __name__ == "__main__":
    main()
