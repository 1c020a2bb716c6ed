#!/usr/bin/env bash
# The Python module: `tests` runs python/tests and the examples of its documents, `types` holds its types against what is
# there, `pip` installs it into a virtual environment, offline.
# usage: python.sh BUILD WHAT
set -euo pipefail
build=$(realpath "$1") what=$2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=/usr/bin/python3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
lacks() {
  echo "FAILED: $1 (./setup --install)"
  exit 1
}
compgen -G "$build/python/origo/_native*.so" >/dev/null || lacks "the module was not built: CMake says why in the line \"No Python module\""
has() { $python -c "import $1" 2>/dev/null || lacks "$2 is not installed"; }
cd "$root"
export PYTHONPATH=$build/python PYTHONDONTWRITEBYTECODE=1
case $what in
tests)
  has pytest python3-pytest
  has numpy python3-numpy
  TMPDIR=$scratch ORIGO_BIN=$build/bin $python -m pytest -q -p no:cacheprovider --doctest-modules --doctest-glob='*.md' \
    python/tests "$build/python/origo" docs/python.md
  # The cookbook's, where its network is.
  "$build/bin/circle2circle" res/mobilenet_v2.origo "$scratch/net.tflite" 2>/dev/null
  (cd "$scratch" && $python -m pytest -q -p no:cacheprovider --rootdir="$scratch" --doctest-glob='*.md' "$root/docs/cookbook.md")
  # An example that shows something else has to be seen.
  printf '>>> import origo\n>>> 1 + 1\n3\n' >"$scratch/lie.md"
  if $python -m pytest -q -p no:cacheprovider --doctest-glob='*.md' "$scratch/lie.md" >/dev/null; then
    echo "FAILED: a wrong example passes"
    exit 1
  fi
  ;;
types)
  has mypy mypy
  cd "$scratch"
  export MYPYPATH=$build/python
  $python -m mypy --strict --no-error-summary -p origo
  # What users write is checked too: what is right passes, what is wrong does not.
  printf 'import origo\nnet: origo.Model = origo.load("a.tflite")\nfates = [row.fate.upper() for row in net.ledger]\n' >right.py
  printf 'import origo\nnet: int = origo.load("a.tflite")\norigo.load("a").optimize(level="1")\n' >wrong.py
  $python -m mypy --strict --no-error-summary right.py
  if said=$($python -m mypy --strict --no-error-summary wrong.py) || [[ $(grep -c error <<<"$said") != 2 ]]; then
    echo "FAILED: wrong types pass: $said"
    exit 1
  fi
  # What pybind11 makes of every class.
  printf 'origo._native.%s\n' Model Model.__init__ Session Session.__init__ Statistics Statistics.__init__ >known
  $python -m mypy.stubtest --allowlist known origo._native
  # A stub that promises what is not there has to be seen.
  cp -r "$build/python/origo" origo
  echo 'def nothing() -> None: ...' >>origo/_native.pyi
  if PYTHONPATH=$scratch MYPYPATH=$scratch $python -m mypy.stubtest --allowlist known origo._native >/dev/null 2>&1; then
    echo "FAILED: a function that is not there passes"
    exit 1
  fi
  ;;
pip)
  has venv python3-venv
  has numpy python3-numpy
  $python -m venv --system-site-packages "$scratch/env" || lacks "python3-venv is not installed"
  unset PYTHONPATH
  "$scratch/env/bin/pip" install -q --no-index --no-build-isolation --disable-pip-version-check \
    --config-settings=build-dir="$build" .
  cd "$scratch"
  "$scratch/env/bin/python" - "$root/res/lstm.origo" <<'PY'
import importlib.metadata, sys, origo
assert origo.__file__.startswith(sys.prefix), origo.__file__
assert importlib.metadata.version("origo") == origo.__version__
net = origo.load(sys.argv[1])
assert net.optimize().check() == []
PY
  "$scratch/env/bin/pip" uninstall -q -y --disable-pip-version-check origo
  if "$scratch/env/bin/python" -c 'import origo' 2>/dev/null; then
    echo "FAILED: uninstalled, it is still there"
    exit 1
  fi
  ;;
esac
echo "python: $what passed"
