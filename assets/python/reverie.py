"""Restyles pictures with a diffusion network: libreverie in Python, by cffi. Pictures are numpy arrays of bytes.
Frames may be tensors of other libraries, and pictures become such tensors, by DLPack.

    import reverie
    with reverie.Reverie(prompt="ink drawing", size="512x512") as engine:
        picture = engine.restyle(frame)          # (height, width, 3 or 4) in, (height, width, 4) out
        tensor = torch.from_dlpack(picture)      # the same memory

LIBRARY.md says what the library does, and which thread may call what. A call lets other threads of Python run.

The library is looked for by the name in $REVERIE_LIBRARY, else in lib beside this file, where a wheel has it, else as
libreverie.so.0; its header as $REVERIE_HEADER says, else beside this file, in the source tree, and where it is
installed."""
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


ffi = cffi.FFI()
ffi.cdef(_declarations(_read_header()))
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
    with a level (0: a warning) and a line."""

    def __init__(self, values=None, *, device=None, threads=0, pictures=4, log=None, **keywords):
        self._engine = ffi.new("struct reverie **")
        self._log = ffi.new_handle(log) if log else ffi.NULL
        device_name = ffi.new("char[]", device.encode()) if device else ffi.NULL
        config = _struct("reverie_config", device=device_name, threads=threads, pictures=pictures,
                         log=_log if log else ffi.NULL, log_opaque=self._log)
        _call(_library.reverie_create, self._engine, config)
        try:
            for name, value in {**{_name_of(key): value for key, value in keywords.items()}, **(values or {})}.items():
                self.set(name, value)
            _call(_library.reverie_open, self._engine[0])
        except Error:
            self.close()
            raise

    def close(self):
        """Frees the engine; arrays that it gave stay valid."""
        _library.reverie_destroy(self._engine)

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
        """Starts making the picture of a frame: an array of bytes, (height, width, 3 or 4), or such a tensor in the
        host's memory, of any library that knows DLPack. The frame is read by the time this returns."""
        pixels = _with_alpha(_array(frame))
        height, width = pixels.shape[:2]
        own = _struct("reverie_frame", format=_library.REVERIE_RGBA, width=width, height=height, time_ns=time_ns,
                      restart=int(restart))
        own.plane[0], own.pitch[0] = ffi.cast("void *", pixels.ctypes.data), max(pixels.strides[0], 4 * width)
        _call(_library.reverie_submit, self._open(), own)

    def collect(self):
        """Waits for the oldest frame's picture: a Picture (height, width, 4) of the library's memory, which is given
        back when the array and all that share its memory are gone. It is only read. None: the stream batch is not full
        yet."""
        picture = _struct("reverie_picture")
        _call(_library.reverie_collect, self._open(), picture)
        if not picture.plane[0]:
            return None
        owned = ffi.gc(picture, _library.reverie_release)
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
        return {name: _text(getattr(own, name)) if field.type.kind == "array" else getattr(own, name)
                for name, field in ffi.typeof("struct reverie_info").fields if name != "size"}

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


class _Memory:
    """Memory of others, as numpy reads about it. It keeps the memory's owner."""

    def __init__(self, owner, interface):
        self._owner = owner
        self.__array_interface__ = interface


def _name_of(keyword):
    return "prompt[1]" if keyword == "prompt" else keyword.replace("_", "-")


# Where DLPack says a tensor is, as far as a CPU reads it: the host's memory, also where a GPU reads it as well (pinned,
# or managed by CUDA).
_HOST = {1, 3, 11, 13}


def _array(frame):
    """The array with a frame's memory, which is not copied."""
    if isinstance(frame, numpy.ndarray) or not hasattr(frame, "__dlpack__"):
        return numpy.asarray(frame)
    if frame.__dlpack_device__()[0] not in _HOST:
        raise ValueError("a frame on a GPU: frames are read from the host's memory, so call .cpu() first")
    try:
        pixels = numpy.from_dlpack(frame)
    except (BufferError, RuntimeError, TypeError) as error:
        raise ValueError(f"a frame that numpy cannot read ({error}): a tensor of bytes is needed") from error
    if pixels.dtype == numpy.uint8 and pixels.ndim == 3 and not _has_rows(pixels):
        raise ValueError(f"a frame {pixels.shape} with strides {pixels.strides}: pixels in a row are needed, so call "
                         ".contiguous() first")
    return pixels


def _has_rows(pixels):
    """True if the bytes of each row follow each other, and the rows come in their order. The stride of an axis with one
    element says nothing."""
    height, width, channels = pixels.shape
    to_row, to_pixel, to_channel = pixels.strides
    return (to_channel == 1 and (width < 2 or to_pixel == channels) and
            (height < 2 or to_row >= width * channels))


def _advice(pixels):
    """What to do with pixels that have another type or shape."""
    if pixels.ndim == 4:
        return ": one frame at a time"
    last = pixels.ndim != 3 or pixels.shape[2] in (3, 4) or pixels.shape[0] not in (3, 4)
    return ("" if last else ": move the channels to the end") + (
        ": multiply values from 0 to 1 by 255, and convert them to uint8" if pixels.dtype.kind == "f" else "")


def _with_alpha(pixels):
    """The pixels with four bytes each, copied only if they have to be."""
    if pixels.dtype != numpy.uint8 or pixels.ndim != 3 or pixels.shape[2] not in (3, 4):
        raise ValueError(f"a frame of {pixels.dtype} {pixels.shape}: bytes are needed, (height, width, 3 or 4)" +
                         _advice(pixels))
    if pixels.shape[2] == 3:
        whole = numpy.full((*pixels.shape[:2], 4), 255, numpy.uint8)
        whole[..., :3] = pixels
        return whole
    return pixels if _has_rows(pixels) else numpy.ascontiguousarray(pixels)
