import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
os.environ.setdefault("HEATSKIN_CACHE", "off")

import heatskin  # noqa: E402
from shapes import icosphere, waves  # noqa: E402

#: Small enough for a second, large enough to mean something.
SMALL = {"preset": "draft", "steps": 60, "kernels": 300, "evaluate": False}


@pytest.fixture(scope="session")
def pumpkin():
    return heatskin.Asset.pumpkin(600, 256)


@pytest.fixture(scope="session")
def fitted(pumpkin):
    """A small texture of the pumpkin; nobody changes it, textures are immutable."""
    return heatskin.fit(pumpkin, preset="draft", steps=60, kernels=800)


@pytest.fixture(scope="session")
def sphere_texture():
    vertices, faces = icosphere(2)
    return heatskin.fit(vertices, faces, waves(vertices), **SMALL)


@pytest.fixture(scope="session")
def small():
    return dict(SMALL)
