#!/usr/bin/env python3
"""assets/python/reverie.py: its pictures are those of a C program, and its arrays live as long as they are used.

    test_python.py SOURCE_ROOT LIBRARY PICTURES

Skipped where Python has no cffi or no numpy. Those of the distribution are for the distribution's Python. What torch does
with frames and pictures is skipped where Python has no torch."""
import gc
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import unittest
import weakref

SYSTEM = "/usr/bin/python3"
if not all(importlib.util.find_spec(name) for name in ("cffi", "numpy")):
    if sys.executable != SYSTEM and os.path.exists(SYSTEM) and "REVERIE_AGAIN" not in os.environ:
        os.execve(SYSTEM, [SYSTEM, "-B", *sys.argv], {**os.environ, "REVERIE_AGAIN": "1"})
    print("Skipped: Python has no cffi or no numpy.")
    sys.exit(77)

ROOT, LIBRARY, PICTURES = (os.path.abspath(path) for path in sys.argv[1:4])
del sys.argv[1:]
os.environ["REVERIE_LIBRARY"] = LIBRARY
sys.path.insert(0, ROOT + "/assets/python")
import numpy  # noqa: E402
import reverie  # noqa: E402

SIDE = 64


def a_frame(number=0):
    y, x, c = numpy.mgrid[0:SIDE, 0:SIDE, 0:3]
    return ((x * (c + 1) * 2 + y * 3 + 40 * number) % 256).astype(numpy.uint8)


class Tensor:
    """An array of which nothing can be used but DLPack, as a tensor of another library; by default a CPU's."""

    def __init__(self, pixels, device=(1, 0)):
        self.pixels, self.device, self.exports = pixels, device, 0

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **asked):
        self.exports += 1
        more = {"stream": -1} if isinstance(self.pixels, reverie.CudaPicture) else {}
        return self.pixels.__dlpack__(**more, **asked)


class OnGpu:
    """A tensor of another library in a GPU's memory, which is an array's. `exports` has an entry for each capsule that
    lives, `streams` the streams for which they were made."""

    def __init__(self, pixels, number=0):
        self.pixels, self.number, self.exports, self.streams = pixels, number, [], []

    def __dlpack_device__(self):
        return 2, self.number

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        counted = self.pixels.view(Counted)
        self.exports.append(1)
        weakref.finalize(counted, self.exports.pop)
        return numpy.ndarray.__dlpack__(counted)


class Counted(numpy.ndarray):
    """An array whose end can be noticed."""


class OfGpu:
    """A CudaPicture of the host's memory, told to be a GPU's, which numpy does not read."""

    def __init__(self, picture):
        picture._owned.memory = reverie._library.REVERIE_CUDA
        self.picture = picture

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **asked):
        capsule = self.picture.__dlpack__(stream=-1, **asked)
        self.picture._owned.memory = reverie._library.REVERIE_HOST
        return capsule


def address(pixels):
    return pixels.__array_interface__["data"][0]


def count_free(engine):
    """Returns how many pictures the engine makes until all are held; then they are given back."""
    held = []
    try:
        while True:
            held.append(engine.restyle(a_frame()))
    except reverie.Error as error:
        if error.status != 7:
            raise
    return len(held)


