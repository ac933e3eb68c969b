"""A small vision transformer trained on numpy arrays, and what its last block looks at.

The pictures are drawn here: a bright square somewhere on noise, in one of four colours, which is the class.
"""
import matplotlib.pyplot as plt
import numpy as np

import fovea

COLOURS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]], dtype=np.float32)


def pictures(count: int, seed: int) -> tuple[fovea.Tensor, fovea.Tensor]:
    """Images [N, 3, 32, 32] and labels [N]."""
    rng = np.random.default_rng(seed)
    images = rng.normal(scale=0.3, size=(count, 3, 32, 32)).astype(np.float32)
    labels = rng.integers(0, len(COLOURS), size=count)
    for image, label, (y, x) in zip(images, labels, rng.integers(0, 24, size=(count, 2))):
        image[:, y:y + 8, x:x + 8] += 2 * COLOURS[label][:, None, None]
    return fovea.from_dlpack(images), fovea.from_dlpack(labels)


def accuracy(model: fovea.Model, images: fovea.Tensor, labels: fovea.Tensor) -> float:
    with fovea.no_grad():
        right = model.eval()(images).argmax(1) == labels
    return float(right.float().mean())


def main() -> None:
    images, labels = pictures(1024, seed=1)
    model = fovea.create_model("vit_tiny_patch4_32", num_classes=4, depth=2, embed_dim=48, num_heads=3)
    optimizer = fovea.AdamW(model, weight_decay=0.05)
    epochs, size = 4, 64
    steps = len(images) // size
    schedule = fovea.Schedule(lr=2e-3, epochs=epochs, warmup_epochs=1)

    for epoch in range(epochs):
        order = np.random.default_rng(epoch).permutation(len(images))
        for step in range(steps):
            batch = fovea.tensor(order[step * size:(step + 1) * size])
            loss = fovea.cross_entropy(model.train()(images[batch]), labels[batch])
            loss.backward()
            optimizer.step(schedule(epoch * steps + step, steps), clip_grad=1.0)
            optimizer.zero_grad()
        print(f"epoch {epoch}  loss {loss.item():.3f}  right {100 * accuracy(model, *pictures(256, seed=2)):.1f} %")

    draw(model, pictures(4, seed=3)[0])


def draw(model: fovea.Model, images: fovea.Tensor) -> None:
    """Each image, and how much the class token of the last block attends to each patch."""
    figure, axes = plt.subplots(2, len(images), figsize=(2 * len(images), 4))
    for column, image in enumerate(images):
        attention = fovea.attention_maps(model, image)[-1].mean(0)[0, 1:].reshape(8, 8)
        axes[0, column].imshow(np.clip(image.numpy().transpose(1, 2, 0) / 2, 0, 1))
        axes[1, column].imshow(attention.numpy())
    for axis in axes.flat:
        axis.set_axis_off()
    figure.savefig("attention.png")
    print("attention.png")


if __name__ == "__main__":
    main()
