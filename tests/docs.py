#!/usr/bin/env python3
"""Holds the documents against the program.

    tests/docs.py --bin build/kina-interp
    tests/docs.py --bin build/kina-interp --update    writes the outputs anew; read their diff

In README.md and docs/*.md every ```kina block is a whole program. It runs, and prints what the next ```text block
shows (standard output, then errors and warnings); without one it runs and prints nothing. In a ```console block
every line that begins with "$ " is a command, run from the root, and the lines below it are what it prints.
Numbers with a point may differ by 1e-5, or by what an example that a command names states.

Beside that: every surface name of the op and builtin tables has a row in docs/language.md, with the table's
signature; every op has a place in a row of docs/numerics.md; every option has one in docs/cli.md; a link to a file
leads to one. docs/errors.md is what the pages of `kina-interp explain` say, whose wrong examples give their code and no
other, and whose right examples end well.
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from concurrent.futures import ThreadPoolExecutor

import kina
from examples import comment, differs

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ERRORS = "docs/errors.md"
# An internal error is not for a program to give.
WITHOUT_EXAMPLE = {"K0901"}
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def table(path):
    """A .def file's text without its comments."""
    return re.sub(r"/\*.*?\*/", "", read(path), flags=re.DOTALL)


def signatures():
    """name -> signature of everything that a program can call or write between operands."""
    row = r'^(?:OP\(\w+, "([^"]+)", \w+, \w+,[^"]*|BUILTIN\(\w+, "([^"]+)", \w+, \w+,) ?\s*"((?:[^"\\]|\\.)*)"'
    found = re.findall(row, table("runtime/ops.def") + table("interp/builtins.def"), re.MULTILINE)
    return {op or builtin: signature.replace('\\"', '"') for op, builtin, signature in found}


def table_cells(text):
    """The code at the beginning of each table row's first cell."""
    return {cell.replace("\\|", "|") for cell in re.findall(r"^\| `((?:[^`|]|\\\|)+)`", text, re.MULTILINE)}


