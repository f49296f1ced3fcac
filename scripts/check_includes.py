#!/usr/bin/env python3
"""check_includes.py [ROOT]: a folder of src/heatskin includes only folders above it.

The order is that of the heatskin_module() lines of CMakeLists.txt: base first, and everything marked CORE before what is
not. Checked as well: that these are the folders there are, that the core includes no header of a library that reads
files, that nothing includes what stands outside the library, and that README's "Finding your way" names the folders in
the same order, and that files named in comments exist. Tests may look further: a geodesic test loads an asset.

With --self-test, the checker itself: planted errors of every kind must be found, and a sound tree must pass.
"""

import re
import sys

import planted_errors

# Headers of the libraries that heatskin_core does without.
FILE_LIBRARIES = ("png.h", "jpeglib.h", "webp/", "draco/", "embree", "nlohmann/", "simdjson", "zlib.h")
# May include the library; the library includes none of them, and each only those before it.
OUTSIDE = ("bench", "cli")
NAMED_FILE = re.compile(r"(?<![\w/.*-])(?:[a-z_]+/)*([a-z][a-z0-9_-]*\.(?:h|cpp))\b")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)


def is_test(path):
    return path.name.endswith("_test.cpp") or path.name.startswith("test_") or path.name.endswith("_checker.h")


def folders_of(root):
    """The folders in order, and those of the core."""
    text = (root / "CMakeLists.txt").read_text()
    found = re.findall(r"^heatskin_module\((\w+)\s+(CORE\b)?", text, re.MULTILINE)
    return [name for name, _ in found], {name for name, core in found if core}


def check(root):
    """The problems of a tree, as lines."""
    folders, core = folders_of(root)
    problems = []
    source = root / "src" / "heatskin"
    there = sorted(p.name for p in source.iterdir() if p.is_dir())
    if there != sorted(folders):
        problems.append(f"src/heatskin has {' '.join(there)}, CMakeLists.txt lists {' '.join(sorted(folders))}")
    if [f for f in folders if f in core] != folders[: len(core)]:
        problems.append("CMakeLists.txt: a folder of the core stands below one that is not")

    for path in sorted([*source.rglob("*.h"), *source.rglob("*.cpp")]):
        folder = path.relative_to(source).parts[0]
        if folder not in folders or is_test(path):
            continue
        for quote, name in INCLUDE.findall(path.read_text()):
            where = f"{path.relative_to(root)} includes {name}"
            if quote == "<":
                if folder in core and name.startswith(FILE_LIBRARIES):
                    problems.append(f"{where}: {folder} belongs to the core, which reads no files of others")
                continue
            parts = name.split("/")
            if name == "heatskin/version.h":
                continue
            if parts[0] != "heatskin" or len(parts) < 3:
                problems.append(f"{where}: the library includes nothing from outside src/heatskin")
            elif parts[1] not in folders:
                problems.append(f"{where}: there is no such folder")
            elif folders.index(parts[1]) > folders.index(folder):
                problems.append(f"{where}: {parts[1]} stands below {folder}")

    for place, outer in enumerate(OUTSIDE):
        for path in sorted([*(root / outer).rglob("*.h"), *(root / outer).rglob("*.cpp")]):
            for quote, name in INCLUDE.findall(path.read_text()):
                if quote == '"' and name.split("/")[0] in OUTSIDE[place + 1 :]:
                    problems.append(f"{path.relative_to(root)} includes {name}: {outer} stands before it")

    ours = [p for part in ("src", "cli", "bench", "tests") for p in (root / part).rglob("*") if p.suffix in (".h", ".cpp")]
    names = {p.name for p in ours}
    for path in sorted(ours):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            comment = re.search(r"(?<!:)//(.*)", line)
            for name in NAMED_FILE.findall(comment.group(1)) if comment else ():
                if name not in names:
                    problems.append(f"{path.relative_to(root)}:{number}: there is no {name}")

    readme = (root / "README.md").read_text()
    section = re.search(r"^## Finding your way\n(.*?)(?=^## |\Z)", readme, re.MULTILINE | re.DOTALL)
    named = []
    for name in re.findall(r"`([a-z_]+)`", section.group(1) if section else ""):
        if name in folders and name not in named:
            named.append(name)
    if named != folders:
        problems.append(f"README.md, Finding your way: names {' '.join(named)}; the order is {' '.join(folders)}")
    return problems


def self_test():
    sound = {
        "CMakeLists.txt": "heatskin_module(base    CORE LIBS x)\nheatskin_module(surface CORE DEPS base)\n"
        "heatskin_module(io      DEPS base LIBS png)\n",
        "README.md": "# x\n\n## Finding your way\n\n`base`, `surface`, `io`.\n",
        "src/heatskin/base/a.h": '// Not in s.cpp, but see base/b.h.\n#include <vector>\n#include "heatskin/base/b.h"\n',
        "src/heatskin/base/b.h": "",
        "src/heatskin/surface/s.cpp": '#include "heatskin/base/a.h"\n#include "heatskin/version.h"\n',
        "src/heatskin/surface/s_test.cpp": '#include "heatskin/io/f.h"\n',
        "src/heatskin/io/f.h": '#include <png.h>\n#include "heatskin/surface/s.h"\n',
        "bench/b.cpp": '#include "heatskin/io/f.h"\n',
        "cli/c.cpp": '#include "bench/b.h"\n',
    }
    planted = [
        ("src/heatskin/surface/s.cpp", '#include "heatskin/io/f.h"\n', "io stands below surface"),
        ("src/heatskin/base/a.h", '  # include "heatskin/surface/s.h"\n', "surface stands below base"),
        ("src/heatskin/surface/s.cpp", "#include <png.h>\n", "belongs to the core"),
        ("src/heatskin/surface/s.cpp", "#include <nlohmann/json.hpp>\n", "belongs to the core"),
        ("src/heatskin/io/f.h", '#include "cli/c.h"\n', "nothing from outside"),
        ("src/heatskin/io/f.h", '#include "heatskin/nowhere/c.h"\n', "no such folder"),
        ("src/heatskin/extra/e.h", "", "src/heatskin has base extra io surface"),
        ("bench/b.cpp", '#include "cli/c.h"\n', "bench stands before it"),
        ("src/heatskin/base/a.h", "/// See gone.cpp.\n", "a.h:1: there is no gone.cpp"),
        ("src/heatskin/base/a.h", "int x;  // base/gone.h\n", "a.h:1: there is no gone.h"),
        ("README.md", "# x\n\n## Finding your way\n\n`base`, `io`, `surface`.\n", "Finding your way"),
        ("CMakeLists.txt", "heatskin_module(io DEPS base)\nheatskin_module(base CORE)\nheatskin_module(surface CORE)\n",
         "of the core stands below"),
    ]
    return planted_errors.self_test("check_includes", check, sound, planted)


if __name__ == "__main__":
    sys.exit(planted_errors.run("check_includes", check, self_test, sys.argv[1:], lambda root: ' < '.join(folders_of(root)[0])))
