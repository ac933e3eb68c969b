// evaluate [CHECKPOINT...]: scores of trained models on images, at one or several sizes.
#include "apps/common/cli.h"
#include "apps/common/launch.h"
#include "apps/tasks/evaluate_request.h"
#include "apps/tasks/tasks.h"
#include "engine/comm/local_device.h"
#include "engine/parallel.h"

namespace fovea::programs {
namespace {

void evaluate_in(Communicator& processes, int argc, char** argv) {
  EvaluateRequest request;
  request.processes = &processes;
  const Fields fields = fields_of(request);
  request.checkpoints = parse_into_fields(
      argc, argv,
      {"evaluate",
       "Evaluates trained models on the images of a data set. Several checkpoints and several\n"
       "sizes (--img-size 224,288) share one table.",
       "run directories, hub folders or weights files (default: the newest under runs/)", fields});
  if (request.checkpoints.empty()) request.checkpoints.emplace_back();
  if (request.threads > 0) set_num_threads(static_cast<int>(request.threads));
  check_request(request);
  std::string& device = request.load.device;
  device = to_string(local_device(parse_device(device), processes));
  const TaskKind task = request.task();
  refuse_flags_of_others(task, fields, &TaskCommands::evaluate_flags);
  commands_of(task).evaluate(request);
}

}  // namespace

int run_evaluate(int argc, char** argv) {
  return run_in_processes(argc, argv, [&](const Launch& launch) {
    evaluate_in(launch.processes, argc, argv);
    return 0;
  });
}

}  // namespace fovea::programs
