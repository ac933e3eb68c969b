// One golden file while it is being checked: its configuration, its tensors, which of them have
// been looked at, and the comparisons made so far. Private to golden/.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "formats/safetensors.h"
#include "golden/golden.h"
#include "models/model.h"

namespace fovea::golden {

/// Gradients of one case, compared together: their bounds depend on the largest of them.
class GradientSet {
 public:
  /// Our gradient may be undefined: zero. `where` is the tensor's name in the file.
  void add(const std::string& where, const Tensor& ours, const Tensor& reference,
           bool zero_in_theory);
  [[nodiscard]] std::vector<Comparison> compare(Precision precision) const;

 private:
  struct Item {
    std::string name;
    double difference = 0, ours = 0, reference = 0;  ///< norms
    bool zero_in_theory = false;
  };
  std::vector<Item> items_;
  double largest_ = 0;
};

class Case {
 public:
  /// Throws on a file that is no golden file.
  Case(SafetensorsFile file, const Options& options);

  std::string family;
  nlohmann::json config;
  std::set<std::string> zero_grad;
  Options options;
  std::vector<Comparison> results;
  std::map<std::string, Tensor> outputs;  ///< ours, by the names of the file

  [[nodiscard]] bool has(const std::string& name) const { return file_.tensors.contains(name); }
  /// The tensor as the file has it, in f64 or i64; marks it as looked at. Throws when absent.
  [[nodiscard]] Tensor take(const std::string& name);
  /// The same on the device, in `dtype` unless it holds integers.
  [[nodiscard]] Tensor take(const std::string& name, DType dtype);
  /// The names that start with `prefix`, without it.
  [[nodiscard]] std::vector<std::string> names_under(const std::string& prefix) const;

  /// Compares an output (anything but a gradient) with tensor `name` of the file.
  void compare_output(const std::string& name, const Tensor& ours);
  void compare_gradients(const GradientSet& set);

  /// Throws when a tensor was not looked at or nothing was compared.
  void finish() const;

 private:
  SafetensorsFile file_;
  std::set<std::string> taken_;
};

[[nodiscard]] double norm(const Tensor& x);

/// The keys of a golden configuration that describe the loss, taken out of it.
struct LossConfig {
  std::string loss = "ce";
  double smoothing = 0;
  std::string distillation_type = "none";
  double alpha = 0.5, tau = 1;
};
/// Removes the loss keys, and with `distillation` those of DeiT, from `config`.
[[nodiscard]] LossConfig take_loss_config(nlohmann::json& config, bool distillation);
[[nodiscard]] Tensor base_loss(const LossConfig& c, const Tensor& logits, const Tensor& target);

/// Loads param/ and buffer/ into a model built from `config`; all names must match. Pixel
/// permutations come from the file.
[[nodiscard]] std::unique_ptr<Model> load_case_model(Case& c, nlohmann::json config);

// For the families of models (models.cpp).

/// What a forward pass drops by chance, no file can say.
void refuse_dropping(const nlohmann::json& config);
/// The images, as leaves that want a gradient.
[[nodiscard]] Tensor take_images(Case& c);
/// Training mode, with a tap that compares what the file has.
[[nodiscard]] Context training_context(Case& c);
/// Of the parameters, and of the images.
void compare_gradients(Case& c, const Model& model, const Tensor& input);

/// A file of training: the images of every step, [S, B, C, H, W], and the loss.
struct TrainingCase {
  std::int64_t steps = 30;
  LossConfig loss;
  Tensor images;
};
/// Tensor `name` of such a file, in `dtype`: a slice per step, of one of these numbers of axes.
[[nodiscard]] Tensor take_steps(Case& c, const std::string& name, const TrainingCase& training,
                                std::initializer_list<int> ranks, const char* shape, DType dtype);
/// The loss of the model in that step, from the file's images and what else the task takes.
using StepLoss = std::function<Tensor(std::int64_t step, Context& ctx)>;

// What files ask of the models of a task: the table in golden.cpp has a row for each.
void check_classifier(Case& c);
[[nodiscard]] StepLoss classifier_loss(Case& c, const TrainingCase& training, Model& model);
void check_mae(Case& c);
[[nodiscard]] StepLoss mae_loss(Case& c, const TrainingCase& training, Model& model);
/// Of any task.
[[nodiscard]] StepLoss loss_of_steps(Case& c, const TrainingCase& training, Model& model);

// Files that are not of a family of models.
void check_ops(Case& c);
void check_train(Case& c);
void check_images(Case& c);

}  // namespace fovea::golden
