// The project against the official implementations, and the checker against spoiled files.
#include "tests/parity/golden.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <sstream>

#include "engine/base/temporary_folder.h"
#include "engine/formats/safetensors.h"
#include "ops/arithmetic.h"

using namespace fovea;
namespace fs = std::filesystem;

namespace {

fs::path golden_folder() {
  const char* folder = std::getenv("FOVEA_GOLDEN");
  return folder != nullptr ? folder : "tests/golden";
}

std::string text_of(const golden::Report& report) {
  std::ostringstream out;
  golden::print(out, report);
  return out.str();
}

/// Checks a copy of a golden file after `spoil` changed it.
template <class Spoil>
golden::Report check_spoiled(const Spoil& spoil, const char* name = "vit_nonsquare_p2",
                             golden::Precision precision = golden::Precision::f64) {
  const TemporaryFolder folder;
  const fs::path path = folder / "spoiled.safetensors";
  SafetensorsFile file = read_safetensors(golden_folder() / (std::string(name) + ".safetensors"));
  spoil(file);
  file.metadata["format"] = file.metadata.count("spoil-format") ? "other" : "fovea-golden-1";
  write_safetensors(path, file.tensors, file.metadata);
  return golden::check_file(path, {{}, precision});
}

void replace(std::string& text, const std::string& from, const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("every golden file agrees in every precision") {
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(golden_folder())) {
    if (entry.path().extension() != ".safetensors") continue;
    const std::string name = entry.path().stem().string();
    if (!FOVEA_HAS_JPEG && (name == "image_jpeg" || name == "image_pipeline")) {
      MESSAGE("skipped without libjpeg: " << name);
      continue;
    }
    ++files;
    for (const auto precision :
         {golden::Precision::f64, golden::Precision::f32, golden::Precision::bf16}) {
      const golden::Report report = golden::check_file(entry.path(), {{}, precision});
      INFO(text_of(report));
      CHECK(report.ok());
    }
  }
  CHECK(files >= 28 + 20);
}

TEST_CASE("a file that was not touched passes, and every tensor of it was compared") {
  const golden::Report report = check_spoiled([](SafetensorsFile&) {});
  CHECK(report.ok());
  CHECK(text_of(report).starts_with("ok  "));
  CHECK(report.results.size() == 5 + 1 + 20);  // outputs, grad_input, parameters
}

TEST_CASE("one changed value is found and named") {
  for (const char* name : {"logits", "logits_eval", "loss", "feat/embed", "feat/0", "grad_input",
                           "grad/blocks.0.attn.qkv.weight", "grad/pos_embed"}) {
    const golden::Report report = check_spoiled([name](SafetensorsFile& file) {
      double* value = file.tensors.at(name).data<double>();
      *value = *value * (1 + 1e-6) + 1e-6;
    });
    INFO(name);
    CHECK_FALSE(report.ok());
    CHECK(text_of(report).find(" 1 tensor\n  " + std::string(name) + " ") != std::string::npos);
  }
}

TEST_CASE("NaN on either side never passes") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const char* name : {"logits", "grad/head.weight", "input", "param/head.weight"}) {
    const golden::Report report =
        check_spoiled([&](SafetensorsFile& file) { *file.tensors.at(name).data<double>() = nan; });
    INFO(name);
    CHECK_FALSE(report.ok());
  }
}

TEST_CASE("what the checker does not know is a failure with the reason") {
  const auto reason = [](const auto& spoil) { return check_spoiled(spoil).reason; };
  CHECK(reason([](SafetensorsFile& file) {
          replace(file.metadata["config"], "norm_eps", "norm_epsilon");
        }).find("norm_eps") != std::string::npos);
  CHECK(reason([](SafetensorsFile& file) { file.metadata["family"] = "vitt"; }).find("vit") !=
        std::string::npos);
  CHECK(reason([](SafetensorsFile& file) { file.tensors["feat/7"] = zeros({1}); }) ==
        "tensors without a check: feat/7");
  CHECK(reason([](SafetensorsFile& file) {
          file.tensors["grad/nothing"] = zeros({1});
        }).find("grad/nothing") != std::string::npos);
  CHECK(reason([](SafetensorsFile& file) { file.tensors.erase("input"); }) ==
        "tensor input is missing");
  CHECK(reason([](SafetensorsFile& file) {
          file.tensors.erase("param/head.bias");
        }).find("1 missing: head.bias") != std::string::npos);
  CHECK(reason([](SafetensorsFile& file) { file.metadata["config"] = "{"; }) ==
        "metadata: config is not JSON, or nested too deeply");
  CHECK(reason([](SafetensorsFile& file) {
          file.metadata["config"] =
              R"({"depth": )" + std::string(200000, '[') + std::string(200000, ']') + "}";
        }) == "metadata: config is not JSON, or nested too deeply");
  CHECK(reason([](SafetensorsFile& file) {
          replace(file.metadata["config"], "\"depth\"", "\"drop_path\": 0.1, \"depth\"");
        }).starts_with("config: drop_path: expected 0"));
  CHECK(reason([](SafetensorsFile& file) { file.tensors.erase("target"); }) ==
        "tensor target is missing");
  CHECK(reason([](SafetensorsFile& file) {
          file.tensors["param/pos_embed"] = zeros({1, 5, 16}, {DType::f64, {}});
        }).starts_with("param/pos_embed: got shape [1, 5, 16], expected "));
  CHECK(reason([](SafetensorsFile& file) {
          file.metadata["spoil-format"] = "yes";
        }).find("format") != std::string::npos);
}

