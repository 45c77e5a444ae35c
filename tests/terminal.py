"""A program in a terminal: a pty, and a model of the screen that shows what a person would see.

    with Terminal([path, "repl"], columns=80) as t:
        t.wait_for_line("> ")
        t.send("1 + 1\\r")

Nothing here sleeps: one waits for what the screen shows. The model knows the control sequences that are used on
TERM=xterm, and fails on any other, so that nothing is drawn that it does not see.
"""
import codecs
import fcntl
import os
import re
import select
import signal
import struct
import termios
import time
import unicodedata

PATIENCE = 60  # seconds until a wait has failed; far more than anything takes
SEQUENCE = re.compile(r"\x1b(?:\[([?>=]?)([0-9;]*)([@-~])|([=>78]))")


def width(character):
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class Screen:
    """Lines from the first that was ever written; the last `rows` of them are on the screen."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.lines = [[]]
        self.row = self.column = 0
        self.bells = 0
        self.joined = set()  # lines that go on with the one above
        self.rest = ""  # the beginning of a sequence
        self.decoder = codecs.getincrementaldecoder("utf-8")("strict")

    @property
    def top(self):
        return max(0, len(self.lines) - self.rows)

    def text(self, row):
        return "".join(self.lines[row]).rstrip(" ") if row < len(self.lines) else ""

    def feed(self, data):
        text = self.rest + self.decoder.decode(data)
        self.rest = ""
        at = 0
        while at < len(text):
            if text[at] != "\x1b":
                self.character(text[at])
                at += 1
                continue
            match = SEQUENCE.match(text, at)
            if not match:
                if len(text) - at > 32:
                    raise AssertionError(f"an unknown sequence: {text[at:at + 32]!r}")
                self.rest = text[at:]
                return
            self.control(match)
            at = match.end()

    def go(self, row, column):
        self.row = min(max(row, self.top), self.top + self.rows - 1)
        self.column = min(max(column, 0), self.columns - 1)
        while self.row >= len(self.lines):
            self.lines.append([])

    def rewrap(self, columns):
        """Another width, for which all lines are broken anew."""
        lines, joined = [], set()
        for row, line in enumerate(self.lines):
            at = len(lines) - 1 if row in self.joined else len(lines)
            if row in self.joined:
                before = len(lines[-1])
                lines[-1] = lines[-1] + line
            else:
                before = 0
                lines.append(list(line))
            if row == self.row:
                cursor = at, before + self.column
        self.lines = []
        for at, line in enumerate(lines):
            if at == cursor[0]:
                self.row, self.column = len(self.lines) + cursor[1] // columns, cursor[1] % columns
            for begin in range(0, max(len(line), 1), columns):
                if begin > 0:
                    joined.add(len(self.lines))
                self.lines.append(line[begin:begin + columns])
        while self.row >= len(self.lines):
            self.lines.append([])
        self.columns, self.joined = columns, joined

    def down(self):
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append([])

    def cells(self):
        line = self.lines[self.row]
        line.extend(" " * (self.column - len(line)))
        return line

    def character(self, ch):
        if ch == "\r":
            self.column = 0
        elif ch == "\n":
            self.column = min(self.column, self.columns - 1)
            self.down()
        elif ch == "\b":
            self.column = max(min(self.column, self.columns - 1) - 1, 0)
        elif ch == "\t":
            self.column = min(self.column // 8 * 8 + 8, self.columns - 1)
        elif ch == "\a":
            self.bells += 1
        elif ch < " " or ch == "\x7f":
            raise AssertionError(f"an unknown character: {ch!r}")
        else:
            self.put(ch)

    def put(self, ch):
        wide = width(ch)
        if wide == 0:
            self.lines[self.row][self.column - 1] += ch
            return
        # A character in the last column leaves the cursor there until the next one.
        if self.column + wide > self.columns:
            self.column = 0
            self.down()
            self.joined.add(self.row)
        line = self.cells()
        line[self.column:self.column + wide] = [ch] + [""] * (wide - 1)
        self.column += wide

    def control(self, match):
        private, numbers, kind, short = match.groups()
        if short is not None or private:
            return  # modes of the keypad, of pasting and the like
        given = [int(n) for n in numbers.split(";") if n]
        n = given[0] if given else 1
        if kind != "m":
            self.column = min(self.column, self.columns - 1)
        line = self.lines[self.row]
        if kind == "A":
            self.go(self.row - n, self.column)
        elif kind == "B":
            self.go(self.row + n, self.column)
        elif kind == "C":
            self.go(self.row, self.column + n)
        elif kind == "D":
            self.go(self.row, self.column - n)
        elif kind == "G":
            self.go(self.row, n - 1)
        elif kind == "H":
            self.go(self.top + n - 1, (given[1] if len(given) > 1 else 1) - 1)
        elif kind == "K":
            if given and given[0] == 1:
                line[:self.column + 1] = " " * (self.column + 1)
            else:
                del line[0 if given and given[0] == 2 else self.column:]
        elif kind == "J":
            if given and given[0] == 2:
                for row in range(self.top, len(self.lines)):
                    self.lines[row] = []
            else:
                del line[self.column:]
                del self.lines[self.row + 1:]
        elif kind != "m":
            raise AssertionError(f"an unknown sequence: {match.group()!r}")


class Terminal:
    def __init__(self, command, columns=80, rows=24, env=None, cwd=None):
        self.screen = Screen(columns, rows)
        self.raw = bytearray()
        self.status = None
        self.process, self.master = os.forkpty()
        if self.process == 0:
            try:
                self.set_size(0, columns, rows)
                signal.signal(signal.SIGINT, signal.SIG_DFL)
                if cwd:
                    os.chdir(cwd)
                os.execve(command[0], command, dict(os.environ, **(env or {})))
            finally:
                os._exit(127)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.status is None:
            os.kill(self.process, signal.SIGKILL)
            self.wait()
        if self.master is not None:
            os.close(self.master)

    @staticmethod
    def set_size(file, columns, rows):
        fcntl.ioctl(file, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns, rows, rewrap=False):
        """The window gets another size; some terminals break lines anew then, others do not."""
        if rewrap:
            self.screen.rewrap(columns)
        self.screen.columns, self.screen.rows = columns, rows
        self.set_size(self.master, columns, rows)

    # ---- the keyboard ----

    def send(self, keys):
        """Types keys, and takes in what the program writes meanwhile."""
        data = keys.encode() if isinstance(keys, str) else keys
        end = time.monotonic() + PATIENCE
        while data:
            readable, writable, _ = select.select([self.master], [self.master], [], 1)
            if readable and not self.read():
                return
            if writable:
                data = data[os.write(self.master, data[:1024]):]
            if time.monotonic() > end:
                raise AssertionError("the program does not read what is typed")

    def hang_up(self):
        """The terminal vanishes."""
        os.close(self.master)
        self.master = None

    # ---- the screen ----

    def read(self):
        """Takes in what there is; False at the end."""
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.raw += data
        self.screen.feed(data)
        return bool(data)

    def wait_until(self, true, what):
        end = time.monotonic() + PATIENCE
        while not true():
            readable, _, _ = select.select([self.master], [], [], 1)
            if readable and not self.read() and not true():
                raise AssertionError(f"the program has ended; expected {what}\n{self.end_shown()}")
            if time.monotonic() > end:
                raise AssertionError(f"expected {what}\n{self.end_shown()}")

    def shown(self):
        return "\n".join(self.screen.text(row) for row in range(len(self.screen.lines)))

    def end_shown(self):
        """For messages."""
        return "\n".join(f"    {line[:100]}" for line in self.shown().splitlines()[-24:])

    def wait_for_line(self, text, column=None, below=-1):
        """Until the cursor is in a line like this, below the row `below`, and in this column, or else behind it."""
        where = len(text) if column is None else column

        def there():
            return (self.screen.row > below and self.screen.text(self.screen.row) == text.rstrip(" ")
                    and self.screen.column == where)
        self.wait_until(there, f"the line {text!r} with the cursor in column {where}")

    def wait_for_text(self, text, times=1):
        self.wait_until(lambda: self.shown().count(text) >= times, f"the text {text!r}")

    def wait(self):
        """Until the program has ended: its exit code, or less than 0 for a signal."""
        while self.status is None:
            if self.master is not None and select.select([self.master], [], [], 0.05)[0]:
                self.read()
            done, status = os.waitpid(self.process, os.WNOHANG)
            if done:
                self.status = os.waitstatus_to_exitcode(status)
        while self.master is not None and select.select([self.master], [], [], 0)[0] and self.read():
            pass
        return self.status
