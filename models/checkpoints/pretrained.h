// Weights under the official names (timm's, DeiT's), from safetensors and from files of torch.save,
// and to safetensors, so that files of public hubs load as they are. Position embeddings are
// resized to the model's grid.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/weights_file.h"
#include "models/checkpoints/origin.h"
#include "models/model.h"

namespace fovea {

struct LoadOptions {
  PosResize pos_resize = PosResize::automatic;
  /// Fine-tuning: a head of another shape, or none, keeps its initial values, and so does the norm
  /// of the pooled tokens (fc_norm). The file's decoder (MAE's) and its norm of all tokens, where
  /// the model norms what is pooled, are left out. Of another grid, a table that the model computes
  /// (sin-cos) is resized like a learned one, as MAE's code does: the encoder learned with those.
  bool finetune = false;
  std::optional<std::array<std::int64_t, 2>>
      pos_grid{};             ///< of the weights' tokens, if not asked of them
  std::string weights_key{};  ///< of a file, see read_weights()
  std::string model{};        ///< registry name that the user gives for a file that says none
};

/// What was not simply copied.
struct LoadReport {
  std::vector<std::string> resized;  ///< position tables brought to another grid
  std::vector<std::string> kept;     ///< left at their initial values: heads, computed tables
  std::vector<std::string> notes;    ///< of the weights and their grids, for the user
};

/// A name without what wrappers put before it: "module." and "_orig_mod.".
[[nodiscard]] std::string official_name(std::string name);
/// All parameters and buffers, by name, sharing storage with the model.
[[nodiscard]] TensorMap state_of(const Model& model);
/// {"model": registry name, "config": JSON of every setting}.
[[nodiscard]] Metadata metadata_of(const Model& model);

/// Copies `tensors` into the model: nothing when anything is wrong, and then one Error that lists
/// every missing, unexpected and mis-shaped name (a thousand of each at most). Prefixes "module."
/// and "_orig_mod." are dropped. `origin` says the grids that tables are laid out by; see GridFit
/// for what it leaves open.
LoadReport load_state(Model& model, const TensorMap& tensors, const WeightsOrigin& origin = {},
                      const LoadOptions& options = {});

/// load_state() of a file, or of the one that a folder stands for (see weights_in()). Errors start
/// with its path.
LoadReport load_weights(Model& model, const std::filesystem::path& path,
                        const LoadOptions& options = {});
/// Official names only, with metadata_of() (and `extra` beside it).
void save_model(const std::filesystem::path& path, const Model& model, const Metadata& extra = {});

/// What the user says about the model of a file.
struct ModelRequest {
  std::string name;              ///< registry name; empty: what the file says
  std::int64_t num_classes = 0;  ///< 0: as the file, or the name, has it
  bool norms_pooled = false;     ///< a vit of that name pools all tokens and norms their mean
  std::string settings{};  ///< others, a JSON object whose keys are the configuration's, or empty
  TensorOptions options{};
};
/// A model, with initial values, for the weights of `path`: the one that its metadata describe, as
/// save_model() writes them, or timm's config.json beside it. Throws where nothing says it.
[[nodiscard]] std::unique_ptr<Model> make_model_of(const Metadata& metadata,
                                                   const std::filesystem::path& path,
                                                   const ModelRequest& request);
/// Such a model with its weights. A folder stands for a file as in load_weights(), and
/// `weights_key` is read_weights()'s.
[[nodiscard]] std::unique_ptr<Model> load_model(const std::filesystem::path& path,
                                                TensorOptions options = {},
                                                const std::string& weights_key = {});

}  // namespace fovea
