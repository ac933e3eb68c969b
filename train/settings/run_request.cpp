// Fields for a single invocation of a program; most of them are not saved with the run.
#include "train/settings/run_request.h"

namespace fovea {

void add_fields(Fields& fields, RunRequest& request) {
  FieldGroup(fields, "Data")
      .once("verify-data", &request.verify_data,
            "decode every image once, list broken ones and exit");
  FieldGroup g(fields, "Run");
  g.once("output", &request.output, "run directory (default: a new one under runs/)");
  g.once("verbose", &request.verbose,
         "print all settings and their sources, not only those that differ from the recipe; in "
         "errors, all names of weights that do not fit");
  g.once("config", &request.config, "JSON file of settings; flags override it").other_names = {"c"};
  g.once("resume", &request.resume,
         "auto: resume if --output has a state, else start; or a state file");
  g.once(
      "overwrite", &request.overwrite,
      "start anew in an --output with weights but no readable state of a run, which are removed");
  g.once("accept-other-images", &request.other_images,
         "accept a data set other than the one of the saved state or the teacher-logits");
  g.once("eval", &request.eval, "evaluate the weights and exit");
  g.once("use-ema", &request.use_ema, "with --eval: use the averaged weights");
  g.once("plan", &request.plan, "measure the run's memory and time, print them and exit");
  g.once("auto-batch", &request.auto_batch,
         "use the largest divisor of batch-size that fits in memory and accumulate gradients");
  g.number("profile", &request.profile, "steps to trace op by op to profile.json; 0: none",
           {0, 1000})
      .saved = false;
  g.add("save-images", &request.save_images, "save the first batch as an image, first_batch.png");
  g.add("report", &request.report,
        "at the end, write report.html: curves, errors, mistakes, settings");
}

}  // namespace fovea
