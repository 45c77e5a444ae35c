#!/usr/bin/env python3
"""Holds the table of docs/language.md that says where PyTorch's gradient at a kink is another.

    tests/peers/kinks_torch.py --bin build/kina-interp

A row has an expression of x here and there, a point in F64, and the gradient of the sum there, here and there.
Both are computed, and have to be what the row says.
"""
import argparse
import json
import os
import re
import sys
import tempfile

from torch_or_skip import kina, torch_or_skip

ROW = re.compile(r"^\| `([^`]+)` \| `(torch\.[^`]+)` \| `(\[[^`]+\])` \| `(\[[^`]+\])` \| `(\[[^`]+\])` \|$", re.MULTILINE)


def numbers(text):
    return [float(x) for x in text.strip("[]").split(",")]


def ours(binary, expression, point):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kink.kina")
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"let at: tensor<F64, [{len(numbers(point))}]> = {point};\n"
                    f"fn f(x: tensor<F64, [N]>) -> F64 {{ sum({expression}) }}\n"
                    "let (_, d) = handle f(at) with reverseMode;\nd\n")
        run = kina.Run(binary, [path, "--format", "json"])
    return run.trouble() or [float(x) for x in json.loads(run.out)["results"][0]["data"]]


def theirs(torch, expression, point):
    x = torch.tensor(numbers(point), dtype=torch.float64, requires_grad=True)
    eval(expression, {"torch": torch, "x": x}).sum().backward()
    return x.grad.tolist()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(kina.ROOT, "build/kina-interp"))
    binary = kina.interpreter(parser.parse_args().bin)
    with open(os.path.join(kina.ROOT, "docs/language.md"), encoding="utf-8") as f:
        rows = ROW.findall(f.read())
    torch = torch_or_skip("kinks against PyTorch", len(rows))
    failed = 0
    for expression, other, point, here, there in rows:
        got = ours(binary, expression, point), theirs(torch, other, point)
        # As text, in which NaN equals itself.
        if str(got) != str((numbers(here), numbers(there))):
            failed += 1
            print(f"FAIL {expression} at {point}: {got}, not {here} and {there}")
    print(f"{len(rows) - failed} passed, {failed} failed")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
