#!/usr/bin/env python3
"""Smoke test of kina-bench: its figures against what the policies promise, its formats, its messages.

    tests/bench.py --bin build/kina-bench

No time is asserted. The last line is 'N passed, M failed'.
"""
import argparse
import csv
import io
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

checks = {"passed": 0, "failed": 0}


def check(name, holds, found=""):
    checks["passed" if holds else "failed"] += 1
    if not holds:
        print(f"FAILED: {name}: {found}")


def run(binary, *args, env=None, timeout=120):
    return subprocess.run([binary, *args], capture_output=True, text=True, timeout=timeout, env=env,
                          stdin=subprocess.DEVNULL)


def advances(n, s):
    """t(n, s) of the binomial optimum."""
    r = 0
    while math.comb(s + r, s) < n:
        r += 1
    return r * n - math.comb(s + r, s + 1)


def executions(policy, n):
    kind, _, amount = policy.partition("=")
    if kind == "k":
        k = int(amount)
        states = -(-n // k)
        return 2 * n - (n - (states - 1) * k)
    if kind == "slots":
        return advances(n, int(amount)) + n
    return n


def rows_hold(rows, n):
    full = next(r for r in rows if r["policy"] == "all")
    for r in rows:
        name = f"N = {n}, {r['policy']}"
        check(f"{name}: bits", r["same_bits"] is True, r)
        check(f"{name}: times", r["seconds_forward"] > 0 and r["seconds_backward"] > 0, r)
        check(f"{name}: live bytes within the process's", r["peak_live_bytes"] < r["rss_bytes"], r)
        if r["policy"] == "auto":
            check(f"{name}: executions", n <= r["iterations"] <= 2 * n, r["iterations"])
        else:
            check(f"{name}: executions", r["iterations"] == executions(r["policy"], n), r["iterations"])
        if r["policy"] != "all":
            check(f"{name}: the schedule says so", r["iterations_scheduled"] == r["iterations"], r)
            check(f"{name}: fewer bytes", r["loop_bytes"] < full["loop_bytes"] or n < 10, r["loop_bytes"])
            check(f"{name}: counts add up", r["iterations_advanced"] + r["iterations_taped"] == r["iterations"], r)
            above = r["executions_per_iteration"] - r["optimum_per_iteration"]
            check(f"{name}: no better than the optimum", r["optimum_per_iteration"] >= 1 and above > -1e-5, r)
            check(f"{name}: as good as the optimum", r["policy"] != "slots=3" or above < 1e-5, r)
    check(f"N = {n}, k=4: states", next(r for r in rows if r["policy"] == "k=4")["states_kept"] == -(-n // 4))
    check(f"N = {n}: ratio of the reference", full["time_ratio"] == 1, full)


def resident(binary):
    """What the process holds follows the schedule too: states of a MiB, of which it keeps all, 8 + 8, or 4."""
    states, mib = 64, 1 << 20
    args = ["checkpoint", "--n", str(states), "--batch", "512", "--width", "512", "--policies", "all,k=8,slots=4,memory=16MiB"]
    done = run(binary, *args, "--runs", "1", "--cold", "--json")
    check("resident: exit", done.returncode == 0, done.stderr)
    rows = {r["policy"]: r for r in json.loads(done.stdout)["rows"]}
    spared = {"k=8": states - 16, "slots=4": states - 5, "memory=16MiB": states - 16}
    for policy, count in spared.items():
        less = rows["all"]["rss_bytes"] - rows[policy]["rss_bytes"]
        check(f"resident: {policy}", less > 0.8 * count * mib, f"{less / mib:.1f} MiB less than the full tape")
        over = rows[policy]["rss_bytes"] - rows[policy]["peak_live_bytes"]
        check(f"resident: {policy} beside what is live", 0 < over < 24 * mib, f"{over / mib:.1f} MiB more")


def formats(binary):
    args = ["checkpoint", "--n", "20,21", "--policies", "all,k=4,auto,slots=3", "--runs", "1"]
    run_json = run(binary, *args, "--json")
    check("json: exit", run_json.returncode == 0, run_json.stderr)
    data = json.loads(run_json.stdout)
    check("json: head", data["schema"] == 1 and data["bench"] == "checkpoint" and data["runs"] == 1, data)
    for n in (20, 21):
        rows = [r for r in data["rows"] if r["n"] == n]
        check(f"json: rows of {n}", [r["policy"] for r in rows] == ["all", "k=4", "auto", "slots=3"], rows)
        rows_hold(rows, n)
    table = list(csv.DictReader(io.StringIO(run(binary, *args, "--csv").stdout)))
    check("csv: rows", [r["policy"] for r in table] == 2 * ["all", "k=4", "auto", "slots=3"], table)
    for theirs, mine in zip(table, data["rows"]):
        for field in ("iterations", "states_kept", "peak_live_bytes", "loop_bytes", "bound_bytes"):
            check(f"csv and json: {field}", float(theirs[field]) == mine[field], (theirs[field], mine[field]))
    text = run(binary, *args)
    check("table", text.returncode == 0 and text.stdout.count("slots=3") == 2 and text.stderr == "", text.stderr)


PROGRAM = """// A loop of one's own.
let w = 0.5;
fn loss(x: tensor<F32, [K]>, n: I32) -> F32 {
  let y = while (i < n) [y = copy(x), i = 0] { (sin(y) * w + x, i + 1) };
  sum(y)
}
fn pair(x: F32, n: I32) { handle power(x, n) with reverseMode }
fn power(x: F32, n: I32) -> F32 { while (i < n) [y = x, i = 0] { (y * 1.01, i + 1) } }
fn fails(x: F32) -> F32 { assert(x > 2.0, "too small"); x }
print("never shown");
"""


def programs(binary, folder):
    path = os.path.join(folder, "p.kina")
    with open(path, "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    for args in (["--fn", "loss", "--arg", "x=[1.0,2.0]", "--n", "30"], ["--fn", "pair", "--arg", "x=1.5", "--arg", "n=30"]):
        done = run(binary, "checkpoint", path, *args, "--k", "1,7,30,40", "--json", "--runs", "1")
        check(f"{args}: exit", done.returncode == 0, done.stderr)
        rows = json.loads(done.stdout)["rows"] if done.returncode == 0 else []
        check(f"{args}: executions", [r["iterations"] for r in rows] == [30, 59, 58, 30, 30],
              [r["iterations"] for r in rows])
        check(f"{args}: bits", all(r["same_bits"] for r in rows), rows)
    small = run(binary, "checkpoint", path, "--fn", "loss", "--arg", "x=[1.0]", "--n", "9", "--policies", "all,memory=10",
                "--json", "--runs", "1")
    check("budget too small: exit", small.returncode == 1, small.returncode)
    check("budget too small: said", "budget" in json.loads(small.stdout)["rows"][1].get("refused", ""), small.stdout)
    bad = [
        (3, ["checkpoint", path.replace("p.kina", "q.kina"), "--fn", "f"]),
        (1, ["checkpoint", path, "--fn", "fails", "--arg", "x=1.0"]),
        (2, ["checkpoint", path, "--fn", "los"]),
        (2, ["checkpoint", path, "--n", "5"]),
        (6, ["checkpoint", os.path.join(folder, "none.kina")]),
    ]
    with open(path.replace("p.kina", "q.kina"), "w", encoding="utf-8") as f:
        f.write("fn f(x: F32) -> F32 { x + y }\n")
    return bad


def messages(binary, bad):
    for verb in ([], ["checkpoint"], ["ops"], ["printed"], ["accuracy"]):
        done = run(binary, *verb, "--help")
        check(f"{verb} --help", done.returncode == 0 and done.stdout.startswith("Examples:"), done.stdout[:80])
    bad = bad + [
        (2, []), (2, ["chekpoint"]), (2, ["checkpoint", "--polices", "all"]), (2, ["checkpoint", "--policies", "k=0"]),
        (2, ["checkpoint", "--n", "1,x"]), (2, ["checkpoint", "--k", "0"]), (2, ["checkpoint", "--json", "--csv"]),
        (2, ["checkpoint", "--plot", "a.pdf"]), (2, ["ops", "--n", "3"]), (2, ["accuracy", "--csv"]), (2, ["checkpoint", "--fn", "f"]),
        (2, ["checkpoint", "--progress", "fancy"]),
    ]
    for code, args in bad:
        done = run(binary, *args)
        check(f"{args}: exit {code}", done.returncode == code, (done.returncode, done.stderr))
        check(f"{args}: one error", done.stderr.count("error[") == 1 and done.stdout == "", done.stderr)
    alone = run(binary, "checkpoint", "--n", "5", "--plot", "a.svg", env={"PATH": "/nowhere"})
    check("no gnuplot", alone.returncode == 4 and "gnuplot-nox" in alone.stderr, alone.stderr)
    plain = run(binary, "checkpoint", "--n", "5", "--progress", "plain", "--runs", "1")
    check("progress", plain.returncode == 0 and "N = 5" in plain.stdout, plain.stderr)


def accuracy(binary):
    done = run(binary, "accuracy", "--samples", "2000", "--json")
    check("accuracy: exit", done.returncode == 0, done.stdout + done.stderr)
    rows = json.loads(done.stdout)["rows"]
    check("accuracy: functions", {"exp", "lgamma", "gelu", "pow"} <= {r["function"] for r in rows}, rows)
    for r in rows:
        most = 4 if r["function"] in ("lgamma", "digamma") else 1
        check(f"accuracy: {r['function']}", 0.4 < r["f32"] <= most and 0.4 < r["f64"] <= most
              and r["f32_reference"] <= 0.51, r)


def printed(binary):
    """Engine and printed programs have the same bits, or the exit code is 5."""
    done = run(binary, "printed", "--runs", "1", "--json")
    check("printed: exit", done.returncode == 0, done.stdout + done.stderr)
    data = json.loads(done.stdout)
    check("printed: head", data["bench"] == "printed" and data["lines"] == 300 and data["print_milliseconds"] > 0, data)
    rows = {r["name"]: r for r in data["rows"]}
    check("printed: rows", len(rows) == 5 and "@checkpoint(k=4)" in rows, rows)
    check("printed: times", all(r["engine_milliseconds"] > 0 and r["ratio"] > 0 for r in rows.values()), rows)


def beside_torch(binary):
    """Skipped without PyTorch."""
    if subprocess.run([sys.executable, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode:
        return 1
    script = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bench/torch_ops.py")
    done = subprocess.run([sys.executable, script, "--bin", os.path.join(os.path.dirname(binary), "kina-interp"), "--ops",
                           "sum,take", "--sizes", "1000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    check("beside PyTorch", done.returncode == 0 and [(r[0], len(r)) for r in rows] == [("sum", 8), ("take", 8)],
          done.stdout + done.stderr)
    return 0


def plots(binary, folder):
    """Skipped without gnuplot."""
    if shutil.which("gnuplot") is None:
        return 1
    for ending in ("svg", "png"):
        path = os.path.join(folder, f"it's.{ending}")
        done = run(binary, "checkpoint", "--n", "40", "--k", "sweep", "--policies", "all,auto,slots=3", "--runs", "1",
                   "--plot", path)
        check(f"{ending}: exit", done.returncode == 0 and done.stderr == "", done.stderr)
        check(f"{ending}: drawn", os.path.exists(path) and os.path.getsize(path) > 5000)
    each = os.path.join(folder, "e.svg")
    done = run(binary, "checkpoint", "--n", "40", "--k", "1,6", "--policies", "all,slots=3", "--runs", "1", "--plot", each,
               "--plot-each")
    drawn = sorted(f for f in os.listdir(folder) if f.startswith("e"))
    check("each", drawn == ["e-live.svg", "e-pareto.svg", "e-schedule.svg", "e-spacing.svg"], (drawn, done.stderr))
    nowhere = run(binary, "checkpoint", "--n", "5", "--runs", "1", "--plot", os.path.join(folder, "no", "x.svg"))
    check("unwritable picture", nowhere.returncode == 6, (nowhere.returncode, nowhere.stderr))
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default="build/kina-bench")
    binary = os.path.abspath(parser.parse_args().bin)
    resident(binary)
    formats(binary)
    accuracy(binary)
    printed(binary)
    with tempfile.TemporaryDirectory() as folder:
        messages(binary, programs(binary, folder))
        skipped = plots(binary, folder) + beside_torch(binary)
    print(f"{checks['passed']} passed, {checks['failed']} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if checks["failed"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
