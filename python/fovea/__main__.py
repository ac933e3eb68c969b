"""The programs: `fovea train_cifar --epochs 2` is what `./run train_cifar --epochs 2` is in the tree."""
import os
import signal
import sys


def usage(names: list[str]) -> str:
    return "usage: fovea PROGRAM [flags]\n\nPrograms: " + ", ".join(names) + "\n`fovea PROGRAM --help` lists the flags.\n"


def main() -> int:
    if not any(name in os.environ for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")):
        os.environ["GOMP_SPINCOUNT"] = "1000"  # for the programs too, which else start Python anew with it
    from . import _core

    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage(_core.program_names()), end="")
        return 0 if arguments else 2
    if arguments[0] == "--version":
        print(_core.version_text())
        return 0
    if arguments[0] not in _core.program_names():
        print(f"error: fovea has no program {arguments[0]}\n{usage(_core.program_names())}", end="", file=sys.stderr)
        return 2
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a program is not Python: it ends, or saves its run and ends
    return _core.run_program(arguments[0], arguments[1:])


if __name__ == "__main__":
    sys.exit(main())
