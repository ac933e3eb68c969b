// The header is parsed through SAX events: without recursion, so that nesting cannot overflow the
// stack, and with duplicate names visible.
#include "engine/formats/safetensors_header.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/formats/foreign_file.h"
#include "engine/formats/safetensors.h"

namespace fovea {
namespace {

using nlohmann::json;

/// Collects entries and metadata from the parser's events; rejects anything that the format does
/// not allow.
class HeaderReader : public nlohmann::json_sax<json> {
 public:
  explicit HeaderReader(const std::string& path) : path_(path) {}

  [[nodiscard]] SafetensorsHeader take() { return std::move(header_); }

  bool start_object(std::size_t) override {
    if (level_ == Level::file) return enter(Level::header);
    if (level_ != Level::header) unexpected("an object");
    if (name_ == kMetadata) return enter(Level::metadata);
    seen_fields_.fill(false);
    header_.entries.emplace_back().name = name_;
    return enter(Level::entry);
  }

  bool end_object() override {
    if (level_ == Level::entry) {
      for (std::size_t i = 0; i < kFields.size(); ++i) {
        require(seen_fields_[i], "has no \"", kFields[i], "\"");
      }
    }
    return enter(level_ == Level::header ? Level::file : Level::header);
  }

  bool key(string_t& text) override {
    if (level_ == Level::header) {
      if (!names_.insert(text).second)
        fail(path_, ": the name ", in_quotes(text), " appears twice");
      name_ = text;
    } else if (level_ == Level::metadata) {
      field_ = text;
      require(!header_.metadata.contains(text), "has the key ", in_quotes(text), " twice");
    } else {
      start_field(text);
    }
    return true;
  }

  bool string(string_t& text) override {
    if (level_ == Level::metadata) {
      header_.metadata[field_] = text;
    } else if (level_ == Level::entry && field_ == "dtype") {
      const std::optional<StoredType> found = find_named<StoredType>(text);
      require(found.has_value(), "has dtype ", in_quotes(text), ", which cannot be read");
      entry().type = *found;
    } else {
      unexpected("a string");
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (level_ != Level::entry || field_ == "dtype") unexpected("an array");
    return enter(field_ == "shape" ? Level::shape : Level::offsets);
  }

  bool end_array() override {
    require(level_ == Level::shape || offset_count_ == 2, "has ", offset_count_,
            " data_offsets, expected 2");
    return enter(Level::entry);
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (level_ == Level::shape) {
      require(entry().shape.rank() < Shape::kMaxRank, "has more than ", Shape::kMaxRank, " axes");
      require(value <= std::numeric_limits<std::int64_t>::max(), "has a size of ", value);
      entry().shape.push_back(static_cast<std::int64_t>(value));
    } else if (level_ == Level::offsets) {
      require(offset_count_ < 2, "has more than 2 data_offsets");
      (offset_count_++ == 0 ? entry().begin : entry().end) = value;
    } else {
      unexpected("a number");
    }
    return true;
  }

  bool number_integer(number_integer_t) override { unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override {
    unexpected("a number that is not a 64-bit integer");
  }
  bool null() override {
    if (level_ != Level::header || name_ != kMetadata) unexpected("null");
    return true;  // Python's reader takes it for no metadata
  }
  bool boolean(bool) override { unexpected("true or false"); }
  bool binary(binary_t&) override { unexpected("binary data"); }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    fail(path_, ": the header is not UTF-8 JSON at byte ", position);
  }

 private:
  enum class Level { file, header, metadata, entry, shape, offsets };
  static constexpr std::string_view kMetadata = "__metadata__";
  static constexpr std::array<std::string_view, 3> kFields = {"dtype", "shape", "data_offsets"};

  bool enter(Level level) {
    level_ = level;
    return true;
  }

  void start_field(const std::string& text) {
    const auto* const found = std::ranges::find(kFields, text);
    require(found != kFields.end(), "has the unknown key ", in_quotes(text));
    bool& seen = seen_fields_[static_cast<std::size_t>(found - kFields.begin())];
    require(!std::exchange(seen, true), "has the key ", in_quotes(text), " twice");
    field_ = text;
    offset_count_ = 0;
  }

  /// Like check(), but the message starts with the position, which is formatted on failure only.
  template <class... Parts>
  void require(bool ok, const Parts&... parts) const {
    if (!ok) fail(context(), parts...);
  }

  HeaderEntry& entry() { return header_.entries.back(); }
  [[nodiscard]] std::string context() const {
    if (level_ == Level::file) return path_ + ": the header ";
    return path_ + (name_ == kMetadata ? ": " : ": tensor ") + in_quotes(name_) + " ";
  }
  [[noreturn]] void unexpected(std::string_view what) const {
    const bool has_field = level_ != Level::file && level_ != Level::header;
    fail(context(), "has ", what,
         has_field ? " in " + in_quotes(field_) : std::string(" as its value"),
         ", which the format does not allow");
  }

  const std::string& path_;
  SafetensorsHeader header_;
  Level level_ = Level::file;
  std::set<std::string> names_;
  std::string name_, field_;  ///< latest keys: in the header, and within an entry or the metadata
  std::array<bool, 3> seen_fields_{};
  int offset_count_ = 0;
};

/// numel * size in bytes; the error completes the sentence "tensor x ...".
std::uint64_t data_bytes_of(const HeaderEntry& entry, const std::string& context) {
  // Counts sizes of 0 as 1, because strides must not overflow either.
  std::uint64_t largest = size_of(entry.type);
  std::uint64_t bytes = largest;
  bool overflow = false;
  for (const std::int64_t size : entry.shape) {
    overflow |= __builtin_mul_overflow(
        largest, static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1)), &largest);
    bytes *= static_cast<std::uint64_t>(size);
  }
  check(!overflow && largest <= std::numeric_limits<std::int64_t>::max(), context, "has the shape ",
        entry.shape, ", which needs more bytes than 64 bits can count");
  return bytes;
}

/// Checks that the entries, sorted by offset, cover [0, data_bytes) without gaps or overlaps.
void check_offsets(const SafetensorsHeader& header, std::uint64_t data_bytes,
                   const std::string& path) {
  std::uint64_t covered = 0;
  for (const HeaderEntry& entry : header.entries) {
    const std::string context = path + ": tensor " + in_quotes(entry.name) + " ";
    const std::uint64_t needed = data_bytes_of(entry, context);
    check(entry.begin <= entry.end, context, "ends at ", entry.end, ", before its start at ",
          entry.begin);
    check(entry.end <= data_bytes, context, "ends at byte ", entry.end, " of the data, but only ",
          data_bytes, " bytes follow the header (is the file truncated?)");
    check(entry.end - entry.begin == needed, context, "has ", entry.end - entry.begin,
          " bytes of data, but ", to_string(entry.type), " of shape ", entry.shape, " takes ",
          needed);
    check(entry.begin >= covered, context, "begins at byte ", entry.begin,
          " of the data, inside the previous tensor, which ends at ", covered);
    check(entry.begin == covered, context, "begins at byte ", entry.begin,
          " of the data, but the previous tensor ends at ", covered);
    covered = entry.end;
  }
  check(covered == data_bytes, path, ": ", data_bytes - covered,
        " bytes follow the data of the last tensor");
}

}  // namespace

