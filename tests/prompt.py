#!/usr/bin/env python3
"""The prompt in a terminal, as someone sees it who types there: tests/prompt.py --bin build/kina-interp

Each test has a home of its own. What is typed and what is shown goes through a pty (tests/terminal.py); transcripts
through a pipe are tests/repl.py's.
"""
import argparse
import os
import re
import signal
import sys
import tempfile
import time

import kina
from terminal import PATIENCE, Terminal

PROMPT = "kina> "
MORE = "    | "
UP, DOWN, RIGHT, LEFT, DELETE = "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[3~"


def ctrl(letter):
    return chr(ord(letter) & 0x1F)


class Prompt(Terminal):
    """A session at its first prompt."""

    def __init__(self, home, *arguments, env=None, first=PROMPT, **more):
        self.home = home
        own = {"HOME": home.path, "TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1"}
        super().__init__([home.binary, *(arguments or ["repl"])], env={**own, **(env or {})}, cwd=home.path, **more)
        if first is not None:
            self.wait_for_line(first)

    def enter(self, keys, prompt=PROMPT):
        """Types keys and Enter; what is shown until the next prompt."""
        return self.press(keys + "\r", prompt)

    def value(self, keys):
        """The same with an expression: its value as it is shown."""
        shown = self.enter(keys)
        need(shown and " = " in shown[-1], f"{shown} is no value")
        return shown[-1].split(" = ", 1)[1]

    def press(self, keys, prompt=PROMPT):
        """Types keys that lead to a new prompt."""
        row = self.screen.row
        self.send(keys)
        self.wait_for_line(prompt, below=row)
        return [self.screen.text(line) for line in range(row + 1, self.screen.row)]

    def type(self, keys, line, column=None):
        """Types keys, upon which the line is this one."""
        self.send(keys)
        self.wait_for_line(line, column)

    def leave(self):
        self.send(ctrl("D"))
        return self.wait()


class Home:
    def __init__(self, binary, path):
        self.binary, self.path = binary, path

    def file(self, name, content):
        path = os.path.join(self.path, name)
        with open(path, "wb") as f:
            f.write(content if isinstance(content, bytes) else content.encode())
        return path

    def read(self, name):
        with open(os.path.join(self.path, name), encoding="utf-8") as f:
            return f.read()


def need(truth, why):
    if not truth:
        raise AssertionError(why)


def same(found, expected):
    need(found == expected, f"{found!r} is not {expected!r}")


# ---- a line ----

def test_editing(home):
    with Prompt(home) as t:
        t.type("1 + 1", PROMPT + "1 + 1")
        t.type(LEFT + LEFT + LEFT + LEFT + "0", PROMPT + "10 + 1", len(PROMPT) + 2)
        t.type(ctrl("E") + "\x7f" + "5", PROMPT + "10 + 5")
        t.type(ctrl("A") + DELETE, PROMPT + "0 + 5", len(PROMPT))
        t.type("2" + RIGHT + RIGHT + ctrl("K") + "* 3", PROMPT + "20 * 3")
        same(t.value(""), "60")
        t.type("1 + qqq" + ctrl("W"), PROMPT + "1 + ")
        t.type(ctrl("U") + "2 * 4", PROMPT + "2 * 4")
        same(t.value(LEFT + LEFT), "8")
        same(t.leave(), 0)


def test_characters(home):
    """Beyond ASCII, in the middle of a line too, and whatever the locale says."""
    for locale in ("C.UTF-8", "C"):
        with Prompt(home, env={"LANG": locale}) as t:
            t.type('print("é∂日本', PROMPT + 'print("é∂日本', len(PROMPT) + 13)
            t.type(LEFT + LEFT + "\x7fx", PROMPT + 'print("éx日本', len(PROMPT) + 9)
            same(t.enter(ctrl("E") + '")'), ["éx日本"])
            # What is no UTF-8 is passed over.
            t.send(b"1 \xff+\xe2\x28 1")
            t.wait_for_line(PROMPT + "1 +( 1")
            same(t.value("\x7f" * 3 + " 2"), "3")


