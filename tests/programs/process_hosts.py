#!/usr/bin/env python3
"""Training on two hosts, played by network namespaces of this machine with Open MPI's TCP between them.

    tests/programs/process_hosts.py [--build build] [--speed] [--rates 1000 300] [--picture FILE.svg]

The run's tensors, progress and logs must equal those of one process. --speed: the link gets each of these bandwidths, in
Mbit/s (tc tbf), and the time of a step is compared with a prediction from the run without a limit: buckets that leave
evenly during the backward pass. It must be within 25 %. --picture: a step at the first bandwidth, over time. Needs root
and ip; exits 77 without them, without mpirun, or if the programs were built without MPI.
"""
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from checks import ROOT
from formats import read_safetensors, steps_of
from processes import BESIDE, arguments_of, difference, run_checks
from tiny_training import tiny_model

sys.path.insert(0, str(ROOT / "bench"))
from scaling import step_seconds  # noqa: E402

HOSTS = {"fovea-a": "10.77.0.1", "fovea-b": "10.77.0.2"}
IMAGES = 64
LARGE = ["--model", "vit_tiny_patch8_32", "--embed-dim", "384", "--depth", "12", "--num-heads", "6", "--batch-size", str(IMAGES),
         "--shards", "2", "--threads", "1", "--epochs", "1", "--workers", "0", "--no-report", "--log-interval", "1",
         "--warmup-epochs", "0"]


class CommandFailed(Exception):
    """A command of ip or tc has failed."""


def sh(*words):
    done = subprocess.run(list(words), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CommandFailed(f"{' '.join(words)}: {done.stderr.strip()}")


class Hosts:
    """Two namespaces with a link between them, and how mpirun reaches them."""

    def __init__(self, folder):
        self.agent = folder / "agent"
        self.agent.write_text("#!/bin/bash\nhost=$1; shift\n"
                              f"case $host in {HOSTS['fovea-b']}) name=fovea-b;; *) name=fovea-a;; esac\n"
                              'exec ip netns exec $name unshare --uts bash -c "hostname $name; $*"\n')
        self.agent.chmod(0o755)

    def __enter__(self):
        self.remove()
        for name in HOSTS:
            sh("ip", "netns", "add", name)
        sh("ip", "link", "add", "link-a", "netns", "fovea-a", "type", "veth", "peer", "name", "link-b", "netns", "fovea-b")
        for name, address in HOSTS.items():
            sh("ip", "-n", name, "addr", "add", f"{address}/24", "dev", self.link(name))
            sh("ip", "-n", name, "link", "set", self.link(name), "up")
            sh("ip", "-n", name, "link", "set", "lo", "up")
        return self

    def __exit__(self, *error):
        self.remove()

    @staticmethod
    def link(name):
        return "link-" + name[-1]

    @staticmethod
    def remove():
        for name in HOSTS:
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL, check=False)

    def limit(self, megabits):
        for name in HOSTS:
            sh("ip", "netns", "exec", name, "tc", "qdisc", "replace", "dev", self.link(name), "root", "tbf", "rate",
               f"{megabits}mbit", "burst", "1mb", "latency", "100ms")

    def mpirun(self):
        """The command that starts one process on each host."""
        network = HOSTS["fovea-a"] + "/24"
        mpirun = ["mpirun", "--mca", "plm_rsh_agent", str(self.agent), "--mca", "btl", "tcp,self", "--mca",
                  "btl_tcp_if_include", network, "--mca", "oob_tcp_if_include", network, "--host", ",".join(HOSTS.values())]
        return ["ip", "netns", "exec", "fovea-a", "unshare", "--uts", "bash", "-c", 'hostname fovea-a; exec "$@"', "-", *mpirun]


def times_of(folder):
    """Medians of the stages of a step, in seconds."""
    rows = steps_of(folder)[3:]
    stages = {name: statistics.median(row.get(name + "_s", 0) for row in rows)
              for name in ("forward", "backward", "exchange", "sending")}
    return {**stages, "step": statistics.median(IMAGES / row["img_s"] for row in rows)}


def predicted(free, gradients, megabits):
    """A step's time from that without a limit, in the model of bench/scaling.py without latencies."""
    computing = free["step"] - free["exchange"] - free["backward"]
    return step_seconds(2, computing, free["backward"], gradients / 4, megabits / 1000, latency=0, message=0)


def speed(checks, hosts, rates, picture):
    def run(name, *flags):
        output = checks.folder / name
        done = checks.run("train_cifar", *LARGE, "--max-steps", "14", "--output", output, *flags, processes=2)
        if done.returncode != 0:
            sys.exit(f"{name}: {done.stderr.strip()[-300:]}")
        return output

    free = times_of(run("free"))
    tensors, _ = read_safetensors(checks.folder / "free/state.safetensors")
    gradients = sum(len(tensor.data) for name, tensor in tensors.items() if name.startswith("param/"))
    print(f"no limit: a step {free['step']:.3f} s, of which forward {free['forward']:.3f}, backward {free['backward']:.3f}, "
          f"waiting {free['exchange']:.3f}; gradients {gradients / 1e6:.1f} MB", flush=True)
    for rate in rates:
        hosts.limit(rate)
        limited, expected = times_of(run(f"rate-{rate}")), predicted(free, gradients, rate)
        apart = limited["step"] / expected - 1
        hidden = 1 - limited["exchange"] / limited["sending"]
        checks.note(f"{rate} Mbit/s: a step {limited['step']:.3f} s, predicted {expected:.3f} ({apart:+.0%}); "
                      f"sending {limited['sending']:.3f} s, {hidden:.0%} of it behind the backward pass",
                      "" if abs(apart) <= 0.25 else "more than 25 % apart")
    if picture:
        hosts.limit(rates[0])
        subprocess.run([ROOT / "bench" / "step_timeline.py", run("drawn", "--profile", "3"), picture], check=True)


def no_namespaces():
    """Why this machine cannot play two hosts, or ""."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return "needs root and ip"
    try:
        with tempfile.TemporaryDirectory() as folder, Hosts(pathlib.Path(folder)):
            return ""
    except CommandFailed as error:
        return f"no network namespaces: {error}"


def main():
    args = arguments_of(__doc__, "speed", rates=[1000, 300], picture="")
    if reason := no_namespaces():
        print(f"skipped: {reason}")
        return 77

    def check(checks):
        with Hosts(checks.folder) as hosts:
            flags = [*tiny_model("train_cifar"), *BESIDE["train_cifar"]]
            expected = checks.train("one process", [1], "train_cifar", flags, [6])
            checks.mpirun = hosts.mpirun()
            got = checks.train("two hosts", [2], "train_cifar", flags, [6])
            checks.note("two hosts have the bits of one process",
                          next((x for x in (expected, got) if isinstance(x, str)), None) or difference(got, expected))
            if args.speed:
                speed(checks, hosts, args.rates, args.picture)
    return run_checks(args, check)


if __name__ == "__main__":
    sys.exit(main())
