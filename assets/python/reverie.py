"""Restyles pictures with a diffusion network: libreverie in Python, by cffi. Pictures are numpy arrays of bytes.
Frames may be tensors of other libraries, and pictures become such tensors, by DLPack; also in a GPU's memory.

    import reverie
    with reverie.Reverie(prompt="ink drawing", size="512x512") as engine:
        picture = engine.restyle(frame)          # (height, width, 3 or 4) in, (height, width, 4) out
        tensor = torch.from_dlpack(picture)      # the same memory

LIBRARY.md says what the library does, and which thread may call what. A call lets other threads of Python run.

The library is looked for by the name in $REVERIE_LIBRARY, else in lib beside this file, where a wheel has it, else as
libreverie.so.0; its header as $REVERIE_HEADER says, else beside this file, in the source tree, and where it is
installed."""
import collections
import ctypes
import os
import pathlib
import re

import cffi
import numpy

_HEADERS = (pathlib.Path(__file__).with_name("reverie.h"),
            pathlib.Path(__file__).resolve().parents[2] / "app/library/reverie.h",
            pathlib.Path("/usr/local/include/reverie.h"), pathlib.Path("/usr/include/reverie.h"))


def _read_header():
    named = os.environ.get("REVERIE_HEADER")
    for path in (pathlib.Path(named),) if named else _HEADERS:
        if path.is_file():
            return path.read_text()
    raise ImportError("reverie.h is in none of the usual places: $REVERIE_HEADER says where it is")


def _library_name():
    beside = pathlib.Path(__file__).with_name("lib") / "libreverie.so.0"
    return str(beside) if beside.is_file() else beside.name


def _declarations(header):
    """What cffi reads of the header: all but the preprocessor's lines and the block for C++ alone."""
    header = re.sub(r'#ifdef __cplusplus\n.*?#endif\n', "", header, flags=re.DOTALL)
    return re.sub(r"(?m)^#.*\n", "", header)


# What DLPack passes on, in the two forms that there are: the fields and their order are the convention's.
_DLPACK = """
struct dlpack { void *data; int32_t device, number, axes; uint8_t type, bits; uint16_t lanes; int64_t *shape, *strides;
                uint64_t offset; };
struct dlpack_plain { struct dlpack tensor; void *owner; void (*deleter)(void *); };
struct dlpack_versioned { uint32_t major, minor; void *owner; void (*deleter)(void *); uint64_t flags;
                          struct dlpack tensor; };
"""
ffi = cffi.FFI()
ffi.cdef(_declarations(_read_header()) + _DLPACK)
_library = ffi.dlopen(os.environ.get("REVERIE_LIBRARY", _library_name()))