def test_long_lines(home):
    with Prompt(home, columns=20) as t:
        t.type("11+22+33+44+55+6", "+6")
        t.type(ctrl("A") + "100+", PROMPT + "100+11+22+33+4", len(PROMPT) + 4)
        t.wait_until(lambda: t.screen.text(t.screen.row + 1) == "4+55+6", "the rest of the line")
        t.type(ctrl("E") + "\x7f" * 6, "")
        same(t.value("4"), "210")


def test_several_lines(home):
    with Prompt(home) as t:
        t.enter("fn f(x: F64) -> F64 {", MORE)
        t.enter("  x * x", MORE)
        t.enter("}")
        t.enter("1.0 +", MORE)
        same(t.value("f(3.0)"), "10.0")
        # It comes back whole, and is edited whole.
        t.type(UP, "f(3.0)")
        t.type(UP, "}")
        same(t.screen.text(t.screen.row - 2), PROMPT + "fn f(x: F64) -> F64 {")
        t.type(LEFT + LEFT + " * x", "  x * x * x")
        t.press("\r")
        same(t.value("f(3.0)"), "27.0")
        need("fn f(x: F64) -> F64 {\\n  x * x * x\\n}\n" in home.read(".kina_history"), "the history's file")


# ---- completion ----

def test_completion(home):
    home.file("weights.npy", b"")
    os.mkdir(os.path.join(home.path, "data"))
    home.file("data/x.npy", b"")
    with Prompt(home) as t:
        t.type("softp\t", PROMPT + "softplus")
        t.type(ctrl("U") + "squ", PROMPT + "squ")
        t.send("\t")
        t.wait_for_text("square   squeeze")
        t.wait_for_line(PROMPT + "squ")
        t.type("a\t(2.0)", PROMPT + "square(2.0)")
        same(t.value(""), "4.0")
        bells = t.screen.bells
        t.send("qqq\t")
        t.wait_until(lambda: t.screen.bells > bells, "a bell")
        t.type("", PROMPT + "qqq")
        t.press(ctrl("C"))
        t.enter("let alpha = 1.5")
        t.type("alp\t", PROMPT + "alpha")
        t.press(ctrl("C"))
        t.type(":rel\t", PROMPT + ":reload")
        t.press(ctrl("C"))
        t.type('load("wei\t', PROMPT + 'load("weights.npy')
        t.press(ctrl("C"))
        t.type(":load da\tx\t", PROMPT + ":load data/x.npy")
        t.press(ctrl("C"))
        # In the middle of a line what stands behind the cursor stays.
        t.type("(2.0)" + ctrl("A") + "squa\t", PROMPT + "square(2.0)", len(PROMPT) + 6)
        t.press(ctrl("C"))
        # Where there is nothing to complete a line is indented.
        t.enter("fn f(beta: F64) -> F64 {", MORE)
        t.type("\tbet\t", MORE + "  beta")
        t.press(ctrl("C"))
        same(t.leave(), 0)


def test_completion_below_a_long_line(home):
    with Prompt(home, columns=20, rows=12) as t:
        t.type("11+22+33+44+55+squ" + LEFT * 18, PROMPT + "11+22+33+44+55", len(PROMPT))
        t.type(RIGHT * 18, "+squ")
        t.send("\t")
        t.wait_for_text(PROMPT, times=2)
        t.wait_for_line("+squ")
        same(t.shown().splitlines(),
             [PROMPT + "11+22+33+44+55", "+squ", "square   squeeze", PROMPT + "11+22+33+44+55", "+squ"])
        t.press(ctrl("C"))
        row = t.screen.row
        t.type("squ+11+22+33+44+55", "4+55")
        t.type(LEFT * 15, PROMPT + "squ+11+22+33+4", len(PROMPT) + 3)
        t.send("\t")
        t.wait_for_line(PROMPT + "squ+11+22+33+4", len(PROMPT) + 3, below=row)
        same(t.shown().splitlines()[row:],
             [PROMPT + "squ+11+22+33+4", "4+55", "square   squeeze", PROMPT + "squ+11+22+33+4", "4+55"])


