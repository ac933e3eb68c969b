#!/usr/bin/env python3
"""README.md, CONTRIBUTING.md and docs/ against the tree and the programs.

    tests/programs/documents.py [--build build] [--root FOLDER]

Commands in code blocks and inline code must name existing programs, flags, values and files; the fast ones are
run. Links, anchors and pictures must exist. Figures of README.md must be those of docs/. Prints one line per
problem and exits 1 if there is one. --root checks the documents of another tree.
"""
import glob
import itertools
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

from checks import ROOT, parser_of
from formats import plain_png
from program_list import all_programs

PROGRAMS = all_programs()
TRAINING = [name for name in PROGRAMS if name.startswith("train_")]
CTEST_FLAGS = {"-R": True, "-L": True, "-V": False, "-E": True, "-LE": True, "-j": True}
VERB_FLAGS = {"test": {"--quick": False, **CTEST_FLAGS}, "build": {}, "format": {"--check": False}, "tidy": {}, "help": {}}
# Names of timm's that training accepts but does not list; tests/apps/timm_flags_test.cpp tries them.
OTHER_NAMES = {"--drop-connect", "--gp", "--kd-temperature", "--model-kwargs", "--validation-batch-size"}
TREE_FOLDERS = ("recipes/", "docs/", "tests/", "bench/", "data/imagenet", "examples/", "cmake/", ".ci/")
# Verbs whose commands are run when all their arguments exist in the prepared folder. Each takes seconds.
FAST = {"evaluate", "predict", "report", "inspect", "compare", "summary"}
SECONDS = 60


class Problems:
    def __init__(self):
        self.count, self.checked = 0, 0

    def that(self, ok, where, what):
        self.checked += 1
        if not ok:
            self.count += 1
            print(f"FAIL {where}: {what}", flush=True)
        return ok


class Page:
    """A Markdown file as lines of prose and pieces of code, each with its line number."""

    def __init__(self, root, path):
        self.path, self.name = path, str(path.relative_to(root))
        self.prose, self.blocks, self.spans = [], [], []
        fence, indented = None, False
        for number, line in enumerate(path.read_text().splitlines(), 1):
            mark = re.match(r"\s*```(\w*)", line)
            if mark:
                fence = None if fence is not None else mark[1]
            elif fence is not None:
                if fence in ("", "bash", "sh"):
                    self.blocks.append((number, line))
            elif re.match(r"    \S", line) and (indented or not self.prose or not self.prose[-1][1].strip()):
                indented = True
                self.blocks.append((number, line.strip()))
                continue
            else:
                self.prose.append((number, line))
            indented = False
        # Code spans may go over the end of a line.
        text = "\n".join(line for _, line in self.prose)
        numbers = [number for number, _ in self.prose]
        for span in re.finditer(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", text, re.DOTALL):
            if "\n\n" not in span[2]:
                self.spans.append((numbers[text.count("\n", 0, span.start())], span[2].replace("\n", " ")))

    def at(self, number):
        return f"{self.name}:{number}"

    def commands(self):
        """(line number, text), lines that end in a backslash joined."""
        pending, start = "", 0
        for number, line in self.blocks:
            start = start if pending else number
            pending += line.rstrip("\\") if line.endswith("\\") else line
            if not line.endswith("\\"):
                yield start, pending
                pending = ""
        yield from self.spans

    def anchors(self):
        seen = {}
        for _, line in self.prose:
            heading = re.match(r"#+ (.*)", line)
            if heading:
                text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1]).replace("`", "").strip().lower()
                slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
                yield slug + (f"-{seen[slug]}" if slug in seen else "")
                seen[slug] = seen.get(slug, 0) + 1

    def links(self):
        for number, line in self.prose:
            line = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)(?!\])", "", line)
            for target in re.findall(r"\]\(([^)\s]+)\)|<img[^>]* src=\"([^\"]+)\"", line):
                yield number, target[0] or target[1]

    def tables(self):
        """Lists of rows, each a list of cells; the first row is the header."""
        rows = []
        for _, line in [*self.prose, (0, "")]:
            if line.startswith("|"):
                rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
            elif rows:
                yield [rows[0], *rows[2:]]
                rows = []


