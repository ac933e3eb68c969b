// Command lines, made from lists of settings. cli.cpp is the only file that knows CLI11.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"
#include "train/start/resolve.h"

namespace fovea {

struct CommandSpec {
  std::string name;         ///< of the program
  std::string description;  ///< stands first in --help
  std::string arguments;    ///< what stands without a flag, e.g. "IMAGE..."; empty: nothing may
  Fields fields;            ///< flags, and as their values what --help shows as defaults
  std::vector<OtherSettings> others{};  ///< flags that other programs have
  std::vector<std::string> models{};    ///< for --list-models [PATTERN], which it knows if any
};

struct CommandLine {
  std::vector<Setting> settings;       ///< flags that were given
  std::vector<std::string> arguments;  ///< what stands without a flag
};

/// Accepts `_` for `-` in flags. Throws HelpRequest for --help, --version and --list-models, and
/// UsageError, naming the nearest
/// known flag where there is one.
[[nodiscard]] CommandLine parse_command_line(int argc, char** argv, const CommandSpec& spec);

/// The same, and stores the values in the variables of spec.fields; returns the arguments.
std::vector<std::string> parse_into_fields(int argc, char** argv, const CommandSpec& spec);

}  // namespace fovea
