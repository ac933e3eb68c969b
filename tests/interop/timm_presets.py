#!/usr/bin/env python3
"""Writes tests/models/timm_presets.txt: timm_presets.py > tests/models/timm_presets.txt      needs torch and timm

One line per plain ViT, DeiT and Eva: its name, its settings, and the number of its parameters with
1000 classes. PyTorch counts them on its device "meta", which makes no values.
"""
import json

import timm
import torch

from timm_settings import architectures, settings_of


def parameter_count(name):
    with torch.device("meta"):
        model = timm.create_model(name, num_classes=1000)
    return sum(p.numel() for p in model.parameters())


for name in architectures():
    print(name, parameter_count(name), json.dumps(settings_of(name), sort_keys=True))
