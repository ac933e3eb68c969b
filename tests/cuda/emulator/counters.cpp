// Counts the memory requests of a warp as the hardware serves them.
#include "tests/cuda/emulator/counters.h"

#include <algorithm>
#include <set>

namespace fovea::emulate {

Counters& Counters::operator+=(const Counters& other) {
  for (const auto member :
       {&Counters::launches, &Counters::global_requests, &Counters::global_bytes,
        &Counters::vector_bytes, &Counters::sectors, &Counters::block_sectors,
        &Counters::shared_requests, &Counters::wavefronts, &Counters::extra_wavefronts,
        &Counters::mma, &Counters::distinct_sectors, &Counters::mma_tf32,
        &Counters::exponentials}) {
    this->*member += other.*member;
  }
  return *this;
}

bool SectorSet::insert(std::uintptr_t sector) {
  auto bit = pages_[sector / kPage][sector % kPage];
  const bool is_new = !bit;
  bit = true;
  return is_new;
}

void AccessCounter::start_launch() {
  counters_ = {.launches = 1};
  read_.clear();
  written_.clear();
}

void AccessCounter::add_mma(bool is_tf32) {
  ++counters_.mma;
  counters_.mma_tf32 += is_tf32 ? 1 : 0;
}

void AccessCounter::add(unsigned lane, const void* place, const void* address, std::size_t bytes,
                        Target target) {
  Request& request = requests_[{place, turns_[lane][place]++}];
  request.bytes = bytes;
  request.target = target;
  request.addresses[lane] = reinterpret_cast<std::uintptr_t>(address);
}

void AccessCounter::finish_warp() {
  for (const auto& [where, request] : requests_) {
    if (request.target == Target::shared) {
      count_shared(request);
    } else {
      count_global(request);
    }
  }
  requests_.clear();
  for (auto& turns : turns_) turns.clear();
}

void AccessCounter::count_global(const Request& request) {
  constexpr std::uintptr_t kSector = 32;
  std::set<std::uintptr_t> sectors, places;
  for (const auto& [lane, address] : request.addresses) {
    for (std::size_t at = 0; at < request.bytes; at += kSector / 2) {
      sectors.insert((address + at) / kSector);
    }
    sectors.insert((address + request.bytes - 1) / kSector);
    places.insert(address);
  }
  const std::size_t bytes = request.bytes * places.size();
  ++counters_.global_requests;
  counters_.global_bytes += bytes;
  counters_.vector_bytes += request.bytes == 16 ? bytes : 0;
  counters_.sectors += sectors.size();
  SectorSet& touched = request.target == Target::read ? read_ : written_;
  for (const std::uintptr_t sector : sectors) {
    counters_.distinct_sectors += touched.insert(sector) ? 1 : 0;
    counters_.block_sectors +=
        block_[request.target == Target::written].insert(sector).second ? 1 : 0;
  }
}

/// Accesses of 8 bytes are served per half warp, of 16 bytes per quarter warp. In one cycle each
/// bank returns one word, shared by all lanes that request it.
void AccessCounter::count_shared(const Request& request) {
  constexpr std::uintptr_t kBanks = 32, kWord = 4;
  const std::size_t words = std::max<std::size_t>(1, request.bytes / kWord);
  const auto lanes_a_turn = static_cast<unsigned>(kWarpSize / words);
  ++counters_.shared_requests;
  auto lane = request.addresses.begin();
  for (unsigned last = lanes_a_turn; last <= kWarpSize; last += lanes_a_turn) {
    std::array<std::set<std::uintptr_t>, kBanks> wanted;
    std::size_t turns = 0;
    for (; lane != request.addresses.end() && lane->first < last; ++lane) {
      for (std::size_t w = 0; w < words; ++w) {
        const std::uintptr_t word = lane->second / kWord + w;
        wanted[word % kBanks].insert(word);
        turns = std::max(turns, wanted[word % kBanks].size());
      }
    }
    counters_.wavefronts += turns;
    counters_.extra_wavefronts += turns > 1 ? turns - 1 : 0;
  }
}

}  // namespace fovea::emulate
