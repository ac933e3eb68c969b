// The rows of a comparison one after the other, each with what makes it doubtful.
#include "apps/measurement.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/loading/sampler.h"
#include "data/sources/image_subset.h"
#include "engine/base/json.h"
#include "engine/base/sha256.h"
#include "engine/base/system_memory.h"
#include "engine/base/text.h"
#include "report/measures/features_file.h"
#include "report/measures/pair_blocks.h"
#include "report/measures/picture_watch.h"
#include "report/measures/pixel_gaussian.h"

namespace fovea {
namespace {

/// The number of pictures of a set, of which only statistics may be known; 0: unknown.
std::int64_t count_of(const PictureSet& set) {
  if (set.images) return set.images->size();
  if (set.features) return set.features->count();
  return set.statistics ? set.statistics->count : 0;
}

/// Some pictures of a set, with their stored labels.
class LabelledSubset : public ImageSubset<Dataset> {
 public:
  LabelledSubset(const std::shared_ptr<const Dataset>& whole, std::vector<std::int64_t> pictures)
      : ImageSubset(whole, std::move(pictures), "") {}

  [[nodiscard]] std::int64_t label(std::int64_t index) const override {
    return whole().label(old_index(index));
  }
};

/// Measures the sets in the features of one network.
class Measurement {
 public:
  Measurement(const MeasureRequest& request, const MeasuredSets& sets,
              const MeasuringNetwork& network, ProgressLine& line)
      : request_(request), sets_(sets), network_(network), line_(line) {
    result_.space = network.space->info();
    result_.sha256 = sha256_of_file(result_.space.weights);
    result_.reference = sets.reference.name;
    result_.k = request.k;
    result_.split = request.split;
  }

  Measured run() {
    for (const PictureSet* set : {&sets_.reference, sets_.samples ? &*sets_.samples : nullptr,
                                  sets_.real ? &*sets_.real : nullptr}) {
      if (set == nullptr) continue;
      for (const std::string& text : set->notes) note(text);
    }
    read_reference();  // first, because all other sets are measured against it
    check_saved();
    if (sets_.samples) {
      add_samples();
      add_real();
      add_gaussian();
    }
    const std::exception_ptr failure = save();
    return {std::move(result_), failure};
  }

 private:
  template <class... Parts>
  void note(const Parts&... parts) {
    result_.notes.push_back(concat(parts...));
  }

  void announce(std::int64_t features) {
    if (result_.features > 0) return;
    result_.features = features;
    const auto size = static_cast<std::int64_t>(sizeof(float));
    const std::int64_t bytes = size * sets_.vectors() * features + pair_block_bytes(features);
    const std::int64_t available = available_memory();
    line_.print(concat("features  ", sets_.vectors(), " vectors of ", features, ", ",
                       megabytes_text(bytes), " of memory"));
    check(available == 0 || bytes < available, "features: need ", megabytes_text(bytes),
          " of memory, but only ", megabytes_text(available),
          " are available; measure fewer pictures");
  }

  /// The network's class for each label of a set; empty if labels mean nothing to it.
  std::vector<std::int64_t> classes_of(const PictureSet& set) {
    if (!network_.trained || !set.has_labels) return {};
    const ModelClasses own = network_.trained->classes();
    if (!set.classes.empty()) {
      if (const auto match = find_match(own, {set.classes})) return match->labels;
      note(set.name, ": its classes are not those of ", result_.space.weights,
           ", so no accuracy is measured");
      return {};
    }
    note_labels(set, own.count);
    std::vector<std::int64_t> labels(static_cast<std::size_t>(own.count));
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i);
    return labels;
  }

