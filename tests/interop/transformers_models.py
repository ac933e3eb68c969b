#!/usr/bin/env python3
"""Models with other programs' names, loaded by fovea: transformers_models.py BUILD_FOLDER [--keep FOLDER] [--only WORD]

Needs transformers and torchvision; build the target `interop` first. ViT, DeiT, ViT-MAE, DINOv2, DINOv3 and CLIP of
Hugging Face's transformers get random values in every parameter and are saved by save_pretrained(); fovea makes them
from the folder alone. Their logits are compared, or where there is no head the pooled tokens, of DINOv3 also all
tokens. Files with the names of torchvision, of OpenAI's CLIP and of DINOv2's repository are loaded into a model of
given settings; the expected logits are torchvision's, transformers' and timm's.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import timm
import torch
import torchvision
import transformers
from safetensors import safe_open
from safetensors.torch import load_file, save_file

BOUND = 1e-5  # relative to the largest logit
SIZES = dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=100, image_size=32,
             patch_size=8)
DINO_SIZES = dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=4, image_size=32, patch_size=8)
NAMES = {i: f"kind {i}" for i in range(7)}
DECODER = dict(decoder_hidden_size=24, decoder_num_attention_heads=2, decoder_num_hidden_layers=1,
               decoder_intermediate_size=50)


def perturbed(model):
    """Large random values everywhere: a tensor in a wrong place shows."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            scale = 1.5 / parameter[0].numel() ** 0.5 if parameter.ndim in (2, 4) else 0.3
            noise = torch.randn(parameter.shape, generator=generator) * scale
            parameter.copy_(noise + (1 if parameter.ndim == 1 and name.endswith("weight") else 0))
    return model.eval()


def clip_config(**more):
    vision = dict(SIZES, projection_dim=20)
    text = dict(hidden_size=24, num_hidden_layers=1, num_attention_heads=2, intermediate_size=40, vocab_size=50,
                bos_token_id=1, eos_token_id=2, pad_token_id=0)
    return transformers.CLIPConfig(vision_config=vision, text_config=text, projection_dim=20, **more)


def first_token(output):
    return output.last_hidden_state[:, 0]


def whole_clips_projection(model, images):
    return model.visual_projection(model.vision_model(images).pooler_output)


def unmasked(model, images):
    """ViT-MAE's encoder with nothing hidden. It shuffles the patches, which the class token does not see."""
    encoder = getattr(model, "vit", model)
    encoder.config.mask_ratio = encoder.embeddings.config.mask_ratio = 0.0
    return first_token(encoder(images))


def transformers_models():
    """Name, model, function from model and images to the expected output."""
    t = transformers
    logits = lambda model, images: model(images).logits
    token = lambda model, images: first_token(model(images))
    pooled = lambda model, images: model(images).pooler_output
    all_tokens = lambda model, images: model(images).last_hidden_state
    yield "ViT", t.ViTForImageClassification(t.ViTConfig(**SIZES, id2label=NAMES)), logits
    yield "ViT with gelu_new, eps 1e-3, no qkv bias", t.ViTForImageClassification(t.ViTConfig(
        **SIZES, id2label=NAMES, hidden_act="gelu_new", layer_norm_eps=1e-3, qkv_bias=False)), logits
    yield "ViT, oblong", t.ViTForImageClassification(t.ViTConfig(**dict(SIZES, image_size=(32, 48)),
                                                                 id2label=NAMES)), logits
    yield "ViT without a head", t.ViTModel(t.ViTConfig(**SIZES)), token
    yield "ViT of masked images", t.ViTForMaskedImageModeling(t.ViTConfig(**SIZES)), lambda model, images: \
        first_token(model.vit(images))
    yield "DeiT, distilled", t.DeiTForImageClassificationWithTeacher(t.DeiTConfig(**SIZES, id2label=NAMES)), logits
    yield "DeiT", t.DeiTForImageClassification(t.DeiTConfig(**SIZES, id2label=NAMES)), logits
    yield "DeiT without a head", t.DeiTModel(t.DeiTConfig(**SIZES)), token
    yield "ViT-MAE", t.ViTMAEModel(t.ViTMAEConfig(**SIZES)), unmasked
    for gate in (False, True):
        kind = "SwiGLU" if gate else "MLP"
        yield f"DINOv2, {kind}", t.Dinov2Model(t.Dinov2Config(**DINO_SIZES, use_swiglu_ffn=gate)), pooled
        yield f"DINOv2 with registers, {kind}", t.Dinov2WithRegistersModel(
            t.Dinov2WithRegistersConfig(**DINO_SIZES, num_register_tokens=3, use_swiglu_ffn=gate)), pooled
    for kind, more in {"MLP": {}, "a gate": dict(use_gated_mlp=True, hidden_act="silu"),
                       "no biases of attention": dict(query_bias=False, value_bias=False)}.items():
        for tokens, output in {"": pooled, ", all tokens": all_tokens}.items():
            yield f"DINOv3, {kind}{tokens}", t.DINOv3ViTModel(
                t.DINOv3ViTConfig(**SIZES, num_register_tokens=3, **more)), output
    yield "CLIP's image encoder", t.CLIPVisionModel(t.CLIPVisionConfig(**SIZES)), pooled
    yield "CLIP's image encoder with projection", t.CLIPVisionModelWithProjection(
        t.CLIPVisionConfig(**SIZES, projection_dim=20)), lambda model, images: model(images).image_embeds
    yield "CLIP, both towers", t.CLIPModel(clip_config()), whole_clips_projection
    yield "CLIP, classifier", t.CLIPForImageClassification(clip_config(id2label=NAMES)), logits


