// In an unfinished file, a label says what became of its image. Labels are written after the
// moments have reached the disk, so an image with a label is complete.
#include "data/sources/packed/latent_writer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/autograd.h"
#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "engine/formats/safetensors_header.h"

namespace fovea {
namespace {

using nlohmann::json;

constexpr std::int64_t kMissing = -1, kLeftOut = -2;  // labels of an unfinished file
constexpr std::chrono::seconds kBetweenCommits{5};

Shape moments_shape(const LatentInfo& info, std::int64_t count) {
  return {count, 2 * info.channels, info.size.height, info.size.width};
}

SafetensorsHeader header_of(const LatentInfo& info, std::int64_t count) {
  SafetensorsHeader header;
  std::uint64_t end = 0;
  const auto add = [&](const char* name, StoredType type, const Shape& shape) {
    const std::uint64_t begin = end;
    end += static_cast<std::uint64_t>(shape.numel()) * size_of(type);
    header.entries.push_back({{name, type, shape}, begin, end});
  };
  add(kLatentLabels, StoredType::i64, {count});  // first, so that they stay aligned
  add(kMoments, StoredType::f32, moments_shape(info, count));
  if (info.has_flipped) add(kFlippedMoments, StoredType::f32, moments_shape(info, count));
  header.metadata = info.others;
  header.metadata["format"] = kLatentFormat;
  header.metadata["classes"] = json_text(json(info.classes));
  add_latent_source(header.metadata, info.source);
  return header;
}

std::string_view bytes_of(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.raw()),
          static_cast<std::size_t>(tensor.numel()) * size_of(tensor.dtype())};
}

std::string_view bytes_of(const std::vector<std::int64_t>& labels) {
  return {reinterpret_cast<const char*>(labels.data()), labels.size() * sizeof(std::int64_t)};
}

/// The members of two headers that differ: tensors and keys of the metadata.
std::string difference(const std::string& a, const std::string& b) {
  const auto flat = [](const std::string& header) {
    json members = parse_json(std::string_view(header).substr(kHeaderLengthBytes));
    if (!members.is_object()) return json::object();
    const json metadata = members.value("__metadata__", json::object());
    members.erase("__metadata__");
    members.update(metadata);
    return members;
  };
  const json left = flat(a), right = flat(b);
  std::vector<std::string> names;
  for (const auto& [name, value] : right.items()) {
    if (left.value(name, json()) != value) names.push_back(name);
  }
  for (const auto& [name, value] : left.items()) {
    if (!right.contains(name)) names.push_back(name);
  }
  return visible_text(join(names, ", "));
}

}  // namespace

LatentWriter::LatentWriter(const std::filesystem::path& path, LatentInfo info, std::int64_t count,
                           bool replaces_others)
    : context_(path.string()),
      info_(std::move(info)),
      file_(path, Unfinished::kept),
      count_(count) {
  const SafetensorsHeader header = header_of(info_, count);
  const std::string text = format_header(header, context_);
  labels_at_ = text.size() + header.entries[0].begin;
  moments_at_ = text.size() + header.entries[1].begin;
  flipped_at_ = text.size() + header.entries.back().begin;
  compare_header(text, replaces_others);
  file_.size() < moments_at_ ? begin(text) : continue_kept();
}

void LatentWriter::begin(std::string_view header) {
  file_.truncate(0);
  file_.append(header);
  const std::vector<std::int64_t> labels(static_cast<std::size_t>(count_), kMissing);
  file_.append(bytes_of(labels));
}

LatentWriter::~LatentWriter() {
  try {
    commit();
  } catch (const std::exception&) {  // the images since the last commit are lost
  }
}

/// A killed process may have left a part of a header.
void LatentWriter::compare_header(const std::string& header, bool replaces_others) {
  const InputFile kept(file_.unfinished_path());
  std::uint64_t length = 0;
  if (kept.size() < kHeaderLengthBytes) return;
  kept.read_at(0, std::as_writable_bytes(std::span(&length, 1)));
  length = std::min(length, kept.size() - kHeaderLengthBytes);
  const std::string found = kept.text_at(0, kHeaderLengthBytes + length);
  if (header.starts_with(found)) return;
  if (replaces_others) return file_.truncate(0);
  fail(file_.unfinished_path().string(), ": was begun with other settings (",
       difference(found, header), "); repeat them to continue it; --overwrite begins anew");
}

