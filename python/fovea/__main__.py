"""The programs: `fovea train_cifar --epochs 2` is what `./run train_cifar --epochs 2` is in the tree."""
import os
import signal
import sys


def main() -> int:
    if not any(name in os.environ for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")):
        os.environ["GOMP_SPINCOUNT"] = "1000"  # for the programs too, which else start Python anew with it
    from . import _core

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a program is not Python: it ends, or saves its run and ends
    return _core.run_command(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
