"""A perceptron from tensors alone: two spirals, told apart by hand-written layers and gradient descent."""
import numpy as np

import fovea


def spirals(count: int) -> tuple[fovea.Tensor, fovea.Tensor]:
    """Points [2 count, 2] on two spirals, and which of the two each is on."""
    turn = np.linspace(0.5, 3, count) * np.pi
    arm = np.stack([turn * np.cos(turn), turn * np.sin(turn)], axis=1) / 10
    points = np.concatenate([arm, -arm]).astype(np.float32)
    return fovea.tensor(points), fovea.tensor(np.repeat([0, 1], count))


def main() -> None:
    points, labels = spirals(200)
    w1 = fovea.randn(2, 64, seed=1, requires_grad=True)
    b1 = fovea.zeros(64, requires_grad=True)
    w2 = (fovea.randn(64, 2, seed=2) / 8).requires_grad_()
    b2 = fovea.zeros(2, requires_grad=True)
    parameters = [w1, b1, w2, b2]

    for step in range(2001):
        hidden = fovea.sin(points @ w1 * 2 + b1)
        logits = hidden @ w2 + b2
        loss = fovea.cross_entropy(logits, labels)
        loss.backward()
        with fovea.no_grad():
            for p in parameters:
                assert p.grad is not None
                p.copy_(p - p.grad * 0.3)
                p.grad = None
        if step % 500 == 0:
            right = (logits.argmax(1) == labels).float().mean().item()
            print(f"step {step:4}  loss {loss.item():.4f}  right {100 * right:.1f} %")


if __name__ == "__main__":
    main()
