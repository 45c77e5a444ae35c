#!/usr/bin/env python3
"""The prompt through a pipe: each transcript of tests/repl/ once more, from the inputs in it.

    tests/repl.py --bin build/kina-interp [NAME …]
    tests/repl.py --bin build/kina-interp --update [NAME …]    writes the transcripts; read their diff

A transcript begins with the command, `$ kina-interp repl --echo …`, and goes on as its output, standard error
among it. Behind a prompt stands what is typed. To write a new one, write the command and the prompts with
their inputs, and update. Each runs in a folder of its own that holds the files of tests/repl/files/. `…` in a
line stands for what differs from run to run, such as a time.
"""
import argparse
import glob
import os
import re
import shlex
import shutil
import sys
import tempfile

import kina

FOLDER = os.path.join(kina.ROOT, "tests", "repl")
# Lines that are neither typed nor of a message, whose width is that of what it is about.
ANSWER = re.compile(r"^(?!kina> |  |error|warning|note|[ \d]*(?:\||-->|:::|=) ).*$", re.MULTILINE)
PROMPT, MORE = "kina> ", "    | "


def inputs(transcript):
    """What is typed in it; the last prompt, behind which nothing stands, is the end's."""
    lines, typed = [], False
    for line in transcript.splitlines():
        # The second prompt stands directly below the first; elsewhere it is the margin of a message.
        typed = line.startswith(PROMPT) or (typed and line.startswith(MORE))
        if typed:
            lines.append(line[len(PROMPT):])
    if transcript.endswith(PROMPT + "\n"):
        lines.pop()
    return "".join(line + "\n" for line in lines)


def same(got, want):
    """Whether a line is as the transcript has it, whose `…` may be anything if got has none there."""
    if got == want:
        return True
    return "…" in want and re.fullmatch(".*".join(map(re.escape, want.split("…"))), got) is not None


def difference(got, want):
    got, want = got.splitlines(), want.splitlines()
    for number, (g, w) in enumerate(zip(got, want), 2):
        if not same(g, w):
            return f"line {number}: {g!r}, expected {w!r}"
    return None if len(got) == len(want) else f"{len(got) + 1} lines, expected {len(want) + 1}"


def check(binary, path, update):
    with open(path, encoding="utf-8") as f:
        command, _, transcript = f.read().partition("\n")
    words = shlex.split(command)
    if words[:4] != ["$", "kina-interp", "repl", "--echo"]:
        return "its first line is not `$ kina-interp repl --echo …`"
    # stdin, stdout and stderr share a file, so that what is shown stands in the order in which it was written.
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(os.path.join(FOLDER, "files"), folder, dirs_exist_ok=True)
        script = f'exec "$0" {" ".join(map(shlex.quote, words[2:]))} 2>&1'
        run = kina.Run("/bin/sh", ["-c", script, binary], inputs(transcript), limit=60, cwd=folder)
    if run.trouble() or run.code != 0:
        return run.trouble() or f"exit code {run.code}: {run.out[-200:]!r}"
    wide = [line for line in ANSWER.findall(run.out) if len(line) > 80]
    if update and difference(run.out, transcript):
        with open(path, "w", encoding="utf-8") as f:
            f.write(command + "\n" + run.out)
        return None
    return difference(run.out, transcript) or (f"a line is wider than 80 columns: {wide[0]!r}" if wide else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/kina-interp")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    binary, tally = kina.interpreter(options.bin), kina.Tally()
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.txt"))):
        name = os.path.basename(path)[:-4]
        if not options.names or name in options.names:
            tally.judge(f"repl/{name}.txt", check(binary, path, options.update))
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