# ---- history ----

def test_history_across_sessions(home):
    with Prompt(home) as t:
        for line in ("1 + 1", "2 * 3", "let w = 4"):
            t.enter(line)
        same(t.leave(), 0)
    with Prompt(home) as t:
        t.type(UP, PROMPT + "let w = 4")
        t.type(UP + UP, PROMPT + "1 + 1")
        t.type(DOWN, PROMPT + "2 * 3")
        same(t.value(""), "6")
        t.type("new", PROMPT + "new")
        t.type(UP, PROMPT + "2 * 3")
        t.type(DOWN, PROMPT + "new")
        t.press(ctrl("C"))
        same(t.leave(), 0)
    same(home.read(".kina_history"), "1 + 1\n2 * 3\nlet w = 4\n2 * 3\n")


def test_search(home):
    home.file(".kina_history", "let w = 2\nw * 3\nw * 4\nsum([1, 2])\n")
    with Prompt(home) as t:
        t.send(ctrl("R"))
        t.wait_for_line("(search) : ")
        t.type("w *", "(search) w *: w * 4")
        t.type(ctrl("R"), "(search) w *: w * 3")
        t.type(ctrl("R"), "(failed search) w *: w * 3")
        t.type("\x7f" * 3, "(search) : sum([1, 2])")
        # Enter enters it.
        same(t.value(""), "3")
        # ^G gives back what was there; another key goes on with the entry.
        t.type("abc", PROMPT + "abc")
        t.type(ctrl("R") + "let", "(search) let: let w = 2")
        t.type(ctrl("G"), PROMPT + "abc")
        t.type(ctrl("U") + ctrl("R") + "let" + ctrl("E") + "5", PROMPT + "let w = 25")
        t.type(ctrl("U") + ctrl("R") + "* 4" + ctrl("A"), PROMPT + "w * 4", len(PROMPT))
        t.press(ctrl("C"))
        t.type(ctrl("R") + "w", "(search) w: w * 4")
        t.press(ctrl("C"))
        same(t.leave(), 0)


def test_unusable_history(home):
    """One message at most, the file as it was, and a session that goes on."""
    path = os.path.join(home.path, ".kina_history")
    for content in (b"a\0b\n", b"caf\xe9\n", bytes(range(256)) * 5000):
        home.file(".kina_history", content)
        with Prompt(home) as t:
            need(t.shown().count("is not text") == 1 and t.shown().count("error") == 1, t.shown())
            t.enter("1 + 1")
            t.type(UP, PROMPT + "1 + 1")
            same(t.value(""), "2")
            same(t.leave(), 0)
        with open(path, "rb") as f:
            need(f.read() == content, "the file was written to")
    os.unlink(path)
    os.mkdir(path)
    with Prompt(home) as t:
        need("cannot read the history" in t.shown(), t.shown())
        same(t.value("1 + 1"), "2")
        same(t.leave(), 0)
    os.rmdir(path)
    home.file(".kina_history", "".join(f"{n} + 1\n" for n in range(1000000)))
    with Prompt(home) as t:
        need("error" not in t.shown(), t.shown())
        t.type(UP, PROMPT + "999999 + 1")
        same(t.value(""), "1000000")
        same(t.leave(), 0)
    with Prompt(home, env={"KINA_HISTORY": "none/history"}) as t:
        t.enter("1 + 1")
        t.enter("2 + 2")
        need(t.shown().count("error") == 1, t.shown())
        same(t.leave(), 0)


# ---- Ctrl-C, Ctrl-D, Ctrl-Z ----

