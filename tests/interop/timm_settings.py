"""timm's plain ViT and DeiT architectures as settings of fovea's models. Shared by the scripts timm_*.py.

timm passes the settings of an architecture to build_model_with_cfg(); recorded() catches them there.
"""
import functools
import inspect

import timm
import timm.layers
from timm.models import deit, vision_transformer
from timm.models._registry import model_entrypoint

KEPT_FOR_WEIGHTS = {"pretrained_filter_fn", "pretrained_strict", "feature_cfg", "weight_init"}
# timm's classes and names by the names of fovea's settings.
SPELLINGS = {
    "act_layer": {None: "gelu", "gelu_tanh": "gelu_tanh", "quick_gelu": "quick_gelu", "silu": "silu", "SiLU": "silu"},
    "norm_layer": {None: "layernorm", "LayerNorm": "layernorm", "RmsNorm": "rmsnorm", "rmsnorm": "rmsnorm"},
    "embed_norm_layer": {None: "none", "LayerNorm": "layernorm", "RmsNorm": "rmsnorm", "rmsnorm": "rmsnorm"},
    "mlp_layer": {"Mlp": "mlp", "SwiGLU": "swiglu", "GluMlp": "glu"},
    "block_fn": {"Block": "block", "ResPostBlock": "res_post", "ParallelScalingBlock": "parallel_scaling",
                 "DiffParallelScalingBlock": "diff_parallel_scaling", "ParallelThingsBlock": "parallel_things"},
    "attn_layer": {"attn": "attn", "Attention": "attn", "diff": "diff"},
}


def architectures():
    """All names, sorted."""
    return sorted(timm.list_models(module="vision_transformer") + timm.list_models(module="deit"))


def is_published(name):
    """True if there are weights of that architecture."""
    return bool(timm.list_pretrained(name) or timm.list_pretrained(name + ".*"))


class Recorded(Exception):
    pass


def recorded(name):
    """The class and the arguments that timm's entry point makes the model of."""
    def record(cls, variant, pretrained=False, **arguments):
        raise Recorded(cls, arguments)

    originals = [(module, module.build_model_with_cfg) for module in (vision_transformer, deit)]
    try:
        for module, _ in originals:
            module.build_model_with_cfg = record
        model_entrypoint(name)()
    except Recorded as call:
        cls, arguments = call.args
        return cls, {k: v for k, v in arguments.items() if k not in KEPT_FOR_WEIGHTS}
    finally:
        for module, original in originals:
            module.build_model_with_cfg = original
    raise AssertionError(f"{name}: makes no model")


def plain(value):
    """The name of a class, also of one with some of its arguments given."""
    value = value.func if isinstance(value, functools.partial) else value
    return value.__name__ if inspect.isclass(value) else value


def settings_of(name):
    """fovea's settings of an architecture, without those that every ViT has."""
    cls, arguments = recorded(name)
    usual = {k: p.default for k, p in inspect.signature(vision_transformer.VisionTransformer).parameters.items()}
    settings = {}
    for key, value in arguments.items():
        names = SPELLINGS.get(key)
        if isinstance(value, functools.partial) and "eps" in value.keywords:
            assert settings.get("norm_eps", value.keywords["eps"]) == value.keywords["eps"], name
            settings["norm_eps"] = value.keywords["eps"]
        if names is None and value != usual[key]:
            settings[key] = value
        elif names is not None and names[plain(value)] != names[plain(usual[key])]:
            settings[key] = names[plain(value)]
    for key in ("embed_dim", "depth", "num_heads", "patch_size"):
        settings[key] = arguments.get(key, usual[key])
    settings["img_size"] = timm.get_pretrained_cfg(name).input_size[-1]
    assert timm.get_pretrained_cfg(name).fixed_input_size, name
    if settings["img_size"] % settings["patch_size"] != 0:
        settings["crop_to_patches"] = True  # as the convolution does by itself
    if name.startswith("deit_"):
        settings["distilled"] = cls is deit.VisionTransformerDistilled
    return settings
