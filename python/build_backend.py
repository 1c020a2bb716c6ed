"""What pip calls to make a wheel: CMake builds and installs the module, this puts it into a zip file (PEP 517).

--config-settings=build-dir=FOLDER builds in a folder that CMake has configured already.
"""

import base64
import hashlib
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
import zipfile
from pathlib import Path

root = Path(__file__).resolve().parent.parent


def cmake(*words):
    subprocess.run(["cmake", *map(str, words)], check=True, cwd=root)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    build = (config_settings or {}).get("build-dir")
    if not build:
        build = root / "build" / "python"
        cmake("-S", root, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DORIGO_UNITY=ON", "-DORIGO_PRECOMPILED_HEADERS=ON",
              f"-DORIGO_PYTHON={sys.executable}", *generator())
    cmake("--build", build, "--target", "origo_native")
    with tempfile.TemporaryDirectory() as staging:
        cmake("--install", build, "--component", "python", "--strip", "--prefix", staging)
        packages = Path(staging, "lib", "python3", "dist-packages")
        info = next(packages.glob("origo-*.dist-info"), None)
        if info is None:
            raise SystemExit("origo: CMake has not built the module; it says why in the line \"No Python module\"")
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        tag = f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
        (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: origo\nRoot-Is-Purelib: false\nTag: {tag}\n")
        name = f"{info.name[: -len('.dist-info')]}-{tag}.whl"
        write_wheel(Path(wheel_directory, name), packages, info)
    return name


def generator():
    return [] if "CMAKE_GENERATOR" in os.environ else ["-G", "Ninja"]


def write_wheel(path, packages, info):
    moment = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), 315532800))[:6]  # zip files begin with 1980
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:

        def add(name, data, mode=0o644):
            entry = zipfile.ZipInfo(name, moment)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100000 | mode) << 16
            wheel.writestr(entry, data)

        for file in sorted(p for p in packages.rglob("*") if p.is_file()):
            data = file.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            name = file.relative_to(packages).as_posix()
            record.append(f"{name},sha256={digest},{len(data)}")
            add(name, data, 0o755 if os.access(file, os.X_OK) else 0o644)
        record.append(f"{info.name}/RECORD,,")
        add(f"{info.name}/RECORD", "\n".join(record) + "\n")
