#!/usr/bin/env python3
"""Random loops under memory=: no run takes more than its budget, and the budget that a refusal names works.

    tests/budgets.py --bin build/kina-interp [--count 40] [--seed 1]

Each loop is refused a budget of one byte first; the least that the refusal names is then tried, and multiples of it.
The peak is that of the run without iterations taken away, which has the weights and their gradients too. Results must
be those of the full tape to the bit, and a larger budget must not run bodies more often where no loop is inside. The
last line is 'N passed, M failed'.
"""
import json
import os
import random
import re
import subprocess
import sys

import kina

FACTORS = [1, 1.03, 1.2, 1.7, 3, 8, 30]
INNER = ["", "", "@checkpoint(k=2) ", "@checkpoint(k=auto) ", "@checkpoint(slots=2) ", "@checkpoint(memory=1MiB) "]


def expression(r, names, depth):
    if depth == 0:
        return r.choice(names)
    a = expression(r, names, depth - 1)
    b = expression(r, names, r.randrange(depth))
    return r.choice([f"sin({a})", f"tanh({a})", f"({a} * c)", f"({a} * {b})", f"({a} + {b})", f"relu({a})",
                     f"({a} / (1.0 + {b} * {b}))", f"(w * {a})", f"maximum({a}, {b})", f"({a} * sum({b}) * 0.01)"])


def inner_loop(r, names, place):
    trips = r.choice(["i % 5", "i / 9", "6", "i % 2 * 7"])
    condition = r.choice([f"j < {trips}", f"j < {trips} && sum(y) < 1e30"])
    body = f"(0.6 * {expression(r, names + ['y'], 2)} + 0.3 * y, j + 1)"
    return f"    {r.choice(INNER)}let v{place} = while ({condition}) [y = copy(x), j = 0] {{ {body} }};\n"


def program(seed):
    """The text with the trip count left open, and whether a loop is inside."""
    r = random.Random(seed)
    size = r.choice([1, 2, 5, 40, 300, 2000])
    names, text, nested = ["x"], "", r.random() < 0.5
    for place in range(r.randrange(1, 4)):
        if nested and (place == 0 or r.random() < 0.3):
            text += inner_loop(r, names, place)
        elif r.random() < 0.3:
            condition = r.choice(["i % 3 == 0", "sum(x) > 0.1"])
            text += f"    let v{place} = if ({condition}) {{ {expression(r, names, 2)} }} else {{ {r.choice(names)} * 0.5 }};\n"
        else:
            text += f"    let v{place} = {expression(r, names, r.randrange(1, 4))};\n"
        names.append(f"v{place}")
    more = r.random() < 0.3
    trips = "i < n" if r.random() < 0.5 else "i < n && sum(x) < 1e30"
    loop = (f"  let (x, {'s, ' if more else ''}i) = while ({trips}) [x = x0, {'s: F64 = 0.1, ' if more else ''}i = 0] {{\n"
            f"{text}    (0.5 * ({' + '.join(names[1:])}) + 0.3 * x, {'0.9 * s + sum(x), ' if more else ''}i + 1)\n  }};\n")
    return (f"fn f(x0: tensor<F64, [{size}]>, w: tensor<F64, [{size}]>, c: F64, n: I32) -> F64 {{\n{loop}"
            f"  sum(x * x){' + s' if more else ''}\n}}\n"
            f"handle f(random_uniform(1, [{size}], dtype=F64), random_uniform(2, [{size}], dtype=F64), 0.7, TRIPS) "
            "with reverseMode\n"), nested


def run(binary, text, budget=None):
    command = [binary, "-e", text, "--stats", "--format", "json"]
    if budget is not None:
        command += ["--checkpoint", f"memory={budget}"]
    return subprocess.run(command, capture_output=True, timeout=300)


def errors(process):
    lines = [line for line in process.stderr.decode().splitlines() if line.startswith("error")]
    return lines[0] if lines else ""


def outcome(process):
    out = json.loads(process.stdout)
    return json.dumps([one["data"] for one in out["results"]]), out["stats"]


def try_budgets(binary, text, least, nested):
    rest = outcome(run(binary, text.replace("TRIPS", "0")))[1]["peak_live_bytes"]
    text = text.replace("TRIPS", str(150 if nested else 300))
    right, _ = outcome(run(binary, text))
    before = None
    for factor in FACTORS:
        budget = int(least * factor)
        process = run(binary, text, budget)
        if process.returncode != 0:
            return f"memory={budget} ({factor} of the least): exit {process.returncode}: {errors(process)}"
        results, stats = outcome(process)
        if results != right:
            return f"memory={budget}: other results"
        if stats["peak_live_bytes"] - rest > budget:
            return f"memory={budget}: takes {stats['peak_live_bytes'] - rest} bytes"
        if not nested and before is not None and stats["iterations"] > before:
            return f"memory={budget}: {stats['iterations']} bodies, and {before} with less"
        before = stats["iterations"]
    return None


def check(binary, seed, folder):
    text, nested = program(seed)
    with open(os.path.join(folder, f"p{seed}.kina"), "w", encoding="utf-8") as f:
        f.write(text)
    refused = run(binary, text.replace("TRIPS", str(150 if nested else 300)), 1)
    named = re.search(rb"K0514.* at least (\d+) bytes", refused.stderr)
    if refused.returncode != 1 or named is None:
        return f"a byte is not refused: exit {refused.returncode}: {errors(refused)}"
    return try_budgets(binary, text, int(named.group(1)), nested)


if __name__ == "__main__":
    sys.exit(kina.check_seeds(__doc__, check, 40))