  /// Notes labels beyond the network's classes, such as those that are counted from 1.
  void note_labels(const PictureSet& set, std::int64_t classes) {
    std::int64_t least = 0, most = 0, beyond = 0;
    for (std::int64_t i = 0; i < set.images->size(); ++i) {
      const std::int64_t label = set.images->label(i);
      least = i == 0 ? label : std::min(least, label);
      most = std::max(most, label);
      beyond += label >= classes ? 1 : 0;
    }
    if (beyond == 0) return;
    note(set.name, ": labels run from ", least, " to ", most, ", expected 0 to ", classes - 1,
         least >= 1 ? "; they seem to be counted from 1, so the accuracy is wrong"
                    : "; pictures with others are left out of the accuracy");
  }

  /// Notes pictures whose transparency is ignored, and sizes that differ from the reference's.
  void note_pictures(const std::string& name, const PictureWatch& watch) {
    if (watch.transparent() > 0) {
      note(name, ": ", watch.transparent(),
           watch.transparent() == 1 ? " picture has" : " pictures have",
           " transparent pixels, whose colours count as if opaque");
    }
    if (&watch == reference_watch_.get()) return;
    const std::string sizes = watch.sizes_text();
    const std::string real = reference_watch_ ? reference_watch_->sizes_text() : sizes;
    if (sizes == real && watch.sizes() == 1) return;
    note(name, ": its pictures are ", sizes, ", the reference's ", real,
         "; crop and resize both as the training did");
  }

  SetFeatures read(const std::string& what, const std::shared_ptr<const Dataset>& images,
                   std::vector<std::int64_t> classes) {
    PassOptions options;
    options.batch_size = request_.batch_size;
    options.workers = static_cast<int>(request_.workers);
    options.split = request_.split;
    options.classes = std::move(classes);
    options.on_features = [&](std::int64_t features) { announce(features); };
    options.on_batch = [&, total = images->size()](std::int64_t done) {
      line_.update({.label = what, .done = done, .total = total, .note = {}});
    };
    return read_features(*network_.space, images, options);
  }

  void read_reference() {
    const PictureSet& set = sets_.reference;
    if (set.statistics) require_same_origin(set.statistics->origin, "statistics");
    if (set.features) {
      require_same_origin(set.features_origin, "features");
      reference_ = *set.features;
      announce(reference_->rows.size(1));
    }
    if (!set.images) return;
    reference_watch_ = std::make_shared<PictureWatch>();
    std::shared_ptr<const Dataset> images = watched(set.images, reference_watch_);
    if (sets_.samples && sets_.samples->images) {
      const ImageSize size = sets_.samples->images->get(0).image.size();
      // The Gaussian is fitted to the pixels that pass by while features are read.
      table_ = std::make_shared<PixelTable>(PixelTable::rows_for(images->size(), size), size);
      images = recorded(images, table_);
    }
    reference_ = read("reference", images, classes_of(set));
    note_pictures(set.name, *reference_watch_);
    if (set.statistics && uses_stored()) {
      note(set.name,
           ": Frechet distances take its stored statistics, which another program's network ",
           "may have made; KID, precision and recall its ", images->size(), " pictures");
    }
  }

  /// Statistics and features that `measure` wrote say what made them.
  void require_same_origin(const std::string& json, const char* what) const {
    const nlohmann::json origin = parse_json(json);
    if (!origin.is_object()) return;
    const auto text = [&](const char* key) {
      return origin.contains(key) && origin[key].is_string() ? origin[key].get<std::string>() : "";
    };
    check(text("sha256") == result_.sha256, sets_.reference.name, ": has ", what,
          " of the weights ", text("weights"), ", sha256 ", text("sha256"), "; ",
          result_.space.weights, " has ", result_.sha256);
    check(text("protocol") == result_.space.protocol, sets_.reference.name, ": has ", what,
          " by the protocol ", text("protocol"), ", expected ", result_.space.protocol);
  }

  /// Whether stored statistics take the place of those of the reference's pictures: they are of
  /// Inception-v3.
  [[nodiscard]] bool uses_stored() const {
    return sets_.reference.statistics && (!reference_ || !result_.space.predicts_classes);
  }