def test_interrupt_of_a_line(home):
    with Prompt(home) as t:
        t.type("1 + q", PROMPT + "1 + q")
        same(t.press(ctrl("C")), [])
        t.enter("fn f(x: F64) -> F64 {", MORE)
        t.press(ctrl("C"))
        same(t.value("1 + 1"), "2")
        # What is typed behind it before anyone reads is the next line, and is not interrupted.
        for n in range(20):
            row = t.screen.row
            t.send("abc" + ctrl("C") + f"{n} + 1\r")
            t.wait_until(lambda: any(t.screen.text(line).startswith(("it:", "error")) for line in range(row, t.screen.row)),
                         "an answer")
            t.wait_for_line(PROMPT, below=row)
            need(f"it: I32 = {n + 1}" in [t.screen.text(line) for line in range(row, t.screen.row)], "it was interrupted")
        same(t.leave(), 0)


ENDLESS = "while (true) [x = 0.0] { x + 1.0 }"


def test_interrupt_of_an_evaluation(home):
    """It stops the evaluation and nothing else."""
    with Prompt(home) as t:
        t.enter("let w = 3")
        t.enter("fn slow(x: F64) -> F64 { while (true) [y = x] { y + 1.0 } }")
        for line in (ENDLESS, f":time {ENDLESS}", f"let w = {ENDLESS}", ":grad slow(1.0)", ":plot slow 0 1", ":check slow"):
            row = t.screen.row
            t.send(line + "\r")
            t.wait_until(lambda: t.screen.row > row, "the next line")
            t.press(ctrl("C"))
            need(any("K0509" in shown for shown in t.shown().splitlines()[row:]), f"{line}: {t.end_shown()}")
        same(t.value("w + 1"), "4")
        same(t.leave(), 0)


def poll(true):
    """Waits for what no terminal shows."""
    end = time.monotonic() + PATIENCE
    while not true():
        need(time.monotonic() < end, "waited in vain")
        time.sleep(0.001)


def pending(process):
    """A signal has not reached it yet."""
    with open(f"/proc/{process}/status", encoding="ascii") as f:
        return re.search(r"^ShdPnd:\s*0*([0-9a-f]*)$", f.read(), re.MULTILINE).group(1) != ""


def busy(process):
    """It has computed for a tenth of a second."""
    with open(f"/proc/{process}/stat", encoding="ascii") as f:
        return int(f.read().rsplit(")", 1)[1].split()[11]) >= os.sysconf("SC_CLK_TCK") // 10


def test_interrupts_of_a_long_op(home):
    """Twice while an op runs, which looks at neither."""
    with Prompt(home, "repl", "--numerics", "compiled") as t:
        t.enter("let w = ones([3000, 3000])")
        row = t.screen.row
        t.send("w @ w\r")
        t.wait_until(lambda: t.screen.row > row, "the next line")
        poll(lambda: busy(t.process))
        for _ in range(2):
            os.kill(t.process, signal.SIGINT)
            poll(lambda: not pending(t.process))
        t.wait_for_line(PROMPT, below=row)
        same(t.value("1 + 1"), "2")
        same(t.leave(), 0)


def test_interrupt_of_a_flood(home):
    """While nobody reads what the evaluation prints."""
    with Prompt(home) as t:
        t.enter("let w = 3")
        row = t.screen.row
        t.send("while (true) [x = 0.0] { print(x); x + 1.0 }\r")
        t.wait_until(lambda: t.screen.row > row + 100, "what it prints")
        os.kill(t.process, signal.SIGINT)
        t.wait_for_line(PROMPT, below=row + 100)
        same(t.value("w + 1"), "4")
        same(t.leave(), 0)


def test_end(home):
    with Prompt(home) as t:
        same(t.leave(), 0)
    with Prompt(home) as t:
        # In a line it deletes, and does not leave.
        t.type("12" + LEFT + ctrl("D") + "3", PROMPT + "13")
        same(t.value(""), "13")
        t.send(":quit\r")
        same(t.wait(), 0)