OURS = dict(family="vit", img_size=[32, 32], patch_size=8, embed_dim=48, depth=2, num_heads=4, num_classes=7)


def torchvision_file(path):
    model = perturbed(torchvision.models.VisionTransformer(image_size=32, patch_size=8, num_layers=2, num_heads=4,
                                                           hidden_dim=48, mlp_dim=96, num_classes=7))
    torch.save(model.state_dict(), path)
    return OURS | dict(mlp_ratio=2, norm_eps=1e-6), model


def openai_clip_file(path):
    """CLIP with both towers under OpenAI's names, from transformers' weights."""
    model = perturbed(transformers.CLIPModel(clip_config()))
    state = {"logit_scale": torch.tensor(4.6), "token_embedding.weight": torch.zeros(50, 24),
             "positional_embedding": torch.zeros(77, 24), "transformer.resblocks.0.ln_1.weight": torch.zeros(24),
             "input_resolution": torch.tensor(32)}
    theirs = model.state_dict()
    vision = {k.removeprefix("vision_model."): v for k, v in theirs.items() if k.startswith("vision_model.")}
    state["visual.class_embedding"] = vision["embeddings.class_embedding"]
    state["visual.conv1.weight"] = vision["embeddings.patch_embedding.weight"]
    state["visual.positional_embedding"] = vision["embeddings.position_embedding.weight"]
    state["visual.proj"] = theirs["visual_projection.weight"].T.contiguous()
    for end in ("weight", "bias"):
        state[f"visual.ln_pre.{end}"] = vision[f"pre_layrnorm.{end}"]
        state[f"visual.ln_post.{end}"] = vision[f"post_layernorm.{end}"]
        for i in range(2):
            a, b = f"visual.transformer.resblocks.{i}.", f"encoder.layers.{i}."
            parts = [vision[f"{b}self_attn.{p}_proj.{end}"] for p in "qkv"]
            state[f"{a}attn.in_proj_{end}"] = torch.cat(parts)
            state[f"{a}attn.out_proj.{end}"] = vision[f"{b}self_attn.out_proj.{end}"]
            state[f"{a}ln_1.{end}"] = vision[f"{b}layer_norm1.{end}"]
            state[f"{a}ln_2.{end}"] = vision[f"{b}layer_norm2.{end}"]
            state[f"{a}mlp.c_fc.{end}"] = vision[f"{b}mlp.fc1.{end}"]
            state[f"{a}mlp.c_proj.{end}"] = vision[f"{b}mlp.fc2.{end}"]
    torch.save(state, path)
    config = OURS | dict(mlp_ratio=100.001 / 48, norm_eps=1e-5, num_classes=20, pre_norm=True, act_layer="quick_gelu")
    return config, lambda images: whole_clips_projection(model, images)


