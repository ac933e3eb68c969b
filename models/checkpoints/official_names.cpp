// Removing prefixes, choosing the encoder, and translating its names.
#include "models/checkpoints/official_names.h"

#include <algorithm>
#include <array>
#include <map>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "models/checkpoints/encoders.h"
#include "models/checkpoints/mismatch.h"

namespace fovea {
namespace {

constexpr std::string_view kOutermostNames = ".";

std::string tensors_text(std::int64_t count) {
  return std::to_string(count) + (count == 1 ? " tensor" : " tensors");
}

/// "base_encoder." for "module.base_encoder", "module.base_encoder." and "base_encoder".
std::string official_prefix(std::string prefix) {
  if (!prefix.ends_with('.')) prefix += '.';
  return official_name(prefix);
}

/// What `given` has in front of `name`; nothing if it differs otherwise.
std::optional<std::string> front_of(const std::string& given, const std::string& name) {
  if (!given.ends_with(name)) return {};
  return given.substr(0, given.size() - name.size());
}

/// The prefix without its last part: "model." for "model.vit.".
std::string parent_of(std::string prefix) {
  if (!prefix.empty()) prefix.pop_back();
  const std::size_t dot = prefix.rfind('.');
  return dot == std::string::npos ? "" : prefix.substr(0, dot + 1);
}

class Renaming {
 public:
  explicit Renaming(const TensorMap& tensors) {
    for (const auto& [name, tensor] : tensors) {
      const std::string official = official_name(name);
      check(given_.emplace(official, name).second, "weights: ", official,
            " appears twice, with and without a prefix");
      tensors_.emplace(official, tensor);
    }
    find_wrappers();
  }

  OfficialWeights apply(const std::string& prefix) {
    if (!prefix.empty() && prefix != kOutermostNames) keep_under(official_prefix(prefix));
    encoders_ = find_encoders(names());
    if (prefix == kOutermostNames && encoders_.size() > 1) keep_outermost();
    require_one_encoder();
    if (encoders_.empty()) {
      remove(shared_prefix(names()));
    } else {
      take(encoders_.front());
    }
    if (!removed_.empty()) {
      note(concat("all names begin with ", in_quotes(removed_), ", which is removed"));
    }
    if (encoders_.empty()) {
      result_.tensors = std::move(tensors_);
    } else {
      translate(*encoders_.front().translation);
    }
    return std::move(result_);
  }

 private:
  void note(std::string text) { result_.notes.push_back(std::move(text)); }

  /// The names of the weights, without counters.
  NameSet names() const {
    NameSet found;
    for (const auto& [name, tensor] : tensors_) {
      if (!is_counter(tensor)) found.insert(name);
    }
    return found;
  }

  /// Sets removed_ to what wrappers have put in front of all names.
  void find_wrappers() {
    bool wraps = false, same = true;
    std::optional<std::string> front;
    for (const std::string& name : names()) {
      const std::optional<std::string> own = front_of(given_.at(name), name);
      wraps = wraps || given_.at(name) != name;
      same = same && own && *own == front.value_or(*own);
      front = own;
    }
    if (!wraps) return;
    if (same) {
      removed_ = *front;
    } else {
      note("parts of names that wrappers add (module, _orig_mod, ...) are removed");
    }
  }

  void keep_under(const std::string& prefix) {
    const bool some = std::ranges::any_of(
        tensors_, [&](const auto& entry) { return entry.first.starts_with(prefix); });
    if (!some) return;  // the key has selected a dictionary of the file
    std::erase_if(tensors_, [&](const auto& entry) { return !entry.first.starts_with(prefix); });
    rename_by([&](std::string_view name) { return std::string(name.substr(prefix.size())); });
    removed_.clear();  // as asked for
  }

  void keep_outermost() {
    const EncoderPlace outermost{"", nullptr};
    std::erase_if(tensors_,
                  [&](const auto& entry) { return !lies_in(entry.first, outermost, encoders_); });
    std::erase_if(encoders_, [](const EncoderPlace& place) { return !place.prefix.empty(); });
  }