class Error(Exception):
    """A failure, told in one sentence. status: a value of enum reverie_status."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


def _struct(kind, **fields):
    own = ffi.new(f"struct {kind} *", fields)
    own.size = ffi.sizeof(f"struct {kind}")
    return own


def _call(function, *arguments):
    error = _struct("reverie_error")
    status = function(*arguments, error)
    if status:
        raise Error(status, ffi.string(error.message).decode())


def _text(pointer):
    return ffi.string(pointer).decode() if pointer else None


def version():
    return _text(_library.reverie_version())


def parameters():
    """All parameters in the order for people: a dict each, with the fields of struct reverie_parameter."""
    listed = []
    for number in range(_library.reverie_parameter_count()):
        row = _struct("reverie_parameter")
        _call(_library.reverie_describe_parameter, number, row)
        listed.append({name: _text(getattr(row, name)) if field.type.kind == "pointer" else getattr(row, name)
                       for name, field in ffi.typeof("struct reverie_parameter").fields if name != "size"})
    return listed


@ffi.callback("void(void *, int, const char *)")
def _log(opaque, level, line):
    ffi.from_handle(opaque)(level, _text(line))


class Reverie:
    """An open model. Keywords set parameters before it is opened: prompt and negative as they are, lora_lenient for
    lora-lenient. `values` has parameters by names that are no keywords: {"lora[1]": "film.safetensors"}. log: called
    with a level (0: a warning) and a line. memory: "cuda": pictures stay in the GPU's memory (CudaPicture)."""

    def __init__(self, values=None, *, device=None, threads=0, pictures=4, log=None, memory="host", **keywords):
        if memory not in ("host", "cuda"):
            raise ValueError(f"memory {memory!r}: pictures are in the memory \"host\" or \"cuda\"")
        on_gpu = memory == "cuda"
        self._engine = ffi.new("struct reverie **")
        self._log = ffi.new_handle(log) if log else ffi.NULL
        # The frames that runs may still read: at most the last two that were submitted have not ended.
        self._frames = collections.deque(maxlen=2)
        device_name = ffi.new("char[]", device.encode()) if device else ffi.NULL
        config = _struct("reverie_config", device=device_name, threads=threads, pictures=pictures,
                         log=_log if log else ffi.NULL, log_opaque=self._log,
                         memory=_library.REVERIE_CUDA if on_gpu else _library.REVERIE_HOST,
                         flags=_library.REVERIE_EARLY if on_gpu else 0)
        _call(_library.reverie_create, self._engine, config)
        try:
            for name, value in {**{_name_of(key): value for key, value in keywords.items()}, **(values or {})}.items():
                self.set(name, value)
            _call(_library.reverie_open, self._engine[0])
        except Error:
            self.close()
            raise
        opened = self.info()
        self._gpu, self._stream = opened["gpu"], opened["stream"]

    def close(self):
        """Frees the engine; pictures that it gave stay valid."""
        _library.reverie_destroy(self._engine)
        self._frames.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def set(self, name, value):
        """Sets a parameter; None: its default."""
        if isinstance(value, bool):
            value = "on" if value else "off"
        text = ffi.NULL if value is None else str(value).encode()
        _call(_library.reverie_set, self._open(), name.encode(), text)

    def get(self, name):
        """Returns the value as text, as set() takes it."""
        text = ffi.new("char[4096]")
        _call(_library.reverie_get, self._open(), name.encode(), text, 4096)
        return _text(text)

    def prepare(self, width=0, height=0):
        """Prepares the engine for this size and the present parameters."""
        _call(_library.reverie_prepare, self._open(), width, height)

    def submit(self, frame, time_ns=0, restart=False):
        """Starts making the picture of a frame: an array of bytes, (height, width, 3 or 4), or such a tensor of any
        library that knows DLPack. A frame in the host's memory is read by the time this returns. One in the GPU's
        memory, (height, width, 4), is read there, after what its library's current stream was given. It is kept, and
        must not change, until its picture is made."""
        own = _struct("reverie_frame", format=_library.REVERIE_RGBA, time_ns=time_ns, restart=int(restart))
        on_gpu = _is_on_gpu(frame)
        kept = self._take_tensor(frame, own) if on_gpu else _take_array(frame, own)
        _call(_library.reverie_submit, self._open(), own)
        self._frames.append(kept if on_gpu else None)

    def _take_tensor(self, frame, own):
        """Fills in a frame of a GPU's memory. Returns what keeps the memory: a capsule, or a picture."""
        number = frame.__dlpack_device__()[1]
        self._open()
        if self._gpu < 0:
            raise ValueError("a frame on a GPU, and the engine computes on the CPU: call .cpu() first")
        if number != self._gpu:
            raise ValueError(f"a frame on GPU {number}, and the engine computes on GPU {self._gpu}: call "
                             f".to('cuda:{self._gpu}') first")
        own.memory, own.device = _library.REVERIE_CUDA, number
        if isinstance(frame, CudaPicture):
            own.height, own.width = frame.shape[:2]
            own.plane[0], own.pitch[0], own.event = frame._owned.plane[0], frame._owned.pitch[0], frame._owned.ready
            return frame
        capsule = _capsule_of(frame, self._stream)
        tensor = _tensor_in(capsule)
        own.height, own.width = _check_tensor(tensor)
        own.stream = ffi.cast("void *", self._stream)
        own.plane[0] = ffi.cast("char *", tensor.data) + tensor.offset
        own.pitch[0] = tensor.strides[0] if tensor.strides and own.height > 1 else 4 * own.width
        return capsule

    def collect(self):
        """Waits for the oldest frame's picture: a Picture (height, width, 4) of the library's memory, which is given
        back when the array and all that share its memory are gone. It is only read. None: the stream batch is not full
        yet. With memory="cuda" it does not wait, and returns a CudaPicture."""
        picture = _struct("reverie_picture")
        _call(_library.reverie_collect, self._open(), picture)
        if not picture.plane[0]:
            return None
        owned = ffi.gc(picture, _library.reverie_release)
        if picture.memory == _library.REVERIE_CUDA:
            return CudaPicture(owned)
        pixels = {"version": 3, "typestr": "|u1", "shape": (picture.height, picture.width, 4),
                  "strides": (picture.pitch[0], 4, 1), "data": (int(ffi.cast("uintptr_t", picture.plane[0])), True)}
        return numpy.asarray(_Memory(owned, pixels)).view(Picture)

    def restyle(self, frame, time_ns=0, restart=False):
        """Returns the picture of a frame."""
        self.submit(frame, time_ns, restart)
        return self.collect()

    @property
    def in_flight(self):
        """Number of frames that were submitted and not collected."""
        return _library.reverie_in_flight(self._open())

    def info(self):
        """A dict with the fields of struct reverie_info."""
        own = _struct("reverie_info")
        _call(_library.reverie_get_info, self._open(), own)
        return {name: _value(getattr(own, name), field.type) for name, field in ffi.typeof("struct reverie_info").fields
                if name not in ("size", "unused")}

    def _open(self):
        if not self._engine[0]:
            raise ValueError("the engine is closed")
        return self._engine[0]


