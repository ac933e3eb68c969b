"""The models of the standard workloads, in PyTorch: timm's, or the official code's form in peer_models/."""
import importlib

import torch


class Lacks(Exception):
    """Raised with the reason if a peer is missing or has no such model."""


class Subject:
    """A workload: a model, the shape of its images, and two functions of it."""

    def __init__(self, model, shape, infer, loss, is_timms=False):
        self.model, self.shape = model, shape
        self.infer = infer  # images -> what it predicts
        self.loss = loss    # images -> a scalar, to be made small
        self.is_timms = is_timms


def classification(model, shape, classes, command, is_timms=False):
    labels = torch.randint(0, max(classes, 1), (command["batch"],)).to(torch.device(command["device"]))
    return Subject(model, shape, model, lambda images: torch.nn.functional.cross_entropy(model(images), labels), is_timms)


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


def rotary_model(name, config):
    """timm's class Eva with the settings of a plain ViT: its ViTs have no rotary positions."""
    from timm.models.eva import Eva
    positions = {key: config[key] for key in ("rope", "rope_temperature", "pos_embed")}
    rest = timm_arguments(name, {key: value for key, value in config.items() if key not in positions})
    return Eva(**{"use_fc_norm" if key == "fc_norm" else key: value for key, value in rest.items()},
               attn_type="rope", use_abs_pos_emb=positions["pos_embed"] == "learned", use_rot_pos_emb=True,
               rope_type="mixed" if positions["rope"] == "mixed" else "cat",
               rope_temperature=positions["rope_temperature"], rope_grid_indexing="xy")


def timm_model(name, config):
    import timm
    if name not in timm.list_models():
        raise Lacks(f"timm has no model {name}")
    if config["family"] == "vit" and config.get("rope", "none") != "none":
        return rotary_model(name, config)
    return timm.create_model(name, **timm_arguments(name, config))


def timm_subject(name, config, command):
    """timm's model of that name, with our settings."""
    try:
        model = timm_model(name, config)
    except (AssertionError, RuntimeError, TypeError, ValueError) as error:
        raise Lacks(f"timm's {name} refuses these settings: {error}") from error
    return classification(model, [config["in_chans"], *config["img_size"]], config["num_classes"], command, is_timms=True)


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
        return classification(model, [3, size["img_size"], size["img_size"]], model.num_classes, command, is_timms=True)
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
    raise Lacks(f"no workload {workload}; known: {known}")
