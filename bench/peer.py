"""A peer of ./run bench --peer: `peer.py NAME`, see peer_class().

Reads one JSON command per line on standard input and answers each with one JSON line, so that the
benchmark can alternate: ours, a peer's repetition, another peer's, ours. The answer to any of the
first four is {"lacks": reason} if the peer is missing, has no such model or fails.

  {"cmd": "info", "device": }                   -> {"name": , "about": versions and kernels,
                                                    "libraries": what multiplies, by precision,
                                                    "unlimited": precisions in which that uses more
                                                    instructions than ONEDNN_MAX_CPU_ISA names}
  {"cmd": "gemm", "n": , "precision": , "threads": , "device": , "limited": } -> {"gflops": }
  {"cmd": "setup", "workload": , "mode": "train"|"infer"|"decode"|"load", "precision": "f32"|"bf16", "batch": ,
   "threads": , "device": , "limited": to which instructions or "", "folder": of the loader's images, "config": settings of
   a model that is not a standard workload's, "processes": of DistributedDataParallel, which share batch and
   threads}                                     -> {"parameters": }, the trained ones
  {"cmd": "setup", "mode": "product", ...}, a layer's product of bench/gemm_bench.py, see peers/products.py
  {"cmd": "agreement"}                          -> {"error": , "tolerance": } of its result
  {"cmd": "warm"}                               -> {}, after one run
  {"cmd": "rep"}                                -> {"seconds": } of one step or forward pass
  {"cmd": "peak"}                               -> {"peak_mb": } of three steps, minus the memory
                                                   before the first, resident or device memory;
                                                   needs a fresh process. null for a runtime, whose
                                                   model is exported in the same process
"""
import json
import sys
import time
import traceback


def peer_class(name):
    """Each has info(), product(), prepare() and run()."""
    from peers import products, pytorch, runtimes
    return {"eager": pytorch.Eager, "compile": pytorch.Compiled, "autotune": pytorch.Autotuned,
            "openvino": runtimes.OpenVino, "onnxruntime": runtimes.OnnxRuntime, "onednn": products.OneDnn,
            "linear": products.Linear, "packed": products.Packed}[name]


def make_peer(name, command):
    from peers import pytorch
    if command["mode"] == "load":
        return pytorch.Loader()
    return pytorch.Distributed() if command.get("processes", 1) > 1 else peer_class(name)()


def resident_kib(field):
    """VmRSS, the resident memory, or VmHWM, its peak since forget_peak()."""
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(field + ":"))


def forget_peak():
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")


def peak_mb(peer):
    import torch
    if peer.device.type != "cpu":
        before = torch.cuda.memory_allocated(peer.device)
        torch.cuda.reset_peak_memory_stats(peer.device)
    else:
        forget_peak()
        before = resident_kib("VmRSS") * 1024
    for _ in range(3):
        peer.run()
    if peer.device.type != "cpu":
        return (torch.cuda.max_memory_allocated(peer.device) - before) / 2**20
    return (resident_kib("VmHWM") * 1024 - before) / 2**20


def seconds_of(run, device):
    from peers.pytorch import wait_for
    start = time.perf_counter()
    run()
    wait_for(device)
    return time.perf_counter() - start


class Session:
    """The commands; each answers with a dictionary."""

    def __init__(self, name):
        self.name, self.peer, self.products = name, None, {}

    def info(self, command):
        return peer_class(self.name).info(command["device"])

    def gemm(self, command):
        import torch
        n, precision, device = command["n"], command["precision"], torch.device(command["device"])
        if precision not in self.products:
            self.products[precision] = peer_class(self.name).product(n, command)
            seconds_of(self.products[precision], device)
        return {"gflops": 2e-9 * n**3 / min(seconds_of(self.products[precision], device) for _ in range(5))}

    def setup(self, command):
        self.peer = make_peer(self.name, command)
        self.peer.prepare(command)
        return {"parameters": self.peer.parameters}

    def agreement(self, command):
        return self.peer.agreement

    def warm(self, command):
        self.rep(command)
        return {}

    def rep(self, command):
        return {"seconds": seconds_of(self.peer.run, self.peer.device)}

    def peak(self, command):
        from peers.runtimes import Runtime
        return {"peak_mb": None if isinstance(self.peer, Runtime) else peak_mb(self.peer)}


def reason_of(error):
    """One line."""
    from peers.subjects import Lacks
    text = str(error).strip().split("\n")[0]
    if isinstance(error, Lacks):
        return text
    traceback.print_exception(error)
    return f"{type(error).__name__}: {text}"


def answer(session, command):
    kind = command["cmd"]
    try:
        return getattr(session, kind)(command)
    except ModuleNotFoundError as error:
        return {"lacks": f"{error.name} is not installed; bench/make_peer.sh installs it"}
    except Exception as error:
        if kind in ("rep", "peak"):
            raise
        return {"lacks": reason_of(error)}


def main():
    session = Session(sys.argv[1])
    for line in sys.stdin:
        print(json.dumps(answer(session, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
