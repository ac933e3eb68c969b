// Options for one invocation of a program: what to do with a run, and which extra files to write.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/fields.h"

namespace fovea {

struct RunRequest {
  std::string output{};       ///< the run's folder; empty: a new one under runs/
  std::string config{};       ///< JSON file of settings
  std::string resume{};       ///< "auto" or a state file
  bool overwrite = false;     ///< start in a folder with weights of a run, but no readable state
  bool verbose = false;       ///< print all settings and their sources
  bool other_images = false;  ///< resume even if the images differ from the recorded ones
  bool eval = false;          ///< evaluate, then exit
  bool use_ema = false;       ///< with eval: evaluate the averaged weights
  bool plan = false;          ///< measure and print the resources that the run needs, then exit
  bool auto_batch = false;
  bool verify_data = false;  ///< check for broken images, then exit
  std::int64_t profile = 0;  ///< number of steps to trace
  bool save_images = false;  ///< write the first batch as a picture
  bool report = true;        ///< write an HTML report at the end
};

/// `request` must outlive the fields.
void add_fields(Fields& fields, RunRequest& request);

}  // namespace fovea
