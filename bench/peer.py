"""The PyTorch side of ./run bench --peer.

Reads one JSON command per line on standard input and answers each with one JSON line, so that the
benchmark can alternate: the peer's repetition, ours, the peer's, ours.

  {"cmd": "info"}                               -> versions, BLAS, attention kernel
  {"cmd": "gemm", "m": , "n": , "k": , "device": } -> {"gflops": }
  {"cmd": "setup", "workload": , "mode": "train"|"infer"|"decode"|"load", "precision": "f32"|"bf16", "batch": ,
   "threads": , "compile": bool, "device": , "folder": , "config": settings of a model that is not
   a standard workload's, "processes": of DistributedDataParallel, which share batch and threads}                       -> {"parameters": }, the trained ones, or
                                                   {"lacks": reason if there is no such model}
  {"cmd": "rep"}                                -> {"seconds": } of one step or forward pass
  {"cmd": "peak"}                               -> {"peak_mb": } of three steps, minus the memory
                                                   before the first, resident or device memory;
                                                   needs a fresh process
"""
import contextlib
import importlib
import json
import sys
import tempfile
import time

import torch


def resident_kib(field):
    """VmRSS, the resident memory, or VmHWM, its peak since forget_peak()."""
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(field + ":"))


def forget_peak():
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")


def wait_for(device):
    if device.type != "cpu":
        torch.cuda.synchronize(device)


class Subject:
    """A workload: a model, the shape of its images, and two functions of it."""

    def __init__(self, model, shape, infer, loss):
        self.model, self.shape = model, shape
        self.infer = infer  # images -> what it predicts
        self.loss = loss    # images -> a scalar, to be made small

    def compiled(self):
        return Subject(self.model, self.shape, torch.compile(self.infer), torch.compile(self.loss))


def classification(model, shape, classes, command):
    labels = torch.randint(0, max(classes, 1), (command["batch"],)).to(torch.device(command["device"]))
    return Subject(model, shape, model, lambda images: torch.nn.functional.cross_entropy(model(images), labels))


# Classifiers that timm lacks: file in peer_models/, class, and the function that returns its settings.
OWN_CLASSIFIERS = {
    "cpvt_tiny_peg0_224": ("cpvt", "CPVT", "tiny_peg0_224"),
    "pervit_tiny_224": ("pervit", "PerViT", "tiny_224"),
}
TIMM_SIZES = {
    "vit_tiny_patch4_32": dict(img_size=32, patch_size=4, num_heads=3),
    "deit_tiny_patch16_224": dict(img_size=224, patch_size=16, num_heads=3),
    "pit_tiny_32": dict(img_size=32, patch_size=1, num_heads=12, global_pool="avg"),
}


# fovea's settings that timm's transformers support, with their names there.
TIMM_ARGUMENTS = {name: name for name in (
    "img_size", "patch_size", "in_chans", "num_classes", "embed_dim", "depth", "num_heads", "mlp_ratio", "qkv_bias",
    "class_token", "global_pool", "fc_norm", "no_embed_class", "drop_rate", "pos_drop_rate", "patch_drop_rate",
    "proj_drop_rate", "attn_drop_rate")} | {"drop_path": "drop_path_rate"}
# Settings without influence on the time, or implied by the name.
SILENT = ("family", "distilled", "norm_eps", "permute_seed")
TIMM_POSITIONS = {"learned": "learn", "none": "none"}


class Lacks(Exception):
    """Raised with the reason if the peer has no such model."""


def timm_arguments(name, config):
    arguments = {}
    for key, value in config.items():
        if key == "pos_embed" and value in TIMM_POSITIONS:
            arguments[key] = TIMM_POSITIONS[value]
        elif key in TIMM_ARGUMENTS:
            arguments[TIMM_ARGUMENTS[key]] = value
        elif key not in SILENT and value:
            raise Lacks(f"timm's {name} cannot have {key} {value}")
    return arguments


def timm_subject(name, config, command):
    """timm's model of that name, with our settings."""
    import timm
    if name not in timm.list_models():
        raise Lacks(f"timm has no model {name}")
    try:
        model = timm.create_model(name, **timm_arguments(name, config))
    except (AssertionError, RuntimeError, TypeError, ValueError) as error:
        raise Lacks(f"timm's {name} refuses these settings: {error}") from error
    return classification(model, [config["in_chans"], *config["img_size"]], config["num_classes"], command)


def make_subject(command):
    workload = command["workload"]
    if "config" in command:
        return timm_subject(workload, command["config"], command)
    if workload in OWN_CLASSIFIERS:
        file, name, settings = OWN_CLASSIFIERS[workload]
        module = importlib.import_module("peer_models." + file)
        config = getattr(module, settings)()
        return classification(getattr(module, name)(config), [3, *config["img_size"]], config["num_classes"], command)
    if workload in TIMM_SIZES:
        from timm.models.vision_transformer import VisionTransformer
        size = TIMM_SIZES[workload]
        model = VisionTransformer(embed_dim=192, depth=12, mlp_ratio=4, drop_path_rate=0.0, **size)
        return classification(model, [3, size["img_size"], size["img_size"]], model.num_classes, command)
    from peer_models import depth, dit, mae, vae
    if workload in depth.SIZES:
        config = depth.settings(workload)
        model = depth.Depth(config)
        target = (1 + 8 * torch.rand(command["batch"], *config["img_size"])).to(torch.device(command["device"]))
        return Subject(model, [3, *config["img_size"]], model, lambda images: depth.loss(config, model(images), target))
    if workload in mae.SIZES:
        config = mae.settings(workload)
        model = mae.MAE(config)
        return Subject(model, [3, *config["img_size"]], model.predict, model)
    if workload in vae.SIZES and command["mode"] == "decode":
        config = vae.SIZES[workload]
        model = vae.VAE(config)
        side = 256 // 2 ** (len(config["block_out_channels"]) - 1)
        return Subject(model, [config["latent_channels"], side, side], model.decode, None)
    if workload in dit.SIZES:
        config = dit.settings(workload)
        model = dit.Training(dit.DiT(config))
        return Subject(model, [config["in_channels"]] + 2 * [config["input_size"]], model.predict, model)
    if workload == "detr_resnet50_480x640":
        from peer_models import detr
        return detr.subject(Subject, command, [3, 480, 640])
    known = ", ".join(
        OWN_CLASSIFIERS | TIMM_SIZES | mae.SIZES | dit.SIZES | vae.SIZES | depth.SIZES) + ", detr_resnet50_480x640"
    raise SystemExit(f"peer: no workload {workload}; known: {known}")


