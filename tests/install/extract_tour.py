#!/usr/bin/env python3
"""extract_tour.py FILE.md... FOLDER: writes the programs of a Markdown file into FOLDER.

A program is a block marked cpp whose first line is a comment with its file's name: `// colours.cpp: colours PRODUCT.glb`.
Every cpp block must be one, so that none goes untested, and every name must be new.

With --self-test, the extraction itself: planted errors must be found.
"""

import re
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```cpp\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def programs(name, text):
    """Names and texts of the programs in a document; ValueError if a block is none."""
    found = {}
    if len(BLOCK.findall(text)) != len(re.findall(r"^ {0,3}```+ *(?:cpp|c\+\+|C\+\+)(?!\S)", text, re.MULTILINE)):
        raise ValueError(f"{name}: a block of C++ is not closed, indented or not marked cpp")
    for block in BLOCK.findall(text):
        first = block.split("\n", 1)[0]
        title = re.match(r"// ([a-z_]+)\.cpp\b", first)
        if not title or "int main(" not in block:
            raise ValueError(f"{name}: a block of C++ is no program with a name: {first}")
        if title.group(1) in found:
            raise ValueError(f"{name}: {title.group(1)}.cpp is there twice")
        found[title.group(1)] = block
    return found


def extract(documents, folder):
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for document in documents:
        found = programs(document.name, document.read_text())
        if not found:
            raise ValueError(f"{document.name}: has no program")
        for name, text in found.items():
            if name in names:
                raise ValueError(f"{document.name}: {name}.cpp is in another document, too")
            names.append(name)
            (folder / f"{name}.cpp").write_text(text)
    return names


def self_test():
    sound = "text\n\n```cpp\n// one.cpp: one\nint main() {}\n```\n\n```sh\nls\n```\n\n```cpp\n// two.cpp\nint main() {}\n```\n"
    planted = [
        ("```cpp\nint main() {}\n```\n", "no program"),
        ("```cpp\n// one.cpp\nint x;\n```\n", "no program"),
        (sound + sound, "twice"),
        ("```C++\n// one.cpp\nint main() {}\n```\n", "not marked cpp"),
        ("  ```cpp\n  // one.cpp\n  int main() {}\n  ```\n", "indented"),
        ("```cpp\n// one.cpp\nint main() {}\n", "not closed"),
        ("nothing\n", "has no program"),
    ]
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sound.md").write_text(sound)
        if extract([folder / "sound.md"], folder / "out") != ["one", "two"]:
            failures.append("a sound document")
        if (folder / "out" / "two.cpp").read_text() != "// two.cpp\nint main() {}\n":
            failures.append("a program is not what it was")
        for number, (text, why) in enumerate(planted):
            (folder / f"{number}.md").write_text(text)
            try:
                extract([folder / f"{number}.md"], folder / "bad")
                failures.append(f"not found: {why}")
            except ValueError as problem:
                if why not in str(problem):
                    failures.append(f"{why}: {problem}")
    for failure in failures:
        print(f"extract_tour: self-test: {failure}")
    print(f"extract_tour: {len(planted)} planted errors, {len(failures)} failures")
    return 1 if failures else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    try:
        print(" ".join(extract([Path(a) for a in arguments[:-1]], Path(arguments[-1]))))
    except ValueError as problem:
        print(f"extract_tour: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
