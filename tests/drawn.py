#!/usr/bin/env python3
"""The random programs of tests/certify/, which draw on all ops, under checkpoint policies against the full tape.

    tests/drawn.py --bin build/kina-interp --drawer build/tests/certify [--count 300] [--seed 1]

Of each program's function the value, the gradients and a tangent of the first gradient are computed under two
policies, which must agree with the full tape to the bit. Ops that no program held are a failure too where there are
enough programs. The last line is 'N passed, M failed'.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import kina

POLICIES = ["k=1", "k=2", "k=3", "k=auto", "slots=1", "slots=2", "slots=5", "memory=1MiB"]
FUNCTION = re.compile(r"^fn f\((.*), n: I32, ids: tensor<I32, \[3\]>\) -> ", re.MULTILINE)
PARAMETER = re.compile(r"(\w+): (?:tensor<(F32|F64), \[([^\]]*)\]>|(F32|F64))")
DECORATOR = re.compile(r"@checkpoint\([^)]*\) ")
ENOUGH = 300  # programs that every op has to be among


def arguments(text, seed):
    """[(name, type, literal or call that makes it)] of f's floating parameters."""
    found = []
    for place, (name, dtype, dims, number) in enumerate(PARAMETER.findall(FUNCTION.search(text).group(1))):
        if number:
            found.append((name, number, f"{number}({0.25 * place - 0.5})"))
            continue
        shape = dims.replace("A", "3").replace("B", "2")
        found.append((name, f"tensor<{dtype}, [{shape}]>", f"random_normal({97 * seed + place}, [{shape}], {dtype})"))
    return found


def with_main(text, seed):
    """The program with the derivatives of f as its results, and without policies of its own."""
    given = arguments(text, seed)
    first, kind, value = given[0]
    rest = ", ".join([name for name, _, _ in given[1:]] + [f"{seed % 5}", "[2, 0, 1]"])
    lets = "".join(f"let {name}: {kind} = {value};\n" for name, kind, value in given)
    others = ", _" * (len(given) - 1)
    gradient = (f"fn first_gradient({first}: {kind}) -> {kind} {{\n"
                f"  let (_, d{others}) = handle f({first}, {rest}) with reverseMode;\n  d\n}}\n")
    return (DECORATOR.sub("", text) + lets + gradient +
            f"(handle f({first}, {rest}) with reverseMode,\n handle first_gradient({first}) with forwardMode({value}))\n")


def results(binary, path, policy):
    """The results' digits, which are exact; or the code of the error that ended the run."""
    command = [binary, path, "--format", "json"] + (["--checkpoint", policy] if policy else [])
    run = subprocess.run(command, capture_output=True, timeout=120)
    if run.returncode == 0:
        return json.dumps([r["data"] for r in json.loads(run.stdout)["results"]])
    found = kina.diagnostics(run.stderr.decode())
    codes = [code for code, *_ in found if code.startswith("K")]
    return codes[0] if codes and run.returncode > 0 else f"exit {run.returncode}: {kina.first_line(run.stderr.decode())}"


def check(binary, folder, seed, text):
    path = os.path.join(folder, f"p{seed}.kina")
    with open(path, "w", encoding="utf-8") as f:
        f.write(with_main(text, seed))
    whole = results(binary, path, None)
    if not whole.startswith(("[", "K05", "K0702")):  # it stops, or a rule for one mode alone meets the other
        return whole
    for policy in (POLICIES[seed % len(POLICIES)], POLICIES[(seed // len(POLICIES) + seed + 3) % len(POLICIES)]):
        under = results(binary, path, policy)
        if under != whole:
            return f"{policy} differs from the full tape: {under[:100]}, not {whole[:100]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--drawer", required=True)
    parser.add_argument("--count", type=int, default=ENOUGH)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    binary, tally = kina.interpreter(options.bin), kina.Tally()
    drawn = subprocess.run([kina.interpreter(options.drawer), "draw", str(options.count), str(options.seed)],
                           capture_output=True, text=True, check=True).stdout
    programs = re.findall(r"^// program (\d+)\n(.*?)(?=^// )", drawn, re.MULTILINE | re.DOTALL)
    ops = {name: int(count) for name, count in re.findall(r"^// op (\S+) (\d+)$", drawn, re.MULTILINE)}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda p: check(binary, folder, int(p[0]), p[1]), programs)
        for (seed, _), why in zip(programs, found):
            tally.judge(f"seed {seed}", why)
    print("ops: " + ", ".join(f"{name} {count}" for name, count in ops.items()))
    if options.count >= ENOUGH:
        missing = [name for name, count in ops.items() if count == 0]
        tally.judge("all ops", ", ".join(missing) or None)
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
