#!/usr/bin/env python3
"""Files of depth maps and flowers written by Python's libraries, read by fovea: depth_files.py BUILD_FOLDER

    tests/interop/depth_files.py BUILD_FOLDER [--splits DIR] [--fixtures DIR]

Needs h5py, scipy, numpy and Pillow; build the target `read_data` first. h5py writes files of the form of NYU depth v2,
scipy MATLAB 5 files of every type, Pillow pairs of PNG files; each must be read equal, value by value. The official
split files must give NYU's 795 and 654 images, and the flowers' 1020, 1020 and 6149 (--splits: the folder with
nyu-splits.mat, flowers102-setid.mat and flowers102-imagelabels.mat; default: the tests' own). Damaged files must end in
one line on standard error and exit code 1 or 2, within 1 GiB of memory. --fixtures writes the small files of
tests/data/hdf5_files again.
"""
import argparse
import os
import resource
import struct
import sys
import zlib
from pathlib import Path

import h5py
import numpy as np
import scipy.io
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "programs"))
from checks import ROOT, Checks, problem_of_error  # noqa: E402

SPLITS = ROOT / "tests/formats/matlab_files"
LIMIT = 2**30  # bytes of address space for damaged files


class DepthChecks(Checks):
    def read_data(self, *command, limit=None):
        def limits():
            if limit:
                resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        return self.run("tests/interop/read_data", *command, preexec_fn=limits, timeout=120,
                        env=os.environ | {"OMP_NUM_THREADS": "1"})

    def read(self, *command):
        """The arrays that the program writes, by name."""
        from safetensors.numpy import load_file
        output = self.folder / "out.safetensors"
        output.unlink(missing_ok=True)
        done = self.read_data(*command, output)
        if done.returncode:
            raise SystemExit(f"error: {command}: {done.stderr}")
        return load_file(output)

    def refused(self, what, *command, word=""):
        done = self.read_data(*command, self.folder / "out.safetensors", limit=LIMIT)
        self.note(f"{what}: {done.stderr.strip()[:110]}", problem_of_error(done, word))


# NYU's form


def nyu_arrays(count=5, height=6, width=9, seed=0):
    """images (N, 3, W, H), depths and rawDepths (N, W, H): MATLAB's (H, W, 3, N) and (H, W, N) as HDF5 has them."""
    random = np.random.default_rng(seed)
    images = random.integers(0, 256, (count, 3, width, height), dtype=np.uint8)
    depths = random.uniform(0.5, 9.9, (count, width, height)).astype(np.float32)
    return {"images": images, "depths": depths, "rawDepths": np.where(depths > 5, 0, depths).astype(np.float32)}


def write_nyu(folder, arrays, train, test, latest=False, block=512, **how):
    """MATLAB leaves a block of 512 bytes for its own header and compresses what it stores in chunks."""
    folder.mkdir(exist_ok=True)
    path = folder / "nyu_depth_v2_labeled.mat"
    with h5py.File(path, "w", userblock_size=block, libver="latest" if latest else "earliest") as file:
        for name, values in arrays.items():
            file.create_dataset(name, data=values, **how)
    if block:
        with open(path, "r+b") as file:
            file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")
    scipy.io.savemat(folder / "splits.mat", {"trainNdxs": np.array(train, np.uint16)[:, None],
                                             "testNdxs": np.array(test, np.uint16)[:, None]}, do_compression=True)
    return folder


def check_nyu(checks):
    arrays, train, test = nyu_arrays(), [2, 5], [1, 3, 4]
    forms = {"whole": {}, "chunks": {"chunks": True, "compression": "gzip", "shuffle": True}, "latest form": {"latest": True},
             "no block": {"block": 0}, "big-endian": {}}
    for what, how in forms.items():
        given = arrays
        if what == "big-endian":
            given = {k: v.astype(v.dtype.newbyteorder(">")) for k, v in arrays.items()}
        folder = write_nyu(checks.folder / f"nyu {what}", given, train, test, **how)
        for split, numbers in {"train": train, "test": test}.items():
            got = checks.read("dataset", "nyu", folder, split)
            picked = np.array(numbers) - 1
            names = {"images", "depth"} | ({"raw_depth"} if split == "test" else set())
            same = (set(got) == names and np.array_equal(got["images"], arrays["images"][picked].transpose(0, 3, 2, 1)) and
                    np.array_equal(got["depth"][..., 0], arrays["depths"][picked].transpose(0, 2, 1)))
            if split == "test":
                same = same and np.array_equal(got["raw_depth"][..., 0], arrays["rawDepths"][picked].transpose(0, 2, 1))
            checks.that(f"NYU's form by h5py, {what}, {split}: {len(numbers)} images and maps, equal bits", same)