TEST_CASE(
    "in f32 a gradient has four times the reference's own error, and the bound of all at least") {
  const auto passes = [](double off, const char* own_errors, golden::Precision precision) {
    const auto spoil = [&](SafetensorsFile& file) {
      Tensor& gradient = file.tensors.at("grad_input");
      gradient = gradient * (1 + off);
      file.metadata["f32_errors"] = own_errors;
    };
    return check_spoiled(spoil, "vit_nonsquare_p2", precision).ok();
  };
  const auto f32 = golden::Precision::f32;
  CHECK(passes(3.9e-3, R"({"grad_input": 1e-3})", f32));
  CHECK_FALSE(passes(4.1e-3, R"({"grad_input": 1e-3})", f32));
  CHECK_FALSE(passes(3.9e-3, R"({"grad/pos_embed": 1e-3})", f32));
  CHECK(passes(1.9e-4, R"({"grad_input": 1e-8})", f32));
  CHECK_FALSE(passes(3.9e-3, R"({"grad_input": 1e-3})", golden::Precision::f64));
}

TEST_CASE(
    "own errors of a reference are numbers, none so large that the bound would mean nothing") {
  const auto reason = [](const char* own_errors) {
    const auto spoil = [&](SafetensorsFile& file) { file.metadata["f32_errors"] = own_errors; };
    return check_spoiled(spoil).reason;
  };
  CHECK(reason("[1e-3]") == "metadata: f32_errors is not a JSON object");
  CHECK(reason(R"({"grad_input": 0.06})") ==
        "metadata: f32_errors: grad_input: got 0.06, expected a number from 0 to 0.05");
  CHECK(reason(R"({"grad_input": "1e-3"})") ==
        "metadata: f32_errors: grad_input: got \"1e-3\", expected a number from 0 to 0.05");
}

TEST_CASE("a name in a file cannot look like another line of the report") {
  const golden::Report report =
      check_spoiled([](SafetensorsFile& file) { file.tensors["feat/7\nok  other"] = zeros({1}); });
  CHECK(text_of(report).ends_with("feat/7?ok  other\n"));
}

TEST_CASE("a permutation that is none, or not what its swaps say, is refused") {
  const auto reason = [](const auto& spoil) {
    return check_spoiled(spoil, "pit_perm_delta").reason;
  };
  CHECK(reason([](SafetensorsFile&) {}).empty());
  const auto other_perm = [](SafetensorsFile& file) {
    std::int64_t* perm = file.tensors.at("perm").data<std::int64_t>();
    perm[0] = perm[1];
  };
  CHECK(reason(other_perm) == "perm: differs from the swaps applied to the identity");
  CHECK(reason([&](SafetensorsFile& file) {
          other_perm(file);
          file.tensors.erase("swaps");
        }).starts_with("perm: does not contain each of 0 to "));
  CHECK(reason([](SafetensorsFile& file) {
          file.tensors["swaps"] = file.tensors.at("swaps").to(DType::f64);
        }).starts_with("swaps: got f64 "));
  CHECK(reason([](SafetensorsFile& file) {
          replace(file.metadata["config"], "\"permute_delta\": 2", "\"permute_delta\": 1");
        }).ends_with(" apart, permute_delta is 1"));
}

TEST_CASE("training cases: betas come as a pair below 1, rates as one number a step") {
  const auto reason = [](const auto& spoil) { return check_spoiled(spoil, "train_adamw").reason; };
  CHECK(reason([](SafetensorsFile& file) {
          replace(file.metadata["config"], "\"betas\": [", "\"beta1\": 0.5, \"betas\": [");
        }) == "train config: key beta1 is unknown; did you mean betas?");
  CHECK(reason([](SafetensorsFile& file) {
          replace(file.metadata["config"], "0.999", "1.0");
        }).starts_with("train config: betas: got ["));
  CHECK(reason([](SafetensorsFile& file) {
          Tensor& lr = file.tensors.at("lr");
          lr = from_values({1, lr.numel()}, lr.to_vector(), {DType::f64, {}});
        }).starts_with("lr: got shape [1, "));
}

TEST_CASE("a file that cannot be read is a failure with the reason") {
  const golden::Report report = golden::check_file("/nowhere/at_all.safetensors", {});
  CHECK_FALSE(report.ok());
  CHECK(text_of(report).starts_with("FAIL at_all "));
}
