import os
import subprocess
from pathlib import Path

import pytest

import origo

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def tool():
    """Runs a command line of this build; what it prints."""
    folder = Path(os.environ["ORIGO_BIN"])

    def run(name, *words, status=0):
        done = subprocess.run([folder / name, *map(str, words)], capture_output=True, text=True)
        assert done.returncode == status, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def files(tool, tmp_path_factory):
    """A network, as a file of each format and quantised."""
    folder = tmp_path_factory.mktemp("files")
    for format in "tflite", "circle":
        tool("circle2circle", ROOT / "res/resnet_preact.origo", folder / f"net.{format}")
        (folder / f"net.{format}.origin.json").unlink()
    # A file of its own, that no origins lead away from.
    tool("origin-dump", f"--strip={folder}/plain.tflite", folder / "net.tflite")
    return folder


@pytest.fixture
def net(files):
    return origo.load(files / "plain.tflite")


@pytest.fixture
def text(tmp_path):
    """A model written as text."""

    def load(body, format="tflite"):
        path = tmp_path / "text.origo"
        path.write_text(f"origo 1\nmodel {format} version 3\n{body}\n")
        return origo.load(path)

    return load