SafetensorsHeader parse_header(std::string_view json_text, std::uint64_t data_bytes,
                               const std::string& path) {
  check(json_text.starts_with('{'), path, ": the header does not start with '{'");
  HeaderReader reader(path);
  json::sax_parse(json_text, &reader);
  SafetensorsHeader header = reader.take();
  std::ranges::sort(header.entries, [](const HeaderEntry& a, const HeaderEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_offsets(header, data_bytes, path);
  return header;
}

OpenedHeader open_header(const ByteSource& source, const std::string& path) {
  if (!is_safetensors(source)) require_no_foreign_file(source, path);
  check(source.size() >= kHeaderLengthBytes, path, ": got ", source.size(),
        " bytes, a safetensors file has at least ", kHeaderLengthBytes);
  std::uint64_t length = 0;
  source.read_at(0, std::as_writable_bytes(std::span(&length, 1)));
  check(length <= kMaxHeaderBytes, path, ": the header specifies a length of ", length,
        " bytes, expected at most ", kMaxHeaderBytes, " (is this a safetensors file?)");
  const std::uint64_t after_length = source.size() - kHeaderLengthBytes;
  check(length <= after_length, path, ": the header specifies a length of ", length, " bytes, but ",
        after_length, " follow (is the file truncated?)");
  std::string json(length, '\0');
  source.read_at(kHeaderLengthBytes, std::as_writable_bytes(std::span(json)));
  return {parse_header(json, after_length - length, path), kHeaderLengthBytes + length};
}

std::string format_header(const SafetensorsHeader& header, const std::string& path) {
  const auto string = [&](const std::string& text) {
    try {
      return json(text).dump();
    } catch (const json::exception&) {
      fail("cannot write ", path, ": a name or metadata text is not UTF-8: ", in_quotes(text));
    }
  };
  std::string text = "{\"__metadata__\":{";
  std::string_view separator = "";
  for (const auto& [key, value] : header.metadata) {
    text.append(separator).append(string(key)).append(":").append(string(value));
    separator = ",";
  }
  text += '}';
  for (const HeaderEntry& entry : header.entries) {
    text.append(",").append(string(entry.name)).append(":{\"dtype\":\"");
    text.append(to_string(entry.type)).append("\",\"shape\":");
    text.append(json_text(json(std::vector(entry.shape.begin(), entry.shape.end()))));
    text.append(",\"data_offsets\":[").append(std::to_string(entry.begin)).append(",");
    text.append(std::to_string(entry.end)).append("]}");
  }
  text += '}';
  text.resize((text.size() + 7) / 8 * 8, ' ');
  check(text.size() <= kMaxHeaderBytes, "cannot write ", path, ": its header would have ",
        text.size(), " bytes, expected at most ", kMaxHeaderBytes);
  std::string length(kHeaderLengthBytes, '\0');
  for (std::size_t i = 0; i < length.size(); ++i) {
    length[i] = static_cast<char>((text.size() >> (8 * i)) & 0xff);
  }
  return length + text;
}

}  // namespace fovea