def test_stop(home):
    """Ctrl-Z gives the terminal back to the shell; with `fg` the line is there again."""
    with Terminal(["/bin/sh", "-i"], env={"PS1": "shell$ ", "HOME": home.path, "TERM": "xterm"}, cwd=home.path) as t:
        t.wait_for_text("shell$")
        t.send(f"{home.binary} repl\r")
        t.wait_for_line(PROMPT)
        t.send("1 + 41")
        t.wait_for_line(PROMPT + "1 + 41")
        t.send(ctrl("Z"))
        t.wait_for_text("Stopped")
        t.wait_for_text("shell$", times=2)
        t.send("stty -a | grep -o '[-]*icanon'; echo do\"\"ne\r")
        t.wait_for_text("done")
        need(re.search(r"(?<!-)icanon$", t.shown(), re.MULTILINE), "the shell's terminal is raw")
        t.send("fg\r")
        t.wait_for_line(PROMPT + "1 + 41")
        t.send("\r")
        t.wait_for_line(PROMPT)
        need(" = 42\n" in t.shown(), t.shown())


# ---- the terminal ----

def test_rewrapped(home):
    """A terminal that breaks lines anew when its width changes: nothing that stands above is lost."""
    with Prompt(home, columns=40, rows=10) as t:
        t.enter("1 + 1")
        t.type("11+22+33+44+55+66", PROMPT + "11+22+33+44+55+66")
        for columns, last in ((20, "+66"), (14, "+44+55+66"), (60, PROMPT + "11+22+33+44+55+66")):
            t.raw.clear()
            t.resize(columns, 10, rewrap=True)
            t.wait_until(lambda: PROMPT.encode() in t.raw, "the prompt drawn anew")
            t.wait_for_line(last)
            same(t.screen.text(1), "it: I32 = 2")
        same(t.value(""), "231")


def test_resize(home):
    with Prompt(home, columns=40, rows=10) as t:
        t.enter("1 + 1")
        t.type("11+22+33+44+55+66", PROMPT + "11+22+33+44+55+66")
        t.resize(20, 10)
        t.wait_for_line("+66")
        t.type(ctrl("A"), PROMPT + "11+22+33+44+55", len(PROMPT))
        t.resize(60, 10)
        t.wait_for_line(PROMPT + "11+22+33+44+55+66", len(PROMPT))
        same(len(t.shown().splitlines()), 3)
        same(t.value(""), "231")
        same(t.leave(), 0)


def test_vanishing_terminal(home):
    for busy in (False, True):
        with Prompt(home) as t:
            t.enter("let kept = 1")
            if busy:
                row = t.screen.row
                t.send(ENDLESS + "\r")
                t.wait_until(lambda: t.screen.row > row, "the next line")
            else:
                t.type("half a li", PROMPT + "half a li")
            t.hang_up()
            need(t.wait() in (0, -signal.SIGHUP), f"it ended with {t.status}")
        need(home.read(".kina_history").startswith("let kept = 1\n"), "the history is kept")


def test_vanishing_terminal_of_a_process_that_stays(home):
    """Under nohup the signal does not end it; the end of its input does."""
    with Prompt(home, env={"IGNORE": "HUP"}) as t:
        os.kill(t.process, 0)
    with Terminal(["/bin/sh", "-c", f"trap '' HUP; exec {home.binary} repl"],
                  env={"HOME": home.path, "TERM": "xterm"}, cwd=home.path) as t:
        t.wait_for_line(PROMPT)
        t.hang_up()
        same(t.wait(), 0)


def test_paste(home):
    """A megabyte in one line, and many lines at once."""
    with Prompt(home) as t:
        t.send("1" + " + 1" * 250000 + "\r")
        t.wait_for_text(" = 250001")
        same(t.value("1 + 1"), "2")
        t.send("x" * 1000000 + "\r")
        t.wait_for_text("K0101")
        t.send("".join(f"{n} + 1\r" for n in range(200)))
        t.wait_for_text(" = 200\n" + PROMPT.rstrip())
        same(t.leave(), 0)


def test_simple_terminals(home):
    """Where no cursor can be moved lines are read as they come, and nothing but text is written."""
    for name in ("dumb", ""):
        with Prompt(home, env={"TERM": name, "NO_COLOR": ""}) as t:
            same(t.value("1 + 1"), "2")
            t.enter("fn f(x: F64) -> F64 {", MORE)
            t.enter("x }")
            t.enter("1 + true")
            need(b"\x1b" not in t.raw, "escapes")
            same(t.leave(), 0)


