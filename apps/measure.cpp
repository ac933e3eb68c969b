// measure SAMPLES REFERENCE: how close generated pictures are to real ones, in features of trained
// networks.
#include <exception>
#include <iostream>
#include <utility>

#include "apps/common/cli.h"
#include "apps/common/computing.h"
#include "apps/common/launch.h"
#include "apps/common/progress_line.h"
#include "apps/measure_request.h"
#include "apps/measurement.h"
#include "engine/base/files.h"
#include "engine/base/text.h"
#include "engine/base/wrap.h"
#include "engine/parallel.h"
#include "models/classifier.h"
#include "models/model_as.h"
#include "report/measures/comparison.h"
#include "report/measures/picture_set.h"

namespace fovea::programs {
namespace {

MeasuredSets open_sets(const MeasureRequest& request) {
  MeasuredSets sets{open_picture_set(request.reference, request.data, Split::train), {}, {}};
  if (!request.samples.empty()) {
    sets.samples = open_picture_set(request.samples, request.data, Split::test);
    check(!sets.samples->features, sets.samples->name,
          ": are those of a reference, expected SAMPLES with pictures");
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

MeasuringNetwork open_classifier(const MeasureRequest& request, ProgressLine& line) {
  MeasuringNetwork network;
  network.trained = load_trained(request.load);
  require_classes(*network.trained);
  for (const std::string& notice : network.trained->notices) line.print(note_of(notice));
  network.space = classifier_space(model_as<Classifier>(*network.trained->model),
                                   network.trained->preparation(), network.trained->title(),
                                   network.trained->weights);
  return network;
}

MeasuringNetwork open_inception(const MeasureRequest& request) {
  const Device device = parse_device(request.load.device);
  start_computing(device);
  return {{}, inception_space(request.inception, request.protocol, device)};
}

/// Two statistics files need no network.
int measure_statistics(const MeasuredSets& sets) {
  const MeasureRow row = measure(*sets.samples->statistics, *sets.reference.statistics);
  std::cout << "Frechet distance of the two statistics  " << general_text(row.frechet, 6) << '\n'
            << note_of("the files do not say which network and protocol made them") << '\n';
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

int run_measure(int argc, char** argv) {
  require_one_process();
  MeasureRequest request;
  const std::vector<std::string> arguments = parse_into_fields(
      argc, argv,
      {"measure",
       "Measures generated pictures against real ones: Frechet distance, KID, precision, recall,\n"
       "inception score and the share of samples that show the class asked for; beside them\n"
       "real pictures against real ones, and a Gaussian of pixels.",
       "SAMPLES REFERENCE: folders of pictures, .npz files, or names of data sets",
       fields_of(request)});
  check_arguments(request, arguments);
  if (request.threads > 0) set_num_threads(static_cast<int>(request.threads));
  const MeasuredSets sets = open_sets(request);
  const bool has_network = !request.load.checkpoint.empty() || !request.inception.empty();
  if (!has_network && sets.samples && sets.samples->statistics && sets.reference.statistics) {
    return measure_statistics(sets);
  }
  check_usage(has_network,
              "measure: got no network, expected --features RUN (a classifier that was ",
              "trained on such pictures) or --inception FILE");

  ProgressLine line(1);
  std::vector<FeatureComparison> comparisons;
  std::exception_ptr failure;
  const auto compare = [&](const MeasuringNetwork& network) {
    Measured measured = compare_sets(request, sets, network, line);
    comparisons.push_back(std::move(measured.comparison));
    if (!failure) failure = measured.failure;
  };
  if (!request.load.checkpoint.empty()) compare(open_classifier(request, line));
  if (!request.inception.empty()) compare(open_inception(request));
  line.clear();
  const std::string settings = sets.samples ? sets.samples->settings : "";
  for (const FeatureComparison& comparison : comparisons) {
    if (!comparison.rows.empty()) std::cout << '\n' << comparison_table(comparison, settings);
  }
  std::cout << std::flush;  // the results, whatever happens to the files
  if (!request.json.empty()) {
    write_file_atomically(request.json, comparisons_json(comparisons, settings));
  }
  if (failure) std::rethrow_exception(failure);
  return 0;
}

}  // namespace fovea::programs
