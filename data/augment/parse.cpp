// Parser of timm's policy strings: "rand-m9-mstd0.5-inc1", "original-mstd0.5", "augmix-m5-w4-d2".
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "data/augment/policy.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/names.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

using K = AugmentKind;
constexpr double kUniformStd = 100;  // a larger mstd means a uniform distribution

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The name and the keyed values of a string; every key must be consumed once.
class Parts {
 public:
  explicit Parts(std::string_view text) : text_(text) {
    const std::vector<std::string> pieces = split_text(text, '-');
    name_ = text.substr(0, text.find('-'));
    for (std::size_t i = 1; i < pieces.size(); ++i) add(pieces[i]);
  }

  [[nodiscard]] std::string_view name() const { return name_; }

  /// The value of `key` as a number in [low, high]; empty if the key is absent.
  std::optional<double> number(std::string_view key, double low, double high) {
    const std::optional<std::string> value = text(key);
    if (!value) return {};
    const std::optional<double> result = parse_real(*value);
    check(result && *result >= low && *result <= high, where(), "got ", key, *value, ", expected ",
          key, " and a number from ", low, " to ", high);
    return result;
  }
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t low, std::int64_t high) {
    const auto value = number(key, static_cast<double>(low), static_cast<double>(high));
    if (!value) return {};
    check(*value == std::floor(*value), where(), "got ", key, *value, ", expected an integer");
    return static_cast<std::int64_t>(*value);
  }
  std::optional<std::string> text(std::string_view key) {
    known_.emplace_back(key);
    const auto found = values_.find(key);
    if (found == values_.end()) return {};
    return found->second;
  }

  /// Throws if a key was not consumed.
  void finish() const {
    for (const auto& entry : values_) {
      const bool known = std::ranges::find(known_, entry.first) != known_.end();
      if (known) continue;
      fail(where(), "got the part ", entry.first, entry.second, ", expected one of the keys ",
           known_.empty() ? "(none)" : join(known_, ", "));
    }
  }

  [[nodiscard]] std::string where() const { return "policy " + std::string(text_) + ": "; }

 private:
  /// A key consists of letters; "t" is followed by a name, other keys by a number.
  void add(std::string_view piece) {
    const bool is_set = !piece.empty() && piece.front() == 't';
    const auto digit = std::ranges::find_if(piece, is_digit);
    const auto length = is_set ? std::size_t{1} : static_cast<std::size_t>(digit - piece.begin());
    check(length > 0 && length < piece.size(), where(), "got the part \"", piece,
          "\", expected a key and its value, as in m9");
    const std::string key(piece.substr(0, length)), value(piece.substr(length));
    check(values_.emplace(key, value).second, where(), "got ", key, " twice");
  }

  std::string_view text_, name_;
  std::map<std::string, std::string, std::less<>> values_;
  std::vector<std::string> known_;
};

void read_std(Parts& parts, AugmentSettings& settings) {
  const auto deviation = parts.number("mstd", 0, 1e9);
  if (!deviation) return;
  settings.magnitude_std =
      *deviation > kUniformStd ? std::numeric_limits<double>::infinity() : *deviation;
}

const std::vector<K> kPlain = {K::auto_contrast, K::equalize,        K::invert,         K::rotate,
                               K::posterize,     K::solarize,        K::solarize_add,   K::color,
                               K::contrast,      K::brightness,      K::sharpness,      K::shear_x,
                               K::shear_y,       K::translate_x_rel, K::translate_y_rel};
const std::vector<K> kIncreasing = {K::auto_contrast,
                                    K::equalize,
                                    K::invert,
                                    K::rotate,
                                    K::posterize_increasing,
                                    K::solarize_increasing,
                                    K::solarize_add,
                                    K::color_increasing,
                                    K::contrast_increasing,
                                    K::brightness_increasing,
                                    K::sharpness_increasing,
                                    K::shear_x,
                                    K::shear_y,
                                    K::translate_x_rel,
                                    K::translate_y_rel};
const std::vector<K> kAugMix = {K::auto_contrast,
                                K::color_increasing,
                                K::contrast_increasing,
                                K::brightness_increasing,
                                K::sharpness_increasing,
                                K::equalize,
                                K::rotate,
                                K::posterize_increasing,
                                K::solarize_increasing,
                                K::shear_x,
                                K::shear_y,
                                K::translate_x_rel,
                                K::translate_y_rel};

