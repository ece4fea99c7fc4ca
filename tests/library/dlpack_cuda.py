#!/usr/bin/env python3
"""assets/python/reverie.py with tensors in a GPU's memory: frames and pictures of PyTorch, without a copy, in the order
of its streams. For a machine with a GPU and torch:

    dlpack_cuda.py SOURCE_ROOT LIBRARY [TEST...]

runs twice, with torch imported before and after the module. It also prints the times of a frame. Skipped (77) where
Python lacks cffi, numpy or torch, or there is no GPU. Without TESTs, which are names such as Cuda.test_streams, all
run."""
import ctypes
import gc
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SKIPPED, SIDE, KINDS = 77, 128, 5
NEEDED = ("cffi", "numpy", "torch")
ROOT, LIBRARY = (os.path.abspath(path) for path in sys.argv[1:3])


def run_both():
    """Runs this program once in each order; the engines of both make the same choices of kernels."""
    missing = [name for name in NEEDED if not importlib.util.find_spec(name)]
    if missing:
        print(f"skipped: Python lacks {', '.join(missing)}")
        return SKIPPED
    status = 0
    with tempfile.TemporaryDirectory() as cache:
        for first in ("torch", "reverie"):
            environment = {**os.environ, "REVERIE_FIRST": first, "REVERIE_LIBRARY": LIBRARY, "XDG_CACHE_HOME": cache}
            environment.setdefault("REVERIE_DATA_DIR", ROOT + "/assets")
            print(f"{first} is imported first", flush=True)
            result = subprocess.run([sys.executable, "-B", *sys.argv], env=environment)
            status = status or result.returncode
    return status


if "REVERIE_FIRST" not in os.environ:
    sys.exit(run_both())
sys.argv[1:] = sys.argv[3:]
sys.path.insert(0, ROOT + "/assets/python")
if os.environ["REVERIE_FIRST"] == "torch":
    import torch  # noqa: E402
    torch.zeros(1)
import numpy  # noqa: E402
import reverie  # noqa: E402
import torch  # noqa: E402

if not torch.cuda.is_available():
    print("skipped: there is no GPU")
    sys.exit(SKIPPED)


def an_engine(memory="cuda", pictures=1, **more):
    return reverie.Reverie(prompt="ink drawing", size=f"{SIDE}x{SIDE}", device="cuda", memory=memory, pictures=pictures,
                           **more)


def a_frame(number):
    y, x, c = numpy.mgrid[0:SIDE, 0:SIDE, 0:4]
    return ((x * (c + 1) * 2 + y * 3 + 40 * number) % 256).astype(numpy.uint8)


def slow_down():
    """Keeps torch's current stream busy for some tens of milliseconds."""
    torch.cuda._sleep(50_000_000)


def plane_of(picture):
    return int(reverie.ffi.cast("uintptr_t", picture._owned.plane[0]))


def current_context():
    """Returns the address of the context of CUDA that is current for this thread; None: it has none."""
    context = ctypes.c_void_p()
    if ctypes.CDLL("libcuda.so.1").cuCtxGetCurrent(ctypes.byref(context)):
        raise RuntimeError("cuCtxGetCurrent fails")
    return context.value


def count_free(engine, frame):
    """Returns how many pictures the engine makes until all are held; then they are given back."""
    held = []
    try:
        while True:
            held.append(engine.restyle(frame))
    except reverie.Error as error:
        if error.status != 7:
            raise
    return len(held)


