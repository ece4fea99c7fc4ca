#!/usr/bin/env python3
"""The module reverie-cuda.so, which a program that was built without CUDA opens for GPUs: where it is looked for, which
files are refused, and that a program goes on without it.

    test_cuda_module.py SOURCE_ROOT PROGRAM CPU_MODULE OLD_MODULE EMPTY_MODULE LIBRARY|- PICTURES|- CUDA_MODULE|- CUDA|-
                        LINKED|- [ARCHIVE.a...] [TEST...]

CPU_MODULE, OLD_MODULE and EMPTY_MODULE are the kinds of rigs/cuda_module.c. LIBRARY is given where it opens modules,
too; PICTURES is the program library/pictures.c. CUDA_MODULE is the real one, built of the same sources as PROGRAM, and
CUDA the archive of the device in it. LINKED is the program with that device linked into it. The ARCHIVEs have the
objects of unet/base and unet/plan. Without TESTs, which are names such as Modules.test_absent, all run."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT, PROGRAM, CPU, OLD, EMPTY, LIBRARY, PICTURES, CUDA, DEVICE_ARCHIVE, LINKED = (
    path if path == "-" else os.path.abspath(path) for path in sys.argv[1:11])
ARCHIVES = [name for name in sys.argv[11:] if name.endswith(".a")]
sys.argv[1:] = [name for name in sys.argv[11:] if not name.endswith(".a")]
NAME = "reverie-cuda.so"
CLIP = ROOT + "/assets/sample.mp4"
WHAT = ("--frames", "2", "--size", "64x64", "--threads", "1")
DEVICE = 5  # the status of a device that cannot be used


def said_by(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def has_gpu():
    try:
        return b"GPU 0" in subprocess.run(["nvidia-smi", "-L"], capture_output=True).stdout
    except OSError:
        return False


class Modules(unittest.TestCase):
    """A copy of the program in a folder of its own, in which a module may lie beside it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(os.path.realpath(folder.name))
        self.beside, self.elsewhere = self.folder / "bin", self.folder / "elsewhere"
        self.beside.mkdir()
        self.elsewhere.mkdir()
        self.program = self.beside / "reverie"
        try:
            os.link(PROGRAM, self.program)
        except OSError:
            shutil.copy(PROGRAM, self.program)
        self.opened = self.folder / "opened.txt"
        self.environment = {**os.environ, "REVERIE_DATA_DIR": ROOT + "/assets", "REVERIE_TEST_OPENED": str(self.opened)}

    def run_program(self, *arguments, program=None, status=0, **more):
        environment = {**self.environment, **more}
        result = subprocess.run([program or self.program, *arguments], cwd=self.elsewhere, env=environment,
                                stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertEqual(result.returncode, status, result.stderr)
        return result

    def hashes(self, device, *what, program=None):
        result = self.run_program("render", CLIP, "hash:-", "--device", device, *(what or WHAT), program=program)
        found = re.findall(r"(?m)^\d+ \d+ ([0-9a-f]{32})$", result.stdout)
        self.assertGreaterEqual(len(found), 2)
        return found

    def refusal(self):
        """What is said when a GPU is asked for; version and list of devices say the same."""
        said = self.run_program("render", CLIP, "null:", "--device", "cuda", *WHAT, status=DEVICE).stderr
        self.assertEqual(said.count("\n"), 1)
        reason = said.split("reverie: ", 1)[1].strip()
        self.assertIn("NVIDIA GPUs: not here: " + reason, self.run_program("--version", "-v").stdout)
        self.assertIn("cuda   not here: " + reason, self.run_program("info").stdout)
        return reason

    def skip_where_installed(self):
        """A module that is installed on this machine, where the build would install one, is found, too."""
        if NAME + ", is not here" not in self.run_program("--version", "-v").stdout:
            self.skipTest("a module is installed on this machine")

    def expect_cpu(self):
        """With auto and with cpu the pictures are the CPU's."""
        self.assertEqual(self.hashes("auto"), self.hashes("cpu"))
        self.assertFalse(self.opened.exists())

    def test_absent(self):
        self.skip_where_installed()
        reason = self.refusal()
        self.assertIn(NAME + ", is not here: install the package reverie-cuda", reason)
        self.expect_cpu()

    def test_device_of_a_module(self):
        """Pictures, memory and errors pass between the program and a module with its own copies of all functions."""
        shutil.copy(CPU, self.beside / NAME)
        expected = self.hashes("cpu")
        self.assertFalse(self.opened.exists())
        self.assertEqual(self.hashes("cuda"), expected)
        self.assertEqual(self.hashes("auto"), expected)
        self.assertEqual(self.opened.read_text(), "opened\n" * 2)
        self.assertIn(f"NVIDIA GPUs: by the module {self.beside / NAME}\n", self.run_program("--version", "-v").stdout)
        said = self.run_program("render", CLIP, "null:", "--device", "cuda", "--memory-limit", "1M", *WHAT,
                                status=DEVICE)
        self.assertRegex(said.stderr, r"^reverie: .*memory.*\n$")

    def test_program_is_called_by_any_name(self):
        """The module lies beside the program's file, whatever the name by which that was called."""
        shutil.copy(CPU, self.beside / NAME)
        (self.elsewhere / "link").symlink_to(self.program)
        for number, (name, more) in enumerate((("../bin/reverie", {}), (self.elsewhere / "link", {}),
                                               ("reverie", {"PATH": str(self.beside)}))):
            with self.subTest(name=name):
                environment = {**self.environment, **more}
                subprocess.run([name, "render", CLIP, "null:", "--device", "cuda", *WHAT], cwd=self.elsewhere,
                               env=environment, capture_output=True, check=True)
                self.assertEqual(self.opened.read_text(), "opened\n" * (number + 1))

    def test_other_folders_are_not_searched(self):
        self.skip_where_installed()
        shutil.copy(CPU, self.elsewhere / NAME)
        shutil.copy(CPU, self.folder / NAME)
        for more in ({}, {"LD_LIBRARY_PATH": str(self.elsewhere)}, {"PATH": f"{self.elsewhere}:{os.environ['PATH']}"}):
            self.run_program("render", CLIP, "null:", "--device", "cuda", *WHAT, status=DEVICE, **more)
        # The caller chooses this name freely.
        result = subprocess.run([self.elsewhere / "reverie", "render", CLIP, "null:", "--device", "cuda", *WHAT],
                                executable=self.program, cwd=self.elsewhere, env=self.environment, capture_output=True)
        self.assertEqual(result.returncode, DEVICE)
        self.assertFalse(self.opened.exists())

    def test_other_version(self):
        shutil.copy(OLD, self.beside / NAME)
        reason = self.refusal()
        version = re.search(r"version: '([^']*)'", pathlib.Path(ROOT, "meson.build").read_text())[1]
        self.assertRegex(reason, r"is of reverie 0\.0\.1 \(old\), this program is reverie " + re.escape(version) +
                         r" \([0-9a-f]{16}\): install both in one version")
        self.expect_cpu()
        self.assertIn("not on the GPU: cuda: ", self.run_program("render", CLIP, "null:", *WHAT).stderr)

    def test_no_module(self):
        shutil.copy(EMPTY, self.beside / NAME)
        self.assertIn("lacks the function reverie_cuda_device", self.refusal())
        for text in ("", "This is not a module.\n" * 100):
            (self.beside / NAME).unlink()
            (self.beside / NAME).write_text(text)
            self.assertRegex(self.refusal(), rf"{NAME} cannot be opened \((file too short|invalid ELF header)\)")
        (self.beside / NAME).unlink()
        (self.beside / NAME).mkdir()
        self.assertRegex(self.refusal(), rf"{NAME} cannot be opened \(.*[Dd]irectory\)")
        self.expect_cpu()

    @unittest.skipIf("-" in (LIBRARY, PICTURES), "the library does not open modules here")
    def test_beside_the_library(self):
        """In a program of others the module is looked for beside the library, and not beside that program."""
        self.skip_where_installed()
        libraries = self.folder / "lib"
        libraries.mkdir()
        shutil.copy(LIBRARY, libraries / "libreverie.so.0")
        program = self.beside / "pictures"
        shutil.copy(PICTURES, program)
        frame = bytes(i * 7 % 256 for i in range(64 * 64 * 4))
        shown = []
        for folder, expected in ((self.beside, ""), (libraries, "opened\n")):
            shutil.copy(CPU, folder / NAME)
            result = subprocess.run([program, "64x64", "rgba", "rgba"], input=frame, cwd=self.elsewhere,
                                    capture_output=True, env={**self.environment, "LD_LIBRARY_PATH": str(libraries)})
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(self.opened.read_text() if self.opened.exists() else "", expected)
            shown.append(result.stdout)
        self.assertEqual(*shown)

    def test_copies_share_no_state(self):
        """Program and module have a copy each of what unet/base and unet/plan keep in static variables: nothing but the
        number that is given to the next picture of a pool, and no module opens a pool."""
        if not ARCHIVES:
            self.skipTest("the sanitizers have variables of their own")
        kept, member = set(), ""
        for line in said_by("objdump", "-t", *ARCHIVES).split("\n"):
            member = line.split(":")[0] if ":     file format" in line else member
            symbol = re.search(r" O (\.bss|\.data(?!\.rel\.ro))\S*\t\S+ +(\S+)$", line)
            if symbol and re.match(r"(base|plan)_", os.path.basename(member)):
                kept.add(re.sub(r"\.\d+$", "", symbol[2]))
        self.assertEqual(kept, {"last_number"})
        if DEVICE_ARCHIVE != "-":
            used = said_by("nm", "-u", DEVICE_ARCHIVE)
            self.assertIn(" error_set", used)
            self.assertNotRegex(used, r" (picture_pool|host_pictures)_")

    @unittest.skipIf(CUDA == "-", "the real module is not built here")
    def test_real_module(self):
        """It is of this program's sources, opens without a driver, and exports its one function."""
        os.symlink(CUDA, self.beside / NAME)
        self.assertIn(f"NVIDIA GPUs: by the module {self.beside / NAME}\n", self.run_program("--version", "-v").stdout)
        symbols = said_by("nm", "-D", "--defined-only", CUDA)
        self.assertEqual([line.split()[-1] for line in symbols.splitlines()], ["reverie_cuda_device"])
        if has_gpu():
            self.skipTest("there is a GPU: its pictures are compared")
        said = self.run_program("render", CLIP, "null:", "--device", "cuda", *WHAT, status=DEVICE).stderr
        self.assertRegex(said, r"cuda: (there is neither an NVIDIA GPU nor its driver here|there is no NVIDIA driver)")
        self.assertIn(said.split("reverie: ", 1)[1].strip(), self.run_program("info").stdout)
        self.assertEqual(self.hashes("auto"), self.hashes("cpu"))

    @unittest.skipIf("-" in (CUDA, LINKED) or not has_gpu(), "needs a GPU, and both ways to have the device")
    def test_pictures_of_a_gpu(self):
        """Those of the module are those of the device that is linked into a program. The second program takes the
        choices that the first one has measured."""
        os.symlink(CUDA, self.beside / NAME)
        self.environment["XDG_CACHE_HOME"] = str(self.folder)
        for more in ((), ("--batch", "4"), ("--bank", "2", "--prompt", "ink drawing")):
            with self.subTest(more=more):
                what = ("--frames", "24", "--size", "256x256", *more)
                self.assertEqual(self.hashes("cuda", *what), self.hashes("cuda", *what, program=LINKED))

    @unittest.skipIf(CUDA == "-", "the real module is not built here")
    def test_real_module_needs_little(self):
        """No library of CUDA is linked: the driver is opened at run time, so that the module opens without one."""
        needed = said_by("readelf", "-dW", CUDA)
        self.assertNotRegex(needed, r"NEEDED.*\[lib(cuda|cudart|cudnn|cublas|nvidia)")
        self.assertRegex(needed, r"NODELETE")
        self.assertRegex(needed, r"BIND_NOW|FLAGS_1.* NOW")
        segments = said_by("readelf", "-lW", CUDA)
        self.assertIn("GNU_RELRO", segments)
        self.assertRegex(segments, r"GNU_STACK .* RW ")
        self.assertNotIn(" RWE ", segments)


if __name__ == "__main__":
    unittest.main()
