#!/usr/bin/env python3
"""Opens damaged data sets with boxes and checks how the programs fail.

    tests/programs/damaged_sets.py [--build build]

Each case must end with exit code 1 or 2 within seconds and print one line on standard error that starts with
"error: " and names the problem: see bad_input.py. Prints a table.
"""
import json
import sys

from bad_input import Cases, train
from checks import build_of
from formats import plain_png

PROGRAM = "train_mae"  # needs no labels, and so takes any images


def instances(**changes):
    """A sound annotation file of 16 images, with other lists."""
    lists = {"images": [{"id": k, "file_name": f"{k}.png", "width": 32, "height": 32} for k in range(16)],
             "annotations": [{"id": k + 1, "image_id": k, "category_id": 1, "bbox": [1, 2, 9, 9], "area": 81,
                              "iscrowd": 0} for k in range(16)],
             "categories": [{"id": 1, "name": "cell"}]}
    return json.dumps({**lists, **changes})


def annotation(**changes):
    return instances(annotations=[{"id": 1, "image_id": 0, "category_id": 1, "bbox": [1, 2, 9, 9], **changes}])


SOUND = instances()
COCO = [  # what is wrong, the file, a word of the message
    ("cut in the middle", SOUND[:len(SOUND) // 2], "may be cut or damaged"),
    ("cut before the end", SOUND[:-1], "may be cut or damaged"),
    ("empty", "", "not valid JSON"),
    ("not JSON", "\x89PNG\r\n", "not valid JSON"),
    ("a list", "[]", "is a list"),
    ("a number", "7", "single value"),
    ("nested 100,000 deep", "[" * 100000, "is a list"),
    ("nested 100,000 deep inside", '{"info": ' + '{"a": ' * 100000, "nested more than"),
    ("results instead", json.dumps([{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 1}]), "is a list"),
    ("no annotations", json.dumps({"images": [], "categories": []}), "has no annotations"),
    ("no images", instances(images=[]), "has no images"),
    ("no categories", instances(categories=[]), "has no categories"),
    ("annotations by id", instances(annotations={"1": {}}), "got an object, expected a list"),
    ("images without size", instances(images=[{"id": 1, "file_name": "1.png"}]), "images[0]: has no height"),
    ("an image of no pixels", instances(images=[{"id": 1, "file_name": "1.png", "width": 0, "height": 3}]), "a width of 0"),
    ("an image of 2^62 pixels", instances(images=[{"id": 1, "file_name": "1", "width": 2**31, "height": 2**31}]), "1000000"),
    ("an image id twice", instances(images=[{"id": 1, "file_name": "1.png", "width": 3, "height": 3}] * 2), "occurs twice"),
    ("a category beyond all heads", instances(categories=[{"id": 10**9, "name": "a"}], annotations=[]), "number of an output"),
    ("a box of three numbers", annotation(bbox=[1, 2, 3]), "got 3 numbers"),
    ("a box of strings", annotation(bbox=["1", "2", "3", "4"]), "bbox: got a string"),
    ("a box without end", annotation(bbox=[1, 2, 3, float("inf")]), "not valid JSON"),
    ("a box of 10^300 pixels", annotation(bbox=[0, 0, 1e300, 1]), "bbox: got 1e+300"),
    ("an area that is NaN", annotation(area=float("nan")), "not valid JSON"),  # as Python writes it
    ("a negative area", annotation(area=-1), "area: got -1"),
    ("an image that is not there", annotation(image_id=99), "image_id: got 99"),
    ("a category that is not there", annotation(category_id=2), "category_id: got 2"),
    ("an id as a string", annotation(image_id="0"), "image_id: got a string"),
    ("half a crowd", annotation(iscrowd=0.5), "expected 0 or 1"),
]


def voc(objects, size="<size><width>32</width><height>32</height></size>"):
    return f"<annotation>{size}{objects}</annotation>"


def voc_object(corners="<xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax>", name="<name>cell</name>"):
    return f"<object>{name}<bndbox>{corners}</bndbox></object>"


LAUGHS = "".join(f'<!ENTITY l{k} "{f"&l{k - 1};" * 10}">' for k in range(1, 10))
VOC = [
    ("cut", voc(voc_object())[:-30], "not valid XML"),
    ("empty", "", "not valid XML"),
    ("no XML", "cell 1 1 9 9", "not valid XML"),
    ("another document", "<svg></svg>", "got <svg>"),
    ("a billion laughs", f'<!DOCTYPE a [<!ENTITY l0 "lol">{LAUGHS}]>' + voc(voc_object(name="<name>&l9;</name>")),
     "document type"),
    ("entities from a file", '<!DOCTYPE a [<!ENTITY f SYSTEM "file:///etc/passwd">]>' + voc(voc_object()), "document type"),
    ("nested 100,000 deep", "<annotation>" + "<a>" * 100000, "not valid XML"),
    ("no size", voc(voc_object(), ""), "has no <size>"),
    ("a size of nothing", voc("", "<size><width>0</width><height>9</height></size>"), "<width>: got 0"),
    ("no box", voc("<object><name>cell</name></object>"), "has no <bndbox>"),
    ("no name", voc(voc_object(name="")), "has no <name>"),
    ("a corner that is NaN", voc(voc_object("<xmin>nan</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax>")), '<xmin>: got "nan"'),
    ("a missing corner", voc(voc_object("<xmin>1</xmin><ymin>1</ymin><xmax>9</xmax>")), "has no <ymax>"),
]


def write(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode(errors="surrogateescape"))
    return folder


def opened(dataset, folder, *flags):
    return train(PROGRAM, "--dataset", dataset, "--data-dir", folder, "--output", folder / "run", *flags)


def coco_folder(folder, text):
    pictures = {f"{split}2017/{k}.png": plain_png(0, 0, 0) for split in ("train", "val") for k in range(16)}
    return write(folder, {**pictures, "annotations/instances_train2017.json": text,
                          "annotations/instances_val2017.json": text})


def voc_folder(folder, xml):
    names = [str(k) for k in range(16)]
    lists = {f"ImageSets/Main/{name}.txt": "\n".join(names) for name in ("train", "val")}
    return write(folder, {**{f"JPEGImages/{k}.png": plain_png(0, 0, 0) for k in names}, **lists,
                          **{f"Annotations/{k}.xml": voc(voc_object()) for k in names}, "Annotations/7.xml": xml})


def layout_cases(cases, folder):
    """Sound annotations with something wrong around them."""
    place = coco_folder(folder / "coco", SOUND)
    for split in ("train", "val"):
        (place / f"{split}2017").rename(place / "away")
        cases.refused(f"coco: no {split}2017", opened("coco", place), f"--{split}-split names another folder")
        (place / "away").rename(place / f"{split}2017")
    cases.refused("coco: no such file", opened("coco", place, "--annotations", "none.json"), "none.json")
    cases.refused("coco: a class map", opened("coco", place, "--class-map", "map.txt"), "--class-map")
    cases.refused("builtin: annotations", opened("builtin", place, "--annotations", "a.json"), "only apply to coco")
    labels = train("train_cifar", "--dataset", "coco", "--data-dir", place, "--output", place / "run")
    cases.refused("coco: labels are wanted", labels, "./run train_detection")
    voc_place = voc_folder(folder / "voc", voc(voc_object()))
    write(voc_place, {"ImageSets/Main/val.txt": "3\n77\n"})
    cases.refused("voc: a list of other images", opened("voc", voc_place), "val.txt, line 2: lists 77")
    (voc_place / "Annotations").rename(voc_place / "annotations.old")
    cases.refused("voc: no annotations", opened("voc", voc_place), "PASCAL VOC's layout")


def main():
    with Cases(build_of(__doc__)) as cases:
        for k, (what, text, word) in enumerate(COCO):
            cases.refused(f"coco: {what}", opened("coco", coco_folder(cases.folder / f"coco{k}", text)), word)
        for k, (what, xml, word) in enumerate(VOC):
            cases.refused(f"voc: {what}", opened("voc", voc_folder(cases.folder / f"voc{k}", xml)), word)
        layout_cases(cases, cases.folder)
    return cases.exit_code()


if __name__ == "__main__":
    sys.exit(main())
