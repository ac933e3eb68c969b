// Flags of `encode`.
#include "apps/encode_request.h"

#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/program_call.h"

namespace fovea {

Fields fields_of(EncodeRequest& r) {
  Fields fields;
  FieldGroup data(fields, "Data");
  data.choice("dataset", &r.data.name, "data set to encode", dataset_names());
  data.add("data-dir", &r.data_dir,
           "data folder (default: as the VAE's run, else $FOVEA_DATA, else ./datasets)");
  data.choice("split", &r.split, "which images", {"train", "val"});
  data.add("train-split", &r.data.train_split, "see " + program_call("train_imagenet") + " --help");
  data.add("val-split", &r.data.val_split, "test images, in the forms of train-split");
  data.add("class-map", &r.data.class_map, "file of class names, one per line, in label order");
  data.number("fraction", &r.data.fraction, "fraction of each class's training images to use",
              {1e-9, 1});
  data.number("img-size", &r.img_size, "side of the square images; 0: the VAE's", {0, 16384});
  data.choice("crop", &r.crop,
              "how images become squares: ADM's centre crop, or a bicubic resize of the whole",
              {"adm", "stretch"});
  data.add("flips", &r.flips, "also encode the mirrored images");
  data.choice(
      "exif-orientation", &r.exif_orientation,
      "pictures that their EXIF data turn: ignore: as stored, apply: turned (default: as the "
      "VAE was trained)",
      names_of<ExifOrientation>());
  data.choice("on-bad-image", &r.on_bad_image,
              "leave broken images out; stop: fail if more than 1 % are broken; skip: never fail",
              {"stop", "skip"});
  data.add("verify-data", &r.verify_data, "check all images, list the broken ones, then exit");
  FieldGroup encode(fields, "Encode");
  encode.add("vae", &r.vae, "a run of train_vae, a folder of diffusers or a weights file");
  encode.add("output", &r.output, "file to write, .safetensors; a stopped call is continued");
  encode.number("scaling-factor", &r.scaling_factor,
                "factor for diffusion on these latents; 0: the VAE's", {0, 1e6});
  encode.add("overwrite", &r.overwrite,
             "replace an existing file, and an unfinished one of other flags");
  FieldGroup run(fields, "Run");
  run.number("batch-size", &r.batch_size, "images that a process encodes at a time", {1, 65536});
  run.number("workers", &r.workers, "threads that decode images", {0, 256});
  run.number("threads", &r.threads, "threads; 0: all", {0, 1024});
  run.add("device", &r.device, "cpu, cuda or cuda:N");
  run.choice("precision", &r.precision, "precision of the activations", {"f32", "bf16"});
  return fields;
}

void check_request(const EncodeRequest& r) {
  if (r.verify_data) return;  // needs neither VAE nor output
  check_usage(!r.vae.empty(),
              "encode: needs --vae, a run of train_vae, a folder of diffusers or a weights file");
  check_usage(!r.output.empty(), "encode: needs --output FILE");
  check(r.overwrite || !std::filesystem::exists(r.output), "--output: ", r.output,
        " already exists; --overwrite replaces it");
}

}  // namespace fovea
