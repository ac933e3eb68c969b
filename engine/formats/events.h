// TensorBoard event files: records framed by CRC-32C with hand-written protobuf messages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "engine/base/files.h"

namespace fovea {

/// One event file in a run directory. A resumed run writes a new file: TensorBoard joins all files
/// of a directory in the order of their names. Failing writes throw Error.
class EventWriter {
 public:
  /// Creates `folder`/events.out.tfevents.<seconds>.<host>.<process>.<count>, with a name that
  /// sorts after those of the existing files.
  explicit EventWriter(const std::filesystem::path& folder);
  /// The same for a run that resumes at `step`: the file starts with a session start at that step,
  /// where TensorBoard drops points of this and later steps from earlier files (as with PyTorch's
  /// purge_step).
  EventWriter(const std::filesystem::path& folder, std::int64_t step);

  void scalar(std::string_view tag, double value, std::int64_t step);
  /// `png` is an encoded PNG file; size and channel count are taken from its header.
  void image(std::string_view tag, std::string_view png, std::int64_t step);
  /// Displayed as Markdown.
  void text(std::string_view tag, std::string_view markdown, std::int64_t step);
  /// Writes the events to the file: call it at every log interval and before exit.
  void flush() { file_.flush(); }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  void write(std::string_view data);
  void summary(std::string_view value, std::int64_t step);

  std::filesystem::path path_;
  AppendFile file_;
};

/// u64 length, its masked CRC, the data, its masked CRC; all little-endian.
[[nodiscard]] std::string event_record(std::string_view data);

}  // namespace fovea
