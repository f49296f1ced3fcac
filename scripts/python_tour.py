#!/usr/bin/env python3
"""docs/python.md from examples/python/tour.py: python_tour.py write|check [--self-test]

Runs the cells of the tour in order and writes the page: text, code, what it printed, pictures (docs/images/python_*.png) and a
reference from the docstrings. `check` runs them again and fails unless the page is the same; numbers with a decimal point may differ by 3 %
(or 0.02) and counts from 100 on by 3 %, because the last digits of a fit depend on the processor. The package must be importable.
"""
import contextlib
import dataclasses
import inspect
import io
import os
import re
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "python.md")
TOUR = os.path.join(ROOT, "examples", "python", "tour.py")
IMAGES = os.path.join(ROOT, "docs", "images")


def cells(text):
    """(kind, arguments, lines) of each cell."""
    found = []
    for line in text.splitlines():
        head = re.match(r"# %%(?: \[(\w+)\])?(?: (.*))?$", line)
        if head:
            found.append((head.group(1) or "code", head.group(2) or "", []))
        else:
            found[-1][2].append(line)
    return found


def run_cell(source, names):
    """What it prints, and the value of its last expression."""
    import ast

    tree = ast.parse(source)
    last = tree.body[-1] if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    body = tree.body[:-1] if last else tree.body
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), TOUR, "exec"), names)
        value = eval(compile(ast.Expression(last.value), TOUR, "eval"), names) if last else None
    return printed.getvalue(), value


def signature(function):
    """Names and defaults without types: those are in the stubs."""
    parts, star = [], False
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "self":
            continue
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        default = parameter.default
        parts.append(name if default is inspect.Parameter.empty else f"{name}={default!r}")
    return f"({', '.join(parts)})"


def sentence(thing):
    text = " ".join((inspect.getdoc(thing) or "").split())
    # Names in brackets are no links.
    return text.replace("[", "\\[").replace("|", "\\|")


def reference(heatskin):
    lines = ["## Reference", "", "Made from the docstrings; `help(heatskin)` has the same. `V`, `F`, `N`, `C`: vertices, faces, kernels, channels.", ""]
    names = [n for n in heatskin.__all__ if not n.isupper()]
    functions = [n for n in names if inspect.isfunction(getattr(heatskin, n))]
    lines += ["| function | |", "|---|---|"]
    for name in functions:
        function = getattr(heatskin, name)
        lines.append(f"| `{name}{signature(function)}` | {sentence(function)} |")
    for name in names:
        kind = getattr(heatskin, name)
        if not inspect.isclass(kind):
            continue
        lines += ["", f"### {name}", "", sentence(kind), ""]
        rows = []
        if dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"):
            source = inspect.getsource(kind)
            for match in re.finditer(r"^    (\w+): [^#\n]+?(?:  #: (.*))?$", source, re.M):
                rows.append(f"| `{match.group(1)}` | {(match.group(2) or '').replace('[', chr(92) + '[')} |")
        for key, value in inspect.getmembers(kind):
            if key.startswith("_") or key in getattr(kind, "_fields", ()) or (hasattr(kind, "_fields") and key in dir(tuple)):
                continue
            if isinstance(value, property):
                rows.append(f"| `.{key}` | {sentence(value.fget)} |")
            elif inspect.isfunction(value):
                rows.append(f"| `.{key}{signature(value)}` | {sentence(value)} |")
        if rows:
            lines += ["| | |", "|---|---|", *rows]
    return lines


def make(pictures):
    """The page; draws pictures into that folder."""
    import heatskin

    with open(TOUR, encoding="utf-8") as file:
        parts = cells(file.read())
    names = {"__name__": "tour"}
    lines = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder) if hasattr(contextlib, "chdir") else contextlib.nullcontext():
        for kind, arguments, body in parts:
            if kind == "markdown":
                lines += [re.sub(r"^# ?", "", line) for line in body]
                continue
            source = "\n".join(body).strip()
            printed, value = run_cell(source, names)
            if kind == "picture":
                name, _, title = arguments.partition(" ")
                heatskin.save_png(os.path.join(pictures, name), value)
                if source != "picture":
                    lines += ["```python", source, "```", ""]
                lines += [f"![{title}](images/{name})", ""]
            else:
                lines += ["```python", source, "```", ""]
                if printed:
                    lines += ["```text", printed.rstrip(), "```", ""]
    lines += reference(heatskin)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


NUMBER = re.compile(r"-?\d+\.\d*(?:e-?\d+)?|\d{3,}")


def differences(written, made):
    """Lines that differ by more than digits."""
    old, new = written.splitlines(), made.splitlines()
    found = [] if len(old) == len(new) else [f"the page has {len(old)} lines and should have {len(new)}"]
    for n, (a, b) in enumerate(zip(old, new), 1):
        # What numpy aligns gets other blanks with other digits.
        same = re.sub(r"\s+", " ", NUMBER.sub("#", a)).replace("[ ", "[") == re.sub(r"\s+", " ", NUMBER.sub("#", b)).replace("[ ", "[")
        for x, y in zip(NUMBER.findall(a), NUMBER.findall(b)):
            same = same and abs(float(x) - float(y)) <= max(0.02, 0.03 * abs(float(y)))
        if not same:
            found.append(f"line {n}: '{a[:200]}' should be '{b[:200]}'")
    return found


def self_test():
    assert differences("a 1.00 b\n", "a 1.01 b\n") == []
    assert differences("[ 1.00 2.]\n", "[1.01  2.]\n") == []
    assert differences("a 1.00 b\n", "a 1.10 b\n") and differences("a 1.0 b\n", "a 1.0 c\n") and differences("7 kernels\n", "8 kernels\n")
    assert differences("1000 kernels\n", "1010 kernels\n") == [] and differences("1000 kernels\n", "1100 kernels\n")
    assert differences("a\n", "a\nb\n")
    assert cells("# %% [markdown]\n# # T\n# %%\nx = 1\n# %% [picture] a.png B c\nx\n") == [
        ("markdown", "", ["# # T"]), ("code", "", ["x = 1"]), ("picture", "a.png B c", ["x"])]
    assert run_cell("print(2)\n3", {}) == ("2\n", 3)
    print("python_tour: planted differences were found")


def main():
    if "--self-test" in sys.argv:
        return self_test()
    if sys.argv[1:] not in (["write"], ["check"]):
        sys.exit(__doc__)
    if sys.argv[1] == "write":
        page = make(IMAGES)
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(page)
        return None
    with tempfile.TemporaryDirectory() as pictures:
        page = make(pictures)
        with open(PAGE, encoding="utf-8") as file:
            wrong = differences(file.read(), page)
        for name in os.listdir(pictures):
            if not os.path.exists(os.path.join(IMAGES, name)):
                wrong.append(f"docs/images/{name} is missing")
    if wrong:
        sys.exit("docs/python.md is not what the tour gives (scripts/python_tour.py write):\n" + "\n".join(wrong[:40]))
    print("docs/python.md is what the tour gives")
    return None


if __name__ == "__main__":
    main()