class Documents(kina.Tally):
    def __init__(self, binary, update):
        super().__init__()
        self.binary, self.update = binary, update

    # ---- what programs and commands print ----

    def run_program(self, text):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "prog.kina"), "w", encoding="utf-8") as f:
                f.write(text)
            run = kina.Run(self.binary, ["prog.kina"], cwd=folder)
        if run.trouble():
            return None, run.trouble()
        return run.out + run.err, None

    def run_commands(self, text):
        os.makedirs("build", exist_ok=True)  # where commands put what they make
        shown, commands = "", [line[2:] for line in text.splitlines() if line.startswith("$ ")]
        for command in commands:
            actual = re.sub(r"(?:build/)?(kina-interp|kina-bench)(?=\s)",
                            lambda m: f"'{os.path.join(os.path.dirname(self.binary), m.group(1))}'", command)
            done = subprocess.run(["sh", "-c", actual], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=300)
            shown += f"$ {command}\n" + done.stdout.decode("utf-8", "replace")
        return shown, None

    def document(self, path):
        text = read(path)
        blocks = list(FENCE.finditer(text))
        changes = []
        for number, block in enumerate(blocks):
            kind, body = block.group(1), block.group(2)
            if kind not in ("kina", "console"):
                continue
            line = text.count("\n", 0, block.start()) + 1
            if kind == "kina":
                following = [b for b in blocks[number + 1:number + 3] if b.group(1) in ("kina", "text")]
                shown = following[0] if following and following[0].group(1) == "text" else None
                want = shown.group(2) if shown else ""
                got, why = self.run_program(body)
            else:
                shown, want = block, body
                got, why = self.run_commands(body)
            tolerance = 1e-5
            for example in re.findall(r"examples/\w+\.kina", body) if kind == "console" else []:
                tolerance = max(tolerance, float(comment(read(example), "tolerance", "0")))
            if self.update and shown and not why:
                changes.append((shown.start(2), shown.end(2), got))
                want = got
            self.judge(f"{path}:{line}", why or differs(got, want, tolerance))
        for start, end, got in reversed(changes):
            text = text[:start] + got + text[end:]
        if changes:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        for target in LINK.findall(text):
            found = os.path.exists(os.path.join(os.path.dirname(path), target))
            self.judge(f"{path}: link to {target}", None if found else "there is no such file")

    # ---- the tables ----

    def names(self):
        cells = table_cells(read("docs/language.md"))
        for name, signature in signatures().items():
            want = f"{name}({signature})" if signature or name.isidentifier() else name
            self.judge(f"docs/language.md: {name}",
                       None if want in cells else f"no table row begins with `{want}`")

    def numerics(self):
        rows = re.findall(r"^\| ((?:`\w+` ?)+)\|", read("docs/numerics.md"), re.MULTILINE)
        named = set(re.findall(r"`(\w+)`", "".join(rows)))
        for op in re.findall(r"^OP\((\w+)", table("runtime/ops.def"), re.MULTILINE):
            self.judge(f"docs/numerics.md: {op}", None if op in named else "no table row begins with its name")

    def options(self):
        text = read("docs/cli.md")
        options = {cell.split(" ")[0] for cell in table_cells(text)}
        for flag in re.findall(r'^OPTION\(\w+, "([^"]+)"', table("interp/tools/options.def"), re.MULTILINE):
            self.judge(f"docs/cli.md: {flag}", None if flag in options else "no table row begins with it")

    def commands(self):
        text = read("docs/cli.md")
        row = r'^COMMAND\(\w+, "([^"]*)", "([^"]*)", \w+, "([^"]*)", "([^"]*)"'
        for word, short, takes, summary in re.findall(row, table("interp/tools/repl/commands.def"), re.MULTILINE):
            call = f":{word} {takes}".strip().replace("|", "\\|")
            there = f"| `{call}` | `:{short}` | {summary} |\n" in text
            self.judge(f"docs/cli.md: :{word}", None if there else "its row is not as the table has it")

    # ---- error codes ----

    def run_example(self, example):
        with tempfile.TemporaryDirectory() as folder:
            if example.startswith("$ "):
                os.symlink(self.binary, os.path.join(folder, "kina-interp"))
                script = re.sub(r"^\$ ", "", example, flags=re.MULTILINE)
                run = kina.Run("sh", ["-c", script], cwd=folder, env=dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}"))
            else:
                with open(os.path.join(folder, "prog.kina"), "w", encoding="utf-8") as f:
                    f.write(example + "\n")
                run = kina.Run(self.binary, ["prog.kina"], cwd=folder)
        return run, {found[0] for found in kina.diagnostics(run.err)}

    def example_fault(self, page, which):
        """What is wrong with an example of a page; None: nothing, or there is none because there can be none."""
        if page[which] is None:
            return None if page["code"] in WITHOUT_EXAMPLE else "it is missing"
        run, codes = self.run_example(page[which])
        if run.trouble():
            return run.trouble()
        if which == "wrong":
            return None if codes == {page["code"]} else f"it gives {sorted(codes)}: {kina.first_line(run.err)}"
        return None if run.code == 0 and not codes else f"exit code {run.code}: {kina.first_line(run.err)}"

    def errors(self):
        done = subprocess.run([self.binary, "explain", "--format", "json"], stdout=subprocess.PIPE, check=True)
        pages = json.loads(done.stdout)["pages"]
        with ThreadPoolExecutor() as pool:
            tasks = [(page, which) for page in pages for which in ("wrong", "right")]
            for (page, which), fault in zip(tasks, pool.map(lambda task: self.example_fault(*task), tasks)):
                self.judge(f"the {which} example of {page['code']}", fault)
        for page in pages:
            shown = subprocess.run([self.binary, "explain", page["code"]], stdout=subprocess.PIPE, check=True).stdout.decode()
            wide = [line for line in shown.splitlines() if len(line) > 80]
            self.judge(f"the page of {page['code']}", f"wider than 80 columns: {wide[0]}" if wide else None)
        text = errors_document(pages)
        if self.update:
            with open(ERRORS, "w", encoding="utf-8") as f:
                f.write(text)
        same = os.path.exists(ERRORS) and read(ERRORS) == text
        self.judge(ERRORS, None if same else "it is not what `kina-interp explain` says; tests/docs.py --update writes it")


def errors_document(pages):
    def example(title, text):
        kind = "console" if text.startswith("$ ") else "kina"
        return f"\n{title}:\n\n```{kind}\n{text}\n```\n"

    said = "# Error codes\n\nWhat `kina-interp explain CODE` says of each. `K` codes are errors, `W` codes warnings.\n"
    said += "\n| code | what is wrong |\n| --- | --- |\n"
    for page in pages:
        anchor = re.sub(r"[^\w -]", "", f"{page['code']}: {page['title']}".lower()).replace(" ", "-")
        said += f"| [{page['code']}](#{anchor}) | {page['title']} |\n"
    for page in pages:
        said += f"\n## {page['code']}: {page['title']}\n\n{textwrap.fill(page['meaning'], 110)}\n"
        said += "".join(example(which.capitalize(), page[which]) for which in ("wrong", "right") if page[which])
    return said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/kina-interp")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    documents = Documents(os.path.abspath(options.bin), options.update)
    os.chdir(kina.ROOT)
    documents.names()
    documents.numerics()
    documents.options()
    documents.commands()
    documents.errors()
    for path in ["README.md", *sorted(glob.glob("docs/*.md")), *sorted(glob.glob("*/README.md"))]:
        if path != ERRORS:
            documents.document(path)
    return documents.end()


if __name__ == "__main__":
    sys.exit(main())