void LatentWriter::continue_kept() {
  const InputFile kept(file_.unfinished_path());
  std::vector<std::int64_t> labels(static_cast<std::size_t>(count_));
  kept.read_at(labels_at_, std::as_writable_bytes(std::span(labels)));
  const auto end = std::find(labels.begin(), labels.end(), kMissing);
  committed_ = end - labels.begin();
  left_out_ = std::count(labels.begin(), end, kLeftOut);
}

std::uint64_t LatentWriter::row_bytes() const {
  return static_cast<std::uint64_t>(info_.moments()) * sizeof(float);
}

void LatentWriter::write(const Tensor& moments, std::uint64_t start, const char* what) {
  const Shape expected = moments_shape(info_, moments.size(0));
  check(moments.dtype() == DType::f32 && moments.shape() == expected, context_, ": got ", what, " ",
        to_string(moments.dtype()), " ", moments.shape(), ", expected f32 ", expected);
  file_.write_at(start + static_cast<std::uint64_t>(done()) * row_bytes(),
                 bytes_of(moments.detach().to(Device{}).contiguous()));
}

void LatentWriter::add(const Tensor& moments, const Tensor& flipped, const Tensor& labels) {
  const NoGrad no_grad;
  const std::int64_t images = moments.size(0);
  check(done() + images <= count_, context_, ": got ", done() + images, " images, expected ",
        count_);
  check(labels.dtype() == DType::i64 && labels.shape() == Shape{images}, context_,
        ": got labels of shape ", labels.shape(), ", expected i64 ", Shape{images});
  check(flipped.defined() == info_.has_flipped && (!flipped.defined() || flipped.size(0) == images),
        context_, ": got ", kFlippedMoments, " for ", flipped.defined() ? flipped.size(0) : 0,
        " images, expected ", info_.has_flipped ? images : 0);
  const Tensor own = labels.to(Device{}).contiguous();
  const std::int64_t* const values = own.data<std::int64_t>();
  check(std::all_of(values, values + images, [](std::int64_t label) { return label >= 0; }),
        context_, ": got an image without a class");
  write(moments, moments_at_, kMoments);
  if (info_.has_flipped) write(flipped, flipped_at_, kFlippedMoments);
  labels_.insert(labels_.end(), values, values + images);
  if (std::chrono::steady_clock::now() - last_commit_ > kBetweenCommits) commit();
}

void LatentWriter::leave_out(std::int64_t images) {
  check(done() + images <= count_, context_, ": got ", done() + images, " images, expected ",
        count_);
  labels_.insert(labels_.end(), static_cast<std::size_t>(images), kLeftOut);
  left_out_ += images;
}

void LatentWriter::commit() {
  last_commit_ = std::chrono::steady_clock::now();
  if (labels_.empty()) return;
  file_.sync();
  file_.write_at(labels_at_ + static_cast<std::uint64_t>(committed_) * sizeof(std::int64_t),
                 bytes_of(labels_));
  committed_ += std::ssize(labels_);
  labels_.clear();
}

void LatentWriter::finish() {
  check(done() == count_, context_, ": got ", done(), " images, expected ", count_);
  if (left_out_ == count_) {
    file_.truncate(0);  // so that the next call tries them again
    labels_.clear();
    fail(context_, ": none of its ", count_, " images can be read");
  }
  commit();
  left_out_ == 0 ? file_.finish() : write_without_gaps();
}

/// Writes the finished file from the unfinished one.
void LatentWriter::write_without_gaps() {
  const InputFile kept(file_.unfinished_path());
  std::vector<std::int64_t> labels(static_cast<std::size_t>(count_));
  kept.read_at(labels_at_, std::as_writable_bytes(std::span(labels)));
  std::vector<std::int64_t> present = labels;
  std::erase(present, kLeftOut);
  NewFile whole(context_);
  whole.append(format_header(header_of(info_, std::ssize(present)), context_));
  whole.append(bytes_of(present));
  const auto append_rows = [&](std::uint64_t start) {
    for (std::size_t image = 0; image < labels.size(); ++image) {
      if (labels[image] != kLeftOut) {
        whole.append(kept.text_at(start + image * row_bytes(), row_bytes()));
      }
    }
  };
  append_rows(moments_at_);
  if (info_.has_flipped) append_rows(flipped_at_);
  whole.finish();
  file_.truncate(0);  // so that nothing is kept
}

}  // namespace fovea
