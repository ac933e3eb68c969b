"""timm's plain ViT, DeiT and Eva architectures as settings of fovea's models. Shared by the scripts timm_*.py.

timm passes the settings of an architecture to build_model_with_cfg(); recorded() catches them there.
"""
import functools
import inspect

import timm
import timm.layers
from timm.models import deit, eva, vision_transformer
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
    return sorted(timm.list_models(module="vision_transformer") + timm.list_models(module="deit")
                  + timm.list_models(module="eva"))


def is_published(name):
    """True if there are weights of that architecture."""
    return bool(timm.list_pretrained(name) or timm.list_pretrained(name + ".*"))


class Recorded(Exception):
    pass


def recorded(name):
    """The class and the arguments that timm's entry point makes the model of."""
    def record(cls, variant, pretrained=False, **arguments):
        raise Recorded(cls, arguments)

    originals = [(module, module.build_model_with_cfg) for module in (vision_transformer, deit, eva)]
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


def image_of(name):
    """One number, or height and width."""
    height, width = timm.get_pretrained_cfg(name).input_size[1:]
    return height if height == width else [height, width]


def rotary_settings(value):
    """Of the rotary positions of an Eva, whose arguments value(key) gives."""
    if not value("use_rot_pos_emb"):
        return {}
    settings = {"rope": "mixed" if value("rope_type") == "mixed" else "axial",
                "rope_temperature": value("rope_temperature")}
    if value("rope_type") == "dinov3":
        settings["rope_grid"] = "centered"
    if value("rope_grid_indexing") == "ij":
        settings["rope_grid_indexing"] = "ij"
    if value("rope_rotate_half"):
        settings["rope_rotate_half"] = True
    if value("rope_grid_offset"):
        settings["rope_grid_offset"] = value("rope_grid_offset")
    settings |= {key: value(key) for key in ("rope_shift_coords", "rope_jitter_coords", "rope_rescale_coords")
                 if value(key) is not None}
    if value("ref_feat_shape"):
        assert len(set(value("ref_feat_shape"))) == 1
        settings["ref_feat_shape"] = value("ref_feat_shape")[0]
    return settings


def last_norms(value):
    """Which norms follow the blocks of an Eva: timm's norm of all tokens is on unless that of the pooled vector is."""
    pooled = value("global_pool") == "avg" if value("use_fc_norm") is None else value("use_fc_norm")
    of_all = not pooled if value("use_post_transformer_norm") is None else value("use_post_transformer_norm")
    assert not (pooled and of_all)
    settings = {} if pooled or of_all else {"final_norm": False}
    if value("use_fc_norm") is not None or value("global_pool") in ("max", "avgmax"):
        settings["fc_norm"] = pooled
    return settings


def eva_settings(arguments):
    """fovea's settings of an Eva, without those that every ViT has and its image size."""
    usual = {k: p.default for k, p in inspect.signature(eva.Eva).parameters.items()}

    def value(key):
        return arguments.get(key, usual[key])

    settings = {"block_fn": "eva_post" if value("use_post_norm") else "eva"}
    for key in ("embed_dim", "depth", "num_heads", "patch_size", "attn_type", "global_pool"):
        settings[key] = value(key)
    same = {"mlp_ratio": 4, "qkv_bias": True, "qkv_fused": True, "qk_norm": False, "class_token": True,
            "no_embed_class": False, "init_values": None, "attn_only_layer_scale": False, "dynamic_img_size": False,
            "swiglu_align_to": 0, "attn_pool_num_heads": None, "attn_pool_mlp_ratio": None}
    settings |= {key: value(key) for key, plain_value in same.items() if value(key) != plain_value}
    renamed = {"num_reg_tokens": "reg_tokens", "scale_mlp": "scale_mlp_norm", "scale_attn_inner": "scale_attn_norm",
               "use_pre_transformer_norm": "pre_norm"}
    settings |= {ours: value(theirs) for theirs, ours in renamed.items() if value(theirs)}
    if value("use_post_norm") and not value("scale_mlp"):
        settings.pop("swiglu_align_to", None)  # timm does not read it there
    if value("swiglu_mlp"):
        settings |= {"mlp_layer": "swiglu" if value("scale_mlp") or "swiglu_align_to" in settings else "glu",
                     "act_layer": "silu"}
    if not value("use_abs_pos_emb"):
        settings["pos_embed"] = "none"
    if value("global_pool") == "map":
        settings["pool_include_prefix"] = True
    heads = value("num_kv_heads")
    if heads is not None and set(heads) != {value("num_heads")}:
        settings["num_kv_heads"] = list(heads)
    norm = value("norm_layer")
    if plain(norm) == "RmsNorm":
        settings["norm_layer"] = "rmsnorm"
    if isinstance(norm, functools.partial) and norm.keywords["eps"] != 1e-6:
        settings["norm_eps"] = norm.keywords["eps"]
    return settings | last_norms(value) | rotary_settings(value)


def settings_of(name):
    """fovea's settings of an architecture, without those that every ViT has."""
    cls, arguments = recorded(name)
    if cls is eva.Eva:
        return eva_settings(arguments) | {"img_size": image_of(name)}
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
