"""Stubs and annotations say what is there: mypy on the package and on a user's program, stubs against the module."""
import ast
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import heatskin
from heatskin import _native

PACKAGE = os.path.dirname(heatskin.__file__)
MYPY = shutil.which("mypy", path="/usr/bin" + os.pathsep + os.environ.get("PATH", ""))
needs_mypy = pytest.mark.skipif(MYPY is None, reason="mypy is not installed (Debian: mypy)")


def mypy(arguments, folder, module="mypy"):
    environment = {**os.environ, "MYPYPATH": "", "MYPY_CACHE_DIR": os.path.join(str(folder), "cache"), "PYTHONPATH": os.path.dirname(PACKAGE)}
    return subprocess.run([sys.executable, "-m", module, *arguments], cwd=folder, env=environment, capture_output=True, text=True)


@needs_mypy
def test_the_package(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "heatskin", ignore=lambda _, names: {n for n in names if n == "bin" or n.endswith(".so")})
    done = mypy(["--strict", "-p", "heatskin"], tmp_path)
    assert done.returncode == 0, done.stdout


@needs_mypy
def test_a_program(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "heatskin", ignore=lambda _, names: {n for n in names if n == "bin" or n.endswith(".so")})
    program = '''
import numpy as np
import heatskin
texture = heatskin.fit(np.zeros((3, 3)), [[0, 1, 2]], lambda p: np.abs(p), steps=5, progress=True)
reveal_type(texture.color_at([[0.0, 0.0, 0.0]]))
reveal_type(texture.kernels.values)
reveal_type(heatskin.eigenpairs(np.zeros((3, 3)), [[0, 1, 2]], 3))
'''
    (tmp_path / "program.py").write_text(program)
    done = mypy(["--strict", "program.py"], tmp_path)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("_32Bit") == 2 and "uple[numpy.ndarray" in done.stdout, done.stdout
    (tmp_path / "program.py").write_text(program + 'texture.color(0)\ntexture.render(mode=5)\nheatskin.fit("a", stepz=1)\n')
    done = mypy(["--strict", "program.py"], tmp_path)
    assert done.returncode == 1 and done.stdout.count("error:") >= 3, done.stdout


def stubs():
    with open(os.path.join(PACKAGE, "_native.pyi"), encoding="utf-8") as file:
        return ast.parse(file.read())


def differences(tree, module):
    """Names, numbers and plain types of arguments in which stubs and module differ."""
    found = []
    names = {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    names |= {n.target.id for n in tree.body if isinstance(n, ast.AnnAssign)}
    there = {n for n in dir(module) if not n.startswith("__")}
    found += [f"{n} is in one only" for n in sorted(names ^ there)]
    plain = {"int": ("int",), "bool": ("bool",), "str": ("str",), "float": ("float",), "bytes": ("bytes",)}
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or node.name not in there:
            continue
        text = getattr(module, node.name).__doc__.splitlines()[0]
        arguments = re.findall(r"arg\d+: ((?:[^,\[\]]|\[[^\]]*\])+)", text)
        if len(arguments) != len(node.args.args):
            found.append(f"{node.name} has {len(arguments)} arguments, its stub {len(node.args.args)}")
            continue
        for n, (given, stub) in enumerate(zip(arguments, node.args.args)):
            wanted = ast.unparse(stub.annotation)
            array = re.match(r"numpy.ndarray\[numpy\.(\w+)\]", given)
            if array:
                kind = {"float64": "_F8", "float32": "_F4", "int64": "_I8", "uint8": "_U1"}[array.group(1)]
                if wanted != kind:
                    found.append(f"{node.name}, argument {n}: {wanted}, is {given}")
            elif given in plain and wanted not in plain[given]:
                found.append(f"{node.name}, argument {n}: {wanted}, is {given}")
    return found


def test_stubs_and_module():
    assert differences(stubs(), _native) == []


def test_stubs_with_planted_errors():
    tree = stubs()
    walk = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "mesh_heat")
    walk.args.args.pop()
    assert any("mesh_heat has 6 arguments" in d for d in differences(tree, _native))
    tree = stubs()
    walk = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "mesh_heat")
    walk.args.args[1].annotation = ast.Name("_F8")
    assert any("mesh_heat, argument 1" in d for d in differences(tree, _native))
    tree = stubs()
    tree.body = [n for n in tree.body if getattr(n, "name", "") != "texture_bake"]
    assert differences(tree, _native) == ["texture_bake is in one only"]


def public(thing, name):
    for key in dir(thing):
        if key.startswith("_"):
            continue
        value = getattr(thing, key)
        if callable(value) or isinstance(getattr(type(thing), key, None), property) or isinstance(value, property):
            yield f"{name}.{key}", value


def test_everything_public_is_explained():
    missing = []
    for name in heatskin.__all__:
        value = getattr(heatskin, name)
        if isinstance(value, type) or callable(value):
            if not (value.__doc__ or "").strip():
                missing.append(name)
        if isinstance(value, type) and value.__module__.startswith("heatskin"):
            missing += [n for n, v in public(value, name) if not (getattr(v, "__doc__", "") or "").strip()]
    allowed = {"Asset.load", "Surface.vertex_count", "Surface.face_count", "Texture.from_bytes", "Texture.method", "SparseMatrix.shape", "SparseMatrix.csr",
               "Kernels.copy"}  # their names say it
    assert set(missing) <= allowed, sorted(set(missing) - allowed)


def test_shapes_are_in_docstrings():
    for function in (heatskin.exact_distance, heatskin.Surface.exact_distance, heatskin.Surface.log_map, heatskin.fit, heatskin.Texture.color,
                     heatskin.Texture.values, heatskin.Texture.gradients, heatskin.farthest_points, heatskin.Surface.walk):
        text = function.__doc__
        assert re.search(r"\[[nNVFk, \d]+\]", text) or "Surface." in text, function.__qualname__
    assert np.dtype(np.float32) == heatskin.Surface([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]).heat(np.ones(3), 0.1).dtype
