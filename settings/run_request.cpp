// Fields for a single invocation of a program; most of them are not saved with the run.
#include "settings/run_request.h"

namespace fovea {

void add_fields(Fields& fields, RunRequest& request) {
  FieldGroup(fields, "Data")
      .once("verify-data", &request.verify_data,
            "decode every image once, name broken ones and leave");
  FieldGroup g(fields, "Run");
  g.once("output", &request.output, "run directory (default: a new one under runs/)");
  g.once("verbose", &request.verbose,
         "at the start, show every setting, not only what the recipe lacks");
  g.once("config", &request.config, "JSON file of settings; flags override it").other_names = {"c"};
  g.once("resume", &request.resume, "auto: go on where --output has a state; or a state file");
  g.once("accept-other-images", &request.other_images,
         "go on although the data set is another than the saved state's or the teacher-logits'");
  g.once("eval", &request.eval, "evaluate the weights and leave");
  g.once("use-ema", &request.use_ema, "with --eval: the averaged weights");
  g.once("plan", &request.plan, "say what the run needs in memory and time, measured, and leave");
  g.once("auto-batch", &request.auto_batch,
         "the largest batch that fits and divides batch-size; the rest is accumulated");
  g.number("profile", &request.profile, "steps to trace op by op into profile.json; 0: none",
           {0, 1000})
      .saved = false;
  g.add("save-images", &request.save_images, "the first batch as a picture, first_batch.png");
  g.add("report", &request.report,
        "at the end, write report.html: curves, errors, mistakes, settings");
}

}  // namespace fovea
