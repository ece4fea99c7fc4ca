#!/usr/bin/env python3
"""../check tells the time of each part, wherever it ends.

    test_check.py SOURCE_ROOT

Runs the script in a folder where what it calls takes no time: its own functions, meson and windows_missing.sh."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(sys.argv.pop(1)) / "check"
SETUP = """build_packages=() test_packages=()
install_missing() { :; }
build_in() { [ "$1" != "${BAD_BUILD-}" ]; }
"""
MESON = """#!/bin/sh
mkdir -p "$3/meson-logs"
echo "{\\"name\\": \\"a test\\", \\"result\\": \\"${RESULT-OK}\\"}" >"$3/meson-logs/testlog.json"
[ "${RESULT-OK}" = OK ]
"""
PARTS = ["packages", "build, plain", "build, sanitized", "build, Windows", "link, Windows", "tests, plain", "tests, sanitized"]


class Check(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        shutil.copy(CHECK, self.root)
        self.write(".ci/setup.sh", SETUP)
        self.write("tests/windows_missing.sh", "#!/bin/sh\n")
        self.write("bin/meson", MESON)

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(exist_ok=True)
        target.write_text(text)
        target.chmod(0o755)

    def run_check(self, **environment):
        """Returns the exit status, the parts that have a time, those that failed, and the last line."""
        path = f"{self.root}/bin:{os.environ['PATH']}"
        done = subprocess.run([self.root / "check"], env={**os.environ, "PATH": path, "TMPDIR": self.root, **environment},
                              capture_output=True, text=True)
        lines = re.findall(r"(?m)^(.+?) +\d+ s(?: +\d+ s)?(  FAILED)?$", done.stdout)
        self.assertEqual(list(self.root.glob("tmp.*")), [])
        return (done.returncode, [name for name, _ in lines], [name for name, failed in lines if failed],
                done.stdout.splitlines()[-1])

    def test_all_passes(self):
        self.assertEqual(self.run_check(), (0, [*PARTS, "total"], [], "2 passed, 0 failed, 0 skipped"))

    def test_a_build_fails(self):
        status, parts, failed, last = self.run_check(BAD_BUILD="build-sanitize")
        self.assertEqual((status, parts, failed), (1, [*PARTS[:3], "total"], ["build, sanitized"]))
        self.assertTrue(last.startswith("total "), last)

    def test_tests_fail(self):
        self.assertEqual(self.run_check(RESULT="FAIL"),
                         (1, [*PARTS, "total"], PARTS[5:], "0 passed, 2 failed, 0 skipped"))


if __name__ == "__main__":
    unittest.main()
