// TensorBoard event files: records framed by CRC-32C that hold protobuf messages, written by hand.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/files.h"

namespace fovea {

/// One event file in a run directory. Continuing a run writes a new file: TensorBoard joins all
/// files of a directory in the order of their names. Failing writes throw Error.
class EventWriter {
 public:
  /// Makes `folder`/events.out.tfevents.<seconds>.<host>.<process>.<count>, whose name comes after
  /// those that are there.
  explicit EventWriter(const std::filesystem::path& folder);
  /// The same of a run that goes on at `step`: the file begins with a session start there, at which
  /// TensorBoard drops the points of that step and later ones from the files before it (what
  /// PyTorch's purge_step asks for).
  EventWriter(const std::filesystem::path& folder, std::int64_t step);

  void scalar(std::string_view tag, double value, std::int64_t step);
  /// `png` is an encoded PNG file; its header gives the size and the number of channels.
  void image(std::string_view tag, std::string_view png, std::int64_t step);
  /// Shown as Markdown.
  void text(std::string_view tag, std::string_view markdown, std::int64_t step);
  /// Events reach the file here: call it at every log interval and before leaving.
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