  [[nodiscard]] Reference reference() const {
    const PictureSet& set = sets_.reference;
    if (!reference_) return Reference(*set.statistics);
    Reference known(*reference_);
    if (!uses_stored()) return known;
    known.statistics = &*set.statistics;
    known.spatial = set.spatial_statistics ? &*set.spatial_statistics : nullptr;
    return known;
  }

  void add(const char* kind, const std::string& pictures, const SetFeatures& set,
           const Reference& against) {
    line_.update({.label = std::string("measuring ") + kind, .done = 0, .total = 1, .note = {}});
    MeasureRow row = measure(set, against, request_.k);
    row.kind = kind;
    row.pictures = pictures;
    result_.rows.push_back(std::move(row));
  }

  void add_samples() {
    const PictureSet& set = *sets_.samples;
    if (!set.images) {
      MeasureRow row = measure(*set.statistics, *reference().statistics);
      row.kind = "samples";
      row.pictures = set.name;
      result_.features = set.statistics->features();
      result_.rows.push_back(std::move(row));
      return;
    }
    const auto watch = std::make_shared<PictureWatch>();
    const SetFeatures features = read("samples", watched(set.images, watch), classes_of(set));
    samples_ = features.rows;
    note_pictures(set.name, *watch);
    note_equal(set.name, features);
    add("samples", set.name, features, reference());
    const std::int64_t fewest =
        std::min(features.count(), reference_ ? reference_->count() : features.count());
    if (fewest <= result_.features) {  // the covariance is then singular
      note(fewest, " pictures are not more than the ", result_.features,
           " features: distances come out too large; compare only equal counts");
    }
    if (fewest <= request_.k) {
      note("precision and recall need more than k = ", request_.k, " pictures of each set");
    }
  }

  /// Equal pictures have equal features, so the same picture in both sets shows.
  void note_equal(const std::string& name, const SetFeatures& set) {
    if (!reference_) return;
    const std::int64_t equal = set.rows_also_in(*reference_);
    if (equal == 0) return;
    note(name, ": ", equal, " of ", set.count(),
         " pictures have exactly the features of one of the ", "reference, as equal pictures do");
  }

  /// Real pictures in place of the samples, as many as there are samples if there are enough: the
  /// distance depends on their number.
  void add_real() {
    const std::int64_t samples = count_of(*sets_.samples);
    if (sets_.real && sets_.real->images) return add_real_of(*sets_.real, samples);
    if (!reference_) {
      return note(
          "no row of real pictures: the reference has statistics only; give some with --real");
    }
    if (reference_->count() < 4)
      return note("no row of real pictures: the reference is too small for two halves");
    add_real_halves(samples);
  }

  void add_real_of(const PictureSet& set, std::int64_t samples) {
    std::shared_ptr<const Dataset> images = set.images;
    std::string name = set.name;
    if (samples >= 2 && samples < images->size()) {
      const std::vector<std::int64_t> drawn = drawn_order(images->size());
      name = concat(samples, " pictures drawn at random from the ", images->size(), " of ", name);
      images = std::make_shared<LabelledSubset>(
          images, std::vector<std::int64_t>(drawn.begin(), drawn.begin() + samples));
    }
    const auto watch = std::make_shared<PictureWatch>();
    const SetFeatures real = read("real", watched(images, watch), classes_of(set));
    note_pictures(set.name, *watch);
    note_equal(name, real);
    add("real", name, real, reference());
  }