class Cuda(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with an_engine(memory="host") as engine:
            cls.expected = [engine.restyle(a_frame(number)).copy() for number in range(KINDS)]
        cls.frames = [torch.from_numpy(a_frame(number)).cuda() for number in range(KINDS)]
        torch.cuda.synchronize()

    def assert_shows(self, tensor, number):
        self.assertTrue(tensor.is_cuda)
        numpy.testing.assert_array_equal(tensor.cpu().numpy(), self.expected[number])

    def test_pictures_are_those_of_arrays(self):
        """Of arrays and tensors in, of arrays and tensors out."""
        wide = torch.zeros(SIDE, SIDE + 9, 4, dtype=torch.uint8, device="cuda")
        with an_engine() as engine, an_engine(memory="host") as host:
            self.assertEqual(engine.info()["gpu"], 0)
            for number, frame in enumerate(self.frames):
                wide[:, 5:5 + SIDE] = frame
                for given in (frame, wide[:, 5:5 + SIDE], a_frame(number)):
                    picture = engine.restyle(given)
                    self.assertEqual(picture.__dlpack_device__(), (2, 0))
                    self.assert_shows(torch.from_dlpack(picture), number)
                    numpy.testing.assert_array_equal(host.restyle(given), self.expected[number])

    def test_nothing_is_copied(self):
        with an_engine() as engine:
            frame = self.frames[1]
            own = reverie._struct("reverie_frame")
            engine._take_tensor(frame, own)
            self.assertEqual(int(reverie.ffi.cast("uintptr_t", own.plane[0])), frame.data_ptr())
            before = torch.cuda.memory_allocated()
            picture = engine.restyle(frame)
            tensor = torch.from_dlpack(picture)
            self.assertEqual(tensor.data_ptr(), plane_of(picture))
            self.assertEqual((tuple(tensor.shape), tensor.dtype), ((SIDE, SIDE, 4), torch.uint8))
            self.assertEqual(tensor.device.index, 0)
            self.assertEqual(tensor.stride()[1:], (4, 1))
            self.assertEqual(torch.cuda.memory_allocated(), before)
            self.assert_shows(tensor, 1)

    def test_streams(self):
        """Frames that torch has still to write, and pictures that it reads later than the next ones are made."""
        with an_engine() as engine:
            copies, inputs, outputs = [], torch.cuda.Stream(), torch.cuda.Stream()
            for i in range(20):
                with torch.cuda.stream(inputs):
                    frame = torch.zeros_like(self.frames[0])
                    slow_down()
                    frame.copy_(self.frames[i % KINDS])
                    engine.submit(frame)
                    del frame
                picture = engine.collect()
                with torch.cuda.stream(outputs):
                    tensor = torch.from_dlpack(picture)
                    del picture
                    slow_down()
                    copies.append(tensor.clone())
                    del tensor
            torch.cuda.synchronize()
            for i, copy in enumerate(copies):
                self.assert_shows(copy, i % KINDS)

    def test_two_in_flight(self):
        with an_engine(pictures=2) as engine:
            engine.submit(self.frames[0])
            for i in range(1, 60):
                engine.submit(self.frames[i % KINDS])
                self.assertEqual(engine.in_flight, 2)
                self.assert_shows(torch.from_dlpack(engine.collect()), (i - 1) % KINDS)

    def test_tensors_outlive_the_engine(self):
        with an_engine() as engine:
            tensor = torch.from_dlpack(engine.restyle(self.frames[2]))
            engine.submit(self.frames[3])
        gc.collect()
        self.assert_shows(tensor, 2)

    def test_memory_comes_back(self):
        with an_engine() as engine:
            frame = self.frames[0]
            picture = engine.restyle(frame)
            picture.__dlpack__(stream=1)  # an export that nobody takes lets go of the memory by itself
            picture.__dlpack__(stream=1, max_version=(1, 0))
            tensor = torch.from_dlpack(picture)
            del picture
            free = count_free(engine, frame)
            self.assert_shows(tensor, 0)
            part = tensor[8:, :8]
            del tensor
            self.assertEqual(count_free(engine, frame), free)
            del part
            self.assertEqual(count_free(engine, frame), free + 1)

    def test_fork(self):
        """A child of this process has no GPU: it lets go of tensor and picture, and those here stay as they are."""
        with an_engine(pictures=2) as engine:
            picture = engine.restyle(self.frames[1])
            tensor = torch.from_dlpack(engine.restyle(self.frames[2]))
            child = os.fork()
            if not child:
                try:
                    signal.alarm(20)
                    del tensor, picture
                    gc.collect()
                finally:
                    os._exit(0)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            for number in range(KINDS):
                self.assert_shows(torch.from_dlpack(engine.restyle(self.frames[number])), number)
            self.assert_shows(torch.from_dlpack(picture), 1)
            self.assert_shows(tensor, 2)

    def test_current_gpu(self):
        """A thread that lets go of a tensor whose engine is gone gets no current GPU by it."""
        with an_engine() as engine:
            tensors = [torch.from_dlpack(engine.restyle(self.frames[2]))]
        gc.collect()
        before, contexts = torch.cuda.current_device(), []
        thread = threading.Thread(target=lambda: (tensors.clear(), contexts.append(current_context())))
        thread.start()
        thread.join()
        self.assertEqual(contexts, [None])
        self.assertEqual(torch.cuda.current_device(), before)

    def test_memory_is_flat(self):
        with an_engine(pictures=2) as engine:
            for i in range(500):
                tensor = torch.from_dlpack(engine.restyle(self.frames[i % KINDS].clone()))
                tensor.to(torch.float32).mean()
                if i == 100:
                    torch.cuda.synchronize()
                    before = torch.cuda.memory_allocated(), torch.cuda.memory_reserved(), torch.cuda.mem_get_info()[0]
            torch.cuda.synchronize()
            after = torch.cuda.memory_allocated(), torch.cuda.memory_reserved(), torch.cuda.mem_get_info()[0]
            self.assertEqual(after, before)

    def test_engines_follow_each_other(self):
        """A picture is a frame of another engine, without torch."""
        with an_engine(pictures=4) as first, an_engine() as second, an_engine(memory="host") as host:
            for number in range(KINDS):
                expected = host.restyle(self.expected[number])
                tensor = torch.from_dlpack(second.restyle(first.restyle(self.frames[number])))
                numpy.testing.assert_array_equal(tensor.cpu().numpy(), expected)

    def test_what_is_refused(self):
        frame = self.frames[0]
        with an_engine() as engine, reverie.Reverie(size="64x64", device="cpu") as on_cpu:
            for refused, reason in ((frame[..., :3].contiguous(), "pad"),
                                    (frame.permute(2, 0, 1).contiguous(), "move"),
                                    (frame.permute(2, 0, 1).contiguous().permute(1, 2, 0), r"\.contiguous\(\)"),
                                    (frame / 255, "by 255"), (frame.bfloat16(), "unsigned bytes"),
                                    (frame[None], "one frame at a time")):
                with self.assertRaisesRegex(ValueError, reason):
                    engine.submit(refused)
            with self.assertRaisesRegex(ValueError, r"\.cpu\(\)"):
                on_cpu.submit(frame)
            padded = torch.nn.functional.pad(frame[..., :3], (0, 1))
            self.assert_shows(torch.from_dlpack(engine.restyle(padded)), 0)

    @unittest.skipUnless(importlib.util.find_spec("cupy"), "Python has no cupy")
    def test_cupy(self):
        import cupy
        with an_engine() as engine:
            frame = cupy.asarray(a_frame(4))
            array = cupy.from_dlpack(engine.restyle(frame))
            numpy.testing.assert_array_equal(cupy.asnumpy(array), self.expected[4])

    def test_times(self):
        """Prints, and asserts nothing."""
        frame, array = self.frames[0], a_frame(0)
        with an_engine(pictures=2) as engine, an_engine(memory="host", pictures=2) as host:
            ways = (("tensors", lambda: torch.from_dlpack(engine.restyle(frame)).add_(0)),
                    ("arrays, and copies of them",
                     lambda: torch.from_numpy(host.restyle(frame.cpu().numpy()).copy()).cuda().add_(0)),
                    ("arrays alone", lambda: host.restyle(array)))
            for name, way in ways:
                for _ in range(50):
                    way()
                torch.cuda.synchronize()
                begin = time.perf_counter()
                for _ in range(500):
                    way()
                torch.cuda.synchronize()
                print(f"{name}: {(time.perf_counter() - begin) / 500 * 1e3:.3f} ms a frame of {SIDE}x{SIDE}")


if __name__ == "__main__":
    unittest.main()
