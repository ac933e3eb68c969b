"""Programs of ours that a benchmark in Python alternates with others."""
import subprocess
import sys


class Ours:
    """A program that answers one line with another; its first line says what it is."""

    def __init__(self, *command):
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.about = self.process.stdout.readline().strip()

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def milliseconds(self, words):
        return float(self.ask(" ".join(map(str, words))))


class Timed:
    """A program that answers each line with the seconds of a repetition."""

    def __init__(self, *command):
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def seconds(self, line=""):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit("error: a program ended early; see its output above")
        return float(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