class LoaderWorkload:
    """timm's own loader with DeiT's recipe: Pillow, one worker process per thread of ours."""

    def __init__(self, command):
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

    def step(self):
        for _ in self.loader:
            pass


class Workload:
    def __init__(self, command):
        torch.set_num_threads(command["threads"])
        torch.manual_seed(0)
        self.device = torch.device(command["device"])
        self.train = command["mode"] == "train"
        self.bf16 = command["precision"] == "bf16"
        subject = make_subject(command)
        self.subject = subject.compiled() if command.get("compile") else subject
        model = subject.model.to(self.device).train(self.train)
        self.images = torch.randn(command["batch"], *subject.shape).to(self.device)
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.05)
        self.parameters = sum(p.numel() for p in model.parameters() if p.requires_grad)

    def step(self):
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.bf16):
            if not self.train:
                with torch.inference_mode():
                    return self.subject.infer(self.images)
            loss = self.subject.loss(self.images)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss


def take_part(rank, command, address, pipe):
    """One of the processes of DistributedDataParallel, on gloo: a step for each message of the pipe."""
    count = command["processes"]
    own = {**command, "batch": command["batch"] // count, "threads": max(1, command["threads"] // count), "processes": 1}
    torch.distributed.init_process_group("gloo", init_method=f"file://{address}", rank=rank, world_size=count)
    workload = Workload(own)
    ddp = torch.nn.parallel.DistributedDataParallel(workload.subject.model)
    labels = torch.randint(0, 10, (own["batch"],))
    workload.subject.loss = lambda images: torch.nn.functional.cross_entropy(ddp(images), labels)
    pipe.send(workload.parameters)
    with contextlib.suppress(EOFError):  # the parent has ended
        while pipe.recv():
            workload.step()
            pipe.send(None)


class DistributedWorkload:
    """A classifier's training step in several processes."""

    def __init__(self, command):
        self.device = torch.device("cpu")
        self.folder = tempfile.TemporaryDirectory()
        context = torch.multiprocessing.get_context("spawn")
        self.pipes = []
        for rank in range(command["processes"]):
            here, there = context.Pipe()
            context.Process(target=take_part, args=(rank, command, self.folder.name + "/meeting", there),
                            daemon=True).start()
            self.pipes.append(here)
        self.parameters = [pipe.recv() for pipe in self.pipes][0]

    def step(self):
        for pipe in self.pipes:
            pipe.send(True)
        for pipe in self.pipes:
            pipe.recv()


def make_workload(command):
    if command["mode"] == "load":
        return LoaderWorkload(command)
    return (DistributedWorkload if command.get("processes", 1) > 1 else Workload)(command)


def info():
    import timm
    blas = [line.strip() for line in torch.__config__.show().splitlines()
            if "MKL" in line or "BLAS" in line]
    return {"torch": torch.__version__, "timm": timm.__version__, "blas": "; ".join(blas)[:300],
            "attention": "scaled_dot_product_attention",
            "cpu": torch.backends.cpu.get_cpu_capability()}


def gemm(m, n, k, device):
    a, b = torch.randn(m, k, device=device), torch.randn(k, n, device=device)
    wait_for(device)
    best = 1e9
    for _ in range(5):
        start = time.perf_counter()
        torch.mm(a, b)
        wait_for(device)
        best = min(best, time.perf_counter() - start)
    return 2e-9 * m * n * k / best


def peak_mb(workload):
    if workload.device.type != "cpu":
        before = torch.cuda.memory_allocated(workload.device)
        torch.cuda.reset_peak_memory_stats(workload.device)
    else:
        forget_peak()
        before = resident_kib("VmRSS") * 1024
    for _ in range(3):
        workload.step()
    if workload.device.type != "cpu":
        return (torch.cuda.max_memory_allocated(workload.device) - before) / 2**20
    return (resident_kib("VmHWM") * 1024 - before) / 2**20


def main():
    workload = None
    for line in sys.stdin:
        command = json.loads(line)
        kind = command["cmd"]
        if kind == "info":
            answer = info()
        elif kind == "gemm":
            torch.set_num_threads(command["threads"])
            answer = {"gflops": gemm(command["m"], command["n"], command["k"], torch.device(command["device"]))}
        elif kind == "setup":
            try:
                workload = make_workload(command)
                answer = {"parameters": workload.parameters}
            except Lacks as lacks:
                answer = {"lacks": str(lacks)}
        elif kind == "rep":
            start = time.perf_counter()
            workload.step()
            wait_for(workload.device)
            answer = {"seconds": time.perf_counter() - start}
        elif kind == "peak":
            answer = {"peak_mb": peak_mb(workload)}
        else:
            raise SystemExit(f"peer: unknown command {kind}")
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
