#!/usr/bin/env python3
"""Puts the five pictures of the README and the tour into docs/images/: those that `make test-pages` took, without filters of rows.

Flat colours compress better so than with the filters that a browser chooses.
"""

import pathlib
import struct
import zlib

root = pathlib.Path(__file__).resolve().parent.parent


def chunks(data):
    """Kind and content of each part of a PNG."""
    place = 8
    while place < len(data):
        length, kind = struct.unpack_from(">I4s", data, place)
        yield kind, data[place + 8 : place + 8 + length]
        place += 12 + length


def paeth(left, above, corner):
    guess = left + above - corner
    order = (abs(guess - left), 0, left), (abs(guess - above), 1, above), (abs(guess - corner), 2, corner)
    return min(order)[2]


def plain(raw, width, step):
    """The rows of pixels, one after another, with the filters undone."""
    line = width * step
    before = bytearray(line)
    for start in range(0, len(raw), line + 1):
        kind, row = raw[start], bytearray(raw[start + 1 : start + 1 + line])
        for at in range(line):
            left = row[at - step] if at >= step else 0
            corner = before[at - step] if at >= step else 0
            guess = (0, left, before[at], (left + before[at]) // 2)[kind] if kind < 4 else paeth(left, before[at], corner)
            row[at] = (row[at] + guess) & 255
        yield bytes(row)
        before = row


def smaller(data):
    """The same picture, of 8 bits a channel, in fewer bytes."""
    head = next(content for kind, content in chunks(data) if kind == b"IHDR")
    width, height, depth, colour = struct.unpack_from(">IIBB", head)
    assert depth == 8 and colour in (2, 6), "not a picture as browsers take them"
    raw = zlib.decompress(b"".join(content for kind, content in chunks(data) if kind == b"IDAT"))
    rows = list(plain(raw, width, 3 if colour == 2 else 4))
    packed = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    parts = [(b"IHDR", head), (b"IDAT", packed), (b"IEND", b"")]
    return data[:8] + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in parts
    )


for name in ("now", "quote", "job", "output", "market"):
    taken = (root / f"target/pages/readme-{name}.png").read_bytes()
    kept = min(taken, smaller(taken), key=len)
    (root / f"docs/images/page-{name}.png").write_bytes(kept)
    print(f"docs/images/page-{name}.png: {len(kept)} bytes, {len(taken)} as taken")
