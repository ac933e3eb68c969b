// Models in turn, notes, progress and tables of `evaluate`.
#include "apps/tasks/evaluation_session.h"

#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "engine/base/json.h"
#include "engine/base/wrap.h"
#include "engine/base/writable.h"

namespace fovea {
namespace {

/// The JSON text of results, with the notes.
std::string with_notes(const std::string& results, const Notices& notes) {
  nlohmann::json all = parse_json(results);
  if (!all.is_object() || notes.texts().empty()) return results;
  all["notes"] = notes.texts();
  return json_text(all, 2) + "\n";
}

}  // namespace

void EvaluationSession::for_each_model(const std::function<void(const LoadedModel&)>& use) {
  const std::vector<std::string> sizes = request_.sizes();
  LoadRequest load = request_.load;
  load.key_is_shared = request_.checkpoints.size() > 1;
  for (const std::string& checkpoint : request_.checkpoints) {
    for (const std::string& size : sizes) {
      load.checkpoint = checkpoint;
      load.img_size = size;
      const LoadedModel trained = load_trained(load);
      trained.model->store().keep_single_copies();
      for (const std::string& notice : trained.notices) note(notice);
      if (request_.data.name.empty() && request_.data_dir.empty() && request_.shape_bias.empty())
        note(trained.run.note);
      use(trained);
    }
  }
}

ClassifierOptions EvaluationSession::options(const LoadedModel& trained, std::int64_t images) {
  ClassifierOptions options = request_.options(trained);
  options.on_batch = [this, images](std::int64_t done) {
    line_.update({.label = "evaluating", .done = done, .total = images, .note = {}});
    return true;
  };
  return options;
}

void EvaluationSession::note(const std::string& text) {
  if (notes_.add_new(text)) line_.print(note_of(text));
}

void EvaluationSession::report(const EvaluationPass& pass, const LoadedModel& trained) {
  pass.require_finite(trained.weights.string() + ": ");
  for (const BrokenImage& image : pass.bad_images) line_.print("broken: " + image.message);
}

std::optional<std::filesystem::path> EvaluationSession::own_folder(const LoadedModel& trained) {
  if (!request_.is_single() || request_.split != "val") return {};
  const std::filesystem::path folder = trained.weights.parent_path();
  try {
    require_writable_folder(folder);
    return folder;
  } catch (const Error& error) {
    note(std::string(error.what()) + "; so no files are written (--output DIR)");
    return {};
  }
}

void EvaluationSession::write(const WriteFiles& files) {
  if (!request_.processes->is_first()) return;
  try {
    for (const std::filesystem::path& file : files()) line_.print("wrote " + file.string());
  } catch (const Error&) {
    if (!failure_) failure_ = std::current_exception();
  }
}

void EvaluationSession::throw_failure() const {
  if (failure_) std::rethrow_exception(failure_);
}

void EvaluationSession::finish(const std::string& table, const std::string& csv,
                               const std::string& json) {
  line_.print("\n" + table);
  const auto write_text = [&](const std::string& file, const std::string& text) {
    write([&] {
      if (file.empty()) return std::vector<std::filesystem::path>{};
      if (request_.is_in_output(file)) make_folder(std::filesystem::path(file).parent_path());
      write_file_atomically(file, text);
      return std::vector<std::filesystem::path>{};
    });
  };
  write_text(request_.csv, csv);
  write_text(request_.json, request_.json.empty() ? "" : with_notes(json, notes_));
}

}  // namespace fovea
