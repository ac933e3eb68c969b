// Files beside the weights of a run, named by the beginning of their hash.
#include "train/tasks/kept_vae.h"

#include <system_error>

#include "models/checkpoints/weights_folder.h"
#include "train/run/run_paths.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

fs::path kept_name(const std::string& hash) {
  constexpr std::size_t kDigits = 12;
  return "vae-" + hash.substr(0, kDigits) + ".safetensors";
}

fs::path folder_of_vae(const fs::path& vae) {
  std::error_code none;
  return fs::is_directory(vae, none) ? vae : vae.parent_path();
}

/// Whether training replaces the weights.
bool is_of_run(const fs::path& weights) {
  const RunPaths run{weights.parent_path()};
  std::error_code none;
  if (!fs::exists(run.config(), none)) return false;
  for (const char* which : {"best", "last", "best_ema", "last_ema"}) {
    if (weights == run.weights(which)) return true;
  }
  return false;
}

/// Copies a file whose copy must never be there in part.
void copy_whole(const fs::path& from, const fs::path& to, std::error_code& error) {
  const fs::path part = to.string() + ".part";
  fs::copy_file(from, part, fs::copy_options::overwrite_existing, error);
  if (!error) fs::rename(part, to, error);
  std::error_code ignored;
  if (error) fs::remove(part, ignored);
}

}  // namespace

std::string keep_vae(const fs::path& vae, const std::string& hash) {
  std::error_code error;
  const fs::path weights = fs::is_directory(vae, error) ? weights_in(vae) : vae;
  if (!is_of_run(weights)) return {};
  const fs::path kept = weights.parent_path() / kept_name(hash);
  if (fs::exists(kept, error)) return {};
  fs::create_hard_link(weights, kept, error);
  if (error) copy_whole(weights, kept, error);
  return error ? error.message() : "";
}

fs::path vae_with_hash(const fs::path& vae, const std::string& hash) {
  const fs::path kept = folder_of_vae(vae) / kept_name(hash);
  std::error_code none;
  return fs::exists(kept, none) ? kept : vae;
}

}  // namespace fovea
