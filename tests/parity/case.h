// A golden file during its check: configuration, tensors, which tensors were used, and comparisons
// so far. Private to tests/parity/.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "engine/formats/safetensors.h"
#include "models/detection/matching.h"
#include "models/model.h"
#include "tests/parity/golden.h"

namespace fovea::golden {

/// Gradients of one case, compared together, because their bounds depend on the largest one.
class GradientSet {
 public:
  /// Adds a gradient. Ours may be undefined, which means zero. `where` is the tensor's name in the
  /// file.
  void add(const std::string& where, const Tensor& ours, const Tensor& reference,
           bool zero_in_theory);
  /// `family` is that of the file.
  [[nodiscard]] std::vector<TensorComparison> compare(Precision precision,
                                                      std::string_view family) const;

 private:
  struct Item {
    std::string name;
    double difference = 0, ours = 0, reference = 0;  ///< norms of the tensors
    bool zero_in_theory = false;
  };
  std::vector<Item> items_;
  double largest_ = 0;
};

class Case {
 public:
  /// Throws if the file is not a golden file.
  Case(SafetensorsFile file, const Options& options);

  std::string family;
  nlohmann::json config;
  std::set<std::string> zero_grad;
  std::map<std::string, double> f32_errors;  ///< of the reference's own gradients in f32, relative
  Options options;
  std::vector<TensorComparison> results;
  std::map<std::string, Tensor> outputs;  ///< our outputs by their names in the file

  [[nodiscard]] bool has(const std::string& name) const { return file_.tensors.contains(name); }
  /// A tensor of the file in f64 or i64; marks it as used. Throws if it is missing.
  [[nodiscard]] Tensor take(const std::string& name);
  /// A tensor on the device, in `dtype` unless it contains integers.
  [[nodiscard]] Tensor take(const std::string& name, DType dtype);
  /// Suffixes of the tensor names that start with `prefix`.
  [[nodiscard]] std::vector<std::string> names_under(const std::string& prefix) const;

  /// Compares an output (not a gradient) with the file's tensor `name`.
  void compare_output(const std::string& name, const Tensor& ours);
  /// Compares only the elements where `counts`, which broadcasts to them, is 1; the others are 0.
  void compare_output(const std::string& name, const Tensor& ours, const Tensor& counts);
  /// Compares pairs with the file's table `name`, [n, 2], which must be equal.
  void compare_pairs(const std::string& name, const std::vector<MatchedPair>& ours);
  void compare_gradients(const GradientSet& set);

  /// Throws if a tensor was not used or if nothing was compared.
  void finish() const;

 private:
  SafetensorsFile file_;
  std::set<std::string> taken_;
};

[[nodiscard]] double norm(const Tensor& x);
[[nodiscard]] bool is_detector(std::string_view family);

/// The keys of a golden configuration that describe the loss.
struct LossConfig {
  std::string loss = "ce";
  double smoothing = 0;
  std::string distillation_type = "none";
  double alpha = 0.5, tau = 1;
};
/// Moves the loss keys, and with `distillation` DeiT's, out of `config`.
[[nodiscard]] LossConfig take_loss_config(nlohmann::json& config, bool distillation);
[[nodiscard]] Tensor base_loss(const LossConfig& c, const Tensor& logits, const Tensor& target);

/// Builds a model from `config` and loads param/ and buffer/ into it; all names must match. Pixel
/// permutations are taken from the file.
[[nodiscard]] std::unique_ptr<Model> load_case_model(Case& c, nlohmann::json config);

// For the files of model families (models.cpp).

/// The model's configuration. Throws if it has dropout or drop path: a file cannot record random
/// drops.
[[nodiscard]] nlohmann::json family_config(const Case& c);
/// The images, as leaves with gradients.
[[nodiscard]] Tensor take_images(Case& c);
/// A context of the file's precision, for evaluation.
[[nodiscard]] Context evaluation_context(const Case& c);
/// A training context with a tap that compares all values recorded in the file.
[[nodiscard]] Context training_context(Case& c);
/// Compares the buffers after one forward pass in training mode.
void compare_buffers(Case& c, const Model& model);
/// Differentiates the loss and compares the gradients of the parameters and of the images `input`,
/// if the file has any.
void compare_gradients(Case& c, const Tensor& loss, Model& model, const Tensor& input);

/// A training file: the images of every step, [S, B, C, H, W], and the loss.
struct TrainingCase {
  std::int64_t steps = 30;
  LossConfig loss;
  Tensor images;
};
/// Tensor `name` of a training file in `dtype`: one slice per step, with one of these numbers of
/// axes.
[[nodiscard]] Tensor take_steps(Case& c, const std::string& name, const TrainingCase& training,
                                std::initializer_list<int> ranks, const char* shape, DType dtype);
/// The model's loss in a step, from the file's images and the task's other inputs.
using StepLoss = std::function<Tensor(std::int64_t step, Context& ctx)>;

// Checks of a file by task: the table in golden.cpp has one row per task.
void check_classifier(Case& c);
[[nodiscard]] StepLoss classifier_loss(Case& c, const TrainingCase& training, Model& model);
void check_mae(Case& c);
[[nodiscard]] StepLoss mae_loss(Case& c, const TrainingCase& training, Model& model);
void check_dit(Case& c);
[[nodiscard]] StepLoss dit_loss(Case& c, const TrainingCase& training, Model& model);
/// The configuration of a DiT from one with the official keys (input_size, hidden_size).
[[nodiscard]] nlohmann::json dit_config_of(nlohmann::json config);
void check_vae(Case& c);
[[nodiscard]] StepLoss vae_loss(Case& c, const TrainingCase& training, Model& model);
void check_depth(Case& c);
[[nodiscard]] StepLoss depth_loss_of_steps(Case& c, const TrainingCase& training, Model& model);
void check_detector(Case& c);
[[nodiscard]] StepLoss detector_loss(Case& c, const TrainingCase& training, Model& model);
/// The loss of any task.
[[nodiscard]] StepLoss loss_of_steps(Case& c, const TrainingCase& training, Model& model);

// Files that do not belong to a model family.
void check_dit_diffusion(Case& c);
void check_ops(Case& c);
void check_train(Case& c);
void check_images(Case& c);
void check_measures(Case& c);
void check_boxes(Case& c);
void check_coco_ap(Case& c);

}  // namespace fovea::golden
