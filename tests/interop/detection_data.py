#!/usr/bin/env python3
"""Data sets with boxes, read by fovea and by Python's libraries: detection_data.py BUILD_FOLDER [--bccd FOLDER] [--small]

Needs pycocotools, torchvision and Pillow; build the target `detection_data` first.
- COCO: a set is written, with gaps between category ids, crowds, outlines and boxes beyond their images. Every image
  and object is read as pycocotools reads it, to the last bit, and the boxes to train on as DETR's code makes them.
- Results: a file is read and written again; pycocotools loads both, and the numbers are equal.
- VOC: a set is written with ElementTree and read as torchvision reads it; with --bccd also that set.
- Speed: a file of 118,287 images and 860,001 objects with outlines, as large as COCO's own, takes at most the time of
  pycocotools and at most 1.5 GB. --small leaves this out.
"""
import argparse
import contextlib
import io
import json
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

import numpy
from PIL import Image
from pycocotools.coco import COCO
from torchvision.datasets import VOCDetection

MOST_MB = 1536


def fail(text):
    sys.exit(f"error: {text}")


def same(what, ours, theirs):
    if ours != theirs:
        fail(f"{what}: fovea has {ours}, Python {theirs}")


def quiet(function, *arguments):
    with contextlib.redirect_stdout(io.StringIO()):
        return function(*arguments)


def outline(rng, x, y, width, height, points):
    return [round(float(v), 2) for k in range(points)
            for v in (x + rng.random() * width, y + rng.random() * height)]


def coco_set(folder, rng):
    """Both splits; ids are out of order."""
    categories = [{"id": k, "name": f"thing {k}", "supercategory": "x"} for k in (7, 1, 2, 4, 90)]
    (folder / "annotations").mkdir(parents=True)
    for split, count in (("train2017", 40), ("val2017", 11)):
        (folder / split).mkdir()
        images, annotations = [], []
        ids = rng.sample(range(1, 10**6), 4000)
        for k in range(count):
            width, height = rng.randint(20, 60), rng.randint(20, 60)
            name = f"{ids[k]:012}.png"
            Image.new("RGB", (width, height), (k, 2 * k, 3 * k)).save(folder / split / name)
            images.append({"license": 1, "file_name": name, "height": height, "width": width, "id": ids[k],
                           "date_captured": "2013-11-14 17:02:52"})
            for n in range(rng.choice([0, 0, 1, 3, 9])):
                x, y = rng.uniform(-5, width), rng.uniform(-5, height)
                w, h = rng.choice([0, rng.uniform(0, 30)]) if n == 8 else rng.uniform(1, 30), rng.uniform(1, 30)
                annotations.append({"segmentation": [outline(rng, x, y, w, h, 5)], "area": rng.random() * 900,
                                    "iscrowd": int(rng.random() < 0.2), "image_id": ids[k], "bbox": [x, y, w, h],
                                    "category_id": rng.choice(categories)["id"], "id": ids[1000 + len(annotations)]})
        rng.shuffle(annotations)
        with open(folder / "annotations" / f"instances_{split}.json", "w") as file:
            json.dump({"info": {"year": 2017}, "licenses": [], "images": images, "annotations": annotations,
                       "categories": categories}, file)


def detr_boxes(objects, width, height):
    """The boxes to train on: crowds dropped, clipped in f32, empty ones dropped (Carion et al. 2020)."""
    rows = []
    for o in objects:
        if o.get("iscrowd", 0):
            continue
        x, y, w, h = o["bbox"]
        box = numpy.array([min(max(x, 0), width), min(max(y, 0), height), min(max(x + w, 0), width),
                           min(max(y + h, 0), height)], numpy.float32)
        if box[2] > box[0] and box[3] > box[1]:
            rows.append([*map(float, box), o["category_id"]])
    return rows


def read(build, name, folder, output):
    subprocess.run([build / "tests/interop/detection_data", name, folder, output], check=True)
    return json.loads(output.read_text())


