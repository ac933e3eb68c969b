#!/usr/bin/env python3
"""Composes the README's picture from the SVG files of `inspect attention` and `inspect mae`.

    bench/readme_picture.py MAPS PICTURE.svg [--image 5] [--layers 1,4] [--mae 10,15]

MAPS has one folder per family (vit, deit, cpvt, pervit, pit) and one named mae. bench/readme_picture.sh calls this.
"""
import argparse
import pathlib
import re
import xml.etree.ElementTree as xml

FAMILIES = {"vit": "ViT", "deit": "DeiT", "cpvt": "CPVT", "pervit": "PerViT", "pit": "PiT"}
SIDE, GAP, LEFT, TOP = 124, 10, 72, 32
ROW, LINE = SIDE + GAP, 24


class Tiles:
    """The images of an inspect SVG by row and column, with the query's frame."""

    def __init__(self, path):
        elements = [e for e in xml.parse(path).iter() if e.tag.split("}")[-1] in ("image", "use", "rect")]
        by_id = {e.get("id"): e for e in elements if e.get("id")}
        self.images, self.frames = [], []
        for e in elements:
            kind = e.tag.split("}")[-1]
            if kind == "use":  # a repeated image, moved by x and y
                original = by_id[e.get("href")[1:]]
                place = [float(original.get(k)) + float(e.get(k)) for k in "xy"]
                self.images.append((*place, original))
            elif kind == "image":
                self.images.append((float(e.get("x")), float(e.get("y")), e))
            elif e.get("stroke") == "#e31a1c":
                self.frames.append([float(e.get(k)) for k in ("x", "y", "width", "height")])
        side = float(self.images[0][2].get("width"))
        self.images = [i for i in self.images if float(i[2].get("width")) == side]  # not the colour bar
        self.side, self.xs, self.ys = side, sorted({i[0] for i in self.images}), sorted({i[1] for i in self.images})

    def draw(self, row, column, x, y, frame=False):
        scale, left, top = SIDE / self.side, self.xs[column], self.ys[row]
        drawn = [f'<image x="{x}" y="{y}" width="{SIDE}" height="{SIDE}" opacity="{e.get("opacity", 1)}" '
                 f'style="image-rendering:pixelated" href="{e.get("href")}"/>'
                 for at_x, at_y, e in self.images if (at_x, at_y) == (left, top)]
        for f in self.frames if frame else []:
            if left <= f[0] < left + self.side and top <= f[1] < top + self.side:
                box = (f'x="{x + (f[0] - left) * scale:.1f}" y="{y + (f[1] - top) * scale:.1f}" '
                       f'width="{f[2] * scale:.1f}" height="{f[3] * scale:.1f}" fill="none"')
                drawn.append(f'<rect {box} stroke="#ffffff" stroke-width="3"/><rect {box} stroke="#e31a1c" stroke-width="1.6"/>')
        return drawn


def text(x, y, words, anchor="middle"):
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{words}</text>'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("maps", type=pathlib.Path)
    parser.add_argument("picture", type=pathlib.Path)
    parser.add_argument("--image", type=int, default=5, help="index of the test image under the attention maps")
    parser.add_argument("--layers", default="1,4", help="layers to show, counted from 1")
    parser.add_argument("--mae", default="10,15", help="two test images to reconstruct")
    options = parser.parse_args()
    layers = [int(layer) for layer in options.layers.split(",")]
    drawn = [text(LEFT + SIDE / 2, TOP - 9, "picture")]
    column_x = [LEFT + column * ROW for column in range(6)]
    for column, (folder, name) in enumerate(FAMILIES.items(), 1):
        tiles = Tiles(options.maps / folder / f"attention-{options.image:03}.svg")
        drawn.append(text(column_x[column] + SIDE / 2, TOP - 9, name))
        for row, layer in enumerate(layers):
            y = TOP + row * ROW
            if column == 1:
                drawn += [text(LEFT - 8, y + SIDE / 2 + 4, f"layer {layer}", "end"), *tiles.draw(layer - 1, 0, LEFT, y, True)]
            drawn += tiles.draw(layer - 1, 1, column_x[column], y, True)
    y = TOP + len(layers) * ROW + LINE
    drawn.append(text(LEFT - 8, y + SIDE / 2 + 4, "MAE", "end"))
    reconstructions = Tiles(options.maps / "mae" / "mae.svg")
    for group, image in enumerate(int(index) for index in options.mae.split(",")):
        for column, name in enumerate(["picture", "visible patches", "reconstruction"]):
            x = column_x[3 * group + column]
            drawn += [text(x + SIDE / 2, y - 9, name), *reconstructions.draw(image, column, x, y)]
    width, height = column_x[-1] + SIDE + GAP, y + SIDE + GAP
    options.picture.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="16" fill="#333333">\n'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>\n' + "\n".join(drawn) + "\n</svg>\n")
    print(f"wrote {options.picture}, {options.picture.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
