// The entries and attributes of a pickle's objects.
#include "engine/formats/torch/pickle.h"

namespace fovea {
namespace {

const std::vector<PickleRef> kNothing;

}  // namespace

const std::vector<PickleRef>& Pickle::entries(PickleRef ref) const {
  const PickleValue& value = at(ref);
  if (value.kind == PickleKind::dict) return value.items;
  const auto found = value.kind == PickleKind::call ? call_entries.find(ref) : call_entries.end();
  return found == call_entries.end() ? kNothing : found->second;
}

const std::vector<PickleRef>& Pickle::attributes(PickleRef ref) const {
  const auto found = states.find(ref);
  if (found == states.end()) return kNothing;
  const PickleValue* state = &at(found->second);
  // With __slots__: (attributes, slots).
  if (state->kind == PickleKind::tuple && state->items.size() == 2) state = &at(state->items[0]);
  return state->kind == PickleKind::dict ? state->items : kNothing;
}

}  // namespace fovea