def dinov2_file(path, registers, gate, chunked):
    """DINOv2 under the names of its repository, from timm's weights."""
    mlp = dict(mlp_layer=timm.layers.SwiGLUPacked, act_layer=torch.nn.SiLU, mlp_ratio=16 / 3) if gate else {}
    regs = dict(reg_tokens=registers, no_embed_class=True) if registers else {}
    model = perturbed(timm.models.vision_transformer.VisionTransformer(
        img_size=32, patch_size=8, embed_dim=48, depth=2, num_heads=4, num_classes=0, init_values=1.0, **mlp, **regs))
    state = {"mask_token": torch.zeros(1, 48)}
    for name, value in model.state_dict().items():
        if gate:
            name = name.replace("mlp.fc1", "mlp.w12").replace("mlp.fc2", "mlp.w3")
        if chunked and name.startswith("blocks."):
            name = "blocks.0." + name[len("blocks."):]
        state[name.replace("reg_token", "register_tokens")] = value.clone()
    if registers:  # there the class token has a position of its own
        own = torch.randn(1, 1, 48)
        state["cls_token"] -= own
        state["pos_embed"] = torch.cat([own, state["pos_embed"]], 1)
    torch.save(state, path)
    config = OURS | dict(num_classes=0, init_values=1.0)
    if registers:
        config |= dict(reg_tokens=registers, no_embed_class=True)
    if gate:
        config |= dict(mlp_layer="glu", act_layer="silu", mlp_ratio=16 / 3)
    return config, model


FILES = {
    "torchvision": torchvision_file,
    "OpenAI's CLIP": openai_clip_file,
    "DINOv2": lambda path: dinov2_file(path, 0, False, False),
    "DINOv2 in chunks": lambda path: dinov2_file(path, 0, False, True),
    "DINOv2 with registers": lambda path: dinov2_file(path, 3, False, False),
    "DINOv2 with SwiGLU": lambda path: dinov2_file(path, 0, True, False),
}


def our_logits(build, weights, images, folder, config=None):
    save_file({"images": images}, folder / "images.safetensors")
    more = [] if config is None else [json.dumps(config)]
    result = subprocess.run([build / "tests/interop/interop", "logits", weights, folder / "images.safetensors",
                             folder / "logits.safetensors", *more], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return load_file(folder / "logits.safetensors")["logits"]


def our_tokens(build, weights, images, folder):
    """All tokens behind the last norm, instead of the pooled ones."""
    our_logits(build, weights, images, folder)
    with safe_open(folder / "logits.safetensors", "pt") as file:
        config = json.loads(file.metadata()["config"])
    return our_logits(build, weights, images, folder, config | {"global_pool": "none"})


def compare(label, ours, theirs):
    assert ours.shape == theirs.shape, f"{label}: got {tuple(ours.shape)}, expected {tuple(theirs.shape)}"
    assert theirs.std(0).max() > 0.05, f"{label}: the images look alike to it, so this compares nothing"
    worst = ((ours - theirs).abs().max() / theirs.abs().max()).item()
    assert worst < BOUND, f"{label}: differs by {worst:.2e}"
    print(f"ok  {label}: differs by at most {worst:.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--keep", type=Path, help="leave the files in this new folder")
    parser.add_argument("--only", default="", help="only the models with this word in their label")
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    torch.manual_seed(3)
    failures = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(exist_ok=True)
        build = options.build.resolve()
        for number, (label, model, expected) in enumerate(transformers_models()):
            if options.only not in label:
                continue
            target = folder / f"{number}"
            perturbed(model).save_pretrained(target)
            size = getattr(model.config, "vision_config", model.config).image_size
            height, width = size if isinstance(size, (tuple, list)) else (size, size)
            images = torch.randn(4, 3, height, width)
            with torch.no_grad():
                theirs = expected(model, images)
            ours = our_tokens if label.endswith("all tokens") else our_logits
            try:
                compare(label, ours(build, target, images, folder), theirs)
            except AssertionError as error:
                failures += 1
                print(f"FAILED  {label}: {error}")
        for label, write in FILES.items():
            if options.only not in label:
                continue
            config, model = write(folder / "weights.pth")
            images = torch.randn(4, 3, 32, 32)
            with torch.no_grad():
                theirs = model(images)
            try:
                compare(f"names of {label}", our_logits(build, folder / "weights.pth", images, folder, config), theirs)
            except AssertionError as error:
                failures += 1
                print(f"FAILED  names of {label}: {error}")
    assert failures == 0, f"{failures} models differ or do not load"


if __name__ == "__main__":
    sys.exit(main())
