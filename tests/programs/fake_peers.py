"""Fakes of bench/peer.py, for tests of the benchmarks that start it."""
import os
import sys


def fake_python(prepare):
    """A Python that answers peer.py's commands as the code `prepare` says, which sets `answers` for the peer `kind`.
    Writes each command to FAKE_LOG."""
    return f'''#!{sys.executable}
import json, os, sys

kind = sys.argv[2]
{prepare}
with open(os.environ["FAKE_LOG"], "a") as log:
    for line in sys.stdin:
        command = json.loads(line)["cmd"]
        print(kind, command, file=log, flush=True)
        print(json.dumps(answers[command]), flush=True)
'''


def write_program(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def environment_of(python, log):
    """For a benchmark whose peers run in this fake; the log begins empty."""
    log.write_text("")
    return {**os.environ, "FOVEA_PEER_PYTHON": str(python), "FAKE_LOG": str(log)}
