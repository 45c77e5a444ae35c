#!/usr/bin/env python3
"""kina-interp gradcheck: right derivatives pass, wrong rules are found, kinks are named.

    tests/gradcheck.py --bin build/kina-interp

Each program is checked on several seeds, along directions and element by element. RIGHT passes everywhere. WRONG holds
a rule with one mistake, and the verdict is DIFFERS for the parameters that are named. KINKED is right and not smooth at
the arguments given; the kink is named by its op (None: another branch) and line.
"""
import argparse
import os
import sys
import tempfile

import kina

SEEDS = ("0", "1", "2")

RIGHT = {
    "layers": """fn f(x: tensor<F64, [B, N]>, w: tensor<F64, [N, M]>, b: tensor<F64, [M]>, k: F64) -> tensor<F64, [B, M]> {
  tanh(0.1 * (x @ w + b)) * k
}""",
    "in F32": "fn f(x: tensor<F32, [N, M]>, b: tensor<F32, [M]>) -> F32 { sum(sigmoid(x + b) * sin(x)) }",
    "a loop": """fn f(x: F64, n: I32) -> F64 {
  let y = while (i < n + 3) [y = x, i = 0] { (sin(y) + 0.5 * x, i + 1) };
  y
}""",
    "both types": "fn f(x: F32, y: F64) -> F64 { F64(cos(x)) * exp(0.1 * y) }",
    "a rule of one's own": """fn back(x: F64, y: F64, d: F64) -> F64 { let _ = y; 2.0 * x * d }
fn along(x: F64, t: F64) -> F64 { 2.0 * x * t }
@vjp(back) @jvp(along) fn square_of(x: F64) -> F64 { x * x }
fn f(x: F64) -> F64 { square_of(x) * x }""",
    "a constant": "fn f(x: F64, y: F64) -> F64 { let _ = y; x * x }",
    "an ordinary derivative of a derivative": """fn g(x: F64) -> F64 { x * x * sin(x) }
fn f(x: F64) -> F64 { let (_, d) = handle g(x) with reverseMode; d }""",
    "many elements": "fn f(x: tensor<F64, [200]>) -> F64 { sum(x * x * x) }",
    "a small argument": "fn f(x: F64) -> F64 { log(1.0e-6 + 1.0e-7 * sin(x)) }",
}

# name: (program, the parameters of f whose derivatives are wrong)
WRONG = {
    "wrong sign": ("""fn back(x: tensor<{0}, [N]>, y: tensor<{0}, [N]>, d: tensor<{0}, [N]>) -> tensor<{0}, [N]> {{ let _ = y; -cos(x) * d }}
@vjp(back) fn g(x: tensor<{0}, [N]>) -> tensor<{0}, [N]> {{ sin(x) }}
fn f(x: tensor<{0}, [N]>, k: {0}) -> {0} {{ sum(g(x)) + k }}""", ["x"]),
    "wrong factor": ("""fn back(x: {0}, y: {0}, d: {0}) -> {0} {{ let _ = y; 1.99 * x * d }}
@vjp(back) fn g(x: {0}) -> {0} {{ x * x }}
fn f(x: {0}, k: {0}) -> {0} {{ g(x + 5.0) * exp(0.1 * k) }}""", ["x"]),
    "missing un-broadcast of a number": ("""fn back(x: tensor<{0}, [N]>, b: {0}, y: tensor<{0}, [N]>, d: tensor<{0}, [N]>) -> (tensor<{0}, [N]>, {0}) {{
  let _ = (x, b, y);
  (copy(d), d[0])
}}
@vjp(back) fn g(x: tensor<{0}, [N]>, b: {0}) -> tensor<{0}, [N]> {{ x + b }}
fn f(x: tensor<{0}, [N]>, b: {0}) -> tensor<{0}, [N]> {{ g(x, b) }}""", ["b"]),
    "missing un-broadcast of rows": ("""fn back(x: tensor<{0}, [N, M]>, b: tensor<{0}, [M]>, y: tensor<{0}, [N, M]>, d: tensor<{0}, [N, M]>)
    -> (tensor<{0}, [N, M]>, tensor<{0}, [M]>) {{
  let _ = (x, b, y);
  (copy(d), d[0])
}}
@vjp(back) fn g(x: tensor<{0}, [N, M]>, b: tensor<{0}, [M]>) -> tensor<{0}, [N, M]> {{ x + b }}
fn f(x: tensor<{0}, [N, M]>, b: tensor<{0}, [M]>) -> tensor<{0}, [N, M]> {{ g(x, b) }}""", ["b"]),
    "wrong forward rule": ("""fn along(x: {0}, t: {0}) -> {0} {{ 3.0 * x * t }}
@jvp(along) fn f(x: {0}) -> {0} {{ x * x }}""", ["x"]),
    "modes that disagree": ("""fn back(x: {0}, y: {0}, d: {0}) -> {0} {{ let _ = y; 2.0 * x * d }}
fn along(x: {0}, t: {0}) -> {0} {{ -2.0 * x * t }}
@vjp(back) @jvp(along) fn f(x: {0}) -> {0} {{ x * x }}""", ["x"]),
    "one element of many": ("""fn back(x: tensor<{0}, [100]>, y: {0}, d: {0}) -> tensor<{0}, [100]> {{
  let _ = y;
  2.0 * d * concat((x[0:99], [2.0 * x[99] + 1.0]))
}}
@vjp(back) fn f(x: tensor<{0}, [100]>) -> {0} {{ sum(x * x) }}""", ["x"]),
}

