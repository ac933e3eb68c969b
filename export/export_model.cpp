// Tracing a pass, lowering it, and running the result.
#include "export/export_model.h"

#include <algorithm>
#include <cmath>

#include "data/sources/drawn/builtin.h"
#include "engine/autograd.h"
#include "engine/random.h"
#include "engine/rng.h"
#include "export/half.h"
#include "export/image_input.h"
#include "export/interpreter.h"
#include "export/lowering.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"

namespace fovea {
namespace {

/// What sizes that depend on the image's are called: "height", "8*width".
class SizeNames {
 public:
  /// The first input's last two axes are height and width.
  explicit SizeNames(const TracedValue& input) {
    const int rank = input.tensor.rank();
    if (rank < 2) return;
    known_ = {{onnx::size_of(input, rank - 2), "height"},
              {onnx::size_of(input, rank - 1), "width"}};
  }

  [[nodiscard]] std::string of(onnx::TracedSize size) const {
    for (const auto& [known, name] : known_) {
      if (size == known) return name;
      const std::int64_t factor = size.size / known.size;
      if (size == onnx::TracedSize{factor * known.size, factor * known.resized}) {
        return concat(factor, '*', name);
      }
    }
    fail("export: an output's size is ", size.size, " for one image and ", size.resized,
         " for another");
  }

 private:
  std::vector<std::pair<onnx::TracedSize, const char*>> known_;
};

onnx::ValueInfoProto value_info(const PassValue& named, const TracedValue& value,
                                const SizeNames& names) {
  onnx::ValueInfoProto info{
      named.name, onnx::element_type(value.tensor.dtype()), {}, named.description};
  for (int axis = 0; axis < value.tensor.rank(); ++axis) {
    const onnx::TracedSize size = onnx::size_of(value, axis);
    if (axis == value.batch_axis) {
      info.shape.emplace_back("batch");
    } else if (!size.is_fixed()) {
      info.shape.emplace_back(names.of(size));
    } else {
      info.shape.emplace_back(size.size);
    }
  }
  return info;
}

const TracedValue& at(const TracedGraph& graph, int value) {
  return graph.values[static_cast<std::size_t>(value)];
}

/// The inputs of the graph as the values that the pass reads.
std::vector<std::string> write_inputs(onnx::GraphWriter& writer, const ExportedPass& pass,
                                      const TracedGraph& traced, const ExportSettings& settings,
                                      const SizeNames& names_of_sizes) {
  if (settings.images) return {prepare_images(writer, *settings.images)};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < pass.inputs.size(); ++i) {
    writer.input(value_info(pass.inputs[i], at(traced, traced.inputs[i]), names_of_sizes));
    names.push_back(pass.inputs[i].name);
  }
  return names;
}

double norm(const Tensor& x) { return std::sqrt(ops::sum(ops::mul(x, x)).item()); }

/// Normal numbers of that size or, in i64, integers below `most`.
Tensor random_input(const Shape& shape, DType dtype, double most, std::uint64_t seed) {
  if (dtype == DType::i64) {
    return ops::clamp(rand_uniform(shape, {0, most}, {seed}), 0, most - 1).to(dtype);
  }
  return rand_normal(shape, {0, most}, {seed}).to(dtype);
}

ExportTrial random_trial(const ExportedPass& pass, const std::vector<Tensor>& examples,
                         std::int64_t count) {
  ExportTrial trial;
  for (std::size_t i = 0; i < pass.inputs.size(); ++i) {
    Shape shape = examples[i].shape();
    shape[0] = count;
    trial.inputs.push_back(random_input(shape, examples[i].dtype(), pass.inputs[i].most, i));
    trial.given[pass.inputs[i].name] = trial.inputs.back();
  }
  return trial;
}

/// An image as the batch of one that a file is given.
Tensor image_tensor(const Image& image) {
  const auto bytes = static_cast<std::size_t>(image.height * image.width * Image::kChannels);
  return from_bytes({1, image.height, image.width, Image::kChannels}, DType::u8,
                    std::as_bytes(std::span(image.pixels).first(bytes)));
}

Tensor prepared_tensor(const Image& image, const EvaluationTransform& transform) {
  const Image prepared = prepare_for_evaluation(image, transform);
  const Tensor pixels = empty({1, Image::kChannels, prepared.height, prepared.width});
  normalize(prepared, transform.normalization, pixels.data<float>());
  return pixels;
}

}  // namespace

onnx::ModelProto export_pass(const ExportedPass& pass, const std::string& name,
                             const ExportSettings& settings) {
  const bool takes_any_size = !pass.resized.empty() && pass.unit == 1;
  if (settings.images) onnx::require_preparation(*settings.images, takes_any_size);
  const TracedGraph traced = trace_forward(pass.examples, pass.resized, pass.forward);
  const SizeNames sizes(at(traced, traced.inputs.front()));
  onnx::GraphWriter writer(settings.opset);
  const std::vector<std::string> inputs = write_inputs(writer, pass, traced, settings, sizes);
  const std::vector<std::string> outputs = onnx::Lowerer(traced, writer).lower(inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    writer.output(value_info(pass.outputs[i], at(traced, traced.outputs[i]), sizes), outputs[i]);
  }
  onnx::GraphProto graph = std::move(writer).graph(name);
  if (settings.half) onnx::store_halves(graph);
  return {std::move(graph), settings.opset, settings.version, settings.description,
          settings.metadata};
}

std::vector<ExportTrial> random_trials(const ExportedPass& pass, std::int64_t count) {
  std::vector<ExportTrial> trials{random_trial(pass, pass.examples, count)};
  if (!pass.resized.empty()) trials.push_back(random_trial(pass, pass.resized, count));
  return trials;
}

std::vector<ExportTrial> picture_trials(const EvaluationTransform& transform, std::int64_t count) {
  const Builtin pictures(Split::test);
  Rng rng(count);
  std::vector<ExportTrial> trials;
  for (std::int64_t i = 0; i < count; ++i) {
    const ImageSize size{1 + rng.below(2 * transform.size.height),
                         1 + rng.below(2 * transform.size.width)};
    const Image image = resized(pictures.get(i).image, size, Filter::bilinear);
    trials.push_back({{{"image", image_tensor(image)}}, {prepared_tensor(image, transform)}});
  }
  return trials;
}

ExportDifference difference_of(const onnx::ModelProto& written, const ExportedPass& pass,
                               const std::vector<ExportTrial>& trials,
                               const std::function<void(std::int64_t)>& tell) {
  const NoGrad no_grad;
  ExportDifference difference;
  std::int64_t told = 0;
  for (const ExportTrial& trial : trials) {
    tell(told++);
    const std::vector<Tensor> expected = pass.forward(trial.inputs);
    const std::vector<Tensor> got = run_model(written, trial.given);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (!is_float(expected[i].dtype())) continue;  // a rounding may exchange two classes
      const Tensor b = expected[i].to(DType::f64), off = ops::sub(got[i].to(DType::f64), b);
      const double largest = ops::amax(ops::abs(off)).item();
      difference.largest = std::max(difference.largest, largest);
      difference.relative = std::max(difference.relative, norm(off) / std::max(norm(b), 1e-30));
    }
  }
  return difference;
}

}  // namespace fovea