def check_damaged_nyu(checks):
    arrays, train, test = nyu_arrays(), [2, 5], [1, 3, 4]

    def refused(what, word, arrays=arrays, train=train, test=test, damage=None, **how):
        folder = write_nyu(checks.folder / "damaged", arrays, train, test, **how)
        if damage:
            path = folder / "nyu_depth_v2_labeled.mat"
            path.write_bytes(damage(path.read_bytes()))
        checks.refused(f"NYU's form, {what}", "dataset", "nyu", folder, "train", word=word)

    def without(name):
        return {k: v for k, v in arrays.items() if k != name}

    refused("no depths", "depths", without("depths"))
    refused("no images", "images", without("images"))
    refused("depths transposed", "expected F32", arrays | {"depths": arrays["depths"].transpose(0, 2, 1).copy()})
    refused("one depth map less", "expected F32", arrays | {"depths": arrays["depths"][1:]})
    refused("depths of f64", "F64", arrays | {"depths": arrays["depths"].astype(np.float64)})
    refused("images as MATLAB shows them", "expected U8", arrays | {"images": arrays["images"].transpose(3, 2, 1, 0).copy()})
    refused("images of u16", "U16", arrays | {"images": arrays["images"].astype(np.uint16)})
    refused("texts instead of images", "no number", arrays | {"images": np.array([b"a", b"b"])})
    refused("number 6 of 5", "1 to 5", train=[2, 6])
    refused("number 0", "contains 0", train=[0, 1])
    refused("an image in both lists", "image 3", train=[2, 3])
    refused("an empty list", "empty", train=[])
    nan = arrays["depths"].copy()
    nan[1, 2, 3] = np.nan
    refused("a depth that is not a number", "row 3, column 2", arrays | {"depths": nan})
    refused("a negative depth", "-1", arrays | {"depths": np.where(arrays["depths"] > 9, -1, arrays["depths"])}, train=[1, 2, 3, 4, 5],
            test=[])
    refused("no HDF5", "HDF5", damage=lambda b: b"MATLAB 5.0 MAT-file".ljust(len(b)))
    refused("an empty file", "HDF5", damage=lambda b: b"")
    size = len((write_nyu(checks.folder / "damaged", arrays, train, test) / "nyu_depth_v2_labeled.mat").read_bytes())
    for share in (0.1, 0.3, 0.6, 0.9, 0.999):
        refused(f"cut at {share:.1%} of {size} bytes", "", damage=lambda b, s=share: b[:int(len(b) * s)])
    folder = write_nyu(checks.folder / "damaged", arrays, train, test)
    with h5py.File(folder / "nyu_depth_v2_labeled.mat", "r+") as file:
        del file["depths"]
        file["depths"] = h5py.ExternalLink("other.h5", "/depths")
    checks.refused("NYU's form, depths in another file", "dataset", "nyu", folder, "train", word="depths")
    folder = write_nyu(checks.folder / "damaged", without("depths"), train, test)
    with h5py.File(folder / "nyu_depth_v2_labeled.mat", "r+") as file:
        file.create_dataset("depths", (5, 9, 6), np.float32, external=[("/etc/passwd", 0, h5py.h5f.UNLIMITED)])
    checks.refused("NYU's form, depths in the bytes of /etc/passwd", "dataset", "nyu", folder, "train", word="other files")
    folder = write_nyu(checks.folder / "damaged", arrays, train, test)
    (folder / "splits.mat").unlink()
    checks.refused("NYU's form, no splits.mat", "dataset", "nyu", folder, "train", word="splits.mat")


# MATLAB 5


def matlab_arrays():
    random = np.random.default_rng(3)
    arrays = {}
    for dtype in ["float64", "float32", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]:
        arrays[f"of_{dtype}"] = random.integers(0, 100, (3, 4)).astype(dtype)
    arrays["negative"] = -random.integers(0, 100, (2, 7)).astype(np.int16)
    arrays["cube"] = random.normal(size=(2, 3, 4))
    arrays["row"], arrays["column"] = np.arange(5.0)[None], np.arange(5.0)[:, None]
    arrays["special"] = np.array([[np.inf, -0.0, 5e-324]])
    arrays["one"], arrays["empty"] = np.array([[7.0]]), np.zeros((0, 3))
    arrays["truth"] = np.array([[True, False, True]])
    arrays["long_name_of_a_variable_of_thirty"] = np.array([[1, 2]], np.uint8)
    return arrays


