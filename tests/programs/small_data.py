"""Small data sets for the training programs."""
import json
import struct

from formats import png


def small_cifar(folder):
    """CIFAR-10's files, with eight records each."""
    folder.mkdir()
    record = [bytes([k % 10]) + bytes((k * 37 + i) % 256 for i in range(3072)) for k in range(8)]
    for file in [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]:
        (folder / file).write_bytes(b"".join(record))


def colored(pixels):
    """A PNG file of rows of (red, green, blue)."""
    return png([b"".join(map(bytes, row)) for row in pixels])


def small_coco(folder):
    """COCO's files with 40 + 8 pictures of two sizes, each with two rectangles of three categories."""
    (folder / "annotations").mkdir(parents=True)
    for split, count in (("train2017", 40), ("val2017", 8)):
        (folder / split).mkdir()
        images, annotations = [], []
        for i in range(1, count + 1):
            height, width = (24, 32) if i % 3 == 0 else (32, 32)
            pixels = [[(30 + i % 7, 40, 50)] * width for _ in range(height)]
            for k in range(2):
                label, x, y, side = (i + k) % 3, 2 + 15 * k, 3 + i % 9, 6 + (i * (k + 2)) % 7
                color = tuple(220 if c == label else 20 for c in range(3))
                for row in pixels[y:y + side]:
                    row[x:x + side] = [color] * side
                annotations.append({"id": len(annotations) + 1, "image_id": i, "category_id": label + 1, "iscrowd": 0,
                                    "bbox": [x, y, side, side], "area": side * side})
            (folder / split / f"{i:012}.png").write_bytes(colored(pixels))
            images.append({"id": i, "file_name": f"{i:012}.png", "height": height, "width": width})
        categories = [{"id": k + 1, "name": name} for k, name in enumerate(("red", "green", "blue"))]
        (folder / f"annotations/instances_{split}.json").write_text(
            json.dumps({"images": images, "annotations": annotations, "categories": categories}))


def small_depth(folder):
    """40 + 8 pictures of slopes and their depths in millimetres, some of them unknown."""
    height, width = 24, 32
    for split, count in (("train", 40), ("val", 8)):
        for part in ("rgb", "depth"):
            (folder / split / part).mkdir(parents=True)
        for i in range(count):
            depths = [[(900 + 60 * x + 11 * i * y) * (x + y + i > 4) for x in range(width)] for y in range(height)]
            pixels = [[(depth // 16 % 256, 40 + i % 7, 50) for depth in row] for row in depths]
            (folder / split / f"rgb/{i}.png").write_bytes(colored(pixels))
            rows = [struct.pack(f">{width}H", *row) for row in depths]
            (folder / split / f"depth/{i}.png").write_bytes(png(rows, channels=1, bits=16))


def small_data(folder):
    """All data sets, in folders named after them."""
    folder.mkdir()
    small_cifar(folder / "cifar10")
    small_coco(folder / "coco")
    small_depth(folder / "depth_pairs")


def data_flags(program, folder):
    """Flags that select the program's data set among those of small_data()."""
    name = {"train_depth": "depth_pairs", "train_detection": "coco"}.get(program, "cifar10")
    return ["--dataset", name, "--data-dir", folder / name]
