"""Writes copies of a picture or clip that say how they are to be turned.

    oriented.py IN.jpg OUT%d.jpg              with each EXIF orientation from 1 to 8; also PNG, WebP, TIFF (little-endian)
    oriented.py IN.h264 OUT QUARTERS H V      flipped across and down (0 or 1), then so many quarter turns to the left;
                                              also HEVC
    oriented.py IN.mp4 OUT                    with a display matrix that is off as if it had been computed
"""
import re
import struct
import sys
import zlib


def exif(orientation, order):
    return ({">": b"MM\0*", "<": b"II*\0"}[order] +
            struct.pack(order + "IHHHIHHI", 8, 1, 0x112, 3, 1, orientation, 0, 0))


def jpeg(data, orientation):
    body = b"Exif\0\0" + exif(orientation, ">")
    return data[:2] + b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body + data[2:]


def png(data, orientation):
    body = b"eXIf" + exif(orientation, "<")
    return data[:33] + struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body)) + data[33:]


def webp(data, orientation, width=64, height=64):
    def chunk(name, body):
        return name + struct.pack("<I", len(body)) + body + b"\0" * (len(body) & 1)
    size = struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]
    chunks = chunk(b"VP8X", b"\x08\0\0\0" + size) + data[12:] + chunk(b"EXIF", exif(orientation, "<"))
    return b"RIFF" + struct.pack("<I", len(chunks) + 4) + b"WEBP" + chunks


def tiff(data, orientation):
    at = struct.unpack("<I", data[4:8])[0]
    count = struct.unpack("<H", data[at:at + 2])[0]
    entries = [data[at + 2 + 12 * i:at + 14 + 12 * i] for i in range(count)]
    entries.append(struct.pack("<HHIHH", 0x112, 3, 1, orientation, 0))
    entries.sort(key=lambda entry: struct.unpack("<H", entry[:2])[0])
    return (data[:4] + struct.pack("<I", len(data)) + data[8:] + struct.pack("<H", count + 1) + b"".join(entries) +
            b"\0\0\0\0")


def display_message(data, header, first_slices, quarters, horizontal, vertical):
    bits = "0%d%d%s" % (horizontal, vertical, format(quarters * 0x4000, "016b"))
    bits += "11"  # that it lasts, and the end of the message
    bits += "0" * (-len(bits) % 8)
    body = bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))
    message = re.sub(b"\0\0(?=[\0-\3])", b"\0\0\3", header + bytes([47, len(body)]) + body + b"\x80")
    start = next(found.start() for found in re.finditer(b"\0\0\1", data) if first_slices(data[found.end()]))
    return data[:start] + b"\0\0\1" + message + data[start:]


def rounded(data):
    at = data.index(b"tkhd") + 44
    matrix = struct.unpack(">5i", data[at:at + 20])
    return data[:at] + struct.pack(">5i", *[part - 1 if part > 0 else part + 1 for part in matrix]) + data[at + 20:]


def write(name, data):
    with open(name, "wb") as file:
        file.write(data)


def main():
    name, out, *numbers = sys.argv[1:]
    numbers = [int(number) for number in numbers]
    with open(name, "rb") as file:
        data = file.read()
    kind = name.rsplit(".", 1)[1]
    if kind == "h264":
        write(out, display_message(data, b"\6", lambda byte: 1 <= byte & 31 <= 5, *numbers))
    elif kind == "hevc":
        write(out, display_message(data, b"\x4e\1", lambda byte: byte >> 1 & 63 < 32, *numbers))
    elif kind == "mp4":
        write(out, rounded(data))
    else:
        for orientation in range(1, 9):
            write(out % orientation, {"jpg": jpeg, "png": png, "webp": webp, "tiff": tiff}[kind](data, orientation))


main()
