// Buckets of gradients, their parts by process, and what is sent of them.
#include <doctest/doctest.h>

#include <atomic>

#include "engine/profile.h"
#include "engine/random.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/thread_world.h"
#include "train/loop/portions.h"
#include "train/optim/gradients.h"

namespace fovea {
namespace {

/// Parameters of which the first has several blocks, more than buckets leave at a time, with
/// gradients that differ by shard.
struct Fixture {
  Fixture() : store(3, {}) {
    const Scope scope(store);
    for (const auto& [name, shape] : std::map<std::string, Shape>{
             {"a", {100, 1000}}, {"b", {7}}, {"c", {300, 200}}, {"d", {1}}})
      parameters.push_back(scope.param(name, shape, normal(1)));
    for (int i = 0; i < 8; ++i)
      parameters.push_back(scope.param("e" + std::to_string(i), {i + 1}, normal(1)));
  }
  void set_gradient(std::size_t i, std::int64_t shard) const {
    const RandomKey key{static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(shard)};
    parameters[i].set_grad(rand_uniform(parameters[i].shape(), {-1, 1}, key));
  }
  void set_gradients(std::int64_t shard) const {
    for (std::size_t i = 0; i < parameters.size(); ++i) set_gradient(i, shard);
  }

  ParameterStore store;
  std::vector<Tensor> parameters;
};

/// The sums of 8 shards' gradients in this process; `early`: the last shard's are announced.
void add_up(const Fixture& model, GradientBuckets& buckets, const Shards& shards, bool early) {
  buckets.begin();
  for (std::int64_t shard = shards.first; shard + 1 < shards.end; ++shard) {
    model.set_gradients(shard);
    buckets.take(shard);
    model.store.zero_grad();
  }
  if (!early) model.set_gradients(shards.end - 1);
  for (std::size_t i = model.parameters.size(); early && i-- > 0;) {
    model.set_gradient(i, shards.end - 1);
    buckets.complete(model.parameters[i]);
  }
  buckets.take_last();
  model.store.zero_grad();
  buckets.finish();
}

std::vector<std::vector<double>> sums(int processes, std::int64_t bytes, bool early) {
  std::vector<std::vector<double>> found;
  test::in_threads(processes, [&](Communicator& process) {
    const Fixture model;
    const Shards own = shards_of(8, process.rank(), process.size());
    GradientBuckets buckets(model.parameters, process, own, Summing::tree, {}, bytes);
    add_up(model, buckets, own, early);
    if (!process.is_first()) return;
    for (const Tensor& p : model.parameters) found.push_back(p.grad().to_vector());
  });
  return found;
}

constexpr std::int64_t kLarge = 1 << 30, kSmall = 1;
constexpr std::int64_t kElements = 100000 + 7 + 60000 + 1 + 36;

TEST_CASE("sums of gradients depend neither on buckets, nor on processes, nor on when they leave") {
  const auto expected = sums(1, kLarge, false);
  for (const std::int64_t bytes : {kSmall, std::int64_t{300000}, kLarge}) {
    for (const int processes : {1, 2, 3}) {
      for (const bool early : {false, true}) CHECK(sums(processes, bytes, early) == expected);
    }
  }
}

TEST_CASE("each of P processes sends 2 (P - 1) / P of the gradients on average, sharded or not") {
  constexpr std::int64_t gradients = 4 * kElements;  // bytes
  for (const int processes : {2, 4}) {
    for (const bool sharded : {false, true}) {
      std::atomic<std::int64_t> sent = 0;
      test::in_threads(processes, [&](Communicator& process) {
        const Fixture model;
        const Shards own = shards_of(8, process.rank(), process.size());
        const auto divides = [](const Tensor&) { return true; };
        GradientBuckets buckets(model.parameters, process, own, Summing::tree,
                                sharded ? divides : GradientBuckets::Divides{}, 200000);
        add_up(model, buckets, own, true);
        if (sharded) buckets.share_values();
        sent += test::bytes_sent(process);
      });
      // Besides, each process tells the others which of the twelve parameters have a gradient.
      const std::int64_t told = processes * (processes - 1) * (12 + 1) * 8;
      CHECK(sent == 2 * (processes - 1) * gradients + told);
    }
  }
}

TEST_CASE("messages to many processes stay large, and a profile shows when each bucket was sent") {
  CHECK(GradientBuckets::bucket_bytes(2) == 4 << 20);
  CHECK(GradientBuckets::bucket_bytes(1024) == 1024 * (64 << 10));
  const auto buckets_sent = [](std::int64_t bytes) {
    const Profile profile;
    static_cast<void>(sums(2, bytes, true));
    const auto spans = profile.spans();
    return std::count_if(spans.begin(), spans.end(), [](const ProfileSpan& span) {
      return span.name == "bucket" && span.category == "sending";
    });
  };
  CHECK(buckets_sent(kSmall) == 2 * 12);  // processes x buckets
  CHECK(buckets_sent(200000) == 2 * 2);
  CHECK(buckets_sent(0) == 2 * 1);
}

TEST_CASE("a gradient that changes after it was sent is an error") {
  test::in_threads(1, [&](Communicator& process) {
    const Fixture model;
    GradientBuckets buckets(model.parameters, process, {1, 0, 1}, Summing::tree, {}, kSmall);
    buckets.begin();
    model.set_gradients(0);
    buckets.complete(model.parameters.back());
    model.parameters.back().grad().fill_(5);
    CHECK(contains(message_of([&] { buckets.take_last(); }), "that of e7 changed"));
  });
}

/// A fixture's sums, of which each process has its part.
struct Sharded {
  Sharded(Communicator& process, const GradientBuckets::Divides& divides)
      : own(shards_of(8, process.rank(), process.size())),
        buckets(model.parameters, process, own, Summing::tree, divides, kLarge),
        portions(buckets, process) {
    add_up(model, buckets, own, true);
  }

