// What a program is asked to do with a run, and what to write besides its weights.
#pragma once

#include <cstdint>
#include <string>

#include "base/fields.h"

namespace fovea {

struct RunRequest {
  std::string output{};       ///< the run's folder; empty: a new one under runs/
  std::string config{};       ///< JSON file of settings
  std::string resume{};       ///< "auto" or a state file
  bool verbose = false;       ///< show every setting at the start
  bool other_images = false;  ///< go on though the images are others than a file says
  bool eval = false;          ///< evaluate and leave
  bool use_ema = false;       ///< with eval: the averaged weights
  bool plan = false;          ///< measure, say what the run needs, and leave
  bool auto_batch = false;
  bool verify_data = false;  ///< look for broken images and leave
  std::int64_t profile = 0;  ///< steps to trace
  bool save_images = false;  ///< the first batch as a picture
  bool report = true;        ///< an HTML page at the end
};

/// `request` must live as long as the fields are used.
void add_fields(Fields& fields, RunRequest& request);

}  // namespace fovea
