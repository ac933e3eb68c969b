// predict IMAGE...: the five likeliest classes of pictures, by a trained model.
#include <iomanip>
#include <iostream>

#include "apps/app.h"
#include "apps/cli.h"
#include "apps/console.h"
#include "apps/loading.h"
#include "data/image.h"
#include "engine/autograd.h"
#include "ops/reduce.h"
#include "ops/softmax.h"

namespace {

using namespace fovea;

/// [1, 3, H, W], prepared as in evaluation.
Tensor prepare(const Image& image, const LoadedModel& trained) {
  const auto [height, width] = trained.model->info().img_size;
  EvaluationOptions options;
  options.size = {height, width};
  options.normalization = trained.info.normalization;
  const Pipeline pipeline = evaluation_pipeline(options);
  Rng unused(0);
  const Tensor input = empty({1, Image::kChannels, height, width});
  normalize(pipeline.apply(image, unused), pipeline.normalization, input.data<float>());
  return input;
}

void print_top(const std::string& file, const Tensor& logits, const LoadedModel& trained,
               std::int64_t count) {
  const Tensor probabilities = ops::softmax(logits);
  const auto [values, classes] =
      ops::topk(probabilities, std::min(count, trained.model->info().num_classes));
  std::cout << file << '\n';
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    const auto k = static_cast<std::size_t>(classes.at(i));
    std::cout << "  " << std::setw(8) << percent(100 * values.at(i)) << "  "
              << trained.info.classes.at(k) << '\n';
  }
}

int predict(int argc, char** argv) {
  LoadRequest request;
  std::int64_t count = 5;
  Fields fields;
  FieldGroup group(fields, "Input");
  group.add("checkpoint", &request.checkpoint,
            "run directory or weights file (default: the newest under runs/)");
  group.number("topk", &count, "classes to show per image", {1, 1e6});
  add_load_fields(fields, request);
  const std::vector<std::string> files = parse_into_fields(
      argc, argv,
      {"predict", "Names what pictures show (PNG, JPEG, BMP, PNM).", "IMAGE...", fields});
  if (files.empty()) throw UsageError("predict: name at least one image");

  const LoadedModel trained = load_trained(request);
  std::cout << "model  " << trained.model->info().name << " from " << trained.weights.string()
            << '\n';
  const NoGrad no_grad;
  for (const std::string& file : files) {
    Context ctx;
    const Tensor input = prepare(read_image(file), trained).to(parse_device(request.device));
    print_top(file, trained.model->forward(input, ctx).logits.to(Device{}), trained, count);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return fovea::run_app(argc, argv, predict); }
