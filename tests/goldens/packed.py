"""Files of goldens that gzip packs. The same contents give the same bytes."""
import gzip
import json
import pathlib

from safetensors.torch import load, save


def write(path, contents):
    """Writes bytes to the path with .gz behind it."""
    path = pathlib.Path(path)
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(contents, 9, mtime=0))


def save_tensors(tensors, path):
    write(path, save(tensors, {"format": "pt"}))


def load_tensors(path):
    path = pathlib.Path(path)
    return load(gzip.decompress(path.with_name(path.name + ".gz").read_bytes()))


def write_lines(lines, path):
    """Writes original.json.gz: how tensors are called in a file of the original key layout, one in a line."""
    write(path, ("[" + ",\n".join(json.dumps(line) for line in lines) + "]\n").encode())