# name: (program, arguments, op, line)
KINKED = {
    "abs": ("fn f(x: F64) -> F64 { abs(x) }", ["x=0"], "abs", 1),
    "relu among smooth elements": ("fn f(x: tensor<F64, [N]>) -> F64 {\n  let y = x * 2.0;\n  sum(relu(y) * 3.0)\n}",
                                   ["x=[1,0,-2]"], "relu", 3),
    "relu in F32": ("fn f(x: tensor<F32, [N]>) -> F32 { sum(relu(x)) }", ["x=[1,0,-2]"], "relu", 1),
    "a tie": ("fn f(x: tensor<F64, [N]>) -> F64 { max(x) }", ["x=[1,3,3]"], "max", 1),
    "a step": ("fn f(x: F64) -> F64 { x + floor(x) }", ["x=2"], "floor", 1),
    "a mask": ("fn f(x: tensor<F64, [N]>) -> F64 {\n  sum(if (x > 0.0) { x } else { 3.0 * x })\n}", ["x=[0,1]"], ">", 2),
    "branches": ("fn f(x: F64) -> F64 {\n  if (x > 1.0) {\n    2.0 * x\n  } else {\n    x + 1.0\n  }\n}", ["x=1"], ">", 2),
    "the end of a domain": ("fn f(x: F64) -> F64 { sqrt(x) }", ["x=0"], "sqrt", 1),
}


class Checks(kina.Tally):
    def __init__(self, binary):
        super().__init__()
        self.binary = binary

    def run(self, program, *arguments):
        """(exit code, the JSON of f or None, what was said)."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "prog.kina"), "w", encoding="utf-8") as file:
                file.write(program + "\n")
            words = ["gradcheck", "prog.kina", "--fn", "f", *arguments]
            run = kina.Run(self.binary, [*words, "--format", "json"], cwd=folder)
            text = kina.Run(self.binary, words, cwd=folder)
        said = run.trouble() or text.trouble() or kina.first_line(run.err)
        if any(len(line) > 80 for line in text.out.splitlines()):
            said = "wider than 80 columns"
        if run.trouble() or run.code not in (0, 5) or text.code != run.code or said == "wider than 80 columns":
            return None, None, said
        return run.code, kina.read_json(run.out)["functions"][0], said

    def ways(self, program, *arguments):
        for seed in SEEDS:
            for way in ([], ["--full"]):
                yield f"seed {seed} {' '.join(way)}", self.run(program, "--seed", seed, *way, *arguments)

    def right(self):
        for name, program in RIGHT.items():
            for how, (code, found, said) in self.ways(program):
                wrong = found and [r for r in found["parameters"] if r["verdict"] == "DIFFERS"]
                self.judge(f"{name}, {how}", None if code == 0 and found["passed"] and not wrong else f"{said} {wrong}")

    def wrong(self):
        for name, (program, parameters) in WRONG.items():
            for kind in ("F32", "F64"):
                for how, (code, found, said) in self.ways(program.format(kind)):
                    named = found and [r["parameter"] for r in found["parameters"] if r["verdict"] == "DIFFERS"]
                    self.judge(f"{name}, {kind}, {how}", None if code == 5 and named == parameters else f"{said} {named}")

    def kinks(self):
        for name, (program, given, op, line) in KINKED.items():
            arguments = [word for argument in given for word in ("--arg", argument)]
            for how, (code, found, said) in self.ways(program, *arguments):
                row = found and found["parameters"][0]
                good = code == 0 and row["verdict"] == "kink" and (row["kink"]["op"], row["kink"]["line"]) == (op, line)
                self.judge(f"{name}, {how}", None if good else f"{said} {row}")

    def wrong_at_a_kink(self):
        """What the slopes to both sides cannot explain is a fault there too."""
        program = """fn back(x: F64, y: F64, d: F64) -> F64 { let _ = (x, y); -100.0 * d }
@vjp(back) fn g(x: F64) -> F64 { 100.0 * x }
fn f(x: F64) -> F64 { g(x) + abs(x) }"""
        for how, (code, found, said) in self.ways(program, "--arg", "x=0"):
            self.judge(f"wrong at a kink, {how}", None if code == 5 and not found["passed"] else f"{said} {found}")

    def both_modes(self):
        program = WRONG["modes that disagree"][0].format("F64")
        found = self.run(program)[1]
        self.judge("modes that disagree", None if found and found["modes"]["agree"] is False else f"{found}")
        found = self.run(RIGHT["layers"])[1]
        same = found and found["modes"]["checked"] and abs(found["modes"]["forward"] - found["modes"]["reverse"]) < 1e-9
        self.judge("modes that agree", None if same else f"{found}")

    def whole_programs(self):
        """Without --fn every function that can be checked is."""
        def says(program, code, *words):
            run = kina.Run(self.binary, ["gradcheck", "-e", program])
            missing = [word for word in words if word not in run.out + run.err]
            self.judge(program[:40], None if run.code == code and not missing else f"{run.code} {missing} {run.out}{run.err}")

        says("fn f(x: F64) -> F64 { x } fn g(n: I32) -> I32 { n } fn h(x: F32) -> F32 { x }", 0, "2 functions checked, 0 of them")
        says("fn f(n: I32) -> I32 { n }", 3, "K0209")
        says("fn f(x: F64) -> F64 { assert(x > 9.0); x } fn g(x: F64) -> F64 { x }", 0, "not checked: assertion failed", "1 function")
        says(WRONG["wrong sign"][0].format("F64"), 5, "DIFFERS", "of them wrong")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/kina-interp")
    checks = Checks(kina.interpreter(parser.parse_args().bin))
    checks.right()
    checks.wrong()
    checks.kinks()
    checks.wrong_at_a_kink()
    checks.both_modes()
    checks.whole_programs()
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
