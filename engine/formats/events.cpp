// Wire format of the few protobuf messages that TensorBoard needs:
//   Event   {1: double wall_time, 2: int64 step, 3: string file_version | 5: Summary |
//            7: SessionLog {1: status}}
//   Summary {1: repeated Value {1: tag, 2: float simple_value | 4: Image | 8: TensorProto,
//                               9: SummaryMetadata {1: PluginData {1: plugin_name}}}}
#include "engine/formats/events.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>

#include "engine/base/crc32c.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/formats/protobuf.h"

namespace fovea {
namespace {

ProtoMessage event(std::int64_t step) {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return ProtoMessage().real(1, now.count()).integer(2, step);
}

std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

std::uint32_t big_endian_at(std::string_view bytes, std::size_t offset) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value = (value << 8) | static_cast<unsigned char>(bytes[offset + i]);
  }
  return value;
}

constexpr std::string_view kVersion = "brain.Event:2";
constexpr std::string_view kName = "events.out.tfevents.";

constexpr std::int64_t kNoMoment = 10'000'000'000;  // eleven digits: not written here

/// The latest timestamp in the names of event files, in seconds; 0 if there are none.
std::int64_t latest_seconds(const std::filesystem::path& folder) {
  std::int64_t latest = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kName)) continue;
    const std::string digits =
        name.substr(kName.size(), name.find('.', kName.size()) - kName.size());
    const std::int64_t seconds = parse_integer(digits).value_or(0);
    if (seconds < kNoMoment) latest = std::max(latest, seconds);
  }
  return latest;
}

/// TensorBoard reads files in name order and never goes back, so the new name gets a later second
/// than any existing file. A counter distinguishes two writers of one process.
std::filesystem::path new_path(const std::filesystem::path& folder) {
  static std::atomic<int> count = 0;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0 || host[0] == '\0') host = {"localhost"};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t seconds = std::max<std::int64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(now).count(), latest_seconds(folder) + 1);
  return folder / (std::string(kName) + std::to_string(seconds) + "." + host.data() + "." +
                   std::to_string(::getpid()) + "." + std::to_string(count++));
}

}  // namespace

std::string event_record(std::string_view data) {
  const std::string length = little_endian<std::uint64_t>(data.size());
  std::string record = length + little_endian(masked_crc(length));
  return record.append(data).append(little_endian(masked_crc(data)));
}

EventWriter::EventWriter(const std::filesystem::path& folder)
    : path_(new_path(folder)), file_(path_) {
  write(event(0).bytes(3, kVersion).encoded());
  flush();
}

EventWriter::EventWriter(const std::filesystem::path& folder, std::int64_t step)
    : path_(new_path(folder)), file_(path_) {
  constexpr std::uint64_t kStart = 1;  // SessionLog.SessionStatus
  write(event(step).bytes(3, kVersion).encoded());
  write(event(step).message(7, ProtoMessage().integer(1, kStart)).encoded());
  flush();
}

void EventWriter::write(std::string_view data) { file_.append(event_record(data)); }

void EventWriter::scalar(std::string_view tag, double value, std::int64_t step) {
  summary(ProtoMessage().bytes(1, tag).real(2, static_cast<float>(value)).encoded(), step);
}

void EventWriter::image(std::string_view tag, std::string_view png, std::int64_t step) {
  // Signature (8), IHDR's length and name (8), width (4), height (4), depth (1), colour type (1).
  check(png.size() > 26 && png.starts_with("\x89PNG"), "EventWriter::image: ", tag,
        " is not a PNG file");
  constexpr std::array<std::uint64_t, 7> channels = {1, 0, 3, 3, 2, 0, 4};
  const auto color_type = static_cast<unsigned char>(png[25]);
  check(color_type < channels.size(), "EventWriter::image: ", tag, " has PNG colour type ",
        static_cast<int>(color_type), ", which does not exist");
  const ProtoMessage picture = ProtoMessage()
                                   .integer(1, big_endian_at(png, 20))
                                   .integer(2, big_endian_at(png, 16))
                                   .integer(3, channels[color_type])
                                   .bytes(4, png);
  summary(ProtoMessage().bytes(1, tag).message(4, picture).encoded(), step);
}

void EventWriter::text(std::string_view tag, std::string_view markdown, std::int64_t step) {
  constexpr std::uint64_t kString = 7;  // DT_STRING
  const ProtoMessage one_axis =
      ProtoMessage().message(2, ProtoMessage().integer(1, 1));  // TensorShapeProto: [1]
  const ProtoMessage tensor =
      ProtoMessage().integer(1, kString).message(2, one_axis).bytes(8, markdown);
  const ProtoMessage metadata = ProtoMessage().message(1, ProtoMessage().bytes(1, "text"));
  summary(ProtoMessage().bytes(1, tag).message(8, tensor).message(9, metadata).encoded(), step);
}

void EventWriter::summary(std::string_view value, std::int64_t step) {
  write(event(step).message(5, ProtoMessage().bytes(1, value)).encoded());
}

}  // namespace fovea