  template <class F>
  void rename_by(const F& new_name) {
    TensorMap tensors;
    std::map<std::string, std::string> given;
    for (const auto& [name, tensor] : tensors_) {
      const std::string ours = new_name(name);
      check(tensors.emplace(ours, tensor).second, "weights: ", ours,
            " appears twice, with and without a prefix");
      given[ours] = given_.at(name);
    }
    tensors_ = std::move(tensors);
    given_ = std::move(given);
  }

  void require_one_encoder() const {
    if (encoders_.size() < 2) return;
    std::vector<std::string> places;
    for (const EncoderPlace& place : encoders_) {
      const std::string anchor(place.translation->anchor);
      std::string given = front_of(given_.at(place.prefix + anchor), anchor).value_or(place.prefix);
      if (!given.empty()) given.pop_back();
      const auto count = std::ranges::count_if(
          tensors_, [&](const auto& entry) { return lies_in(entry.first, place, encoders_); });
      places.push_back(in_quotes(given.empty() ? std::string(kOutermostNames) : given) + " (" +
                       tensors_text(count) + ")");
    }
    fail("contains ", encoders_.size(), " encoders, expected one; --weights-key selects one of ",
         join(places, ", "));
  }

  /// Keeps the encoder and its heads beside it, and takes its prefix off.
  void take(const EncoderPlace& encoder) {
    const std::string &prefix = encoder.prefix, parent = parent_of(prefix);
    if (prefix.empty()) return;
    const auto is_head = [&](std::string_view name) {
      const auto& heads = encoder.translation->outside;
      return name.starts_with(parent) && std::ranges::any_of(heads, [&](std::string_view head) {
               return name.substr(parent.size()).starts_with(head);
             });
    };
    const NameSet all = names();
    const auto is_other = [&](std::string_view name) {
      return !name.starts_with(prefix) && !is_head(name);
    };
    const auto other = std::ranges::find_if(all, is_other);
    if (other == all.end()) {
      const bool has_heads = std::ranges::any_of(all, is_head);
      removed_ += has_heads ? parent : prefix;
    } else {
      const std::string example = given_.at(*other);
      const auto others = std::ranges::count_if(all, is_other);
      std::erase_if(tensors_, [&](const auto& entry) { return is_other(entry.first); });
      note(concat("uses the ", tensors_text(std::ssize(tensors_)), " under ",
                  in_quotes(removed_ + prefix), " and ignores ", tensors_text(others), ", such as ",
                  example));
      removed_.clear();
    }
    rename_by([&](std::string_view name) {
      const std::string& front = name.starts_with(prefix) ? prefix : parent;
      return std::string(name.substr(name.starts_with(front) ? front.size() : 0));
    });
  }

  /// Takes a prefix off all names but counters'.
  void remove(const std::string& prefix) {
    removed_ += prefix;
    rename_by([&](std::string_view name) {
      return std::string(name.substr(name.starts_with(prefix) ? prefix.size() : 0));
    });
  }

  void translate(const Translation& translation) {
    TensorMap ours = renamed(tensors_, translation.names, translation.block_names);
    if (translation.complete != nullptr) translation.complete(ours);
    if (!translation.ours.empty()) {
      note(concat("has the tensor names of ", translation.whose, ", translated to ",
                  translation.ours));
    }
    result_.settings = translation.settings;
    result_.tensors = std::move(ours);
  }

  std::map<std::string, std::string> given_;  ///< names in the file, by current name
  TensorMap tensors_;
  std::vector<EncoderPlace> encoders_;
  std::string removed_;  ///< what is taken off all names
  OfficialWeights result_;
};

}  // namespace

std::string official_name(std::string name) {
  for (const char* wrapper :
       {"_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module."}) {
    const std::string_view part(wrapper);
    for (std::size_t at = name.find(part); at != std::string::npos; at = name.find(part, at)) {
      if (at > 0 && name[at - 1] != '.') {
        at += part.size();
      } else {
        name.erase(at, part.size());
      }
    }
  }
  while (name.starts_with("module.")) name.erase(0, std::string_view("module.").size());
  return name;
}

OfficialWeights official_weights(const TensorMap& tensors, const std::string& prefix) {
  return Renaming(tensors).apply(prefix);
}

bool has_prefix(const std::vector<std::string>& names, const std::string& prefix) {
  const std::string official = official_prefix(prefix);
  return std::ranges::any_of(
      names, [&](const std::string& name) { return official_name(name).starts_with(official); });
}

}  // namespace fovea