class Python(unittest.TestCase):
    def test_pictures_are_those_of_a_c_program(self):
        frames = [a_frame(number) for number in range(3)]
        data = b"".join(numpy.dstack([frame, numpy.full((SIDE, SIDE), 255, numpy.uint8)]).tobytes() for frame in frames)
        expected = subprocess.run([PICTURES, "64x64", "rgba", "rgba", "prompt[1]=blueprint"], input=data,
                                  capture_output=True, check=True).stdout
        with reverie.Reverie(prompt="blueprint", size="64x64") as engine:
            engine.submit(frames[0])
            engine.submit(frames[1], time_ns=1)
            self.assertEqual(engine.in_flight, 2)
            pictures = [engine.collect(), engine.collect(), engine.restyle(numpy.flipud(numpy.flipud(frames[2])))]
        self.assertEqual(b"".join(picture.tobytes() for picture in pictures), expected)
        self.assertFalse(pictures[0].flags.writeable)
        self.assertEqual(pictures[0].shape, (SIDE, SIDE, 4))

    def test_values(self):
        lines = []
        with reverie.Reverie({"prompt[2]": "neon"}, prompt="qwerty", size="64x64", strength=0.5, lora_lenient=True,
                             log=lambda level, line: lines.append((level, line))) as engine:
            first = engine.restyle(a_frame())
            self.assertTrue(any(level == 0 and "qwerty" in line for level, line in lines))
            self.assertEqual((engine.get("strength"), engine.get("prompt[2]")), ("0.5", "neon"))
            engine.set("strength", None)
            self.assertFalse((engine.restyle(a_frame()) == first).all())
            self.assertEqual((engine.info()["model"], engine.info()["width"]), ("mini", SIDE))
            with self.assertRaisesRegex(reverie.Error, "strength 7: a number from 0 to 1") as caught:
                engine.set("strength", 7)
            self.assertEqual(caught.exception.status, 2)
            with self.assertRaisesRegex(ValueError, "bytes are needed"):
                engine.submit(numpy.zeros((SIDE, SIDE, 3)))
        with self.assertRaisesRegex(ValueError, "closed"):
            engine.restyle(a_frame())
        with self.assertRaisesRegex(reverie.Error, "/nowhere"):
            reverie.Reverie(model="/nowhere")

    def test_frames_are_tensors(self):
        frame = numpy.dstack([a_frame(), numpy.full((SIDE, SIDE), 255, numpy.uint8)])
        wide = numpy.zeros((SIDE, SIDE + 9, 4), numpy.uint8)
        wide[:, 3:3 + SIDE] = frame
        with reverie.Reverie(prompt="blueprint", size="64x64") as engine:
            expected = engine.restyle(frame).copy()
            for pixels in (frame, wide[:, 3:3 + SIDE], a_frame()):
                for device in ((1, 0), (3, 0)):
                    tensor = Tensor(pixels, device)
                    numpy.testing.assert_array_equal(engine.restyle(tensor), expected)
                    self.assertEqual(tensor.exports, 1)
            pixel = frame[:1, :1].copy()
            odd = numpy.lib.stride_tricks.as_strided(pixel, strides=(1, 1, 1))  # as torch tells strides of such axes
            numpy.testing.assert_array_equal(engine.restyle(Tensor(odd)), engine.restyle(pixel))
            for refused, reason in ((Tensor(frame, (2, 0)), r"on a GPU.*call \.cpu\(\)"),
                                    (Tensor(frame[::-1]), r"call \.contiguous\(\)"),
                                    (Tensor(a_frame().transpose(2, 0, 1).copy().transpose(1, 2, 0)), "contiguous"),
                                    (Tensor(frame.astype(numpy.float32) / 255), "by 255, and convert them to uint8"),
                                    (Tensor(frame.transpose(2, 0, 1).copy()), "move the channels to the end"),
                                    (Tensor(frame[None]), "one frame at a time"),
                                    (Tensor(frame[0]), r"\(height, width, 3 or 4\)$")):
                with self.assertRaisesRegex(ValueError, reason) as caught:
                    engine.submit(refused)
                self.assertNotIn("\n", str(caught.exception))
            self.assertEqual(engine.in_flight, 0)

    def test_tensors_are_not_copied(self):
        frame = numpy.zeros((SIDE, SIDE, 4), numpy.uint8)
        row, column = frame[:1], frame[:, :1]
        for pixels in (frame, frame[:, 3:9], row, column, row[:, :1]):
            taken = reverie._with_alpha(reverie._array(Tensor(pixels)))
            self.assertEqual((address(taken), taken.shape), (address(pixels), pixels.shape))

    def test_pictures_are_tensors(self):
        with reverie.Reverie(prompt="blueprint", size="64x64", pictures=1) as engine:
            picture = engine.restyle(a_frame())
            self.assertEqual(picture.__dlpack_device__(), (1, 0))
            expected = picture.copy()
            tensor, part = numpy.from_dlpack(picture), numpy.from_dlpack(picture[8:, :, :3])
            self.assertEqual((address(tensor), tensor.shape), (address(picture), (SIDE, SIDE, 4)))
            self.assertEqual(address(part), address(picture) + 8 * picture.strides[0])
            picture.__dlpack__()  # an export that nobody takes lets go of the memory by itself
            del picture, part
            gc.collect()
            free = count_free(engine)  # the tensor alone holds the picture
            numpy.testing.assert_array_equal(tensor, expected)
            del tensor
            gc.collect()
            self.assertEqual(count_free(engine), free + 1)
            left = numpy.from_dlpack(engine.restyle(a_frame()))
        numpy.testing.assert_array_equal(left, expected)

    def test_frames_on_a_gpu(self):
        """What a frame in CUDA memory tells the library, without a GPU: its address, rows and stream. On the CPU it is
        refused. dlpack_cuda.py has the rest."""
        wide = numpy.zeros((SIDE, SIDE + 9, 4), numpy.uint8)
        with reverie.Reverie(size="64x64") as engine:
            self.assertEqual((engine.info()["gpu"], engine.info()["stream"]), (-1, 0))
            with self.assertRaisesRegex(ValueError, r"computes on the CPU: call \.cpu\(\)"):
                engine.submit(OnGpu(wide))
            engine._gpu, engine._stream = 0, 4711
            for pixels, pitch in ((wide[:, 3:3 + SIDE], wide.strides[0]), (wide[:1], 4 * (SIDE + 9)),
                                  (wide[:, :1], wide.strides[0])):
                own, tensor = reverie._struct("reverie_frame"), OnGpu(pixels)
                kept = engine._take_tensor(tensor, own)
                self.assertEqual((own.memory, own.device, int(reverie.ffi.cast("uintptr_t", own.stream))), (1, 0, 4711))
                self.assertEqual((own.height, own.width, own.pitch[0]), (*pixels.shape[:2], pitch))
                self.assertEqual(int(reverie.ffi.cast("uintptr_t", own.plane[0])), address(pixels))
                self.assertEqual(tensor.streams, [4711])
                self.assertEqual(len(tensor.exports), 1)
                del kept
                gc.collect()
                self.assertEqual(tensor.exports, [])
            for refused, reason in ((OnGpu(a_frame()), r"four by torch\.nn\.functional\.pad\(frame, \(0, 1\)\)$"),
                                    (OnGpu(wide, 1), r"on GPU 1.*on GPU 0: call \.to\('cuda:0'\) first"),
                                    (OnGpu(wide[::-1]), r"call \.contiguous\(\)"),
                                    (OnGpu(wide.astype(numpy.float32)), "by 255, and convert them to uint8"),
                                    (OnGpu(wide.astype(numpy.int8)), r"unsigned bytes.*, \(height, width, 4\)$"),
                                    (OnGpu(wide.transpose(2, 0, 1).copy()), "move the channels to the end"),
                                    (OnGpu(wide[None]), "one frame at a time")):
                with self.assertRaisesRegex(ValueError, reason) as caught:
                    engine.submit(refused)
                self.assertNotIn("\n", str(caught.exception))
            with self.assertRaisesRegex(reverie.Error, "the engine computes on the CPU"):
                engine.submit(OnGpu(wide))
            self.assertEqual((engine.in_flight, len(engine._frames)), (0, 0))
        with self.assertRaisesRegex(ValueError, "closed"):
            engine.submit(OnGpu(wide))
        with self.assertRaisesRegex(reverie.Error, "pictures in CUDA memory: the model was opened on .*, not on a GPU"):
            reverie.Reverie(device="cpu", memory="cuda")
        with self.assertRaisesRegex(ValueError, "memory 'gpu'"):
            reverie.Reverie(memory="gpu")

    def test_capsules(self):
        """A CudaPicture's, of a picture in the host's memory. The memory of those that nobody takes comes back."""
        with reverie.Reverie(prompt="blueprint", size="64x64", pictures=1) as engine:
            expected = engine.restyle(a_frame()).copy()
            engine.submit(a_frame())
            owned = reverie.ffi.gc(reverie._struct("reverie_picture"), reverie._library.reverie_release)
            reverie._call(reverie._library.reverie_collect, engine._open(), owned)
            picture = reverie.CudaPicture(owned)
            self.assertEqual((picture.shape, picture.__dlpack_device__()), ((SIDE, SIDE, 4), (2, 0)))
            tensor = numpy.from_dlpack(Tensor(picture))
            newest = reverie._CAPSULES[reverie._CAPSULE_ENDS[1] is not None]  # numpy before 2.1 has none with a version
            for name, max_version in ((b"dltensor", None), (b"dltensor", (0, 8)), (newest, (1, 1))):
                capsule = picture.__dlpack__(stream=-1, max_version=max_version, dl_device=(2, 0), copy=False)
                self.assertTrue(reverie._is_capsule(capsule, name))
                self.assertEqual(reverie._check_tensor(reverie._tensor_in(capsule)), (SIDE, SIDE))
                del capsule
            with self.assertRaises((BufferError, RuntimeError)):  # numpy's own error, with which the capsule ends
                numpy.from_dlpack(OfGpu(picture))
            engine._gpu, own = 0, reverie._struct("reverie_frame")
            self.assertIs(engine._take_tensor(picture, own), picture)  # as another engine's frame
            self.assertEqual((own.plane[0], own.height, own.pitch[0]), (owned.plane[0], SIDE, owned.pitch[0]))
            del own
            for asked in ({"copy": True}, {"dl_device": (1, 0)}):
                with self.assertRaises(BufferError):
                    picture.__dlpack__(**asked)
            with self.assertRaisesRegex(ValueError, "stream 0"):
                picture.__dlpack__(stream=0)
            del picture, owned
            gc.collect()
            free = count_free(engine)  # the tensor alone holds the picture
            numpy.testing.assert_array_equal(tensor, expected)
            del tensor
            gc.collect()
            self.assertEqual(count_free(engine), free + 1)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "Python has no torch")
    def test_torch(self):
        import torch
        frame = torch.from_numpy(numpy.dstack([a_frame(), numpy.full((SIDE, SIDE), 255, numpy.uint8)]))
        with reverie.Reverie(prompt="blueprint", size="64x64", pictures=1) as engine:
            expected = engine.restyle(a_frame()).copy()
            self.assertEqual(address(reverie._array(frame)), frame.data_ptr())
            for taken in (frame, frame[..., :3].contiguous()):
                numpy.testing.assert_array_equal(engine.restyle(taken), expected)
            for refused, reason in ((frame.permute(2, 0, 1).contiguous(), "move the channels to the end"),
                                    (frame.permute(2, 0, 1).contiguous().permute(1, 2, 0), "contiguous"),
                                    (frame / 255, "by 255, and convert"), (frame.bfloat16(), "a tensor of bytes"),
                                    (frame[None], "one frame at a time")):
                with self.assertRaisesRegex(ValueError, reason):
                    engine.submit(refused)
            picture = engine.restyle(frame)
            tensor = torch.from_dlpack(picture)
            self.assertEqual((tensor.data_ptr(), tensor.shape), (address(picture), (SIDE, SIDE, 4)))
            del picture
            gc.collect()
            free = count_free(engine)
            part = tensor[8:, :8]
            del tensor
            numpy.testing.assert_array_equal(part, expected[8:, :8])
            del part
            self.assertEqual(count_free(engine), free + 1)

    def test_a_style_has_its_detail(self):
        with reverie.Reverie(prompt="photo", size="64x64") as engine:
            photo = engine.restyle(a_frame()).copy()
            self.assertEqual(engine.get("detail"), "0.5")
            engine.set("detail", 0)
            self.assertFalse((engine.restyle(a_frame()) == photo).all())
            self.assertEqual(engine.get("detail"), "0")
            engine.set("detail", None)
            self.assertTrue((engine.restyle(a_frame()) == photo).all())
            engine.set("prompt[1]", "ink")
            engine.restyle(a_frame())
            self.assertEqual(engine.get("detail"), "0")

    def test_parameters(self):
        rows = {row["name"]: row for row in reverie.parameters()}
        self.assertEqual((rows["strength"]["least"], rows["strength"]["most"]), (0, 1))
        self.assertEqual(rows["prompt[]"]["instances"], 9)
        self.assertTrue(all(row["help"] for row in rows.values()))

    def test_version(self):
        project = (pathlib.Path(ROOT) / "assets/python/pyproject.toml").read_text()
        self.assertEqual(re.search(r'(?m)^version = "(.*)"$', project)[1], reverie.version())


if __name__ == "__main__":
    unittest.main()
