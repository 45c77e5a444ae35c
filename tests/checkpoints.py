#!/usr/bin/env python3
"""Random programs with loops in loops, branches and calls, under checkpoint policies, against the full tape.

    tests/checkpoints.py --bin build/kina-interp [--count 500] [--seed 1]

Every program holds one function several times over, with other @checkpoint decorators on its loops; primal,
gradients and forward-over-reverse products, of the third order too, must agree with the undecorated one to the bit.
Inputs hold zeros of both signs, infinities and NaN now and then. The last line is 'N passed, M failed'.
"""
import json
import os
import random
import subprocess
import sys

import kina

POLICIES = ["k=1", "k=2", "k=3", "k=7", "k=50", "k=auto", "slots=1", "slots=2", "slots=3", "slots=9",
            "memory=1MiB", "memory=2MiB", "memory=16MiB", 'slots=4, disk="/tmp"']
VARIANTS = 6


class Body:
    """Writes one random function body; `loops` counts the places for decorators."""

    def __init__(self, rng):
        self.rng, self.loops, self.names = rng, 0, 0

    def fresh(self, stem):
        self.names += 1
        return f"{stem}{self.names}"

    def scalar(self, env, depth):
        r = self.rng
        if depth == 0 or r.random() < 0.25:
            return r.choice(env["scalars"] + [f"({r.uniform(-1.5, 1.5):.3f} * one)"])
        kind = r.randrange(7)
        a = self.scalar(env, depth - 1)
        if kind == 0:
            return f"sum({self.vector(env, depth - 1)})"
        if kind == 1:
            return f"tanh({a})"
        if kind == 2:
            return f"({a} * {self.scalar(env, depth - 1)})"
        if kind == 3:
            return f"({a} + {self.scalar(env, depth - 1)})"
        if kind == 4:
            return f"sin({a})"
        if kind == 5:
            return f"({self.vector(env, depth - 1)})[{r.randrange(3)}]"
        return f"(if ({self.condition(env)}) {{ {a} }} else {{ {self.scalar(env, depth - 1)} }})"

    def vector(self, env, depth):
        r = self.rng
        if depth == 0 or r.random() < 0.2:
            return f"({r.choice(env['vectors'])} * 1.0)"
        kind = r.randrange(11)
        a = self.vector(env, depth - 1)
        if kind == 0:
            return f"sin({a})"
        if kind == 1:
            return f"tanh({a} + {self.vector(env, depth - 1)})"
        if kind == 2:
            return f"({a} * {self.scalar(env, depth - 1)})"
        if kind == 3:
            return f"({a} - {self.vector(env, depth - 1)})"
        if kind == 4:
            return f"relu({a})"
        if kind == 5:
            return f"maximum({a}, {self.vector(env, depth - 1)})"
        if kind == 6:
            return f"where({a} > 0.0, {self.vector(env, depth - 1)}, {a})"
        if kind == 7 and env["matrix"]:
            return f"tanh({a} @ {env['matrix']})"
        if kind == 8 and env["calls"]:
            return f"helper({a}, {self.scalar(env, depth - 1)})"
        if kind == 9:
            return f"take({a}, [2, 0, 2])"
        return f"(if ({self.condition(env)}) {{ {a} }} else {{ {self.vector(env, depth - 1)} }})"

    def condition(self, env):
        r = self.rng
        kind = r.randrange(4)
        if kind == 3:
            return f"slope({r.choice(env['scalars'])}) > {r.uniform(-1, 1):.2f}"
        if kind == 0 and env["counters"]:
            return f"{r.choice(env['counters'])} % 3 == {r.randrange(3)}"
        if kind == 1:
            return f"sum({r.choice(env['vectors'])}) > {r.uniform(-1, 1):.2f}"
        return f"{r.choice(env['scalars'])} < {r.uniform(-1, 1):.2f}"

    def loop(self, env, depth, indent):
        """A loop statement; returns (text, name of its vector, name of its scalar)."""
        r = self.rng
        v, s, i = self.fresh("v"), self.fresh("s"), self.fresh("i")
        place = self.loops
        self.loops += 1
        bound = r.choice(["n", "n + 2", str(r.randrange(0, 9))] + env["counters"])
        condition = f"{i} < {bound}"
        if r.random() < 0.3:
            condition = f"{i} < {bound} && sum(abs({v})) < {r.choice(['3.0', '40.0'])}"
        inner = dict(env, vectors=env["vectors"] + [v], scalars=env["scalars"] + [s],
                     counters=env["counters"] + [i])
        text = f"{indent}«{place}» let ({v}, {s}) = while ({condition}) [{v} = {self.vector(env, 1)}, " \
               f"{s}: F64 = {self.scalar(env, 1)}, {i} = 0] {{\n"
        swap = r.random() < 0.2
        if r.random() < 0.2:  # a loop whose result nothing reads, first in the body
            text += f"{indent}  let _ = while (k < 2) [q: F64 = {s}, k = 0] {{ (q * q, k + 1) }};\n"
        if r.random() < 0.2:  # decisions that only feed an effect
            text += f"{indent}  print(if ({self.condition(inner)}) {{ 1 }} else {{ 0 }});\n"
        if depth > 0 and r.random() < 0.6:
            nested, w, t = self.loop(inner, depth - 1, indent + "  ")
            text += nested
            inner = dict(inner, vectors=inner["vectors"] + [w], scalars=inner["scalars"] + [t])
            yields = [f"{w} * 0.5 + {self.vector(inner, 2)}", f"{t} + {self.scalar(inner, 1)}"]
        else:
            yields = [self.vector(inner, 2), self.scalar(inner, 2)]
        if swap:
            yields[1] = f"sum({v}) * 0.1"
        text += f"{indent}  (0.7 * {yields[0]} + 0.1 * {v}, 0.5 * {yields[1]}, {i} + 1)\n{indent}}};\n"
        return text, v, s

    def function(self):
        env = {"vectors": ["x", "w"], "scalars": ["a"], "counters": [], "matrix": "m", "calls": True}
        text, vectors, scalars = "", [], []
        for _ in range(self.rng.randrange(1, 3)):
            loop, v, s = self.loop(env, 2, "  ")
            text += loop
            vectors.append(v)
            scalars.append(s)
            env = dict(env, vectors=env["vectors"] + [v], scalars=env["scalars"] + [s])
        ends = [f"sum({v} * {v})" for v in vectors] + scalars
        return text + "  " + " + ".join(ends) + "\n"


