// measure SAMPLES REFERENCE: how close generated pictures are to real ones, in features of trained
// networks.
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/common/cli.h"
#include "apps/common/launch.h"
#include "apps/common/progress_line.h"
#include "apps/measure_request.h"
#include "engine/base/files.h"
#include "engine/base/json.h"
#include "engine/base/sha256.h"
#include "engine/base/system_memory.h"
#include "engine/base/text.h"
#include "engine/formats/safetensors.h"
#include "engine/parallel.h"
#include "models/classifier.h"
#include "models/model_as.h"
#include "report/measures/comparison.h"
#include "report/measures/pair_blocks.h"
#include "report/measures/picture_set.h"
#include "report/measures/pixel_gaussian.h"

namespace fovea::programs {
namespace {

/// The sets of pictures of a call; `real` and `samples` may be missing.
struct Sets {
  PictureSet reference;
  std::optional<PictureSet> samples, real;

  /// Number of vectors that are held at once: the reference's and those of one other set.
  [[nodiscard]] std::int64_t vectors() const {
    std::int64_t others = 0;
    for (const std::optional<PictureSet>& set : {samples, real}) {
      if (set && set->images) others = std::max(others, set->images->size());
    }
    return others + (reference.images ? reference.images->size() : 0);
  }
};

Sets open_sets(const MeasureRequest& request) {
  Sets sets{open_picture_set(request.reference, request.data, Split::train), {}, {}};
  if (!request.samples.empty()) {
    sets.samples = open_picture_set(request.samples, request.data, Split::test);
  }
  std::string real = request.real;
  if (real.empty() && names_dataset(request.reference)) real = request.reference;
  if (!real.empty()) sets.real = open_picture_set(real, request.data, Split::test);
  for (const PictureSet* set : {&sets.reference, sets.samples ? &*sets.samples : nullptr,
                                sets.real ? &*sets.real : nullptr}) {
    if (set == nullptr || !set->images) continue;
    check(set->images->size() >= 2, set->name, ": has ", set->images->size(),
          " picture, expected at least 2");
  }
  return sets;
}

/// A network and the classifier behind it, if it is one.
struct Network {
  std::optional<LoadedModel> trained;
  std::unique_ptr<FeatureSpace> space;
};

Network open_classifier(const MeasureRequest& request, ProgressLine& line) {
  Network network;
  network.trained = load_trained(request.load);
  require_classes(*network.trained);
  for (const std::string& notice : network.trained->notices) line.print("note: " + notice);
  network.space = classifier_space(model_as<Classifier>(*network.trained->model),
                                   network.trained->preparation(), network.trained->title(),
                                   network.trained->weights);
  return network;
}

Network open_inception(const MeasureRequest& request) {
  const Device device = parse_device(request.load.device);
  require_device(device);
  return {{}, inception_space(request.inception, request.protocol, device)};
}

/// Measures the sets in the features of one network.
class Measurement {
 public:
  Measurement(const MeasureRequest& request, const Sets& sets, const Network& network,
              ProgressLine& line)
      : request_(request), sets_(sets), network_(network), line_(line) {
    result_.space = network.space->info();
    result_.sha256 = sha256_of_file(result_.space.weights);
    result_.reference = sets.reference.name;
    result_.k = request.k;
    result_.split = request.split;
  }

  FeatureComparison run() {
    read_reference();  // first, because all other sets are measured against it
    if (sets_.samples) {
      add_samples();
      add_floor();
      add_ceiling();
    }
    if (!request_.save_statistics.empty()) save_statistics();
    if (!request_.save_features.empty()) {
      write_safetensors(request_.save_features, kept_);
      line_.print("wrote " + request_.save_features);
    }
    return std::move(result_);
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
    std::vector<std::int64_t> labels(static_cast<std::size_t>(own.count));
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i);
    return labels;
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
    if (set.statistics) require_same_origin();
    if (!set.images) return;
    std::shared_ptr<const Dataset> images = set.images;
    if (sets_.samples && sets_.samples->images) {
      const ImageSize size = sets_.samples->images->get(0).image.size();
      const ImageSize real = images->get(0).image.size();
      if (!(size == real)) {
        note("the samples' first picture is ", to_string(size), ", the reference's ",
             to_string(real), "; crop and resize the reference as the training did");
      }
      // The Gaussian of the ceiling is fitted to the pixels that pass by while features are read.
      table_ = std::make_shared<PixelTable>(PixelTable::rows_for(images->size(), size), size);
      images = recorded(images, table_);
    }
    reference_ = read("reference", images, classes_of(set));
    if (!request_.save_features.empty()) kept_["reference"] = reference_->rows;
    if (set.statistics && uses_stored()) {
      note(set.name,
           ": Frechet distances take its stored statistics, which another program's network ",
           "may have made; KID, precision and recall its ", images->size(), " pictures");
    }
  }

