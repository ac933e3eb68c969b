// predict [RUN] IMAGE...: what a trained model sees in pictures: classes, objects or depths.
#include <iostream>

#include "apps/common/cli.h"
#include "apps/common/launch.h"
#include "apps/tasks/tasks.h"
#include "engine/base/wrap.h"
#include "engine/parallel.h"

namespace fovea::programs {
namespace {

/// Takes the run or weights file off the front of the arguments, unless --checkpoint names one.
void take_checkpoint(std::vector<std::string>& arguments, LoadRequest& load) {
  if (!load.checkpoint.empty() || arguments.size() < 2 || !is_checkpoint(arguments[0])) return;
  load.checkpoint = arguments.front();
  arguments.erase(arguments.begin());
}

/// A run's folder alone would be searched for pictures, and has some: its own sheets.
void require_pictures(const std::vector<std::string>& arguments, const LoadRequest& load) {
  check_usage(!arguments.empty(), "predict: name at least one picture, folder or -");
  const bool is_model =
      arguments.size() == 1 && load.checkpoint.empty() && is_checkpoint(arguments.front());
  check_usage(!is_model, "predict: ", arguments.front(),
              " has weights, expected pictures or folders of pictures after it");
}

}  // namespace

int run_predict(int argc, char** argv) {
  require_one_process();
  PredictRequest request;
  const Fields fields = fields_of(request);
  std::vector<std::string> arguments = parse_into_fields(
      argc, argv,
      {"predict",
       "Classifies pictures, finds objects in them and draws their boxes, or measures their "
       "depth.\n"
       "The first of several arguments may be the run directory or weights file. Folders are\n"
       "searched for pictures; - reads a list of files and folders from standard input, separated\n"
       "by newlines or NULs. Broken files are reported and skipped; the exit code is then 1.",
       "FILE, FOLDER or -", fields});
  take_checkpoint(arguments, request.load);
  require_pictures(arguments, request.load);
  if (request.threads > 0) set_num_threads(static_cast<int>(request.threads));
  const PictureList pictures = list_pictures(arguments, std::cin);

  LoadedModel trained = load_trained(request.load);
  trained.model->store().keep_single_copies();
  const TaskKind task = trained.model->info().task;
  refuse_flags_of_others(task, fields, &TaskCommands::predict_flags);
  request.check_outputs(commands_of(task).predicts_folder);
  for (const std::string& notice : trained.notices) std::cerr << note_of(notice, 2) << '\n';
  return commands_of(task).predict(request, trained, pictures);
}

}  // namespace fovea::programs
