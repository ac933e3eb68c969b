// Reading a golden file and comparing tensors under the tolerances of golden.h.
#include "tests/parity/case.h"

#include <algorithm>
#include <cmath>

#include "engine/base/json.h"
#include "models/checkpoints/pretrained.h"
#include "models/config_reader.h"
#include "models/registry.h"
#include "ops/arithmetic.h"
#include "ops/loss.h"

namespace fovea::golden {
namespace {

using nlohmann::json;

struct Tolerance {
  double output, gradient, zero_gradient;
};

Tolerance tolerance(Precision precision) {
  switch (precision) {
    case Precision::f64:
      return {1e-9, 1e-9, 1e-9};
    case Precision::f32:
      return {2e-5, 2e-4, 1e-5};
    default:
      return {3e-2, 2e-1, 1e-2};
  }
}

/// Rounding the inputs of all products to bf16 alone changes gradients of the VAE by 3.4e-1, of
/// detectors (through the ResNet) by 6.5e-1, and a detector's memory by 4.4e-2. See also
/// kNearInputs.
double gradient_bound(Precision precision, std::string_view family) {
  if (precision == Precision::bf16 && (family == "vae" || is_detector(family))) return 5e-1;
  return tolerance(precision).gradient;
}

double output_bound(Precision precision, std::string_view family, std::string_view name) {
  if (precision == Precision::bf16 && is_detector(family) && name == "feat/memory") return 6e-2;
  return tolerance(precision).output;
}

/// A gradient that almost cancels may be this many times as far off in f32 as the reference's own.
constexpr double kOwnErrors = 4;
/// Above this own error of the reference, the bound would be looser than that of bf16.
constexpr double kLargestOwnError = 5e-2;

json parse_metadata(const SafetensorsFile& file, const std::string& key) {
  const auto text = file.metadata.find(key);
  check(text != file.metadata.end(), "metadata: key ", key, " is missing");
  json value = parse_json(text->second);
  check(!value.is_discarded(), "metadata: ", key, " is not JSON, or nested too deeply");
  return value;
}

std::set<std::string> parse_zero_grad(const SafetensorsFile& file) {
  std::set<std::string> names;
  if (!file.metadata.contains("zero_grad")) return names;
  const json zero = parse_metadata(file, "zero_grad");
  check(zero.is_array(), "metadata: zero_grad is not a JSON list");
  for (const json& name : zero) {
    check(name.is_string(), "metadata: zero_grad is not a list of names");
    names.insert(name.get<std::string>());
  }
  return names;
}

std::map<std::string, double> parse_f32_errors(const SafetensorsFile& file) {
  std::map<std::string, double> errors;
  if (!file.metadata.contains("f32_errors")) return errors;
  const json given = parse_metadata(file, "f32_errors");
  check(given.is_object(), "metadata: f32_errors is not a JSON object");
  for (const auto& [name, error] : given.items()) {
    check(error.is_number() && error >= 0 && error <= kLargestOwnError,
          "metadata: f32_errors: ", name, ": got ", json_text(error),
          ", expected a number from 0 to ", kLargestOwnError);
    errors[name] = error.get<double>();
  }
  return errors;
}

/// Sum of squares of a - b; b may be undefined (zero).
double squared_difference(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector();
  const std::vector<double> y = b.defined() ? b.to_vector() : std::vector<double>(x.size(), 0.0);
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return sum;
}

double difference(const std::string& name, const Tensor& ours, const Tensor& reference) {
  check(ours.shape() == reference.shape(), name, ": the file has shape ", reference.shape(),
        ", ours is ", ours.shape());
  return std::sqrt(squared_difference(ours.to(Device{}), reference));
}

/// Relative error; 0 / 0 counts as 0.
double ratio(double error, double scale) { return error == 0 ? 0 : error / scale; }

}  // namespace

bool is_detector(std::string_view family) { return family == "detr" || family == "ddetr"; }

double norm(const Tensor& x) { return std::sqrt(squared_difference(x.to(Device{}), {})); }

void GradientSet::add(const std::string& where, const Tensor& ours, const Tensor& reference,
                      bool zero_in_theory) {
  Item item{where, 0, 0, norm(reference), zero_in_theory};
  item.ours = ours.defined() ? norm(ours) : 0;
  item.difference = ours.defined() ? difference(where, ours, reference) : item.reference;
  largest_ = std::max(largest_, item.reference);
  items_.push_back(item);
}

std::vector<TensorComparison> GradientSet::compare(Precision precision,
                                                   std::string_view family) const {
  const double zero_bound = tolerance(precision).zero_gradient;
  const double bound = gradient_bound(precision, family);
  std::vector<TensorComparison> results;
  for (const Item& item : items_) {
    if (item.zero_in_theory) {
      results.push_back({item.name, ratio(item.ours, largest_), zero_bound});
      continue;
    }
    // In bf16 a small gradient is compared relative to a hundredth of the largest.
    const bool small = precision == Precision::bf16 && item.reference < 1e-2 * largest_;
    const double scale = small ? 1e-2 * largest_ : item.reference;
    const double widened = item.reference > 0 ? scale / item.reference : 1;
    const double error = ratio(item.difference, item.reference > 0 ? item.reference : scale);
    results.push_back({item.name, error, bound * widened});
  }
  return results;
}

Case::Case(SafetensorsFile file, const Options& how) : options(how), file_(std::move(file)) {
  const auto format = file_.metadata.find("format");
  check(format != file_.metadata.end() && format->second == "fovea-golden-1",
        "metadata: format is not fovea-golden-1");
  check(file_.metadata.contains("family"), "metadata: key family is missing");
  family = file_.metadata.at("family");
  config = parse_metadata(file_, "config");
  check(config.is_object(), "metadata: config is not a JSON object");
  zero_grad = parse_zero_grad(file_);
  f32_errors = parse_f32_errors(file_);
}

Tensor Case::take(const std::string& name) {
  const auto found = file_.tensors.find(name);
  check(found != file_.tensors.end(), "tensor ", name, " is missing");
  taken_.insert(name);
  return found->second;
}

Tensor Case::take(const std::string& name, DType dtype) {
  const Tensor x = take(name);
  // A copy: a leaf with gradients, or an updated tensor, must not alias the file's tensor.
  return (is_float(x.dtype()) ? x.to(dtype) : x).clone().to(options.device);
}

std::vector<std::string> Case::names_under(const std::string& prefix) const {
  std::vector<std::string> names;
  for (const auto& entry : file_.tensors) {
    if (entry.first.starts_with(prefix)) names.push_back(entry.first.substr(prefix.size()));
  }
  return names;
}

void Case::compare_output(const std::string& name, const Tensor& ours) {
  const Tensor reference = take(name);
  outputs[name] = ours.detach();
  const double error = ratio(difference(name, ours, reference), norm(reference));
  results.push_back({name, error, output_bound(options.precision, family, name)});
}

void Case::compare_output(const std::string& name, const Tensor& ours, const Tensor& counts) {
  const Tensor reference = take(name) * counts;
  const Tensor own = ours.to(Device{}).to(DType::f64) * counts;
  outputs[name] = own;
  const double error = ratio(difference(name, own, reference), norm(reference));
  results.push_back({name, error, output_bound(options.precision, family, name)});
}

void Case::compare_pairs(const std::string& name, const std::vector<MatchedPair>& ours) {
  const Tensor reference = take(name);
  std::vector<double> values;
  for (const MatchedPair& pair : ours) {
    values.push_back(static_cast<double>(pair.query));
    values.push_back(static_cast<double>(pair.target));
  }
  const Shape shape{static_cast<std::int64_t>(ours.size()), 2};
  check(reference.shape() == shape, name, ": the file has shape ", reference.shape(), ", ours is ",
        shape);
  const std::vector<double> expected = reference.to_vector();
  double wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) wrong += values[i] != expected[i] ? 1 : 0;
  outputs[name] = from_values(shape, values, {DType::i64, {}});
  results.push_back({name, wrong, 0});
}