def test_without_libedit(home):
    """One message, and lines as they come."""
    library = home.file("libedit.so.2", "no library")
    with Prompt(home, env={"LD_LIBRARY_PATH": os.path.dirname(library)}) as t:
        need(t.shown().count("libedit is missing") == 1, t.shown())
        same(t.value("1 + 1"), "2")
        same(t.leave(), 0)


def test_color(home):
    with Prompt(home, env={"NO_COLOR": ""}) as t:
        t.enter("1 + true")
        need(b"\x1b[1;31m" in t.raw or b"\x1b[31m" in t.raw, "an error has color on a terminal")
    with Prompt(home) as t:
        t.enter("1 + true")
        t.enter("[1.0, 2.0]")
        need(not re.search(rb"\x1b\[[0-9;]+m", bytes(t.raw)), "NO_COLOR is obeyed")


# ---- where it begins ----

def test_without_a_verb(home):
    with Prompt(home, "--color", "never") as t:
        same(t.value("1 + 1"), "2")
        same(t.leave(), 0)


def test_rc(home):
    home.file(".kinarc", "// mine\nfn f(x: F64) -> F64 {\n  2.0 * x\n}\nlet w = F64(3)\nprint(\"ready\")\n")
    home.file("other", "let w = 4.0\n")
    with Prompt(home) as t:
        need("ready\n" in t.shown(), t.shown())
        same(t.value("f(w)"), "6.0")
        # It is no part of the history.
        t.type(UP, PROMPT + "f(w)")
        t.press(ctrl("C"))
        # Messages count the lines that were typed.
        need("  --> <repl>:2:1" in t.enter("qqq"), t.shown())
        same(t.leave(), 0)
    with Prompt(home, env={"KINARC": "other"}) as t:
        same(t.value("w"), "4.0")
    with Prompt(home, "repl", "--no-rc") as t:
        need(any("K0101" in line for line in t.enter("w")), t.shown())
    with Prompt(home, env={"TERM": "dumb"}) as t:
        same(t.value("f(w)"), "6.0")


def test_unusable_rc(home):
    """One message at most, and a session."""
    for content, why in ((b"let a = 1\0\n", "is not text"), (b"\xff\n", "is not text"), (b"1\n" * 1000000, "too large"),
                         (b"let a = qqq\nlet b = ppp\n", ".kinarc:1:9"), (b"let a = 1\nfn f(", ".kinarc:2:")):
        home.file(".kinarc", content)
        with Prompt(home) as t:
            need(why in t.shown() and t.shown().count("error") == 1, t.shown())
            same(t.value("1 + 1"), "2")
            same(t.leave(), 0)
    os.unlink(os.path.join(home.path, ".kinarc"))
    os.mkdir(os.path.join(home.path, ".kinarc"))
    with Prompt(home) as t:
        need("cannot read" in t.shown(), t.shown())
        same(t.value("1 + 1"), "2")
    with Prompt(home, env={"KINARC": "none"}) as t:
        need("cannot read 'none'" in t.shown(), t.shown())


def test_interrupt_of_rc(home):
    home.file(".kinarc", f"let a = 1\nprint(\"on it\")\n{ENDLESS}\nlet b = 2\n")
    with Prompt(home, first=None) as t:
        t.wait_for_text("on it")
        t.press(ctrl("C"))
        need("K0509" in t.shown() and "the rest of" in t.shown(), t.shown())
        same(t.value("a"), "1")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--only", nargs="+", metavar="NAME")
    options = parser.parse_args()
    binary, tally = kina.interpreter(options.bin), kina.Tally()
    tests = {name[5:]: test for name, test in globals().items() if name.startswith("test_")}
    for name in options.only or tests:
        with tempfile.TemporaryDirectory() as folder:
            why = None
            try:
                tests[name](Home(binary, folder))
            except AssertionError as fault:
                why = str(fault)
            tally.judge(name, why)
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