  /// Statistics that `measure` wrote say what their features are.
  void require_same_origin() const {
    const FeatureStatistics& known = *sets_.reference.statistics;
    const nlohmann::json origin = parse_json(known.origin);
    if (!origin.is_object()) return;
    const auto text = [&](const char* key) {
      return origin.contains(key) && origin[key].is_string() ? origin[key].get<std::string>() : "";
    };
    check(text("sha256") == result_.sha256, sets_.reference.name,
          ": has statistics of the weights ", text("weights"), ", sha256 ", text("sha256"), "; ",
          result_.space.weights, " has ", result_.sha256);
    check(text("protocol") == result_.space.protocol, sets_.reference.name,
          ": has statistics by the protocol ", text("protocol"), ", expected ",
          result_.space.protocol);
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
    const SetFeatures features = read("samples", set.images, classes_of(set));
    if (!request_.save_features.empty()) kept_["samples"] = features.rows;
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

  void add_floor() {
    if (sets_.real && sets_.real->images) {
      const SetFeatures real = read("floor", sets_.real->images, classes_of(*sets_.real));
      return add("floor", sets_.real->name, real, reference());
    }
    if (!reference_) {
      return note("no floor: the reference has statistics only; give real pictures with --real");
    }
    if (reference_->count() < 4) return note("no floor: the reference is too small for two halves");
    const SetFeatures half = reference_->every_second(0), other = reference_->every_second(1);
    SetFeatures with_scores = half;
    with_scores.inception_score = reference_->inception_score;
    with_scores.right = reference_->right;
    with_scores.asked = reference_->asked;
    add("floor", "one half of the reference against the other", with_scores, Reference(other));
  }

  void add_ceiling() {
    if (!table_) {
      return note("no ceiling: a Gaussian of pixels needs pictures on both sides");
    }
    const std::int64_t count =
        request_.ceiling_count > 0 ? request_.ceiling_count : sets_.samples->images->size();
    const auto pictures = gaussian_pictures(table_, std::max<std::int64_t>(count, 2),
                                            static_cast<std::uint64_t>(request_.seed));
    add("ceiling", concat("drawn from a Gaussian of ", table_->rows(), " pictures' pixels"),
        read("ceiling", pictures, {}), reference());
  }

  void save_statistics() {
    check(reference_.has_value(), "--save-statistics: ", sets_.reference.name,
          " has statistics already, expected pictures");
    FeatureStatistics statistics = reference_->statistics;
    statistics.origin = json_text(nlohmann::ordered_json{{"distance", result_.space.distance},
                                                         {"protocol", result_.space.protocol},
                                                         {"weights", result_.space.weights},
                                                         {"sha256", result_.sha256}});
    write_statistics(request_.save_statistics, statistics);
    line_.print("wrote " + request_.save_statistics);
  }

  const MeasureRequest& request_;
  const Sets& sets_;
  const Network& network_;
  ProgressLine& line_;
  FeatureComparison result_;
  std::optional<SetFeatures> reference_;
  std::shared_ptr<PixelTable> table_;
  std::map<std::string, Tensor> kept_;
};

/// Two statistics files need no network.
int measure_statistics(const Sets& sets) {
  const MeasureRow row = measure(*sets.samples->statistics, *sets.reference.statistics);
  std::cout << "Frechet distance of the two statistics  " << general_text(row.frechet, 6) << '\n'
            << "note: the files do not say which network and protocol made them\n";
  return 0;
}

void check_arguments(MeasureRequest& request, const std::vector<std::string>& arguments) {
  const bool saves = !request.save_statistics.empty() || !request.save_features.empty();
  check_usage(arguments.size() == 2 || (arguments.size() == 1 && saves), "measure: got ",
              arguments.size(), arguments.size() == 1 ? " set" : " sets",
              " of pictures, expected SAMPLES and REFERENCE", saves ? ", or one set to save" : "");
  if (arguments.size() == 2) request.samples = arguments.front();
  request.reference = arguments.back();
  check_request(request);
}

}  // namespace

int measure(int argc, char** argv) {
  require_one_process();
  MeasureRequest request;
  const std::vector<std::string> arguments = parse_into_fields(
      argc, argv,
      {"measure",
       "Measures generated pictures against real ones: Frechet distance, KID, precision, recall,\n"
       "inception score and the share of samples that show the class asked for; beside them\n"
       "real against real (floor) and a Gaussian of pixels (ceiling).",
       "SAMPLES REFERENCE: folders of pictures, .npz files, or names of data sets",
       fields_of(request)});
  check_arguments(request, arguments);
  if (request.threads > 0) set_num_threads(static_cast<int>(request.threads));
  const Sets sets = open_sets(request);
  const bool has_network = !request.load.checkpoint.empty() || !request.inception.empty();
  if (!has_network && sets.samples && sets.samples->statistics && sets.reference.statistics) {
    return measure_statistics(sets);
  }
  check_usage(has_network,
              "measure: got no network, expected --features RUN (a classifier that was ",
              "trained on such pictures) or --inception FILE");

  ProgressLine line(1);
  std::vector<FeatureComparison> comparisons;
  const auto compare = [&](const Network& network) {
    comparisons.push_back(Measurement(request, sets, network, line).run());
  };
  if (!request.load.checkpoint.empty()) compare(open_classifier(request, line));
  if (!request.inception.empty()) compare(open_inception(request));
  line.clear();
  const std::string settings = sets.samples ? sets.samples->settings : "";
  for (const FeatureComparison& comparison : comparisons) {
    if (!comparison.rows.empty()) std::cout << '\n' << comparison_table(comparison, settings);
  }
  if (!request.json.empty()) {
    write_file_atomically(request.json, comparisons_json(comparisons, settings));
  }
  return 0;
}

}  // namespace fovea::programs
