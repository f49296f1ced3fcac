#!/usr/bin/env python3
"""docs.py OUT HEATSKIN: the documentation as a web site in OUT/html, with Sphinx.

The pages are those of docs/, the README, the change log, the notes for contributors and the packages' own READMEs; the
program writes the reference of its verbs and a gallery, Doxygen reads the C++ headers. Links are rewritten to where things are
in the site. A link to something that does not exist, a heading included, is an error, and so is every warning of Sphinx.

docs.py --self-test: whether broken links would be noticed.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# A link, or a piece of code, in which nothing is a link.
LINK = re.compile(r'(!?\[(?:[^\[\]]|\[[^\[\]]*\])*\])\(([^()\s]+)\)|(?P<code>`+[^`]*`+)')
ALT = re.compile(r'\balt="[^"]*"')
IMAGE = re.compile(r'(<img\b[^>]*\bsrc=")([^"]+)(")')
FENCE = re.compile(r"^\s*(```|~~~)")
ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:", re.I)

# Pages besides those of docs/: where they are, where they go.
PAGES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}

TOCTREES = [
    ("Using heatskin", ["fitting", "viewing", "baking", "transfer", "batch", "pipelines", "studies", "lpips"]),
    ("Programming", ["tour", "cpp/index", "python", "packages/three", "packages/gltf-transform"]),
    ("Reference", ["manual/heatskin", "manual/heatskin-options", "format", "conventions", "symbols"]),
    ("Results", ["gallery", "results/*"]),
    ("Project", ["changelog", "contributing"]),
]


class Broken(Exception):
    """Something in the sources of the site that cannot be shown."""


def pages_of(root):
    """Repository path -> path in the site, of everything that is a page."""
    pages = {Path(a): Path(b) for a, b in PAGES.items() if (root / a).exists()}
    for page in sorted((root / "docs").rglob("*.md")):
        inner = page.relative_to(root / "docs")
        if inner.parts[0] != "site":
            pages[page.relative_to(root)] = inner
    for readme in sorted((root / "packages").glob("*/README.md")):
        pages[readme.relative_to(root)] = Path("packages") / f"{readme.parent.name}.md"
    return pages


def rewritten(text, page, pages, root, out):
    """The text of `page` with links that hold in the site; what they name is copied if it is no page."""
    site_page = pages[page]

    def target(link):
        if ELSEWHERE.match(link) or link.startswith("#"):
            return link
        path, _, anchor = link.partition("#")
        named = Path(os.path.normpath(page.parent / path))
        if named.parts and named.parts[0] == ".." or not (root / named).exists():
            raise Broken(f"{page}: the link to {link} leads nowhere")
        if named in pages:
            there = pages[named]
        elif (root / named).is_dir():
            if named / "README.md" not in pages:
                return None
            there = pages[named / "README.md"]
        elif named.parts[0] == "docs":
            there = Path(*named.parts[1:])
        else:
            there = Path("files") / named
            (out / there).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / named, out / there)
        link = os.path.relpath(there, site_page.parent)
        return link + ("#" + anchor if anchor else "")

    def link(match):
        if match["code"]:
            return match[0]
        to = target(match[2])
        # Folders are no pages: their name alone.
        return match[1][1:-1] if to is None else f"{match[1]}({to})"

    lines, fenced = [], False
    for line in text.splitlines():
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            line = LINK.sub(link, line)
            line = IMAGE.sub(lambda m: m[1] + target(m[2]) + m[3], line)
            # MyST hands the text of <img> on as YAML, in which ": " is an error.
            line = ALT.sub(lambda m: m[0].replace(": ", " – "), line)
        lines.append(line)
    return "\n".join(lines) + "\n"


def assemble(root, out):
    """The sources of the site, but for what programs write."""
    pages = pages_of(root)
    shutil.copytree(root / "docs", out, ignore=shutil.ignore_patterns("site", "*.md", "rows"))
    for page, there in pages.items():
        text = (root / page).read_text(encoding="utf-8")
        (out / there).parent.mkdir(parents=True, exist_ok=True)
        (out / there).write_text(rewritten(text, page, pages, root, out), encoding="utf-8")
    if (root / "docs/site").exists():
        if (root / "docs/site/gallery.md").exists():
            shutil.copyfile(root / "docs/site/gallery.md", out / "gallery.md")
        shutil.copyfile(root / "docs/site/conf.py", out / "conf.py")
        (out / "_static").mkdir()
        shutil.copyfile(root / "docs/site/site.css", out / "_static/site.css")
    return pages


def example_gallery(program, folder):
    """A gallery page as `heatskin gallery` writes it: the built-in pumpkin with growing numbers of kernels."""
    folder.mkdir()
    asset = folder.parent / "pumpkin.glb"

    def run(*words):
        subprocess.run([program, *map(str, words), "-q"], check=True)

    run("demo-asset", "-o", asset, "--resolution", 2000, "--texture", 512)
    for kernels in (500, 2000, 8000):
        product = folder / f"pumpkin_{kernels}.glb"
        run("fit", asset, "-o", product, "--preset", "draft", "--kernels", kernels, "--json", product.with_suffix(".json"))
    run("gallery", folder, "-o", folder / "index.html", "--title", "The pumpkin with more and more kernels")


def doxygen_reference(root, out, work):
    """XML of the installed headers, and a page for each of them."""
    listing = (root / "cmake/public_headers.cmake").read_text(encoding="utf-8")
    headers = re.findall(r"^\s+([\w/]+\.h)\b", listing, re.M)
    xml = work / "doxygen"
    xml.mkdir()
    inputs = " ".join(f'"{root / "src/heatskin" / h}"' for h in headers if h != "heatskin.h")
    (work / "Doxyfile").write_text(
        f"PROJECT_NAME = heatskin\nINPUT = {inputs}\nOUTPUT_DIRECTORY = {xml}\nGENERATE_XML = YES\n"
        "GENERATE_HTML = NO\nGENERATE_LATEX = NO\nQUIET = YES\nWARN_IF_UNDOCUMENTED = NO\nJAVADOC_AUTOBRIEF = YES\n"
        # Everything is in one namespace, which every page would define anew.
        "INPUT_FILTER = \"sed -e s/^namespace.heatskin.{$// -e s,^}..//.namespace.heatskin$,,\"\n"
        "MARKDOWN_SUPPORT = NO\nAUTOLINK_SUPPORT = NO\nMACRO_EXPANSION = YES\n"
        f'STRIP_FROM_PATH = "{root / "src"}"\n', encoding="utf-8")
    subprocess.run(["doxygen", str(work / "Doxyfile")], check=True, stdout=subprocess.DEVNULL,
                   stderr=(work / "doxygen.log").open("w"))
    folder = out / "cpp"
    folder.mkdir()
    names = []
    for header in headers:
        if header == "heatskin.h":
            continue
        name = header[:-2].replace("/", "_")
        names.append(name)
        title = f"heatskin/{header}"
        (folder / f"{name}.rst").write_text(f"{title}\n{'=' * len(title)}\n\n.. doxygenfile:: {header}\n",
                                            encoding="utf-8")
    (folder / "index.md").write_text(
        "# C++ reference\n\n`#include <heatskin/heatskin.h>` has all of these headers, whose names are in the namespace `heatskin`; [the tour](../tour.md) shows how "
        "they go together.\n\n```{toctree}\n:maxdepth: 1\n\n" + "\n".join(names) + "\n```\n", encoding="utf-8")
    return xml / "xml"


def add_toctrees(out):
    """The README is the first page; all others hang below it."""
    def there(name):
        return (out / f"{name}.md").exists() or (out / f"{name}.rst").exists()

    text = (out / "index.md").read_text(encoding="utf-8")
    for caption, names in TOCTREES:
        known = []
        for name in names:
            if name.endswith("/*"):
                known += sorted(str(p.relative_to(out).with_suffix("")) for p in (out / name[:-2]).glob("*.md"))
            elif there(name):
                known.append(name)
        if known:
            text += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(known) + "\n```\n"
    (out / "index.md").write_text(text, encoding="utf-8")
    # The verbs hang below the overview, studies below their page.
    for parent, below in (("manual/heatskin.md", "manual/heatskin-*.md"),
                          ("results/studies.md", "results/studies/*.md")):
        if (out / parent).exists():
            names = sorted(os.path.relpath(p.with_suffix(""), (out / parent).parent) for p in out.glob(below)
                           if p.name != "heatskin-options.md")
            with (out / parent).open("a", encoding="utf-8") as file:
                file.write("\n```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n")


def sphinx(source, html, environment):
    return subprocess.run(["sphinx-build", "-W", "--keep-going", "-q", "-b", "html", "-d", str(html) + ".doctrees",
                           str(source), str(html)], env={**os.environ, **environment}, capture_output=True, text=True)


def build(out, program):
    version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    source = out / "source"
    shutil.rmtree(source, ignore_errors=True)
    for old in ("html", "html.doctrees"):
        shutil.rmtree(out / old, ignore_errors=True)
    work = out / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    pages = assemble(ROOT, source)
    subprocess.run([program, "manual", "--format", "markdown", "-q", "-o", str(source / "manual")], check=True)
    (source / "extra").mkdir()
    example_gallery(program, source / "extra/gallery")
    xml = doxygen_reference(ROOT, source, work)
    add_toctrees(source)
    result = sphinx(source, out / "html", {"HEATSKIN_VERSION": version, "HEATSKIN_DOXYGEN_XML": str(xml)})
    if result.returncode != 0:
        print(result.stderr.strip()[-6000:], file=sys.stderr)
        raise Broken("the documentation has the problems above")
    count = sum(1 for _ in (out / "html").rglob("*.html"))
    print(f"docs: {count} pages from {len(pages)} documents: {out / 'html/index.html'}")


def self_test():
    """Each planted error must be noticed; without one there is none."""
    def trial(page):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "root"
            (root / "docs/site").mkdir(parents=True)
            for name in ("conf.py", "site.css"):
                shutil.copyfile(ROOT / "docs/site" / name, root / "docs/site" / name)
            (root / "README.md").write_text("# One\n\n[two](docs/two.md#a-heading) [code](code.txt)\n", encoding="utf-8")
            (root / "code.txt").write_text("text\n", encoding="utf-8")
            (root / "docs/two.md").write_text("# Two\n\n## A heading\n\n" + page, encoding="utf-8")
            source = Path(folder) / "source"
            try:
                assemble(root, source)
            except Broken:
                return False
            (source / "index.md").open("a").write("\n```{toctree}\ntwo\n```\n")
            return sphinx(source, Path(folder) / "html", {"HEATSKIN_DOXYGEN_XML": ""}).returncode == 0

    cases = [("[one](../README.md) `[no](link.md)`\n\n```sh\n[neither](this.md)\n```\n", True),
             ("[gone](missing.md)\n", False), ("[gone](../missing.txt)\n", False),
             ("[no heading](../README.md#nothing)\n", False), ("![no image](images/none.png)\n", False),
             ("<img src=\"images/none.png\" alt=\"none\">\n", False), ("[outside](../../elsewhere.md)\n", False)]
    failed = 0
    for text, good in cases:
        if trial(text) != good:
            print(f"docs: {'a good page is refused' if good else 'not noticed'}: {text!r}", file=sys.stderr)
            failed += 1
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    try:
        build(Path(sys.argv[1]).resolve(), sys.argv[2])
    except (Broken, subprocess.CalledProcessError, OSError) as problem:
        print(f"docs: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