class Picture(numpy.ndarray):
    """A picture: an array that is only read, and which torch.from_dlpack() and its like take without a copy."""

    def __dlpack__(self, **asked):
        """Exports the memory, also where the protocol has no word for memory that is only read (DLPack before 1.0):
        then the importer sees memory that may be written, and must not write it."""
        try:
            return super().__dlpack__(**asked)
        except (TypeError, BufferError):  # numpy before 2.1, or an importer that asks for no version
            if self.flags.writeable:
                raise
        asked.pop("max_version", None)
        location = self.__array_interface__
        return numpy.asarray(_Memory(self, {**location, "data": (location["data"][0], False)})).__dlpack__(**asked)


class CudaPicture:
    """A picture in a GPU's memory, bytes (height, width, 4), which torch.from_dlpack() and its like take without a
    copy. A tensor of it has a part in the memory, also when the picture and the engine are gone. The GPU may still be
    making the picture: the stream that takes it waits for that, not the thread. The memory is used again once the
    tensor is gone and that stream has done what it was given before."""

    def __init__(self, owned):
        self._owned = owned
        self.shape = (owned.height, owned.width, 4)
        self.dtype = numpy.dtype(numpy.uint8)

    def __dlpack_device__(self):
        return _CUDA, self._owned.device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """stream: a CUDA stream as a number, 1 for the default one, as None is; -1: no stream waits, and none is waited
        for when the tensor is gone."""
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError("a picture of reverie is not copied, nor taken to another device")
        if stream == 0:
            raise ValueError("stream 0 has several meanings in CUDA: use 1 or 2")
        versioned = max_version is not None and max_version[0] >= 1 and _CAPSULE_ENDS[1] is not None
        tensor = ffi.new("void **")
        handle = ffi.cast("void *", 0 if stream == -1 else 1 if stream is None else stream)
        _call(_library.reverie_to_dlpack, self._owned, int(versioned), handle, tensor)
        return _new_capsule(int(ffi.cast("uintptr_t", tensor[0])), _CAPSULES[versioned],
                            _CAPSULE_ENDS[versioned])


class _Memory:
    """Memory of others, as numpy reads about it. It keeps the memory's owner."""

    def __init__(self, owner, interface):
        self._owner = owner
        self.__array_interface__ = interface


def _name_of(keyword):
    return "prompt[1]" if keyword == "prompt" else keyword.replace("_", "-")


def _value(value, kind):
    """A field of a C struct in Python."""
    if kind.kind == "pointer":
        return int(ffi.cast("uintptr_t", value))
    if kind.kind == "array":
        return _text(value) if kind.item.cname == "char" else bytes(value)
    return value


# Where DLPack says a tensor is, as far as a CPU reads it: the host's memory, also where a GPU reads it as well (pinned,
# or managed by CUDA). And the memory of a GPU of CUDA's.
_HOST, _CUDA = {1, 3, 11, 13}, 2


def _is_on_gpu(frame):
    return hasattr(frame, "__dlpack_device__") and frame.__dlpack_device__()[0] == _CUDA


def _take_array(frame, own):
    """Fills in a frame of the host's memory. Returns the array, which keeps the memory."""
    pixels = _with_alpha(_array(frame))
    own.height, own.width = pixels.shape[:2]
    own.plane[0], own.pitch[0] = ffi.cast("void *", pixels.ctypes.data), max(pixels.strides[0], 4 * own.width)
    return pixels


def _array(frame):
    """The array with a frame's memory, which is not copied."""
    if isinstance(frame, numpy.ndarray) or not hasattr(frame, "__dlpack__"):
        return numpy.asarray(frame)
    if frame.__dlpack_device__()[0] not in _HOST:
        raise ValueError("a frame in memory that is neither the host's nor CUDA's: call .cpu() first")
    try:
        pixels = numpy.from_dlpack(frame)
    except (BufferError, RuntimeError, TypeError) as error:
        raise ValueError(f"a frame that numpy cannot read ({error}): a tensor of bytes is needed") from error
    if pixels.dtype == numpy.uint8 and pixels.ndim == 3:
        _check_rows(pixels.shape, pixels.strides)
    return pixels


