#!/usr/bin/env python3
"""100,000 random programs through build/tests/certify, on all cores. What `make certify-long` runs.

    tests/certify/long.py build/tests/certify [COUNT]

Pieces of the seeds run side by side; the counts that they print are added up. A construct that one piece lacks is
no failure here if another holds it.
"""
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

PIECE = 2000
ROW = re.compile(r"^  (\S.*?) +(\d+)$", re.MULTILINE)
FIRST = re.compile(r"^(\d+) programs: (\d+) runs of the engine, (\d+) values; on (\d+) inputs", re.MULTILINE)


def run(program, first):
    done = subprocess.run([program, str(PIECE), str(first)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace")
    shown = done.stdout[:done.stdout.find("programs that held a")]
    for part in re.findall(r"^FAIL the program.*?(?=^FAIL|^\d+ programs:|\Z)", shown, re.MULTILINE | re.DOTALL):
        print(part, flush=True)
    return done.stdout, shown.count("FAIL the program"), done.returncode < 0


def main():
    program, total = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    start = time.monotonic()
    held, sums, failed, crashed = {}, [0, 0, 0, 0], 0, 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for output, failures, crash in pool.map(lambda first: run(program, first), range(1, total + 1, PIECE)):
            failed, crashed = failed + failures, crashed + crash
            for name, count in ROW.findall(output):
                held[name] = held.get(name, 0) + int(count)
            first = FIRST.search(output)
            if first:
                sums = [a + int(b) for a, b in zip(sums, first.groups())]
    print(f"{sums[0]} programs: {sums[1]} runs of the engine, {sums[2]} values; on {sums[3]} inputs both stopped with an error")
    for name, count in held.items():
        print(f"  {name:22} {count}")
    failed += crashed + sum(count == 0 for count in held.values())
    print(f"in {time.monotonic() - start:.0f} s")
    print(f"{sums[0]} passed, {failed} failed")
    return 1 if failed or not sums[0] else 0


if __name__ == "__main__":
    sys.exit(main())
