"""Reads and writes PNG, safetensors and logs of runs without the code under test."""
import json
import struct
import zlib
from typing import NamedTuple


def png(rows, channels=3, bits=8):
    """A PNG file of rows of bytes, with 1 channel (gray), 3 (RGB) or 4 (RGBA)."""
    def chunk(kind, body):
        checksum = struct.pack(">I", zlib.crc32(kind + body))
        return struct.pack(">I", len(body)) + kind + body + checksum
    width, color = len(rows[0]) * 8 // (channels * bits), {1: 0, 3: 2, 4: 6}[channels]
    size = struct.pack(">IIBBBBB", width, len(rows), bits, color, 0, 0, 0)
    content = zlib.compress(b"".join(b"\0" + row for row in rows))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size) + chunk(b"IDAT", content) +
            chunk(b"IEND", b""))


def plain_png(*color, width=32, height=32):
    """A PNG file of a single gray or a single red, green and blue."""
    return png([bytes(color) * width] * height, len(color))


class Tensor(NamedTuple):
    dtype: str
    shape: list
    data: bytes


def read_safetensors(path):
    """The tensors by name, in the order of their data, and the metadata.

    ValueError if the file is cut short.
    """
    raw = path.read_bytes()
    length, = struct.unpack("<Q", raw[:8])
    header, body = json.loads(raw[8:8 + length]), raw[8 + length:]
    metadata = header.pop("__metadata__", {})
    entries = sorted(header.items(), key=lambda item: item[1]["data_offsets"])
    if entries[-1][1]["data_offsets"][1] != len(body):
        raise ValueError(f"{path} is cut short")
    return {name: Tensor(entry["dtype"], entry["shape"], body[slice(*entry["data_offsets"])])
            for name, entry in entries}, metadata


def safetensors(tensors, metadata=None):
    """The bytes of a file of these tensors, given as name -> (dtype, shape, data)."""
    header, end = {"__metadata__": metadata} if metadata else {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + len(data)]}
        end += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values())


def progress_of(state):
    """The progress that a state records: its step and where its data were."""
    return json.loads(read_safetensors(state)[1]["progress"])


def log_lines_of(run):
    """The lines of a run's steps.jsonl."""
    return [json.loads(line) for line in (run / "steps.jsonl").read_text().splitlines()]


def steps_of(run):
    """Those with losses: others have the fingerprint of the end of an epoch or of the run."""
    return [line for line in log_lines_of(run) if "loss" in line]


def losses_of(run):
    return [step["loss"] for step in steps_of(run)]
