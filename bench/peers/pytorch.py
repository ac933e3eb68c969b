"""PyTorch as a peer: eager and compiled, in several processes, and timm's loader."""
import contextlib
import os
import pathlib
import re
import tempfile

import torch

from peers.subjects import make_subject


def wait_for(device):
    if device.type != "cpu":
        torch.cuda.synchronize(device)


def libraries(device):
    """What multiplies matrices, by precision."""
    if device != "cpu":
        return {"f32": "cuBLAS", "bf16": "cuBLAS"}
    built = torch.__config__.show()
    mkl = re.search(r"Math Kernel Library Version ([\d.]+)", built)
    blas = re.search(r"BLAS_INFO=(\w+)", built)
    onednn = re.search(r"MKL-DNN v([\d.]+)", built)
    return {"f32": f"MKL {mkl[1]}" if mkl else f"BLAS {blas[1]}" if blas else "its BLAS",
            "bf16": f"oneDNN {onednn[1]}" if onednn else "oneDNN"}


def unlimited(device):
    """Precisions whose library uses more instructions than those that the benchmark limits its peers to."""
    limit = os.environ.get("ONEDNN_MAX_CPU_ISA")
    if device != "cpu" or limit is None:
        return []
    has_mkl = libraries(device)["f32"].startswith("MKL")
    is_intels = "GenuineIntel" in pathlib.Path("/proc/cpuinfo").read_text()
    obeys = has_mkl and (is_intels or limit != "SSE41")  # on AMD's processors MKL uses AVX2 whatever it is told
    return [] if obeys else ["f32"]


class Eager:
    """PyTorch as it is, with autocast in bf16."""
    kind = "eager"

    @classmethod
    def info(cls, device):
        import timm
        return {"name": f"torch {torch.__version__.split('+')[0]} {cls.kind}", "libraries": libraries(device),
                "unlimited": unlimited(device),
                "about": f"timm {timm.__version__}, {torch.backends.cpu.get_cpu_capability()}, "
                         f"scaled_dot_product_attention, {' and '.join(dict.fromkeys(libraries(device).values()))}"}

    @staticmethod
    def product(n, command):
        """A function that computes an n x n x n product."""
        torch.set_num_threads(command["threads"])
        device = torch.device(command["device"])
        dtype = torch.bfloat16 if command["precision"] == "bf16" else torch.float32
        a, b = (torch.randn(n, n, device=device).to(dtype) for _ in range(2))
        return lambda: torch.mm(a, b)

    def prepare(self, command):
        torch.set_num_threads(command["threads"])
        torch.manual_seed(0)
        self.device = torch.device(command["device"])
        self.train = command["mode"] == "train"
        self.bf16 = command["precision"] == "bf16"
        self.subject = make_subject(command)
        model = self.subject.model.to(self.device).train(self.train)
        self.images = torch.randn(command["batch"], *self.subject.shape).to(self.device)
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.05)
        self.parameters = sum(p.numel() for p in model.parameters() if p.requires_grad)

    def run(self):
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.bf16):
            if not self.train:
                with torch.inference_mode():
                    return self.subject.infer(self.images)
            loss = self.subject.loss(self.images)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss


class Compiled(Eager):
    """The same with torch.compile; for inference the weights are constants (freezing)."""
    kind = "compile"
    mode = "default"

    def prepare(self, command):
        super().prepare(command)
        torch._inductor.config.freezing = not self.train
        self.subject.infer = torch.compile(self.subject.infer, mode=self.mode)
        self.subject.loss = torch.compile(self.subject.loss, mode=self.mode)


class Autotuned(Compiled):
    """Its products and kernels are chosen by timing them."""
    kind = "autotune"
    mode = "max-autotune"


class Loader:
    """timm's own loader with DeiT's recipe: Pillow, one worker process per thread of ours."""

    def prepare(self, command):
        import timm.data.auto_augment as auto_augment
        from timm.data import create_dataset, create_loader
        torch.set_num_threads(1)
        self.device = torch.device("cpu")
        # Newer Pillow versions reject 0 bits, which RandAugment requires at high levels; older ones give
        # black.
        posterize = auto_augment.ImageOps.posterize
        auto_augment.ImageOps.posterize = (
            lambda image, bits: posterize(image, bits) if bits > 0 else image.point(lambda value: 0))
        dataset = create_dataset("", root=command["folder"], split="train", is_training=True)
        self.loader = create_loader(
            dataset, input_size=(3, 224, 224), batch_size=command["batch"], is_training=True, use_prefetcher=False,
            auto_augment="rand-m9-mstd0.5-inc1", interpolation="bicubic", re_prob=0.25, re_mode="pixel",
            num_workers=command["threads"], persistent_workers=True)
        self.parameters = 0

    def run(self):
        for _ in self.loader:
            pass


def part_of(rank, command, address):
    """The share of one of the processes of DistributedDataParallel, on gloo."""
    count = command["processes"]
    own = {**command, "batch": command["batch"] // count, "threads": max(1, command["threads"] // count), "processes": 1}
    torch.distributed.init_process_group("gloo", init_method=f"file://{address}", rank=rank, world_size=count)
    peer = Eager()
    peer.prepare(own)
    ddp = torch.nn.parallel.DistributedDataParallel(peer.subject.model)
    labels = torch.randint(0, 10, (own["batch"],))
    peer.subject.loss = lambda images: torch.nn.functional.cross_entropy(ddp(images), labels)
    return peer


def take_part(rank, command, address, pipe):
    """One of the processes: a step for each message of the pipe. Sends an error of its own instead of an answer."""
    try:
        peer = part_of(rank, command, address)
        pipe.send(peer.parameters)
        with contextlib.suppress(EOFError):  # the parent has ended
            while pipe.recv():
                peer.run()
                pipe.send(None)
    except Exception as error:
        pipe.send(error)


def received(pipe):
    answer = pipe.recv()
    if isinstance(answer, Exception):
        raise answer
    return answer


class Distributed:
    """A classifier's training step in several processes."""

    def prepare(self, command):
        self.device = torch.device("cpu")
        self.folder = tempfile.TemporaryDirectory()
        context = torch.multiprocessing.get_context("spawn")
        self.pipes = []
        for rank in range(command["processes"]):
            here, there = context.Pipe()
            context.Process(target=take_part, args=(rank, command, self.folder.name + "/meeting", there),
                            daemon=True).start()
            self.pipes.append(here)
        self.parameters = [received(pipe) for pipe in self.pipes][0]

    def run(self):
        for pipe in self.pipes:
            pipe.send(True)
        for pipe in self.pipes:
            received(pipe)
