// encode: writes a VAE's latents of a data set as one file, for train_diffusion.
#include "apps/common/cli.h"
#include "apps/common/computing.h"
#include "apps/common/launch.h"
#include "apps/common/loading.h"
#include "apps/common/progress_line.h"
#include "apps/common/signals.h"
#include "apps/common/verification.h"
#include "apps/encode_request.h"
#include "apps/encoding.h"
#include "engine/base/text.h"
#include "engine/base/wrap.h"
#include "engine/comm/local_device.h"
#include "engine/parallel.h"
#include "train/run/weights_info.h"
#include "train/tasks/kept_vae.h"

namespace fovea::programs {
namespace {

std::shared_ptr<const Dataset> open_images(const EncodeRequest& r, ProgressLine& line) {
  auto images = open_dataset(r.data, r.split == "train" ? Split::train : Split::test);
  if (!images->notice().empty()) line.print(note_of(images->notice()));
  return images;
}

/// Without --dataset and --data-dir the images are those that the VAE was trained on, if a run says
/// which.
void take_images_of_run(EncodeRequest& r, const LoadedVae& vae, ProgressLine& line) {
  const bool are_named = r.data.name != "auto" || !r.data_dir.empty();
  const std::optional<RunData> run = are_named ? std::nullopt : data_of_run(vae.weights);
  if (!run || !run->error.empty()) return;
  const DatasetOptions given = r.data;
  r.data = run->options;
  r.data.labelled = given.labelled;
  r.data.fraction = given.fraction;
  if (!given.train_split.empty()) r.data.train_split = given.train_split;
  if (!given.val_split.empty()) r.data.val_split = given.val_split;
  if (!given.class_map.empty()) r.data.class_map = given.class_map;
  const std::string folder = r.data.data_dir.string();
  line.print(note_of(concat("the images are those of the VAE's run, ", r.data.name,
                            folder.empty() ? "" : " in " + folder, "; --data-dir names others")));
}

/// As the flag says, or as the VAE saw its training images.
ExifOrientation orientation_of(const EncodeRequest& r, const LoadedVae& vae) {
  if (r.exif_orientation.empty()) return read_weights_info(vae.weights).exif_orientation;
  return parse_name<ExifOrientation>("--exif-orientation", r.exif_orientation);
}

/// Keeps the VAE's weights, as its run may go on.
void keep(const EncodeRequest& request, const LoadedVae& vae, ProgressLine& line) {
  const std::string failure = keep_vae(request.vae, vae.hash);
  if (failure.empty()) return;
  line.print(note_of(concat("the weights of ", request.vae, " cannot be kept (", failure,
                            "); if that run is continued, these latents lose their VAE")));
}

EncodeRequest read_request(int argc, char** argv) {
  EncodeRequest request;
  request.data.name = "auto";
  request.data.labelled = false;
  static_cast<void>(parse_into_fields(
      argc, argv,
      {"encode",
       "Encodes images with a VAE: means and log-variances of their latents, in one file for\n"
       "./run train_diffusion --dataset latents.",
       "", fields_of(request)}));
  check_request(request);
  request.data.data_dir = request.data_dir;
  return request;
}

int encode_in(Communicator& processes, int argc, char** argv) {
  EncodeRequest request = read_request(argc, argv);
  barrier(processes);  // so that none of them takes the finished file for an earlier one
  if (request.threads > 0) set_num_threads(static_cast<int>(request.threads));
  const Device device = local_device(parse_device(request.device), processes);
  start_computing(device);
  ProgressLine line(1);
  if (request.verify_data) return verify_data({{"", *open_images(request, line)}}, processes);
  const LoadedVae vae = load_vae(request.vae, {DType::f32, device});
  take_images_of_run(request, vae, line);
  request.data.exif_orientation = orientation_of(request, vae);
  const auto images = open_images(request, line);
  for (const std::string& note : vae.notes) {
    line.print(note_of(concat(vae.weights.string(), " ", note)));
  }
  if (processes.is_first()) keep(request, vae, line);
  const SignalRequest signals;
  const bool is_complete = encode_images(request, vae, images, processes);
  const int signal = SignalRequest::pending();  // 0 where another process has received it
  return is_complete || signal == 0 ? 0 : 128 + signal;
}

}  // namespace

int run_encode(int argc, char** argv) {
  return run_in_processes(
      argc, argv, [&](const Launch& launch) { return encode_in(launch.processes, argc, argv); });
}

}  // namespace fovea::programs
