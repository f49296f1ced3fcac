#!/usr/bin/env python3
"""check_messages.py [ROOT]: no text of the library names an option or a verb of the command line.

The library is also called from programs that have neither: its errors carry codes (base/result.h), and cli/remedies.cpp
words what the user of the command line can do. Looked at are the string literals under src/heatskin, tests aside; comments
may name what they like. Checked as well: that every code with a remedy is one the library gives, and that every code of
base/result.h is used.

With --self-test, the checker itself: planted errors must be found, and a sound tree must pass.
"""

import re
import sys

import planted_errors

# Comments first, so that quotes in them count for nothing; then raw strings, strings and characters.
TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r'|R"(?P<mark>[^()\s\\]{0,16})\((?P<raw>.*?)\)(?P=mark)"'
    r'|"(?P<text>(?:[^"\\\n]|\\.)*)"'
    r"|'(?:[^'\\\n]|\\.)+'",
    re.DOTALL,
)
INCLUDE = re.compile(r"^\s*#\s*include[^\n]*", re.MULTILINE)
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*|(?<![\w-])-o(?= [A-Z])")


def verbs_of(root):
    return re.findall(r'^    \{"([a-z-]+)", "', (root / "cli" / "verbs.cpp").read_text(), re.MULTILINE)


def literals(text):
    """(line, literal) of every string; adjacent ones are one."""
    text = INCLUDE.sub("", text)
    joined, end, line = "", None, 0
    for match in TOKEN.finditer(text):
        part = match.group("raw") if match.group("raw") is not None else match.group("text")
        if part is None:
            continue
        if end is not None and not text[end : match.start()].strip():
            joined += part
        else:
            if end is not None:
                yield line, joined
            joined, line = part, text.count("\n", 0, match.start()) + 1
        end = match.end()
    if end is not None:
        yield line, joined


def check(root):
    """The problems of a tree, as lines."""
    verb = re.compile(r"\bheatskin (%s)\b" % "|".join(map(re.escape, verbs_of(root))))
    problems = []
    sources = [
        p
        for p in sorted((root / "src" / "heatskin").rglob("*"))
        if p.suffix in (".h", ".cpp") and not p.name.endswith("_test.cpp") and not p.name.startswith("test_")
    ]
    for path in sources:
        for line, literal in literals(path.read_text()):
            for found in [*FLAG.findall(literal), *(m.group(0) for m in verb.finditer(literal))]:
                problems.append(f"{path.relative_to(root)}:{line}: a text of the library names '{found}'")

    codes_file = root / "src" / "heatskin" / "base" / "result.h"
    codes = re.findall(r'string_view (k\w+) =\s*"\w+"', codes_file.read_text())
    library = "".join(p.read_text() for p in sources)
    for name in codes:
        if not re.search(rf"error_code::{name}\b", library):
            problems.append(f"{codes_file.relative_to(root)}: no error has the code {name}")
    for name in re.findall(r"\{error_code::(k\w+)", (root / "cli" / "remedies.cpp").read_text()):
        if name not in codes:
            problems.append(f"cli/remedies.cpp: there is no code {name}")
    for notice in re.findall(r'^    \{"(\w+)"', (root / "cli" / "remedies.cpp").read_text(), re.MULTILINE):
        if f'"{notice}"' not in library:
            problems.append(f"cli/remedies.cpp: no notice has the code {notice}")
    return problems


def self_test():
    sound = {
        "cli/verbs.cpp": 'constexpr VerbEntry kVerbs[] = {\n    {"fit", "Fit", makeFit},\n    {"demo-asset", "x", f},\n};\n',
        "cli/remedies.cpp": '    {error_code::kOne, " (--one)"},\n    {"some_notice", " (--two)"},\n',
        "src/heatskin/base/result.h": 'inline constexpr std::string_view kOne = "one";\n'
        'inline constexpr std::string_view kPlain =\n    "plain";\nError f(std::string_view code = error_code::kPlain);\n',
        "src/heatskin/base/a.cpp": '// "--flag" in a comment of heatskin fit\nf("a -- b", "heatskin {}", \'"\', "\\"", '
        'error_code::kOne, "some_notice"); /* "--x" */\n',
        "src/heatskin/base/a_test.cpp": 'f("--flag");\n',
    }
    planted = [
        ("src/heatskin/base/b.cpp", 'f("use --flag");\n', "names '--flag'"),
        ("src/heatskin/base/b.cpp", 'f(\'"\', "use --max-memory");\n', "names '--max-memory'"),
        ("src/heatskin/base/b.cpp", 'f("a "\n  "heatskin "\n  "fit makes one");\n', "b.cpp:1: a text of the library names 'heatskin fit'"),
        ("src/heatskin/base/b.h", 'f(R"(\n"--raw")");\n', "names '--raw'"),
        ("src/heatskin/base/b.cpp", 'int x = 1;\nf("//", "give -o FILE");\n', "b.cpp:2: a text of the library names '-o'"),
        ("src/heatskin/base/b.cpp", 'f("see heatskin demo-asset");\n', "names 'heatskin demo-asset'"),
        ("cli/remedies.cpp", '    {error_code::kTwo, "x"},\n', "there is no code kTwo"),
        ("cli/remedies.cpp", '    {"no_notice", "x"},\n', "no notice has the code no_notice"),
        ("src/heatskin/base/result.h", 'std::string_view kOne = "one";\nstd::string_view kLost = "lost";\n',
         "no error has the code kLost"),
    ]
    return planted_errors.self_test("check_messages", check, sound, planted)


if __name__ == "__main__":
    sys.exit(planted_errors.run("check_messages", check, self_test, sys.argv[1:], lambda root: "the library names no options and no verbs"))
