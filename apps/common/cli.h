// Parsing of command lines by lists of fields. Only cli.cpp uses CLI11.
#pragma once

#include <string>
#include <vector>

#include "apps/common/model_list.h"
#include "engine/base/fields.h"

namespace fovea {

struct CommandSpec {
  std::string name;         ///< program name
  std::string description;  ///< first line of --help
  std::string arguments;    ///< positional arguments, e.g. "IMAGE..."; empty: none are allowed
  Fields fields;            ///< flags; their current values are the defaults in --help
  std::vector<OtherSettings> others{};  ///< flags of other programs
  /// Names for --list-models [PATTERN], a flag only if there are any.
  ModelNames models{};
};

struct CommandLine {
  std::vector<Setting> settings;       ///< flags on the command line
  std::vector<std::string> arguments;  ///< positional arguments
};

/// Accepts `_` for `-` in flags. Throws HelpRequest for --help, --version and --list-models, and
/// UsageError for unknown flags, naming the nearest known one if there is any.
[[nodiscard]] CommandLine parse_command_line(int argc, char** argv, const CommandSpec& spec);

/// Parses the command line, stores the values in the variables of spec.fields and returns the
/// positional arguments.
std::vector<std::string> parse_into_fields(int argc, char** argv, const CommandSpec& spec);

}  // namespace fovea
