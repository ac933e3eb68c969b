// Checks of files of latents.
#include "data/sources/packed/latent_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/program_call.h"
#include "engine/base/text.h"
#include "engine/formats/safetensors_header.h"

namespace fovea {
namespace {

using nlohmann::json;

const HeaderEntry* find_entry(const SafetensorsHeader& header, const char* name) {
  const auto found = std::find_if(header.entries.begin(), header.entries.end(),
                                  [&](const HeaderEntry& entry) { return entry.name == name; });
  return found == header.entries.end() ? nullptr : &*found;
}

/// The entry of moments; its shape must fit `labels`, which lists the images.
const HeaderEntry& require_moments(const HeaderEntry* entry, const HeaderEntry* labels,
                                   const std::string& context) {
  check(entry != nullptr && labels != nullptr, context, ": lacks the tensor ",
        entry == nullptr ? kMoments : kLatentLabels, ", expected a file of ",
        program_call("encode"));
  check(labels->type == StoredType::i64 && labels->shape.rank() == 1, context, ": its labels are ",
        to_string(labels->type), " ", labels->shape, ", expected I64 [N]");
  const Shape& shape = entry->shape;
  const bool fits = entry->type == StoredType::f32 && shape.rank() == 4 &&
                    shape[0] == labels->shape[0] && shape.numel() > 0 && shape[1] % 2 == 0;
  check(fits, context, ": its ", entry->name, " are ", to_string(entry->type), " ", shape,
        ", expected F32 [N, 2C, h, w] with N = ", labels->shape[0], ", the number of its labels",
        labels->shape[0] == 0 ? ", at least 1" : "");
  return *entry;
}

std::vector<std::string> class_names(const Metadata& metadata, const std::string& context) {
  const json names = parse_json(value_or(metadata, "classes", ""));
  const bool is_list = names.is_array() && std::all_of(names.begin(), names.end(),
                                                       [](const json& n) { return n.is_string(); });
  check(is_list && !names.empty(), context, ": its metadata name no classes, expected a JSON list");
  std::vector<std::string> classes;
  for (const json& name : names) classes.push_back(visible_text(name.get<std::string>()));
  return classes;
}

}  // namespace

LatentFile::LatentFile(const std::filesystem::path& path) : name_(path.string()), file_(path) {
  const OpenedHeader opened = open_header(file_, name_);
  const Metadata& metadata = opened.header.metadata;
  const std::string format = value_or(metadata, "format", "");
  check(format == kLatentFormat, name_, ": its format is ", in_quotes(format), ", expected ",
        in_quotes(kLatentFormat), ", a file of ", program_call("encode"));
  const HeaderEntry* const labels = find_entry(opened.header, kLatentLabels);
  const HeaderEntry& moments = require_moments(find_entry(opened.header, kMoments), labels, name_);
  const HeaderEntry* const flipped = find_entry(opened.header, kFlippedMoments);
  moments_ = opened.data_offset + moments.begin;
  if (flipped != nullptr) {
    static_cast<void>(require_moments(flipped, labels, name_));
    check(flipped->shape == moments.shape, name_, ": its ", kFlippedMoments, " are ",
          flipped->shape, ", expected ", moments.shape, " like its ", kMoments);
    flipped_ = opened.data_offset + flipped->begin;
  }
  const std::optional<LatentSource> source = latent_source(metadata, name_);
  check(source.has_value(), name_, ": its metadata do not name the VAE (vae_hash)");
  info_ = {*source,
           moments.shape[1] / 2,
           {moments.shape[2], moments.shape[3]},
           flipped != nullptr,
           class_names(metadata, name_)};
  labels_.resize(static_cast<std::size_t>(labels->shape[0]));
  file_.read_at(opened.data_offset + labels->begin, std::as_writable_bytes(std::span(labels_)));
  const std::int64_t classes = std::ssize(info_.classes);
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    check(labels_[i] >= 0 && labels_[i] < classes, name_, ": image ", i, " has the label ",
          labels_[i], ", expected 0 to ", classes - 1);
  }
}

void LatentFile::read(std::int64_t index, bool flipped, std::span<float> into) const {
  const auto row = static_cast<std::uint64_t>(info_.moments()) * sizeof(float);
  file_.read_at((flipped ? flipped_ : moments_) + static_cast<std::uint64_t>(index) * row,
                std::as_writable_bytes(into));
}

}  // namespace fovea
