// Policies: timm's strings, and what is drawn how often.
#include "data/augment/policy.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "tests/data/hash.h"
#include "tests/data/statistics.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

using K = AugmentKind;
using tests::is_share;
using tests::Moments;

template <class Policy>
Policy parsed(const char* text) {
  return std::get<Policy>(parse_augment_policy(text, {}));
}

std::string policy_error(const char* text) {
  return message_of([&] { static_cast<void>(parse_augment_policy(text, {})); });
}

/// Every operation of a policy in a line, as timm would write it.
std::string text_of(std::string_view name) {
  std::ostringstream text;
  for (const auto& sequence : auto_augment_sequences(name)) {
    for (const AugmentOp& op : sequence)
      text << name_of(op.kind) << ' ' << op.probability << ' ' << op.magnitude << ';';
    text << '\n';
  }
  return text.str();
}

std::uint64_t hash_of_text(const std::string& text) {
  return tests::hash_bytes({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

}  // namespace

TEST_CASE("RandAugment's string is read in full") {
  const auto deit = parsed<RandAugment>("rand-m9-mstd0.5-inc1");
  CHECK(deit.magnitude == 9);
  CHECK(deit.settings.magnitude_std == 0.5);
  CHECK(deit.settings.magnitude_max == 10);
  CHECK(deit.layers == 2);
  CHECK(deit.probability == 0.5);
  CHECK(deit.kinds.size() == 15);
  CHECK(deit.kinds[4] == K::posterize_increasing);
  CHECK(deit.weights.empty());

  const auto plain = parsed<RandAugment>("rand");
  CHECK(plain.magnitude == 10);
  CHECK(plain.settings.magnitude_std == 0);
  CHECK(plain.kinds.size() == 15);
  CHECK(plain.kinds[4] == K::posterize);

  const auto full = parsed<RandAugment>("rand-n3-p0.75-mmax20-mstd101-m15-inc0");
  CHECK(full.layers == 3);
  CHECK(full.probability == 0.75);
  CHECK(full.settings.magnitude_max == 20);
  CHECK(std::isinf(full.settings.magnitude_std));
  CHECK(full.magnitude == 15);
  CHECK(full.kinds[4] == K::posterize_increasing);  // any inc, as published recipes' timm

  const auto weighted = parsed<RandAugment>("rand-mstd1-tweights");
  CHECK(weighted.kinds.size() == 15);
  CHECK(weighted.weights[0] == 3);
  CHECK(parsed<RandAugment>("rand-t3a").kinds.size() == 3);
  CHECK(parsed<RandAugment>("rand-m5-t3aw").weights.size() == 14);
}

TEST_CASE("the other policies' strings") {
  const auto mix = parsed<AugMix>("augmix-m5-w4-d2-a0.5-b1");
  CHECK(mix.magnitude == 5);
  CHECK(mix.width == 4);
  CHECK(mix.depth == 2);
  CHECK(mix.alpha == 0.5);
  CHECK(mix.blended);
  CHECK(std::isinf(mix.settings.magnitude_std));
  CHECK(mix.settings.translate_pct == 0.3);
  const auto plain = parsed<AugMix>("augmix");
  CHECK(plain.magnitude == 3);
  CHECK(plain.width == 3);
  CHECK(plain.depth == -1);
  CHECK(!plain.blended);
  CHECK(plain.kinds.size() == 13);
  CHECK(parsed<AugMix>("augmix-mstd0.25").settings.magnitude_std == 0.25);
  CHECK(parsed<AutoAugment>("original-mstd0.5").settings.magnitude_std == 0.5);
  CHECK(parsed<AutoAugment>("3a").sequences.size() == 3);
  CHECK(std::holds_alternative<TrivialAugment>(parse_augment_policy("ta_wide", {})));
  AugmentSettings settings;
  settings.fill = {1, 2, 3};
  const AugmentPolicy policy = parse_augment_policy("v0r", settings);
  CHECK(std::get<AutoAugment>(policy).settings.fill == settings.fill);
}

TEST_CASE("strings that are not understood are refused, naming the part") {
  CHECK(policy_error("rand-m9-mstd0.5-ink1") ==
        "policy rand-m9-mstd0.5-ink1: got the part ink1, expected one of the keys mstd, mmax, m, "
        "n, p, "
        "inc, t");
  CHECK(policy_error("rnd-m9") ==
        "policy rnd-m9: got the policy \"rnd\", expected one of "
        "rand, augmix, ta_wide, original, v0, v0r, 3a, originalr; did you mean rand?");
  CHECK(policy_error("") ==
        "policy : got the policy \"\", expected one of rand, "
        "augmix, ta_wide, original, v0, v0r, 3a, originalr");
  CHECK(policy_error("rand-m") ==
        "policy rand-m: got the part \"m\", expected a key and its value, as in m9");
  CHECK(policy_error("rand--m9") ==
        "policy rand--m9: got the part \"\", expected a key and its value, as in m9");
  CHECK(policy_error("rand-9") ==
        "policy rand-9: got the part \"9\", expected a key and its value, as in m9");
  CHECK(policy_error("rand-m9-m8") == "policy rand-m9-m8: got m twice");
  CHECK(policy_error("rand-m9x") ==
        "policy rand-m9x: got m9x, expected m and a number from 0 to 100");
  CHECK(policy_error("rand-m9.5") == "policy rand-m9.5: got m9.5, expected an integer");
  CHECK(policy_error("rand-p1.5") ==
        "policy rand-p1.5: got p1.5, expected p and a number from 0 to 1");
  CHECK(policy_error("rand-m1e999") ==
        "policy rand-m1e999: got m1e999, expected m and a number from 0 to 100");
  CHECK(policy_error("rand-tweigths") ==
        "policy rand-tweigths: got the set tweigths, expected tweights, t3a or t3aw");
  CHECK(policy_error("rand-n16-tweights") ==
        "policy rand-n16-tweights: got n16, expected at most 15: weighted operations are drawn "
        "without "
        "repetition");
  CHECK(policy_error("original-m9") ==
        "policy original-m9: got the part m9, expected one of the keys mstd");
  CHECK(policy_error("ta_wide-m9") ==
        "policy ta_wide-m9: got the part m9, expected one of the keys (none)");
  CHECK(policy_error(std::string(300, 'r').c_str()).find("300 characters") != std::string::npos);
}

TEST_CASE("the policies of AutoAugment are timm's") {
  // FNV-1a of "Name probability magnitude;" per operation and "\n" per sequence.
  CHECK(hash_of_text(text_of("original")) == 0x7e034933844b89a8);
  CHECK(hash_of_text(text_of("originalr")) == 0xdfa402564bb6ec1c);
  CHECK(hash_of_text(text_of("v0")) == 0xc3eb0951f8b11719);
  CHECK(hash_of_text(text_of("v0r")) == 0x1cdd1ac41ce1fbe9);
  CHECK(text_of("3a") == "Solarize 1 5;\nDesaturate 1 10;\nGaussianBlurRand 1 10;\n");
  CHECK_THROWS_AS((void)auto_augment_sequences("v1"), Error);
}

TEST_CASE("RandAugment draws every operation equally often, and again") {
  const auto rand = parsed<RandAugment>("rand-m9-mstd0.5-inc1");
  Rng rng(1);
  std::map<K, std::int64_t> counts;
  std::int64_t twice = 0;
  constexpr int kImages = 6000;
  for (int i = 0; i < kImages; ++i) {
    const std::vector<K> drawn = rand.draw_kinds(rng);
    REQUIRE(drawn.size() == 2);
    twice += drawn[0] == drawn[1];
    for (const K kind : drawn) ++counts[kind];
  }
  CHECK(counts.size() == 15);
  for (const auto& entry : counts) CHECK(is_share(entry.second, 2 * kImages, 1.0 / 15));
  CHECK(is_share(twice, kImages, 1.0 / 15));
}

TEST_CASE("weighted operations are drawn by weight and never twice") {
  const auto rand = parsed<RandAugment>("rand-n2-tweights");
  Rng rng(2);
  std::int64_t rotated_first = 0, shear_after_rotate = 0;
  constexpr int kImages = 6000;
  for (int i = 0; i < kImages; ++i) {
    const std::vector<K> drawn = rand.draw_kinds(rng);
    REQUIRE(drawn[0] != drawn[1]);
    rotated_first += drawn[0] == K::rotate;
    shear_after_rotate += drawn[0] == K::rotate && drawn[1] == K::shear_x;
  }
  const double all = 3 + 2 + 2 + 1 + 1 + 3 * 0.25 + 7 * 0.05;
  CHECK(is_share(rotated_first, kImages, 3 / all));
  CHECK(is_share(shear_after_rotate, rotated_first, 2 / (all - 3)));
}

TEST_CASE("RandAugment applies each of its operations with its probability") {
  RandAugment rand{.kinds = {K::invert}, .layers = 1, .probability = 0.5, .settings = {}};
  const Image image = tests::sample_image();
  Rng rng(3);
  std::int64_t changed = 0;
  for (int i = 0; i < 2000; ++i) changed += rand({image}, rng).image != image;
  CHECK(is_share(changed, 2000, 0.5));
  rand.layers = 3;  // odd numbers of inversions: half of the cases again, but for all three: 1/8
  rand.probability = 0.25;
  changed = 0;
  for (int i = 0; i < 2000; ++i) changed += rand({image}, rng).image != image;
  CHECK(is_share(changed, 2000, 3 * 0.25 * 0.75 * 0.75 + 0.25 * 0.25 * 0.25));
}

TEST_CASE("AutoAugment takes one of its sequences, all of it") {
  AutoAugment policy;
  policy.sequences = {{{K::invert, 1, 0}},
                      {{K::invert, 1, 0}, {K::invert, 1, 0}},
                      {{K::solarize, 1, 5}},
                      {{K::desaturate, 1, 10}}};
  const Image image = tests::sample_image();
  Rng rng(4);
  std::map<std::uint64_t, std::int64_t> counts;
  for (int i = 0; i < 2000; ++i) ++counts[tests::hash_of(policy({image}, rng).image)];
  CHECK(counts.size() == 4);
  for (const auto& entry : counts) CHECK(is_share(entry.second, 2000, 0.25));
}

TEST_CASE("AugMix mixes chains and image by Dirichlet and Beta weights") {
  Image gray(4, 4);
  std::fill(gray.pixels.begin(), gray.pixels.end(), std::uint8_t{40});
  for (const bool blended : {false, true}) {
    AugMix mix{.kinds = {K::invert}, .depth = 1, .blended = blended, .settings = {}};
    Rng rng(5);
    Moments values;  // 40 + m (215 - 40), m uniform; truncation takes up to 1 a blend
    for (int i = 0; i < 3000; ++i) values.add(mix({gray}, rng).image.pixels[0]);
    CAPTURE(blended);
    CHECK(values.mean() == doctest::Approx(127.5).epsilon(0.025));
    CHECK(values.deviation() == doctest::Approx(175 / std::sqrt(12.0)).epsilon(0.04));
    mix.kinds = {K::identity};
    const int kept = mix({gray}, rng).image.pixels[0];
    CHECK(kept >= 39);
    CHECK(kept <= 40);
  }
}

TEST_CASE("AugMix's chains have one to three operations, or as many as asked for") {
  // Of 1 to 3 inversions two cancel: a third of the chains show the image.
  Image gray(2, 2);
  AugMix mix{.kinds = {K::invert}, .width = 1, .alpha = 1, .settings = {}};
  Rng rng(6);
  std::int64_t black = 0;
  for (int i = 0; i < 3000; ++i) black += mix({gray}, rng).image.pixels[0] == 0;
  CHECK(is_share(black, 3000, 1.0 / 3 + 2.0 / 3 / 255));
  mix.depth = 2;
  for (int i = 0; i < 20; ++i) CHECK(mix({gray}, rng).image.pixels[0] == 0);
}

TEST_CASE("TrivialAugment draws one operation of uniform strength in the wide ranges") {
  Rng rng(7);
  std::map<K, std::int64_t> counts;
  std::map<K, Moments> arguments;
  std::set<double> bits;
  constexpr int kTrials = 14 * 1000;
  for (int i = 0; i < kTrials; ++i) {
    const TrivialAugment::Draw draw = TrivialAugment::draw(rng);
    ++counts[draw.kind];
    arguments[draw.kind].add(draw.argument);
    if (draw.kind == K::posterize) bits.insert(draw.argument);
  }
  CHECK(counts.size() == 14);
  for (const auto& entry : counts) CHECK(is_share(entry.second, kTrials, 1.0 / 14));
  CHECK(arguments[K::rotate].mean() == doctest::Approx(0).epsilon(1).scale(10));
  const double spread = std::sqrt((1 + 1.0 / 30 * 2) / 3);  // of -30/30 .. 30/30, 0 twice
  CHECK(arguments[K::rotate].deviation() == doctest::Approx(135 * spread).epsilon(0.05));
  CHECK(arguments[K::shear_x].deviation() == doctest::Approx(0.99 * spread).epsilon(0.05));
  CHECK(arguments[K::color].mean() == doctest::Approx(1).epsilon(0.06));
  CHECK(arguments[K::solarize].mean() == doctest::Approx(127.5).epsilon(0.06));
  CHECK(bits == std::set<double>{2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("every policy is a function of image and rng, and keeps the size") {
  const Image image = tests::sample_image();
  for (const char* text : {"rand-m9-mstd0.5-inc1", "rand-n3-t3aw", "original", "originalr", "v0",
                           "v0r", "3a", "augmix-m5-w4-d2", "augmix-b1", "ta_wide"}) {
    CAPTURE(text);
    const AugmentPolicy policy = parse_augment_policy(text, {});
    std::set<std::uint64_t> seen;
    for (std::uint64_t stream = 0; stream < 40; ++stream) {
      Rng a(8, stream), b(8, stream);
      const Image first = apply(policy, {image}, a).image;
      CHECK(first == apply(policy, {image}, b).image);
      CHECK(first.height == 11);
      CHECK(first.width == 13);
      seen.insert(tests::hash_of(first));
    }
    CHECK(seen.size() >= (std::string_view(text) == "3a" ? 20 : 10));
  }
}

}  // namespace fovea