def check_coco(build, folder, rng):
    coco_set(folder / "coco", rng)
    ours = read(build, "coco", folder / "coco", folder / "coco.json")
    objects = 0
    for ours_split, split in (("train", "train2017"), ("test", "val2017")):
        coco = quiet(COCO, folder / "coco/annotations" / f"instances_{split}.json")
        images = ours[ours_split]["images"]
        same("image ids", [i["id"] for i in images], sorted(coco.getImgIds()))
        same("category ids", ours[ours_split]["ids"], sorted(coco.getCatIds()))
        for category in coco.loadCats(coco.getCatIds()):
            same("a name", ours[ours_split]["names"][category["id"]], category["name"])
        for image in images:
            theirs = coco.loadImgs(image["id"])[0]
            same("a file", pathlib.Path(image["file"]).name, theirs["file_name"])
            same("a size", [image["height"], image["width"]], [theirs["height"], theirs["width"]])
            annotations = coco.loadAnns(coco.getAnnIds(image["id"]))
            same(f"objects of {image['id']}", image["objects"],
                 [[a["id"], a["category_id"], *a["bbox"], a["area"], bool(a["iscrowd"])] for a in annotations])
            same(f"boxes of {image['id']}", image["boxes"],
                 detr_boxes(annotations, theirs["width"], theirs["height"]))
            objects += len(annotations)
    print(f"ok  COCO: {objects} objects equal to the last bit, and their boxes to train on")


def check_results(build, folder, rng):
    coco = quiet(COCO, folder / "coco/annotations/instances_val2017.json")
    results = [{"image_id": i, "category_id": rng.choice([1, 2, 4]), "score": rng.random(),
                "bbox": [rng.uniform(-1, 1) * 10**rng.randint(-9, 3) for _ in range(4)]}
               for i in coco.getImgIds() for _ in range(30)]
    first, second = folder / "first.json", folder / "second.json"
    first.write_text(json.dumps(results))
    subprocess.run([build / "tests/interop/detection_data", "results", first, second], check=True)
    loaded = [quiet(coco.loadRes, str(file)).dataset["annotations"] for file in (first, second)]
    same("results", *loaded)
    print(f"ok  results: {len(results)} detections written as they were read")


def voc_set(folder, rng):
    """torchvision wants VOCdevkit/VOC2012 around it."""
    for name in ("Annotations", "JPEGImages", "ImageSets/Main"):
        (folder / name).mkdir(parents=True)
    names = [f"2008_{k:06}" for k in range(30)]
    for k, name in enumerate(names):
        width, height = rng.randint(20, 60), rng.randint(20, 60)
        Image.new("RGB", (width, height), (k, 2 * k, 3 * k)).save(folder / "JPEGImages" / f"{name}.jpg")
        root = ElementTree.Element("annotation")
        size = ElementTree.SubElement(root, "size")
        for key, value in (("width", width), ("height", height), ("depth", 3)):
            ElementTree.SubElement(size, key).text = str(value)
        for _ in range(rng.choice([0, 1, 2, 5])):
            element = ElementTree.SubElement(root, "object")
            ElementTree.SubElement(element, "name").text = rng.choice(["cat", "do & g", "éléphant"])
            ElementTree.SubElement(element, "difficult").text = rng.choice("0001")
            box = ElementTree.SubElement(element, "bndbox")
            left, top = rng.randint(1, width), rng.randint(1, height)
            for key, value in (("xmin", left), ("ymin", top), ("xmax", rng.randint(left, width)),
                               ("ymax", f"{rng.uniform(top, height):.3f}")):
                ElementTree.SubElement(box, key).text = f" {value}\n"
        ElementTree.ElementTree(root).write(folder / "Annotations" / f"{name}.xml", encoding=rng.choice(["utf-8", "us-ascii"]),
                                            xml_declaration=True)
    rng.shuffle(names)
    for split, part in (("train", names[:20]), ("val", names[20:])):
        (folder / "ImageSets/Main" / f"{split}.txt").write_text("\n".join(part) + "\n")


def check_voc(build, folder, root, splits):
    """`root` holds VOCdevkit/VOC2012; `splits`: the lists that fovea takes."""
    place = root / "VOCdevkit/VOC2012"
    ours = read(build, "voc", place, folder / "voc.json")
    objects = 0
    for ours_split, split in zip(("train", "test"), splits):
        theirs = VOCDetection(root, year="2012", image_set=split)
        images = ours[ours_split]["images"]
        same("the number of images", len(images), len(theirs))
        for k, image in enumerate(images):
            picture, target = theirs[k]
            same("a file", pathlib.Path(image["file"]).name, pathlib.Path(theirs.images[k]).name)
            same("a size", [image["width"], image["height"]], list(picture.size))
            expected = []
            for o in target["annotation"].get("object", []):
                x0, y0, x1, y1 = (float(o["bndbox"][key]) for key in ("xmin", "ymin", "xmax", "ymax"))
                expected.append([o["name"], x0 - 1, y0 - 1, x1 - (x0 - 1), y1 - (y0 - 1), o.get("difficult") == "1"])
            names = ours[ours_split]["names"]
            same(f"objects of {image['file']}", [[names[o[1]], *o[2:6], o[7]] for o in image["objects"]], expected)
            objects += len(expected)
    print(f"ok  VOC: {objects} objects of {root.name} equal")


