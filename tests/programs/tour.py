#!/usr/bin/env python3
"""docs/tour.md against the sources: its code, its links, and the limits of what a reader must open.

    tests/programs/tour.py [--write] [--root FOLDER]

A comment <!-- file:symbol --> in front of a code block names what the block shows: a struct, class, enum or function with
the comment above it, Class::function within a class, symbol#2 the second of that name, or file:head the comment
that begins the file. The files named so are those of the tour. --write renews the blocks. Prints one line per problem and
exits 1 if there is one.
"""
import argparse
import pathlib
import re
import sys
import textwrap

BLOCK = re.compile(r"(<!-- (\S+?):(\S+) -->\n```cpp\n)(.*?)(```\n)", re.DOTALL)
LIMITS = {  # at most
    "files of the tour": 12, "their lines": 1320,
    "files that they include, themselves counted": 113, "lines of all these": 8065,
    "lines of engine/autograd.cpp": 170, "lines of train/loop/step.cpp": 200,
    "ifs on shards or portions in train/loop/step.cpp": 0, "data members of TrainStep": 12,
    "files of train/ and engine/comm/ that train/loop/step.cpp reaches": 40,
}


def lines_of(path):
    return len(path.read_text().splitlines())


def end_of_definition(text, start):
    """The end of the declaration or definition at `start`, and whether it has a body."""
    depth = 0
    tokens = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[(){};]', re.DOTALL)
    for token in tokens.finditer(text, start):
        mark = token[0]
        if mark in "({":
            depth += 1
        elif mark in ")}":
            depth -= 1
            if depth == 0 and mark == "}":
                semicolon = re.compile(r";").match(text, token.end())
                return (semicolon or token).end(), True
        elif mark == ";" and depth == 0:
            return token.end(), False
    raise ValueError("not closed")


def definitions(text, name):
    """(start, end) of each definition of a name, or of its declarations if nothing defines it."""
    word = re.escape(name)
    pattern = re.compile(rf"^ *(?:(?:struct|class|enum class) {word}\b(?! *;)"
                         rf"|(?!return\b|else\b|case\b)(?:[\w:<>,&*\[\]=.()]+ +)*[&*]?{word}\()", re.MULTILINE)
    found = [(match.start(), *end_of_definition(text, match.start())) for match in pattern.finditer(text)]
    return [place[:2] for place in found if place[2]] or [place[:2] for place in found]


def with_comment(text, start, end):
    """Adds the lines of comment and template above."""
    lines = text[:start].splitlines(keepends=True)
    while lines and re.match(r" *(//|template <)", lines[-1]):
        start -= len(lines.pop())
    return textwrap.dedent(text[start:end]) + "\n"


def cut(text, symbol):
    if symbol == "head":
        return re.match(r"(?://[^\n]*\n)+", text)[0]
    name, _, number = symbol.partition("#")
    places = definitions(text, name)
    if not places and "::" in name:  # a function within its class
        owner, _, member = name.rpartition("::")
        begin, end = definitions(text, owner)[0]
        places = [place for place in definitions(text, member) if begin < place[0] < end]
    return with_comment(text, *places[int(number or 1) - 1])


def renewed(root, page, problems):
    """The page with the blocks as the sources have them."""
    def renew(match):
        before, file, symbol, code, after = match.groups()
        try:
            now = cut((root / file).read_text(), symbol)
        except (OSError, IndexError, TypeError, ValueError):
            problems.append(f"{file}:{symbol} does not exist")
            return match[0]
        return before + now + after
    return BLOCK.sub(renew, page)


def included_by(root, files):
    """The files and all that they include in quotes."""
    found, pending = set(), list(files)
    while pending:
        file = pending.pop()
        if file in found:
            continue
        found.add(file)
        names = re.findall(r'^#include "([^"]+)"', (root / file).read_text(), re.MULTILINE)
        pending += [name for name in names if (root / name).exists()]
    return found


def measures(root, tour):
    closure = included_by(root, tour)
    step = (root / "train/loop/step.cpp").read_text()
    reached = {file for file in included_by(root, ["train/loop/step.cpp"]) if file.startswith(("train/", "engine/comm/"))}
    reached |= {file[:-2] + ".cpp" for file in reached if file.endswith(".h") and (root / (file[:-2] + ".cpp")).exists()}
    members = re.findall(r"^  [\w:<>,&* ]+ \w+_(?: = [^;]*|\{[^;]*\})?;", cut((root / "train/loop/step.h").read_text(), "TrainStep"),
                         re.MULTILINE)
    values = [len(tour), sum(lines_of(root / file) for file in tour), len(closure), sum(lines_of(root / file) for file in closure),
              lines_of(root / "engine/autograd.cpp"), lines_of(root / "train/loop/step.cpp"),
              len(re.findall(r"\bif\b[^\n]*(?:shard|portion)", step, re.IGNORECASE)), len(members), len(reached)]
    return dict(zip(LIMITS, values))


def check_links(root, path, page, tour, problems):
    prose = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    links = {link for link in re.findall(r"\]\(([^)#\s]+)", prose) if not re.match(r"[a-z]+:", link)}
    targets = {(path.parent / link).resolve() for link in links}
    problems += [f"the link {target} leads nowhere" for target in targets if not target.exists()]
    problems += [f"{file} is not linked" for file in sorted(tour) if (root / file).resolve() not in targets]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="renew the code blocks")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    options = parser.parse_args()
    root, problems = options.root.resolve(), []
    path = root / "docs/tour.md"
    page = path.read_text()
    now = renewed(root, page, problems)
    if options.write:
        path.write_text(now)
    elif now != page:
        for old, new in zip(BLOCK.finditer(page), BLOCK.finditer(now)):
            if old[4] != new[4]:
                problems.append(f"{old[2]}:{old[3]} has changed; tests/programs/tour.py --write renews the page")
    shown = {match[2] for match in BLOCK.finditer(now) if (root / match[2]).exists()}
    tour = {file for file in shown if not file.startswith("examples/")}
    if len(re.findall(r"^```cpp$", page, re.MULTILINE)) != len(BLOCK.findall(page)):
        problems.append("a C++ block has no <!-- file:symbol --> above it")
    check_links(root, path, now, tour, problems)
    for name, value in measures(root, tour).items():
        print(f"{value:5d} of {LIMITS[name]:5d}  {name}")
        if value > LIMITS[name]:
            problems.append(f"{name}: {value}, expected at most {LIMITS[name]}")
    for problem in problems:
        print(f"FAIL {problem}")
    print(f"{len(BLOCK.findall(now))} blocks of {len(tour)} files, {len(problems)} problems")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
