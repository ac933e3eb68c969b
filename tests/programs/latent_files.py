"""Files of latents, as `encode` writes them, for the tests of other programs."""
import array
import struct

from formats import safetensors


def latents_file(count=8, channels=4, side=8, flipped=True, **changed):
    """The bytes of a file. `changed`: other metadata, tensors' entries or bytes under their names; None leaves one out."""
    def moments(sign):
        values = array.array("f")
        for image in range(count):
            values.extend([sign * ((image * 7 + i) % 11 - 5) / 5 for i in range(channels * side * side)])  # means
            values.extend([-2.0] * (channels * side * side))  # log-variances
        return "F32", [count, 2 * channels, side, side], values.tobytes()
    tensors = {"labels": ("I64", [count], struct.pack(f"<{count}q", *[i % 2 for i in range(count)])),
               "moments": moments(1)}
    if flipped:
        tensors["moments_flipped"] = moments(-1)
    metadata = {"format": "fovea-latents-1", "classes": '["cat", "dog"]', "vae": "vae_test", "vae_hash": "ab12",
                "scaling_factor": "0.5", "preparation": "adm 64"}
    for name, value in changed.items():
        (tensors if name in tensors else metadata)[name] = value
    return safetensors({name: tensor for name, tensor in tensors.items() if tensor is not None},
                       {key: value for key, value in metadata.items() if value is not None})