def number(rng, special):
    if special and rng.random() < 0.15:
        return rng.choice(["0.0", "-0.0", "inf", "nan", "1e-300"])
    return f"{rng.uniform(-2, 2):.4f}"


def program(seed):
    rng = random.Random(seed)
    body = Body(rng)
    text = body.function()
    helper = Body(rng)
    env = {"vectors": ["x"], "scalars": ["a"], "counters": [], "matrix": None, "calls": False}
    inner, v, s = helper.loop(env, 0, "  ")
    helper_text = inner.replace("«0»", "«H»") + f"  {v} * {s} + x\n"
    decorators = []
    for variant in range(VARIANTS):
        if variant == 0:
            decorators.append(([""] * body.loops, ""))
        else:
            some = [f"@checkpoint({rng.choice(POLICIES)})" if rng.random() < 0.8 else ""
                    for _ in range(body.loops + 1)]
            decorators.append((some[:-1], some[-1]))
    params = "x: tensor<F64, [3]>, w: tensor<F64, [3]>, m: tensor<F64, [3, 3]>, a: F64, n: I32"
    out, ends = [], []
    for variant, (loops, in_helper) in enumerate(decorators):
        mine = text.replace("helper(", f"helper{variant}(")
        for place, decorator in enumerate(loops):
            mine = mine.replace(f"«{place}»", decorator)
        out.append(f"fn helper{variant}(x: tensor<F64, [3]>, a: F64) -> tensor<F64, [3]> {{\n"
                   f"  let n = 3;\n{helper_text.replace('«H»', in_helper)}}}\n")
        out.append(f"fn f{variant}({params}) -> F64 {{\n{mine}}}\n")
        out.append(f"fn g{variant}(x: tensor<F64, [3]>) -> tensor<F64, [3]> {{\n"
                   f"  let (y, dx, dw, dm, da) = handle f{variant}(x, w0, m0, a0, 3) with reverseMode; dx }}\n")
        out.append(f"fn h{variant}(x: tensor<F64, [3]>) -> tensor<F64, [3]> {{\n"
                   f"  let (_, d) = handle g{variant}(x) with forwardMode(t0); d }}\n")
        ends.append(f"handle f{variant}(x0, w0, m0, a0, 5) with reverseMode")
        ends.append(f"handle g{variant}(x0) with forwardMode(t0)")
        if seed % 3 == 0:
            ends.append(f"handle h{variant}(x0) with forwardMode(t0)")
    special = rng.random() < 0.3
    vector = lambda: "[" + ", ".join(number(rng, special) for _ in range(3)) + "]"
    inputs = (f"let one: F64 = 1.0;\nlet x0 = tensor<F64, [3]>({vector()});\nlet w0 = tensor<F64, [3]>({vector()});\n"
              f"let t0 = tensor<F64, [3]>({vector()});\n"
              f"let m0 = tensor<F64, [3, 3]>([{vector()}, {vector()}, {vector()}]);\n"
              f"let a0: F64 = {number(rng, False)};\n")
    # A gradient inside a condition, of a loop with a policy of its own.
    slope = ("fn bend(x: F64) -> F64 {\n"
             "  @checkpoint(k=2) let b = while (i < 3) [b = x, i = 0] { (sin(b) + 0.1 * x, i + 1) };\n  b\n}\n"
             "fn slope(x: F64) -> F64 { let (y, d) = handle bend(x) with reverseMode; d }\n")
    return inputs + slope + "".join(out) + "(" + ",\n ".join(ends) + ")\n"


def bits(results):
    """Numbers by their digits, which are exact; NaN equals NaN, -0.0 is not 0.0."""
    return json.dumps([r["data"] for r in results])


def first_error(text):
    lines = [line for line in text.splitlines() if line.startswith("error")]
    return lines[0] if lines else text[:200]


def check(binary, seed, folder):
    path = os.path.join(folder, f"p{seed}.kina")
    with open(path, "w", encoding="utf-8") as f:
        f.write(program(seed))
    run = subprocess.run([binary, path, "--format", "json"], capture_output=True, timeout=120)
    if run.returncode != 0:
        return f"exit {run.returncode}: {first_error(run.stderr.decode())}"
    results = json.loads(run.stdout)["results"]
    each = len(results) // VARIANTS
    first = bits(results[:each])
    for variant in range(1, VARIANTS):
        if bits(results[variant * each:(variant + 1) * each]) != first:
            return f"variant {variant} differs from the full tape"
    os.remove(path)
    return None


if __name__ == "__main__":
    sys.exit(kina.check_seeds(__doc__, check, 500))
