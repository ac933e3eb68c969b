"""Weights files and indexes that programs must refuse, for bad_input.py: name, content, a word of the message."""
import io
import json
import struct
import zipfile


def safetensors(header, body=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + body


def entry(shape, begin, end, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


# What a checkpoint may not be: name, content, a word of the message.
HOSTILE = [
    ("empty file", b"", ""),
    ("truncated header", safetensors({"a": entry([1], 0, 4)}, b"1234")[:20], ""),
    ("truncated data", safetensors({"a": entry([4], 0, 16)}, b"1234"), ""),
    ("header longer than the file", safetensors(b"{}", length=2**40), ""),
    ("header of 2^63 bytes", safetensors(b"{}", length=2**63), ""),
    ("not JSON", safetensors(b"{'a': 1}"), ""),
    ("JSON nested 100000 deep", safetensors(b'{"a":' + b"[" * 100000 + b"]" * 100000 + b"}"), ""),
    ("not UTF-8", safetensors(b'{"\xff\xfe": {"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', b"1234"), ""),
    ("overlapping tensors", safetensors({"a": entry([2], 0, 8), "b": entry([2], 4, 12)}, b"x" * 12), ""),
    ("a hole between tensors", safetensors({"a": entry([1], 0, 4), "b": entry([1], 8, 12)}, b"x" * 12), ""),
    ("offsets past the end", safetensors({"a": entry([4], 0, 16)}, b"x" * 8), ""),
    ("negative offsets", safetensors({"a": entry([1], -4, 0)}), ""),
    ("unknown dtype", safetensors({"a": entry([1], 0, 4, "F31")}, b"1234"), "F31"),
    ("duplicate names", safetensors(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},'
                                    b'"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}', b"x" * 8), ""),
    ("a shape of 2^60", safetensors({"a": entry([2**60], 0, 4)}, b"1234"), ""),
    ("a shape whose product overflows", safetensors({"a": entry([2**40, 2**40], 0, 4)}, b"1234"), ""),
    ("bytes after the last tensor", safetensors({"a": entry([1], 0, 4)}, b"x" * 40), ""),
]


def torch_zip(pickle, storage=b"1234", method=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("archive/data.pkl", pickle)
        archive.writestr("archive/data/0", storage)
    return file.getvalue()


def npz(array):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("x.npy", array)
    return file.getvalue()


def torch_tensor(count=1, sizes=(1,), strides=(1,)):
    """A pickle of {"x": tensor}."""
    def number(n):
        return b"\x8a\x08" + struct.pack("<q", n)

    def numbers(several):
        return b"(" + b"".join(map(number, several)) + b"t"

    def text(t):
        return b"X" + struct.pack("<I", len(t)) + t
    return (b"\x80\x02}" + text(b"x") + b"ctorch._utils\n_rebuild_tensor_v2\n((" + text(b"storage") +
            b"ctorch\nFloatStorage\n" + text(b"0") + text(b"cpu") + number(count) + b"tQ" + number(0) +
            numbers(sizes) + numbers(strides) + b"\x89NtRs.")


# What a checkpoint of PyTorch may not be.
HOSTILE_TORCH = [
    ("os.system", torch_zip(b"\x80\x02cos\nsystem\n(X\x0b\x00\x00\x00touch RAN_XtR."), "system"),
    ("os.system beside a key", torch_zip(b"\x80\x02}X\x05\x00\x00\x00modelcos\nsystem\n(X\x0b\x00\x00\x00touch RAN_XtRs."),
     "system"),
    ("an instruction of Python alone", torch_zip(b"\x80\x02(S'x'\nios\nsystem\n."), "STRING"),
    ("compressed", torch_zip(torch_tensor(), method=zipfile.ZIP_DEFLATED), "compressed"),
    ("truncated", torch_zip(torch_tensor())[:-1], "truncated"),
    ("a tensor larger than its storage", torch_zip(torch_tensor(sizes=(9,))), "beyond"),
    ("a storage larger than its bytes", torch_zip(torch_tensor(count=9, sizes=(9,))), "36"),
    ("2^60 times one element", torch_zip(torch_tensor(sizes=(2**60,), strides=(0,))), ""),
    ("marks nested 100000 deep", torch_zip(b"\x80\x02" + b"(" * 100000), "MARK"),
    ("a module that contains itself", torch_zip(
        b"\x80\x02cm\nC\n)\x81q\x01}X\x0b\x00\x00\x00_parameters}sX\x08\x00\x00\x00_modules}X\x01\x00\x00\x00ah\x01ssb."),
     "contain themselves"),
    ("text", b"this is no checkpoint", "is a text"),
    ("a pointer of Git LFS", b"version https://git-lfs.github.com/spec/v1\nsize 5\n", "git lfs pull"),
    ("a web page", b"<!DOCTYPE html><html>", "web page"),
    ("an array that is too short", npz(b"\x93NUMPY\x01\x00\x36\x00{'descr': '<f4', 'fortran_order': False, "
                                       b"'shape': (2,),}"), "of shape [2]"),
    ("no array", npz(b"no array"), "NumPy"),
]

# What an index may not be: its content, a word of the message.
HOSTILE_INDEX = [
    ("a path outside", '{"weight_map": {"x": "../x"}}', "same folder"),
    ("an absolute path", '{"weight_map": {"x": "/etc/passwd"}}', "same folder"),
    ("itself", '{"weight_map": {"x": "hostile.index.json"}}', "itself"),
    ("a missing file", '{"weight_map": {"x": "none.safetensors"}}', "missing"),
    ("a name twice", '{"weight_map": {"x": "a", "x": "b"}}', "twice"),
    ("no object", '{"weight_map": 3}', "weight_map"),
    ("nested 100000 deep", '{"weight_map": ' + "[" * 100000, "JSON"),
]