void Case::compare_gradients(const GradientSet& set) {
  for (TensorComparison& c : set.compare(options.precision, family)) {
    const auto own = f32_errors.find(c.name);
    if (options.precision == Precision::f32 && own != f32_errors.end()) {
      c.bound = std::max(c.bound, kOwnErrors * own->second);
    }
    results.push_back(std::move(c));
  }
}

void Case::finish() const {
  std::string unknown;
  for (const auto& entry : file_.tensors) {
    if (!taken_.contains(entry.first)) unknown += (unknown.empty() ? "" : ", ") + entry.first;
  }
  check(unknown.empty(), "tensors without a check: ", unknown);
  check(!results.empty(), "the file contains nothing to compare");
}

LossConfig take_loss_config(json& config, bool distillation) {
  json part = json::object();
  std::vector<std::string> keys{"loss", "smoothing"};
  if (distillation) keys.insert(keys.end(), {"distillation_type", "alpha", "tau"});
  for (const std::string& key : keys) {
    if (config.contains(key)) part[key] = config[key];
    config.erase(key);
  }
  LossConfig c;
  ConfigReader r("config", part);
  c.loss = r.read_name("loss", {"ce", "label_smoothing", "soft_ce"}, c.loss);
  r.read("smoothing", c.smoothing, 0, 1);
  c.distillation_type =
      r.read_name("distillation_type", {"none", "soft", "hard"}, c.distillation_type);
  r.read("alpha", c.alpha, 0, 1);
  r.read("tau", c.tau, 1e-6, 1e6);
  return c;
}

Tensor base_loss(const LossConfig& c, const Tensor& logits, const Tensor& target) {
  if (c.loss == "soft_ce") return ops::soft_cross_entropy(logits, target);
  return ops::cross_entropy(logits, target, c.loss == "label_smoothing" ? c.smoothing : 0);
}

std::unique_ptr<Model> load_case_model(Case& c, json config) {
  std::unique_ptr<Model> model =
      make_model_from_config(config, 0, {c.options.parameters(), c.options.device});
  TensorMap tensors;
  for (const char* prefix : {"param/", "buffer/"}) {
    for (const std::string& name : c.names_under(prefix)) {
      const Tensor given = c.take(prefix + name), own = model->store().find(name);
      if (own.defined() && given.shape() != own.shape()) {
        fail(prefix, name, ": got shape ", given.shape(), ", expected ", own.shape());
      }
      check(tensors.emplace(name, given).second, name, ": appears under param/ and under buffer/");
    }
  }
  if (c.has("perm") && model->store().find("perm").defined()) tensors["perm"] = c.take("perm");
  load_state(*model, tensors, {model->info().config});
  return model;
}

}  // namespace fovea::golden
