"""Whether a checker of source files notices: it is run on a small sound tree and on that tree with one error planted at a time."""

import tempfile
from pathlib import Path


def self_test(name, check, sound, planted):
    """`check(root)` gives a list of problems; `sound` maps paths to texts; `planted` has (path, text, part of the problem)."""
    failures = []
    for change in [None, *planted]:
        files = dict(sound)
        if change:
            files[change[0]] = change[1]
        with tempfile.TemporaryDirectory() as folder:
            for path_name, text in files.items():
                path = Path(folder) / path_name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            problems = check(Path(folder))
        if change is None and problems:
            failures.append(f"a sound tree: {problems}")
        if change and not any(change[2] in problem for problem in problems):
            failures.append(f"planted in {change[0]}: {change[1]!r} was not found: {problems}")
    for failure in failures:
        print(f"{name}: self-test: {failure}")
    print(f"{name}: {len(planted)} planted errors, {len(failures)} failures")
    return 1 if failures else 0


def run(name, check, self_test_of_name, arguments, all_well):
    """The program: `--self-test`, or the tree in `arguments` (this one if none is given)."""
    if arguments == ["--self-test"]:
        return self_test_of_name()
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    problems = check(root)
    for problem in problems:
        print(f"{name}: {problem}")
    if not problems:
        print(f"{name}: {all_well(root)}")
    return 1 if problems else 0
