"""The programs, as cmake/programs.txt lists them for the build and for ./run."""
import pathlib
import re

LIST = pathlib.Path(__file__).resolve().parents[2] / "cmake/programs.txt"


def all_programs():
    """The names of the list, and of the programs that the folders of tests and benchmarks have."""
    return [*re.findall(r"^[a-z]\S*", LIST.read_text(), re.MULTILINE), "parity", "gradcheck", "fovea_bench"]
