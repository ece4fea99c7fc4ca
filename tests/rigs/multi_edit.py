#!/usr/bin/env python3
"""multi_edit.py IN OUT CUT BEGIN END: gives each track of an MP4 whose index stands at its end an edit list of two
parts: from its beginning to CUT, then from BEGIN to END, in seconds of the pictures."""
import struct
import sys


def boxes(data):
    at = 0
    while at + 8 <= len(data):
        size, kind = struct.unpack('>I4s', data[at:at + 8])
        yield kind, data[at + 8:at + size]
        at += size


def box(kind, body):
    return struct.pack('>I4s', len(body) + 8, kind) + body


def find(data, *path):
    for kind, body in boxes(data):
        if kind == path[0]:
            return body if len(path) == 1 else find(body, *path[1:])
    return None


def edits(trak, movie_scale, cut, begin, end):
    scale = struct.unpack('>I', find(trak, b'mdia', b'mdhd')[12:16])[0]
    first = struct.unpack('>i', find(trak, b'edts', b'elst')[12:16])[0]
    entries = [(cut, 0), (end - begin, begin)]
    body = struct.pack('>II', 0, len(entries))
    for length, at in entries:
        body += struct.pack('>IiI', round(length * movie_scale), first + round(at * scale), 1 << 16)
    return box(b'edts', box(b'elst', body))


def main():
    source, target = sys.argv[1:3]
    cut, begin, end = map(float, sys.argv[3:])
    with open(source, 'rb') as file:
        data = file.read()
    moov = find(data, b'moov')
    movie_scale = struct.unpack('>I', find(moov, b'mvhd')[12:16])[0]
    made = b''
    for kind, body in boxes(moov):
        if kind == b'trak':
            body = b''.join(edits(body, movie_scale, cut, begin, end) if part == b'edts' else box(part, inside)
                            for part, inside in boxes(body))
        made += box(kind, body)
    with open(target, 'wb') as file:
        for kind, body in boxes(data):
            file.write(box(kind, made if kind == b'moov' else body))


main()