class Program:
    """The flags of a program as its --help shows them, with the values that each takes."""

    def __init__(self, build, name):
        text = subprocess.run([build / name, "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
        self.help, self.flags = text, {}
        for line in text.splitlines():
            option = re.match(r"  (-\S+)(?: (\[\w+\]|X\S*|\{\S*))?", line)
            if option:
                for flag in option[1].split(","):
                    self.flags[re.sub(r"\{.*|=.*", "", flag)] = option[2] or ""
        self.analyses = re.findall(r"^  ([a-z-]+)  ", text.split("Usage:")[0], re.MULTILINE)


def words_of(command):
    """The words of one command of a line and its variables; empty where the line is none."""
    command = re.sub(r"^\$ ", "", command.strip())
    try:
        words = shlex.split(command, comments=True)
    except ValueError:  # an apostrophe in prose
        return [], []
    for end in ("|", "&&", ";", ">", ">>", "2>&1"):
        if end in words:
            words = words[:words.index(end)]
    count = len(list(itertools.takewhile(lambda word: re.match(r"[A-Z_]+=", word), words)))
    return words[count:], words[:count]


def is_placeholder(word):
    return bool(re.search(r"[A-Z]{2,}|\b[A-Z]\b|\.\.\.|<.*>", word))


def braces(pattern):
    inner = re.search(r"\{([^{}]*)\}", pattern)
    if not inner:
        return [pattern]
    return [each for part in inner[1].split(",") for each in braces(pattern[:inner.start()] + part + pattern[inner.end():])]


class Commands:
    def __init__(self, root, build, problems):
        self.root, self.problems = root, problems
        self.programs = {name: Program(build, name) for name in PROGRAMS}
        usage = subprocess.run([root / "run"], capture_output=True, text=True, timeout=60, check=True).stdout
        self.verbs = set(re.findall(r"^  ([a-z_]+)  ", usage, re.MULTILINE)) | {"help"}
        self.known_flags = {flag for program in self.programs.values() for flag in program.flags} | OTHER_NAMES
        self.runnable = []

    def program_of(self, words):
        """(name of a program or of a verb without one, its arguments); None where the command is another's."""
        first = words[0]
        if first == "./run":
            verb = words[1] if len(words) > 1 else "help"
            return ("fovea_bench" if verb == "bench" else verb), words[2:]
        base = first.rsplit("/", 1)[-1]
        if base in PROGRAMS and (first != base or (len(words) > 1 and words[1].startswith("--"))):
            return base, words[1:]
        return None

    def check(self, where, text, in_block):
        words, _ = words_of(text)
        if not words:
            return
        if re.fullmatch(r"--[a-z][\w-]*", words[0]) and not in_block:
            self.check_lone_flags(where, words)
            return
        script = words[0].removeprefix("./")
        if re.fullmatch(r"[\w./-]+\.(sh|py)", script) and "/" in script and not is_placeholder(script):
            self.check_script(where, script, words[1:])
            return
        if len(words) == 1 and not in_block:
            self.check_path(where, words[0])
        found = self.program_of(words)
        if not found:
            return
        name, arguments = found
        if words[0] == "./run" and name != "fovea_bench" and not name.startswith("-") and not is_placeholder(name):
            self.problems.that(name in self.verbs, where, f"./run has no verb {name}")
        if name in self.programs:
            self.check_arguments(where, name, arguments, self.programs[name].flags)
            if in_block or words[0] == "./run":
                self.runnable.append((where, name, arguments))
        elif name in VERB_FLAGS:
            self.check_arguments(where, f"./run {name}", arguments, VERB_FLAGS[name])

    def check_lone_flags(self, where, words):
        for word in words:
            if re.match(r"--[a-z]", word):
                flag = word.split("=")[0].replace("_", "-")
                scripts = flag in {"--quick", "--check"} or self.flag_of_a_script(flag)
                self.problems.that(flag in self.known_flags or scripts, where, f"no program has {flag}")

    def flag_of_a_script(self, flag):
        scripts = itertools.chain(self.root.glob("tests/**/*.py"), self.root.glob("bench/*"), self.root.glob("tests/**/*.sh"),
                                  [self.root / "CMakeLists.txt"])
        named = re.compile(rf'"{flag}"| {flag}[ )]')  # a shell's `case` has a bracket behind it
        return any(named.search(path.read_text()) for path in scripts if path.is_file())

    def check_path(self, where, word):
        """A path from the root in inline code; x stands for a name of the reader's choice."""
        name = re.sub(r"(::|:\d).*$", "", word)
        is_path = re.fullmatch(r"\w[\w.{},*-]*(/[\w.{},*-]*)+(?<!\.tar)", name) and (self.root / name.split("/")[0]).is_dir()
        if is_path and not is_placeholder(name.replace("README", "")) and not re.search(r"(^|[/_])x([/._]|$)", name):
            for pattern in braces(name):
                self.problems.that(glob.glob(str(self.root / pattern)), where, f"{pattern} does not exist")

    def check_script(self, where, script, arguments):
        path = self.root / script
        if not self.problems.that(path.is_file(), where, f"{script} does not exist"):
            return
        text = path.read_text()
        for word in arguments:
            if word.startswith("--"):
                self.problems.that(word.split("=")[0] in text, where, f"{script} has no flag {word}")
            else:
                self.check_file(where, word)

    def check_arguments(self, where, name, arguments, flags):
        position, first_argument = 0, None
        while position < len(arguments):
            word = arguments[position]
            position += 1
            flag, has_value, value = word.partition("=")
            if not word.startswith("-") or word in ("-", "--") or re.fullmatch(r"-\d.*", word):
                first_argument = first_argument or word
                self.check_file(where, word)
                continue
            flag = flag.replace("_", "-")
            if flag in OTHER_NAMES and name in TRAINING:
                position += 0 if has_value else 1
                continue
            if not self.problems.that(flag in flags, where, f"{name} has no flag {flag}"):
                continue
            kind = flags[flag]
            if kind and kind is not True and kind.startswith("["):
                continue
            if kind and not has_value:
                value = arguments[position] if position < len(arguments) else ""
                missing = value == "" or value.startswith("--")
                if not self.problems.that(not missing, where, f"{name} {flag} needs a value"):
                    continue
                position += 1
            if kind and kind is not True:
                self.check_value(where, f"{name} {flag}", kind, value)
        if name == "inspect" and first_argument and not is_placeholder(first_argument):
            known = first_argument in self.programs["inspect"].analyses or "/" in first_argument
            self.problems.that(known, where, f"inspect has no analysis {first_argument}")

    def check_value(self, where, flag, kind, value):
        choices = re.match(r"\{([^}]*)\}", kind)
        if choices and not is_placeholder(value):
            wanted = set(choices[1].split(","))
            self.problems.that(set(value.split("|")) <= wanted, where, f"{flag} does not take {value}")
        self.check_file(where, value)

    def check_file(self, where, word):
        if not word.startswith(TREE_FOLDERS) or is_placeholder(word.replace("README", "")):
            return
        for pattern in braces(word):
            self.problems.that(glob.glob(str(self.root / pattern)), where, f"{pattern} does not exist")


class Sandbox:
    """A folder that has what the documents' examples name: runs/a, runs/b, picture.png, folder/."""

    def __init__(self, root, build, folder):
        self.build, self.folder = build, folder
        self.op_rows = "".join(path.read_text() for path in root.glob("tests/ops/*_cases.cpp"))
        (folder / "picture.png").write_bytes(plain_png(128, width=40, height=40))
        (folder / "folder").mkdir()
        shutil.copy(folder / "picture.png", folder / "folder/one.png")
        self.ready = all(self.run("train_cifar", ["--depth", "1", "--embed-dim", "24", "--max-steps", "1", "--workers", "0",
                                                  "--model-ema", "--no-report", "--output", f"runs/{name}"])[0] == 0 for name in "ab")

    def run(self, program, arguments):
        done = subprocess.run([self.build / program, *arguments], cwd=self.folder, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=SECONDS)
        return done.returncode, done.stdout + done.stderr

    def has_all(self, arguments):
        """Whether every path among the arguments exists and nothing is a placeholder."""
        for word in arguments:
            path = word.split("=")[-1] if not word.startswith("-") else ""
            looks_like_path = "/" in path or re.search(r"\.(png|jpe?g|pth|safetensors|txt|bin)$", path)
            if is_placeholder(word) or (looks_like_path and not (self.folder / path).exists()):
                return False
        return "-" not in arguments

    def is_fast(self, name, arguments):
        """Sizes and data sets other than the tiny runs' own take time or files."""
        if any(word in arguments for word in ("--help", "--version", "--list-models")):
            return True
        if name == "gradcheck":
            return len(arguments) == 1 and bool(re.search(rf'[{{(]"{re.escape(arguments[0])}"', self.op_rows))
        if not arguments:
            return name == "inspect"  # it lists the analyses; others need an argument or take the newest run
        if name == "summary" and not re.match(r"runs/|(vit|deit|cpvt|pervit)_tiny", arguments[0]):
            return False  # it measures the memory of a training step
        slow = {"--data-dir", "--dataset", "--img-size", "--device", "--shape-bias", "--checkpoint=", "--split"}
        needs_output = name == "inspect" and arguments and not any(word in arguments for word in ("runs/a", "--init", "--grid"))
        return name in FAST and not slow & set(arguments) and not needs_output


def run_fast_commands(commands, build, problems):
    started, ran, seen = time.monotonic(), 0, set()
    with tempfile.TemporaryDirectory() as folder:
        sandbox = Sandbox(commands.root, build, pathlib.Path(folder))
        problems.that(sandbox.ready, "documents.py", "the runs of the examples could not be trained")
        for where, name, arguments in commands.runnable:
            key = (name, *arguments)
            if key in seen or not sandbox.has_all(arguments) or not sandbox.is_fast(name, arguments):
                continue
            seen.add(key)
            if "--output" in arguments and name == "inspect" or name != "inspect" or not arguments:
                words = arguments
            else:
                words = [*arguments, "--output", "inspected"]
            before = time.monotonic()
            code, output = sandbox.run(name, words)
            print(f"{time.monotonic() - before:5.1f} s  {name} {' '.join(arguments)}", flush=True)
            problems.that(code == 0, where, f"{name} {' '.join(arguments)}: exit code {code}: {output[-300:]}")
            ran += 1
    problems.that(ran >= 5, "documents.py", f"only {ran} commands were run")
    return ran, time.monotonic() - started


def check_links(pages, root, problems):
    anchors = {page.path: set(page.anchors()) for page in pages}
    for page in pages:
        for number, link in page.links():
            if re.match(r"[a-z]+:", link):
                continue
            file, _, anchor = link.partition("#")
            target = (page.path.parent / file).resolve() if file else page.path
            if not problems.that(target.exists() and root in [target, *target.parents], page.at(number), f"{link} does not exist"):
                continue
            if anchor and target.suffix == ".md":
                known = anchors.get(target) or set(Page(root, target).anchors())
                problems.that(anchor in known, page.at(number), f"{file or page.name} has no heading #{anchor}")


def check_figures(readme, pages, problems):
    """Rows of README's tables that docs/benchmarks.md has too agree; its other figures are found in docs/."""
    benchmarks = [page for page in pages if page.name == "docs/benchmarks.md"]
    if not problems.that(benchmarks, readme.name, "docs/benchmarks.md does not exist"):
        return
    compared = 0
    for table in readme.tables():
        header, rows = table[0], table[1:]
        other = max(benchmarks[0].tables(), key=lambda candidate: len(set(header) & set(candidate[0])))
        shared = [name for name in header if name in other[0]]
        if len(shared) < 3:
            continue
        same = [table for table in benchmarks[0].tables() if table[0] == other[0]]
        known = [[row[other[0].index(name)] for name in shared] for table in same for row in table[1:]]
        for row in rows:
            compared += 1
            cells = [row[header.index(name)] for name in shared]
            problems.that(cells in known, readme.name, f"docs/benchmarks.md has no row with {cells}")
    problems.that(compared >= 3, readme.name, "no table of speed has the columns of docs/benchmarks.md")
    texts = "\n".join(page.path.read_text() for page in pages if page.name.startswith("docs/") and page.name != "docs/README.md")
    prose = "\n".join([line for _, line in readme.prose if not line.startswith("| `")] + [line for _, line in readme.blocks])
    for figure in set(re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?:x\b| ?%)?", prose)):
        if re.search(r"[.%,e]", figure.rstrip(",")) and not re.fullmatch(r"\d+,?", figure):
            figure = re.sub(r",$| ?%$", "", figure)  # a table's header may have the unit
            problems.that(re.search(r"(?<![\d.])" + re.escape(figure) + r"(?!\d)", texts), readme.name,
                          f"{figure} is in no page of docs/")


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    options = parser.parse_args()
    root, build, problems = options.root.resolve(), options.build, Problems()
    files = [root / "README.md", root / "CONTRIBUTING.md", root / "CHANGELOG.md", *sorted(root.glob("docs/**/*.md"))]
    pages = [Page(root, path) for path in files]
    commands = Commands(root, build, problems)
    for page in pages:
        if page.name == "CHANGELOG.md":  # history
            continue
        blocks = {number for number, _ in page.blocks}
        for number, text in page.commands():
            if page.name != "docs/timm-flags.md" or number in blocks or text.startswith("./run"):
                commands.check(page.at(number), text, number in blocks)
    shown = {name for _, name, _ in commands.runnable}
    for name in PROGRAMS:
        problems.that(name in shown, "cmake/programs.txt", f"no page shows a command of {name}")
    check_links(pages, root, problems)
    check_figures(pages[0], pages, problems)
    ran, seconds = run_fast_commands(commands, build, problems)
    print(f"{problems.checked} checks of {len(pages)} pages, {ran} commands run in {seconds:.0f} s, {problems.count} failed")
    sys.exit(problems.count > 0)


if __name__ == "__main__":
    main()