  void add_real_halves(std::int64_t samples) {
    const std::int64_t all = reference_->count(), half = all / 2;
    const std::int64_t count = samples >= 2 ? std::min(samples, half) : half;
    const std::vector<std::int64_t> order = drawn_order(all);
    const std::span<const std::int64_t> drawn(order);
    SetFeatures some = reference_->subset(drawn.first(static_cast<std::size_t>(count)));
    const SetFeatures rest = reference_->subset(drawn.subspan(static_cast<std::size_t>(count)));
    some.inception_score = reference_->inception_score;
    some.right = reference_->right;
    some.asked = reference_->asked;
    if (const std::int64_t equal = some.rows_also_in(rest); equal > 0) {
      note("real: ", equal, " of its ", count, " pictures have exactly the features of one of the ",
           all - count, " others; equal pictures in the reference lower it");
    }
    add("real",
        concat(count, " pictures of the reference, drawn at random, against the other ",
               all - count),
        some, Reference(rest));
  }

  /// The numbers of a set's pictures in a random order.
  [[nodiscard]] std::vector<std::int64_t> drawn_order(std::int64_t pictures) const {
    return shuffled_order(pictures, static_cast<std::uint64_t>(request_.seed), 0);
  }

  void add_gaussian() {
    if (!table_) {
      return note("no Gaussian of pixels: it needs pictures on both sides");
    }
    const std::int64_t count =
        request_.gaussian_count > 0 ? request_.gaussian_count : sets_.samples->images->size();
    const auto pictures = gaussian_pictures(table_, std::max<std::int64_t>(count, 2),
                                            static_cast<std::uint64_t>(request_.seed));
    add("Gaussian", concat("drawn from a Gaussian of ", table_->rows(), " pictures' pixels"),
        read("Gaussian", pictures, {}), reference());
  }

  /// What made the features, for files.
  [[nodiscard]] std::string origin() const {
    return json_text(nlohmann::ordered_json{{"distance", result_.space.distance},
                                            {"protocol", result_.space.protocol},
                                            {"weights", result_.space.weights},
                                            {"sha256", result_.sha256}});
  }

  /// Throws if the reference has no features to save.
  void check_saved() const {
    if (reference_) return;
    check(request_.save_statistics.empty(), "--save-statistics: ", sets_.reference.name,
          " has statistics already, expected pictures");
    check(request_.save_features.empty(), "--save-features: ", sets_.reference.name,
          " has statistics only, expected pictures");
  }

  /// Returns why a file could not be written: the comparison is not to be lost with it.
  std::exception_ptr save() {
    std::exception_ptr failure;
    const auto attempt = [&](const std::string& file, void (Measurement::*write)()) {
      try {
        if (!file.empty()) (this->*write)();
      } catch (const Error&) {
        failure = std::current_exception();
      }
    };
    attempt(request_.save_statistics, &Measurement::save_statistics);
    attempt(request_.save_features, &Measurement::save_features);
    return failure;
  }

  void save_statistics() {
    FeatureStatistics statistics = reference_->statistics;
    statistics.origin = origin();
    write_statistics(request_.save_statistics, statistics);
    line_.print("wrote " + request_.save_statistics);
  }

  void save_features() {
    write_features(request_.save_features, {sets_.reference.name, origin(), *reference_, samples_});
    line_.print("wrote " + request_.save_features);
  }

  const MeasureRequest& request_;
  const MeasuredSets& sets_;
  const MeasuringNetwork& network_;
  ProgressLine& line_;
  FeatureComparison result_;
  std::optional<SetFeatures> reference_;
  Tensor samples_;                                 ///< their features
  std::shared_ptr<PictureWatch> reference_watch_;  ///< null: its pictures are not read
  std::shared_ptr<PixelTable> table_;
};

}  // namespace

std::int64_t MeasuredSets::vectors() const {
  std::int64_t others = 0;
  for (const std::optional<PictureSet>& set : {samples, real}) {
    if (set && set->images) others = std::max(others, set->images->size());
  }
  return others + (reference.images || reference.features ? count_of(reference) : 0);
}

Measured compare_sets(const MeasureRequest& request, const MeasuredSets& sets,
                      const MeasuringNetwork& network, ProgressLine& line) {
  return Measurement(request, sets, network, line).run();
}

}  // namespace fovea
