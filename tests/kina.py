"""What the test drivers share: running the interpreter, reading its JSON, comparing numbers."""
import argparse
import concurrent.futures
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
# The exit code of an error by the hundreds of its number: K03xx is the source's fault, K05xx the run's.
EXIT = {"00": 3, "01": 3, "02": 3, "03": 3, "04": 3, "05": 1, "06": 6, "07": 4, "08": 2, "09": 70}
DIAGNOSTIC = re.compile(r"^(error|warning)\[([KW]\d+)\]: ", re.MULTILINE)
PLACE = re.compile(r"^\s*--> (.*):(\d+):(\d+)\s*$", re.MULTILINE)


class Run:
    """One run of the interpreter: code, out and err, and whether it took longer than `limit` seconds."""

    def __init__(self, binary, arguments, stdin="", limit=30.0, **more):
        data = stdin.encode() if isinstance(stdin, str) else stdin
        self.late = False
        try:
            done = subprocess.run([binary, *arguments], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  timeout=limit, **more)
            self.code, out, err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as late:
            self.code, self.late, out, err = None, True, late.stdout or b"", late.stderr or b""
        self.out, self.err = out.decode("utf-8", "replace"), err.decode("utf-8", "replace")

    def trouble(self):
        """A crash or a hang in words, else None: no test expects one."""
        if self.late:
            return "it did not end"
        if self.code < 0 or self.code in (70, 99):
            return f"it ended with {self.code}: {first_line(self.err)}"
        return None


class Tally:
    """Checks counted, the failed ones told as they come."""

    def __init__(self):
        self.passed = self.failed = 0

    def judge(self, what, why):
        if why:
            self.failed += 1
            print(f"FAIL {what}: {why}")
        else:
            self.passed += 1

    def end(self):
        """Says the counts; the exit code."""
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed else 0


def check_seeds(description, check, count):
    """The main function of a test of random programs. check(binary, seed, folder) gives what is wrong, or None."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", metavar="DIR", help="write the programs there and leave those that fail")
    a = parser.parse_args()
    binary, tally = interpreter(a.bin), Tally()
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(2) as pool:
        folder = a.keep or temporary
        os.makedirs(folder, exist_ok=True)
        seeds = range(a.seed, a.seed + a.count)
        for seed, why in zip(seeds, pool.map(lambda seed: check(binary, seed, folder), seeds)):
            tally.judge(f"seed {seed}", why)
    return tally.end()


def interpreter(path):
    """The absolute path of the interpreter under test; ends the script where there is none."""
    if not os.access(path, os.X_OK):
        sys.exit(f"there is no {path}: run `make` first")
    return os.path.abspath(path)


def first_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[0][:200] if lines else "(no message)"


def exit_code(code):
    """The exit code that goes with a diagnostic's code."""
    if code == "K0509":
        return 130
    return 3 if code.startswith("W") else EXIT[code[1:3]]


def diagnostics(text):
    """[(code, line or None, column or None, the whole text)] of what was printed on standard error."""
    marks = list(DIAGNOSTIC.finditer(text))
    found = []
    for mark, after in zip(marks, marks[1:] + [None]):
        block = text[mark.start():after.start() if after else len(text)]
        place = PLACE.search(block)
        line, column = (int(place.group(2)), int(place.group(3))) if place else (None, None)
        found.append((mark.group(2), line, column, block))
    return found


def integer(text):
    """A JSON number without point or exponent; -0 keeps its sign."""
    return -0.0 if text == "-0" else int(text)


def read_json(text):
    return json.loads(text, parse_int=integer)


def flat(data):
    if isinstance(data, list):
        for item in data:
            yield from flat(item)
    else:
        yield data


def layout(data):
    """The shape of nested lists; None where they are ragged."""
    if not isinstance(data, list):
        return []
    inner = [layout(item) for item in data]
    if not inner:
        return [0]
    return None if any(i is None or i != inner[0] for i in inner) else [len(data)] + inner[0]


def number(item):
    if isinstance(item, str):
        return WORDS[item]
    if isinstance(item, bool) or not isinstance(item, (int, float)):
        raise ValueError(f"{item!r} is not a number")
    return float(item)


def as_f32(x):
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def agrees(got, want, dtype, tolerance=None):
    """Equality to the bit (any NaN equals any NaN), or, with a tolerance, relative to the larger of 1 and |want|."""
    if dtype == "Bool":
        return isinstance(got, bool) and got is want
    if dtype in ("I32", "I64"):
        return not isinstance(got, (bool, str)) and isinstance(want, (int, float)) and got == want
    got, want = number(got), number(want)
    if dtype == "F32":
        got, want = as_f32(got), as_f32(want)
    if math.isnan(got) or math.isnan(want):
        return math.isnan(got) and math.isnan(want)
    if tolerance is None or math.isinf(got) or math.isinf(want):
        return got == want and math.copysign(1, got) == math.copysign(1, want)
    return abs(got - want) <= tolerance * max(1.0, abs(want))


def results(run):
    """The list of results that a run with --format json printed; ValueError where it is not what it should be."""
    try:
        whole = read_json(run.out)
    except ValueError:
        raise ValueError(f"standard output is not one JSON object: {run.out[:80]!r}")
    if not isinstance(whole, dict) or whole.get("schema") != 1 or not isinstance(whole.get("results"), list):
        raise ValueError("no schema 1 with a list of results")
    for result in whole["results"]:
        if set(result) != {"name", "dtype", "shape", "data"}:
            raise ValueError(f"a result has the keys {sorted(result)}")
        if 0 not in result["shape"] and layout(result["data"]) != result["shape"]:
            raise ValueError(f"data nested as {layout(result['data'])}, shape says {result['shape']}")
        if result["dtype"] not in ("F32", "F64", "I32", "I64", "Bool"):
            raise ValueError(f"the dtype {result['dtype']}")
    return whole["results"]


def f64_literal(x):
    """x as Kina writes it: a float literal has digits on both sides of its point."""
    text = repr(float(x))
    mantissa, e, exponent = text.partition("e")
    return (mantissa if "." in mantissa else mantissa + ".0") + e + exponent


def list_literal(data, literal=f64_literal):
    if isinstance(data, (list, tuple)):
        return "[" + ", ".join(list_literal(item, literal) for item in data) + "]"
    return literal(data)