  Fixture model;
  Shards own;
  GradientBuckets buckets;
  Portions portions;
};

TEST_CASE("the parts of all processes are each parameter once, cut between blocks") {
  test::in_threads(3, [&](Communicator& process) {
    const Sharded sharded(process, [](const Tensor&) { return true; });
    std::int64_t mine = 0;
    for (const Tensor& p : sharded.model.parameters) {
      const Cuts cuts = sharded.buckets.cuts_of(p);
      CHECK(cuts.front() == 0);
      CHECK(cuts.back() == p.numel());
      for (const std::int64_t cut : cuts) CHECK((cut % (1 << 15) == 0 || cut == p.numel()));
      CHECK(std::is_sorted(cuts.begin(), cuts.end()));
      mine += sharded.portions.of(p).size();
    }
    CHECK(std::abs(mine - kElements / 3) <= 1 << 15);
  });
}

TEST_CASE("a parameter that may not be divided belongs to one process") {
  test::in_threads(3, [&](Communicator& process) {
    const Sharded sharded(process, [](const Tensor&) { return false; });
    for (const Tensor& p : sharded.model.parameters) {
      const Portion portion = sharded.portions.of(p);
      CHECK((portion.size() == 0 || portion == whole(p)));
    }
  });
}

TEST_CASE("sharded sums have the bits of whole ones, and so has their norm") {
  const auto expected = sums(1, kLarge, false);
  const Fixture whole_model;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Tensor& p = whole_model.parameters[i];
    p.set_grad(from_values(p.shape(), expected[i], p.options()));
  }
  const double squares = gradient_squares(whole_model.store).item();
  for (const int processes : {2, 3, 4}) {
    test::in_threads(processes, [&](Communicator& process) {
      const Sharded sharded(process, [](const Tensor&) { return true; });
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const Portion portion = sharded.portions.of(sharded.model.parameters[i]);
        const std::vector<double> found = sharded.model.parameters[i].grad().to_vector();
        for (std::int64_t j = 0; j < std::ssize(found); ++j) {
          const bool is_mine = j >= portion.begin && j < portion.end;
          if (found[j] != (is_mine ? expected[i][j] : 0)) FAIL("parameter ", i, ", element ", j);
        }
      }
      CHECK(sharded.portions.squares(sharded.model.store).item() == squares);
    });
  }
}

TEST_CASE("processes share the values of their parts, and gather other tensors like them") {
  test::in_threads(3, [&](Communicator& process) {
    const Sharded sharded(process, [](const Tensor&) { return true; });
    const double mine = process.rank() + 1;
    Portions::Tensors parts;
    for (const Parameter& p : sharded.model.store.parameters()) {
      const Portion portion = sharded.portions.of(p.tensor);
      p.tensor.detach().fill_(0);
      part_of(p.tensor, portion).fill_(mine);
      parts["m/" + p.name] = full({portion.size()}, mine, {});
    }
    sharded.buckets.share_values();
    const auto all = sharded.portions.gather(sharded.model.store, parts, 2, true);
    for (const Parameter& p : sharded.model.store.parameters()) {
      const Cuts cuts = sharded.buckets.cuts_of(p.tensor);
      std::vector<double> expected;
      for (std::size_t rank = 0; rank + 1 < cuts.size(); ++rank)
        expected.insert(expected.end(), cuts[rank + 1] - cuts[rank], static_cast<double>(rank + 1));
      CHECK(p.tensor.to_vector() == expected);
      CHECK(all.at("m/" + p.name).to_vector() == expected);
      CHECK(all.at("m/" + p.name).shape() == p.tensor.shape());
    }
    CHECK(sharded.portions.gather(sharded.model.store, parts, 2, false).empty() ==
          !process.is_first());
  });
}

}  // namespace
}  // namespace fovea
