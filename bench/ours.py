"""A program of ours that a benchmark in Python alternates with its peers."""
import subprocess


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
