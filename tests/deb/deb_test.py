#!/usr/bin/env python3
"""What `make deb` makes: packages that dpkg reads, with the program, its manual pages, completions and copyright, and
without anything of the build; the program in it runs. lintian finds no error where it is installed."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from shutil import which

ROOT = Path(__file__).resolve().parent.parent.parent


def output(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"deb: {' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def need(condition, what):
    if not condition:
        sys.exit(f"deb: {what}")


def main():
    if which("dpkg-deb") is None or which("cpack") is None:
        print("deb: skipped, dpkg-deb or cpack is not installed", file=sys.stderr)
        return 77
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "HEATSKIN_DEB_OUT": folder, "HEATSKIN_DEB_COMPRESSION": "gzip"}
        made = subprocess.run([ROOT / "scripts/deb.sh"], env=environment, capture_output=True, text=True)
        print(made.stdout, made.stderr)
        need(made.returncode == 0, "scripts/deb.sh failed")
        packages = {path.name.split("_")[0]: path for path in Path(folder).glob("*.deb")}
        module = list((ROOT / "build/python/heatskin").glob("_native.*.so"))
        expected = {"heatskin", "libheatskin-dev"} | ({"python3-heatskin"} if module else set())
        need(set(packages) == expected, f"packages are {sorted(packages)}")

        files = {}
        for name, path in packages.items():
            listed = [line.split(None, 5) for line in output("dpkg-deb", "-c", path).splitlines()]
            need(all(line[1] == "root/root" for line in listed), f"{name} has files that are not root's")
            files[name] = {line[5].removeprefix("./") for line in listed}
            need(f"usr/share/doc/{name}/copyright" in files[name], f"{name} has no copyright")
            need(f"usr/share/doc/{name}/changelog.gz" in files[name], f"{name} has no changelog")
        verbs = [line.split()[0] for line in output(ROOT / "build/heatskin", "--help").splitlines()
                 if line.startswith("  ") and not line.startswith("  heatskin")]
        wanted = {f"usr/share/man/man1/heatskin-{verb}.1.gz" for verb in verbs}
        wanted |= {"usr/bin/heatskin", "usr/share/man/man1/heatskin.1.gz", "usr/share/man/man7/heatskin-options.7.gz",
                   "usr/share/bash-completion/completions/heatskin", "usr/share/zsh/site-functions/_heatskin",
                   "usr/share/fish/vendor_completions.d/heatskin.fish"}
        need(wanted <= files["heatskin"], f"missing: {sorted(wanted - files['heatskin'])}")
        need(not any("include" in file or file.endswith(".a") for file in files["heatskin"]), "headers in the program's")
        need({"usr/include/heatskin/heatskin.h", "usr/lib/libheatskin.a"} <= files["libheatskin-dev"],
             "the library's has no header or no library")

        unpacked = Path(folder) / "unpacked"
        output("dpkg-deb", "-x", packages["heatskin"], unpacked)
        version = output(unpacked / "usr/bin/heatskin", "--version")
        need(version == output(ROOT / "build/heatskin", "--version"), f"the packaged program says {version}")
        control = output("dpkg-deb", "-f", packages["heatskin"])
        for part in ("Depends: libc6", "libtbb12", "Section: graphics", "Version: 0.1.0"):
            need(part in control, f"the control file has no '{part}'")
        if module:
            output("dpkg-deb", "-x", packages["python3-heatskin"], unpacked)
            place = unpacked / "usr/lib/python3/dist-packages"
            code = "import heatskin, numpy; print(heatskin.__file__, len(heatskin.exact_distance(numpy.eye(3), [[0, 1, 2]], 0)))"
            where = output("env", f"PYTHONPATH={place}", "/usr/bin/python3", "-c", code).split()
            need(where == [str(place / "heatskin/__init__.py"), "3"], f"the packaged module says {where}")
            said = output("env", f"PYTHONPATH={place}", "/usr/bin/python3", "-m", "heatskin", "--version")
            need(said == version, f"python3 -m heatskin says {said}")
            control = output("dpkg-deb", "-f", packages["python3-heatskin"])
            for part in ("python3-numpy", "heatskin (= 0.1.0)", "Section: python", "libtbb12"):
                need(part in control, f"the control file of Python has no '{part}'")
            stray = [file for file in files["python3-heatskin"] if "__pycache__" in file]
            need(not stray, f"Python's has {stray}")
    print(f"deb: {len(packages)} packages, as they should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