def _check_rows(shape, strides):
    if not _has_rows(shape, strides):
        raise ValueError(f"a frame {shape} with strides {strides}: pixels in a row are needed, so call .contiguous() "
                         "first")


def _has_rows(shape, strides):
    """True if the bytes of each row follow each other, and the rows come in their order. The stride of an axis with one
    element says nothing."""
    height, width, channels = shape
    to_row, to_pixel, to_channel = strides
    return (to_channel == 1 and (width < 2 or to_pixel == channels) and
            (height < 2 or to_row >= width * channels))


def _advice(shape, is_float):
    """What to do with pixels that have another type or shape."""
    if len(shape) == 4:
        return ": one frame at a time"
    last = len(shape) != 3 or shape[2] in (3, 4) or shape[0] not in (3, 4)
    return ("" if last else ": move the channels to the end") + (
        ": multiply values from 0 to 1 by 255, and convert them to uint8" if is_float else "")


def _with_alpha(pixels):
    """The pixels with four bytes each, copied only if they have to be."""
    if pixels.dtype != numpy.uint8 or pixels.ndim != 3 or pixels.shape[2] not in (3, 4):
        raise ValueError(f"a frame of {pixels.dtype} {pixels.shape}: bytes are needed, (height, width, 3 or 4)" +
                         _advice(pixels.shape, pixels.dtype.kind == "f"))
    if pixels.shape[2] == 3:
        whole = numpy.full((*pixels.shape[:2], 4), 255, numpy.uint8)
        whole[..., :3] = pixels
        return whole
    return pixels if _has_rows(pixels.shape, pixels.strides) else numpy.ascontiguousarray(pixels)


# --- capsules, in which Python's libraries pass tensors by DLPack ---

# The capsule's name without and with a version; who takes the tensor out of it gives it another name.
_CAPSULES = (b"dltensor", b"dltensor_versioned")
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi))
_is_capsule = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi))
_look_into = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))
_find_end = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(("PyCapsule_GetDestructor", ctypes.pythonapi))


def _managed(address, versioned):
    return ffi.cast("struct dlpack_versioned *" if versioned else "struct dlpack_plain *", address)


def _capsule_ends():
    """The functions that give back a tensor which nobody has taken out of its capsule, without and with a version: those
    of numpy's own capsules. They have to be C: a capsule may end while an exception is on its way, which is lost in
    Python, and when the interpreter has ended. numpy before 2.1 has none with a version."""
    pixels = numpy.empty(1, numpy.uint8)
    plain = _find_end(pixels.__dlpack__())
    try:
        return plain, _find_end(pixels.__dlpack__(max_version=(1, 0)))
    except TypeError:
        return plain, None


_CAPSULE_ENDS = _capsule_ends()


def _capsule_of(frame, stream):
    """The capsule of a tensor, for which the stream waits. Some libraries give tensors only with a version."""
    try:
        return frame.__dlpack__(stream=stream)
    except BufferError:
        pass
    try:
        return frame.__dlpack__(stream=stream, max_version=(1, 0))
    except (BufferError, TypeError) as error:
        raise ValueError(f"a frame that its library does not give out: {error}") from error


def _tensor_in(capsule):
    """The tensor in a capsule, whose memory lives as long as the capsule."""
    for versioned, name in enumerate(_CAPSULES):
        if _is_capsule(capsule, name):
            return _managed(_look_into(capsule, name), versioned).tensor
    raise ValueError("a frame without a tensor of DLPack")


def _check_tensor(tensor):
    """Returns the height and width of a frame in a GPU's memory, which has to be one that is read without a copy."""
    shape = tuple(tensor.shape[i] for i in range(tensor.axes))
    if (tensor.type, tensor.bits, tensor.lanes) != (1, 8, 1) or len(shape) != 3 or shape[2] != 4:
        three = len(shape) == 3 and shape[2] == 3
        raise ValueError(f"a frame {shape} on a GPU: unsigned bytes are needed, (height, width, 4)" + (
            ", and three channels become four by torch.nn.functional.pad(frame, (0, 1))" if three else
            _advice(shape, tensor.type in (2, 4))))
    if tensor.strides:
        _check_rows(shape, tuple(tensor.strides[i] for i in range(3)))
    return shape[:2]
