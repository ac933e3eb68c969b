// The work of `encode` in one process and in several: the same file, also after a stop.
#include "apps/encoding.h"

#include <doctest/doctest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "apps/common/signals.h"
#include "engine/base/files.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "tests/support/drawn_images.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/thread_world.h"

namespace fovea {
namespace {

LoadedVae tiny_vae() {
  return {.model = model_as<Vae>(make_model("vae_f4",
                                            {{"block_out_channels", {4, 8}},
                                             {"layers_per_block", 1},
                                             {"norm_num_groups", 2},
                                             {"scaling_factor", 0.5},
                                             {"img_size", 8}},
                                            4)),
          .weights = "vae.safetensors"};
}

EncodeRequest request_to(const std::filesystem::path& output) {
  EncodeRequest request;
  request.output = output.string();
  request.batch_size = 2;
  request.workers = 0;
  request.on_bad_image = "skip";
  return request;
}

/// Encodes on `size` processes. Returns whether the file is complete.
bool encode_on(int size, const std::filesystem::path& output,
               const std::shared_ptr<const Dataset>& images) {
  const SignalRequest request;
  bool is_complete = false;
  test::in_threads(size, [&](Communicator& processes) {
    const bool is_done = encode_images(request_to(output), tiny_vae(), images, processes);
    if (processes.is_first()) is_complete = is_done;
  });
  return is_complete;
}

}  // namespace

TEST_CASE("any number of processes writes the file of one, broken images left out") {
  const TemporaryFolder folder;
  const auto images = std::make_shared<test::DrawnImages>(11, std::set<std::int64_t>{0, 5, 6});
  REQUIRE(encode_on(1, folder / "1", images));
  const std::string expected = read_file(folder / "1");
  for (const int size : {2, 3, 12}) {
    CAPTURE(size);
    REQUIRE(encode_on(size, folder / "several", images));
    CHECK(read_file(folder / "several") == expected);
    std::filesystem::remove(folder / "several");
  }
}

TEST_CASE("a signal at one process stops all, and another number of processes continues") {
  const TemporaryFolder folder;
  REQUIRE(encode_on(1, folder / "1", std::make_shared<test::DrawnImages>(11)));
  const auto stopped = std::make_shared<test::DrawnImages>(11, std::set<std::int64_t>{}, 3);
  CHECK_FALSE(encode_on(2, folder / "several", stopped));
  CHECK(std::filesystem::exists(folder / "several.partial"));
  REQUIRE(encode_on(3, folder / "several", std::make_shared<test::DrawnImages>(11)));
  CHECK(read_file(folder / "several") == read_file(folder / "1"));
}

TEST_CASE("a signal while the last images are encoded does not stop a file that is complete") {
  const TemporaryFolder folder;
  const auto images = std::make_shared<test::DrawnImages>(4, std::set<std::int64_t>{}, 3);
  CHECK(encode_on(1, folder / "whole", images));
  CHECK(std::filesystem::exists(folder / "whole"));
}

}  // namespace fovea