using Weighted = std::vector<std::pair<K, double>>;
const Weighted kWeights = {{K::rotate, 3},
                           {K::shear_x, 2},
                           {K::shear_y, 2},
                           {K::translate_x_rel, 1},
                           {K::translate_y_rel, 1},
                           {K::color_increasing, 0.25},
                           {K::sharpness_increasing, 0.25},
                           {K::auto_contrast, 0.25},
                           {K::solarize_increasing, 0.05},
                           {K::solarize_add, 0.05},
                           {K::contrast_increasing, 0.05},
                           {K::brightness_increasing, 0.05},
                           {K::equalize, 0.05},
                           {K::posterize_increasing, 0.05},
                           {K::invert, 0.05}};
const Weighted kWeights3a = {{K::solarize_increasing, 6},
                             {K::desaturate, 6},
                             {K::gaussian_blur, 6},
                             {K::rotate, 3},
                             {K::shear_x, 2},
                             {K::shear_y, 2},
                             {K::posterize_increasing, 1},
                             {K::auto_contrast, 1},
                             {K::color_increasing, 1},
                             {K::sharpness_increasing, 1},
                             {K::contrast_increasing, 1},
                             {K::brightness_increasing, 1},
                             {K::equalize, 1},
                             {K::invert, 1}};

void use(RandAugment& rand, const Weighted& weighted) {
  rand.kinds.clear();
  for (const auto& entry : weighted) {
    rand.kinds.push_back(entry.first);
    rand.weights.push_back(entry.second);
  }
}

void choose_set(RandAugment& rand, const std::string& name, const Parts& parts) {
  if (name == "weights") return use(rand, kWeights);
  if (name == "3aw") return use(rand, kWeights3a);
  check(name == "3a", parts.where(), "got the set t", name, ", expected tweights, t3a or t3aw");
  rand.kinds = {K::solarize_increasing, K::desaturate, K::gaussian_blur};
}

RandAugment parse_rand(Parts& parts, AugmentSettings settings) {
  RandAugment rand;
  read_std(parts, settings);
  settings.magnitude_max = static_cast<double>(parts.integer("mmax", 1, 100).value_or(10));
  rand.magnitude = static_cast<double>(parts.integer("m", 0, 100).value_or(10));
  rand.layers = parts.integer("n", 1, 100).value_or(2);
  rand.probability = parts.number("p", 0, 1).value_or(0.5);
  // Any value counts as 1, including inc0, as in the timm version that published recipes used.
  rand.kinds = parts.integer("inc", 0, 1) ? kIncreasing : kPlain;
  if (const auto set = parts.text("t")) choose_set(rand, *set, parts);
  check(rand.weights.empty() || rand.layers <= std::ssize(rand.weights), parts.where(), "got n",
        rand.layers, ", expected at most ", rand.weights.size(),
        ": weighted operations are drawn without repetition");
  rand.settings = settings;
  return rand;
}

AugMix parse_augmix(Parts& parts, AugmentSettings settings) {
  AugMix mix;
  mix.kinds = kAugMix;
  settings.magnitude_std = std::numeric_limits<double>::infinity();
  settings.translate_pct = 0.3;
  read_std(parts, settings);
  mix.magnitude = static_cast<double>(parts.integer("m", 0, 100).value_or(3));
  mix.width = parts.integer("w", 1, 100).value_or(3);
  mix.depth = parts.integer("d", 1, 100).value_or(-1);
  mix.alpha = parts.number("a", 1e-3, 1e3).value_or(1);
  mix.blended = parts.integer("b", 0, 1).value_or(0) != 0;
  mix.settings = settings;
  return mix;
}

AutoAugment parse_auto(Parts& parts, AugmentSettings settings) {
  read_std(parts, settings);
  return {auto_augment_sequences(parts.name()), settings};
}

AugmentPolicy parse(Parts& parts, const AugmentSettings& settings) {
  const std::string_view name = parts.name();
  if (name == "rand") return parse_rand(parts, settings);
  if (name == "augmix") return parse_augmix(parts, settings);
  if (name == "ta_wide") return TrivialAugment{settings};
  const std::vector<std::string> known = {"rand", "augmix", "ta_wide", "original",
                                          "v0",   "v0r",    "3a",      "originalr"};
  check(std::ranges::find(known, name) != known.end(), parts.where(), "got the policy \"", name,
        "\", expected one of ", join(known, ", "), did_you_mean(name, known));
  return parse_auto(parts, settings);
}

}  // namespace

AugmentPolicy parse_augment_policy(std::string_view text, AugmentSettings settings) {
  constexpr std::size_t kLongest = 200;
  check(text.size() <= kLongest, "policy: got ", text.size(), " characters, expected at most ",
        kLongest);
  Parts parts(text);
  AugmentPolicy policy = parse(parts, settings);
  parts.finish();
  return policy;
}

Sample apply(const AugmentPolicy& policy, Sample sample, Rng& rng) {
  return std::visit([&](const auto& p) { return p(std::move(sample), rng); }, policy);
}

}  // namespace fovea
