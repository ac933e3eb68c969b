"""Times a program of ours and a PyTorch peer in turn, because the speed of machines drifts; the ratio compares
the medians (peer / ours, above 1: ours is faster)."""
import argparse
import statistics
import time

import torch

from ours import Ours


class Peer:
    """Leaves with gradients, forward(), and the cotangent dy of its result."""

    def milliseconds(self, train):
        for leaf in self.leaves:
            leaf.grad = None
        start = time.perf_counter()
        if train:
            self.y = self.forward()
            self.y.backward(self.dy)
        else:
            with torch.no_grad():
                self.forward()
        return 1e3 * (time.perf_counter() - start)


def main(doc, workloads, make_peer, numbers_of, modes_of=lambda workload: (False, True)):
    """`workloads` begin with their names. make_peer(ours, workload) -> peer and a remark; numbers_of(workload, train)
    is our program's line."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    ours = Ours(args.binary, args.threads)
    width = 2 + max(len(workload[0]) for workload in workloads)
    print(f"{ours.about}; peer: torch {torch.__version__}")
    print(f"{'workload':<{width}}{'mode':<8}{'ours ms':>9}{'peer ms':>9}{'ratio':>7}{'of min':>8}")
    for workload in workloads:
        peer, remark = make_peer(ours, workload)
        for train in modes_of(workload):
            numbers = numbers_of(workload, train)
            ours.milliseconds(numbers)
            peer.milliseconds(train)
            times = [(ours.milliseconds(numbers), peer.milliseconds(train)) for _ in range(args.rounds)]
            a, b = zip(*times)
            print(f"{workload[0]:<{width}}{'train' if train else 'infer':<8}"
                  f"{statistics.median(a):9.2f}{statistics.median(b):9.2f}"
                  f"{statistics.median(b) / statistics.median(a):7.2f}{min(b) / min(a):8.2f}{remark}", flush=True)
