#!/usr/bin/env python3
"""The share of a step that P processes spend computing, by the model of docs/distributed.md: a table in Markdown.

    bench/scaling.py [--forward S] [--backward S] [--parameters M] [--latency US] [--message US] [--bandwidth GBIT]...

A step of one process has `forward` seconds, the update included, and `backward` seconds. Gradients, 4 bytes a parameter,
leave in n buckets of 4 MiB (64 KiB times P if that is more), evenly spread over the backward pass. Each process sends
2 (P - 1) / P of them. A bucket takes two rounds of `latency` and P - 1 messages. What is not sent by the end of the
backward pass is waited for:

    sending = 2 (P - 1) / P * bytes / bandwidth + 2 n (latency + (P - 1) * message)
    step    = forward + backward + max(sending / n, sending - backward * (n - 1) / n)

The table has (forward + backward) / step, in percent.
"""
import argparse

PROCESSES = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]


def step_seconds(processes, forward, backward, count, gigabits, latency, message):
    size = 4 * count
    buckets = max(1, -(-size // max(4 << 20, processes << 16)))
    sending = 2 * (processes - 1) / processes * size / (gigabits * 1e9 / 8)
    sending += 2 * buckets * (latency + (processes - 1) * message)
    return forward + backward + max(sending / buckets, sending - backward * (buckets - 1) / buckets)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forward", type=float, default=1.0, metavar="S")
    parser.add_argument("--backward", type=float, default=2.0, metavar="S")
    parser.add_argument("--parameters", type=float, default=22.05, metavar="M", help="in millions")
    parser.add_argument("--latency", type=float, default=50, metavar="US")
    parser.add_argument("--message", type=float, default=2, metavar="US")
    parser.add_argument("--bandwidth", type=float, nargs="+", default=[10, 25, 100, 3600], metavar="GBIT")
    args = parser.parse_args()
    print("| Gbit/s | " + " | ".join(map(str, PROCESSES)) + " |")
    print("|---:|" + "---:|" * len(PROCESSES))
    for gigabits in args.bandwidth:
        shares = [(args.forward + args.backward) /
                  step_seconds(p, args.forward, args.backward, args.parameters * 1e6, gigabits, args.latency * 1e-6,
                               args.message * 1e-6) for p in PROCESSES]
        print(f"| {gigabits:g} | " + " | ".join(f"{100 * share:.0f}" for share in shares) + " |")


if __name__ == "__main__":
    main()
