#!/usr/bin/env python3
"""The sessions that docs/ shows, typed once more in a terminal.

    tests/sessions.py --bin build/kina-interp
    tests/sessions.py --bin build/kina-interp --update    writes what they show; read its diff

In docs/*.md every ```session block is one: what stands behind a prompt is typed, and the block is what is on the
screen afterwards, 80 columns wide, to the letter. `…` in a line stands for what differs from run to run, such as a
time.
"""
import argparse
import glob
import os
import re
import sys
import tempfile

import kina
from prompt import MORE, PROMPT, Home, Prompt, need
from repl import difference

BLOCK = re.compile(r"^```session\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def typed(session):
    """[(prompt, what is typed behind it)]"""
    lines, prompts = [], (PROMPT,)
    for line in session.splitlines():
        prompt = next((p for p in prompts if line.startswith(p.rstrip())), None)
        # The second prompt stands directly below the first; elsewhere it is the margin of a message.
        prompts = (PROMPT, MORE) if prompt else (PROMPT,)
        if prompt:
            lines.append((prompt, line[len(prompt):]))
    return lines


def play(home, session):
    lines = typed(session)
    with Prompt(home) as t:
        for (_, line), (following, _) in zip(lines, lines[1:] + [(PROMPT, "")]):
            t.enter(line, following)
        # What is below the last answer is a prompt of no use.
        shown = [t.screen.text(row) for row in range(t.screen.row)]
        need(t.leave() == 0, f"it ended with {t.status}")
    return "".join(line + "\n" for line in shown)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/kina-interp")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    binary, tally = kina.interpreter(options.bin), kina.Tally()

    def judge(path, text, block):
        number = text.count("\n", 0, block.start(1)) + 1
        shown = block.group(1)
        with tempfile.TemporaryDirectory() as folder:
            try:
                now = play(Home(binary, folder), shown)
                why = difference(now, shown)
                if why and options.update:
                    shown, why = now, None
            except AssertionError as fault:
                why = str(fault)
        tally.judge(f"{path}, session in line {number}", why)
        return f"```session\n{shown}```"

    for path in sorted(glob.glob(os.path.join(kina.ROOT, "docs", "*.md"))):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        after = BLOCK.sub(lambda block: judge(os.path.relpath(path, kina.ROOT), text, block), text)
        if after != text:
            with open(path, "w", encoding="utf-8") as f:
                f.write(after)
    if tally.passed + tally.failed == 0:
        tally.judge("docs/", "there is no session")
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