def large_file(path, rng):
    """118,287 images and 860,001 objects with outlines, as text, in COCO's order of members."""
    images, objects = 118_287, 860_001
    ids = rng.sample(range(1, 600_000), images)
    with open(path, "w") as file:
        file.write('{"info": {"year": 2017}, "licenses": [], "images": [')
        file.write(", ".join(
            '{"license": 3, "file_name": "%012d.jpg", "coco_url": "http://images.cocodataset.org/train2017/%012d.jpg", '
            '"height": 480, "width": 640, "date_captured": "2013-11-14 16:28:13", '
            '"flickr_url": "http://farm4.staticflickr.com/3153/2970773875_164f0c0b83_z.jpg", "id": %d}' % (i, i, i)
            for i in ids))
        file.write('], "annotations": [')
        for k in range(objects):
            x, y, w, h = (round(rng.uniform(1, 300), 2) for _ in range(4))
            points = ", ".join(map(str, outline(rng, x, y, w, h, rng.randint(8, 60))))
            file.write('%s{"segmentation": [[%s]], "area": %r, "iscrowd": 0, "image_id": %d, "bbox": [%r, %r, %r, %r], '
                       '"category_id": %d, "id": %d}' % (", " if k else "", points, round(w * h / 2, 4), rng.choice(ids),
                                                        x, y, w, h, rng.randint(1, 90), k + 1))
        file.write('], "categories": [')
        file.write(", ".join('{"supercategory": "x", "id": %d, "name": "thing %d"}' % (k, k) for k in range(1, 91)))
        file.write("]}")


def time_pycocotools(path):
    """In a process of its own, for the peak memory."""
    start = time.perf_counter()
    coco = quiet(COCO, path)
    seconds = time.perf_counter() - start
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, len(coco.anns))


def check_speed(build, folder, rng):
    path = folder / "large.json"
    large_file(path, rng)
    times, peaks = {"fovea": [], "pycocotools": []}, {}
    commands = {"fovea": [build / "tests/interop/detection_data", "time", path],
                "pycocotools": [sys.executable, __file__, "--time", path]}
    for _ in range(3):  # alternately
        for name, command in commands.items():
            seconds, peaks[name], objects = subprocess.run(command, capture_output=True, text=True,
                                                           check=True).stdout.split()
            same("objects", int(objects), 860_001)
            times[name].append(float(seconds))
    for name in commands:
        print(f"    {name:12} {sorted(times[name])[1]:6.2f} s, {peaks[name]} MB at most")
    if sorted(times["fovea"])[1] > sorted(times["pycocotools"])[1] or int(peaks["fovea"]) > MOST_MB:
        fail("a large file takes longer than with pycocotools, or more than 1.5 GB")
    print(f"ok  speed: {path.stat().st_size / 2**20:.0f} MB of annotations")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=pathlib.Path)
    parser.add_argument("--bccd", type=pathlib.Path, help="a folder with Annotations/, JPEGImages/ and ImageSets/")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--time", type=pathlib.Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.time:
        return time_pycocotools(args.time)
    if not args.build:
        parser.error("name the build folder")
    build, rng = args.build.resolve(), random.Random(5)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_coco(build, folder, rng)
        check_results(build, folder, rng)
        voc_set(folder / "drawn/VOCdevkit/VOC2012", rng)
        check_voc(build, folder, folder / "drawn", ("train", "val"))
        if args.bccd:
            (folder / "bccd/VOCdevkit").mkdir(parents=True)
            (folder / "bccd/VOCdevkit/VOC2012").symlink_to(args.bccd.resolve())
            check_voc(build, folder, folder / "bccd", ("trainval", "test"))
        if not args.small:
            check_speed(build, folder, rng)


if __name__ == "__main__":
    main()