def turned(path):
    """The file in the other byte order: scipy writes little-endian alone. For uncompressed f64 and u16 arrays."""
    data = path.read_bytes()
    out, at = bytearray(data[:124] + b"\x01\x00MI"), 128
    sizes = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}

    def swap(values, size):
        return b"".join(values[i:i + size][::-1] for i in range(0, len(values), size))

    while at < len(data):
        kind, count = struct.unpack_from("<II", data, at)
        assert kind == 14
        out += struct.pack(">II", kind, count)
        end, at = at + 8 + count, at + 8
        while at < end:
            word, = struct.unpack_from("<I", data, at)
            if word >> 16:
                size = word >> 16
                out += struct.pack(">I", word) + swap(data[at + 4:at + 4 + size], sizes[word & 0xffff])
                out += bytes(4 - size)
                at += 8
            else:
                size, = struct.unpack_from("<I", data, at + 4)
                padded = -(-size // 8) * 8
                out += struct.pack(">II", word, size) + swap(data[at + 8:at + 8 + size], sizes[word])
                out += bytes(padded - size)
                at += 8 + padded
    path.write_bytes(out)


def equal(got, expected):
    if got.shape != expected.shape:
        return False
    if expected.dtype == np.float64 or expected.dtype == np.float32:
        return got.dtype == expected.dtype and got.tobytes() == expected.tobytes()
    return np.array_equal(got.astype(np.int64), expected.astype(np.int64))


def check_matlab(checks):
    arrays, path = matlab_arrays(), checks.folder / "arrays.mat"
    for what in ["plain", "compressed", "big-endian"]:
        scipy.io.savemat(path, arrays, do_compression=what == "compressed")
        if what == "big-endian":
            turned(path)
        known = scipy.io.loadmat(path)
        assert all(np.array_equal(known[name], x) for name, x in arrays.items()), what
        got = checks.read("matlab", path)
        wrong = [name for name in arrays if name not in got or not equal(got[name], arrays[name])]
        checks.that(f"MATLAB 5 by scipy, {what}: {len(arrays)} arrays, equal values {wrong}",
                    not wrong and len(got) == len(arrays))
    scipy.io.savemat(path, {"text": "abc", "cell": np.array([1, "a"], dtype=object), "struct": {"a": 1},
                            "complex": np.array([[1 + 2j]]), "sparse": scipy.sparse.eye(3).tocsc(), "x": np.array([[4.0]])})
    checks.that("MATLAB 5 by scipy: texts, cells, structures, complex and sparse arrays are left out",
                list(checks.read("matlab", path)) == ["x"])


def check_damaged_matlab(checks):
    path = checks.folder / "bad.mat"

    def refused(what, content, word=""):
        path.write_bytes(content)
        checks.refused(f"MATLAB 5, {what}", "matlab", path, word=word)

    scipy.io.savemat(path, {"a": np.arange(1000.0)[None]}, do_compression=True)
    packed = path.read_bytes()
    scipy.io.savemat(path, {"a": np.arange(1000.0)[None]})
    plain = path.read_bytes()
    for name, whole in {"plain": plain, "compressed": packed}.items():
        for size in (0, 60, 127, 130, 150, len(whole) // 2, len(whole) - 1):
            refused(f"{name}, cut at {size} bytes", whole[:size])
    refused("a flipped bit in a compressed array", packed[:-20] + bytes([packed[-20] ^ 4]) + packed[-19:])
    refused("version 4", struct.pack("<5i", 0, 1, 1, 0, 2) + b"a\0" + bytes(200), "MATLAB 5")
    refused("text", b"1 2 3\n" * 50, "MATLAB 5")

    def variable(dims, values, claimed=None, kind=6, stored=9):
        header = struct.pack("<IIII", 6, 8, kind, 0) + struct.pack("<II", 5, 4 * len(dims))
        header += struct.pack(f"<{len(dims)}i", *dims) + bytes(4 * (len(dims) % 2)) + struct.pack("<HHI", 1, 1, ord("a"))
        array = header + struct.pack("<II", stored, len(values) if claimed is None else claimed) + values
        size = len(array) if claimed is None else len(header) + 8 + claimed
        return struct.pack("<II", 14, size) + array

    def deflated(array):
        stream = zlib.compress(array, 9)
        return plain[:128] + struct.pack("<II", 15, len(stream)) + stream

    refused("sizes beyond the values", plain[:128] + variable((1, 5), bytes(16)), "takes 40")
    refused("sizes that overflow", plain[:128] + variable((2**31 - 1,) * 6, bytes(16)))
    refused("values of a type that is none", plain[:128] + variable((1, 2), bytes(16), stored=8))
    bomb = zlib.compressobj(9)
    zeros, stream = bytes(2**20), b""
    stream += bomb.compress(variable((1, 2**28), b"", 2**31))
    for _ in range(2048):
        stream += bomb.compress(zeros)
    stream += bomb.flush()
    refused(f"{len(stream) >> 20} MiB that decompress to 2 GiB", plain[:128] + struct.pack("<II", 15, len(stream)) + stream)
    refused("a compressed claim of 1 GiB", deflated(variable((1, 2**27), b"", 2**30)), "compressed")
    nested = deflated(variable((1, 2), bytes(16)))[128:]
    refused("compressed twice", deflated(nested))
    refused("more bytes than the variable", deflated(variable((1, 2), bytes(16)) + zeros), "more than")


# Pairs of PNG files


def check_pairs(checks):
    random, folder = np.random.default_rng(5), checks.folder / "pairs"
    pictures, depths = {}, {}
    for split, names in {"train": ["b", "a", "room/1"], "test": ["c"]}.items():
        for i, name in enumerate(names):
            picture = random.integers(0, 256, (7, 5, 3), dtype=np.uint8)
            depth = random.integers(0, 65535, (7, 5), dtype=np.uint16)
            depth[0, :4] = [0, 1, 255, 65534]
            for kind in ["rgb", "depth"]:
                (folder / split / kind / name).parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(picture).save(folder / split / "rgb" / f"{name}.png")
            Image.fromarray(depth).save(folder / split / "depth" / f"{name}.png")
            pictures.setdefault(split, []).append((name, picture))
            depths.setdefault(split, []).append((name, depth))
    for split in ["train", "test"]:
        got = checks.read("dataset", "depth_pairs", folder, split)
        images = np.stack([x for _, x in sorted(pictures[split], key=lambda p: p[0])])
        metres = np.stack([x for _, x in sorted(depths[split], key=lambda p: p[0])]).astype(np.float64) / 1000
        checks.that(f"pairs by Pillow, {split}: {len(images)} pictures and maps, equal bits",
                    np.array_equal(got["images"], images) and np.array_equal(got["depth"][..., 0], metres.astype(np.float32)))
    written = checks.folder / "written.png"
    path = folder / "train/depth/a.png"
    done = checks.read_data("depth_png", path, written)
    checks.that("a map that fovea writes: Pillow reads the same 16 bits",
                done.returncode == 0 and np.array_equal(np.array(Image.open(written)), np.array(Image.open(path))))


def check_damaged_pairs(checks):
    folder = checks.folder / "bad pairs"
    picture, depth = folder / "train/rgb/a.png", folder / "train/depth/a.png"
    picture.parent.mkdir(parents=True), depth.parent.mkdir(parents=True)

    def refused(what, word, maps=np.full((7, 5), 900, np.uint16), damage=None):
        Image.fromarray(np.zeros((7, 5, 3), np.uint8)).save(picture)
        Image.fromarray(maps).save(depth)
        if damage:
            depth.write_bytes(damage(depth.read_bytes()))
        checks.refused(f"pairs, {what}", "dataset", "depth_pairs", folder, "train", word=word)

    refused("a map of 8 bits", "u8 x 1", np.full((7, 5), 9, np.uint8))
    refused("a map in colours", "u8 x 3", np.zeros((7, 5, 3), np.uint8))
    refused("a map of another size", "7x5", np.full((5, 7), 900, np.uint16))
    refused("a map cut in half", "a.png", damage=lambda b: b[:len(b) // 2])
    refused("a flipped bit", "a.png", damage=lambda b: b[:45] + bytes([b[45] ^ 1]) + b[46:])
    refused("a text for a map", "a.png", damage=lambda b: b"no picture")
    Image.fromarray(np.full((7, 5), 900, np.uint16)).save(depth)
    (picture.parent / "b.png").write_bytes(picture.read_bytes())
    refused("a picture without a map", "b.png")


# Official files


def check_splits(checks, splits):
    setid = checks.read("matlab", splits / "flowers102-setid.mat")
    counts = [setid[name].size for name in ("trnid", "valid", "tstid")]
    checks.that(f"flowers102-setid.mat: {counts}", counts == [1020, 1020, 6149])
    nyu = checks.read("matlab", splits / "nyu-splits.mat")
    counts = [nyu[name].size for name in ("trainNdxs", "testNdxs")]
    checks.that(f"nyu-splits.mat: {counts}", counts == [795, 654])
    for name in ["flowers102-setid", "flowers102-imagelabels", "nyu-splits"]:
        known = {k: v for k, v in scipy.io.loadmat(splits / f"{name}.mat").items() if not k.startswith("__")}
        got = checks.read("matlab", splits / f"{name}.mat")
        checks.that(f"{name}.mat as scipy reads it", set(got) == set(known) and
                    all(np.array_equal(got[k], v) for k, v in known.items()))


def check_flowers(checks, splits):
    folder = checks.folder / "flowers"
    (folder / "jpg").mkdir(parents=True)
    for name in ["setid", "imagelabels"]:
        (folder / f"{name}.mat").write_bytes((splits / f"flowers102-{name}.mat").read_bytes())
    Image.fromarray(np.full((3, 4, 3), 99, np.uint8)).save(folder / "one.jpg", quality=95)
    for number in range(1, 8190):
        os.link(folder / "one.jpg", folder / f"jpg/image_{number:05d}.jpg")
    setid, labels = (scipy.io.loadmat(folder / f"{name}.mat") for name in ["setid", "imagelabels"])
    expected = {"train": np.sort(np.concatenate([setid["trnid"][0], setid["valid"][0]])), "test": np.sort(setid["tstid"][0])}
    for split, numbers in expected.items():
        got = checks.read("labels", "flowers102", folder, split)["labels"]
        checks.that(f"flowers102, {split}: {len(got)} labels",
                    np.array_equal(got, labels["labels"][0][numbers.astype(int) - 1].astype(np.int64) - 1))
    try:
        from torchvision.datasets import Flowers102
        names = [name.rstrip("?") for name in Flowers102.classes]
        shown = checks.read_data("classes", "flowers102", folder, "train").stdout.splitlines()
        checks.that("flowers102: the names of torchvision's classes", shown == names)
    except (ImportError, AttributeError):
        print("skip flowers102: no torchvision with the names of the classes")
    (folder / "jpg/image_00007.jpg").unlink()
    for split in expected:
        done = checks.read_data("labels", "flowers102", folder, split, checks.folder / "out.safetensors")
        if split == ("train" if 7 in expected["train"] else "test"):
            checks.that(f"flowers102, a missing picture: {done.stderr.strip()[-90:]}",
                        done.returncode == 1 and "image_00007.jpg" in done.stderr)


def write_fixtures(folder):
    """Values that tests compute again: nyu_test.cpp."""
    folder.mkdir(parents=True, exist_ok=True)
    n, c, x, y = np.ogrid[:4, :3, :5, :3]
    images = ((61 * n + 101 * c + 7 * x + 13 * y) % 256).astype(np.uint8)
    n, x, y = np.ogrid[:4, :5, :3]
    depths = (0.5 + n + x / 4 + y / 32).astype(np.float32)
    arrays = {"images": images, "depths": depths, "rawDepths": np.where((x + y) % 3 == 0, 0, depths).astype(np.float32)}
    path = write_nyu(folder / "nyu", arrays, [1, 4], [2, 3], chunks=True, compression="gzip")
    print(f"wrote {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--splits", type=Path, default=SPLITS)
    parser.add_argument("--fixtures", type=Path, help="write the tests' small files into this folder and leave")
    options = parser.parse_args()
    if options.fixtures:
        write_fixtures(options.fixtures)
        return 0
    with DepthChecks(options.build.resolve()) as checks:
        check_splits(checks, options.splits.resolve())
        check_matlab(checks)
        check_damaged_matlab(checks)
        check_pairs(checks)
        check_damaged_pairs(checks)
        check_nyu(checks)
        check_damaged_nyu(checks)
        check_flowers(checks, options.splits.resolve())
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
