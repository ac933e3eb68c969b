// Comparing and copying tensors by name.
#include "engine/formats/named_tensors.h"

#include "engine/autograd.h"
#include "engine/base/error.h"
#include "engine/base/text.h"

namespace fovea {

std::vector<std::string> differences(const std::map<std::string, Tensor>& expected,
                                     const std::map<std::string, Tensor>& got,
                                     std::string_view prefix) {
  std::vector<std::string> texts;
  for (const auto& [name, tensor] : expected) {
    if (!name.starts_with(prefix)) continue;
    const auto found = got.find(name);
    if (found == got.end()) {
      texts.push_back(concat("missing ", name, " ", tensor.shape()));
    } else if (found->second.shape() != tensor.shape() || found->second.dtype() != tensor.dtype()) {
      texts.push_back(concat(name, " is ", found->second.dtype(), " ", found->second.shape(),
                             ", expected ", tensor.dtype(), " ", tensor.shape()));
    }
  }
  for (const auto& [name, tensor] : got) {
    if (!name.starts_with(prefix) || expected.contains(name)) continue;
    texts.push_back(concat("unexpected ", name, " ", tensor.shape()));
  }
  return texts;
}

void copy_all(const std::map<std::string, Tensor>& to, const std::map<std::string, Tensor>& from,
              const std::string& where) {
  const std::vector<std::string> texts = differences(to, from);
  check(texts.empty(), where, ": ", texts.size(), texts.size() == 1 ? " tensor" : " tensors",
        " of it ", texts.size() == 1 ? "differs: " : "differ: ", join(texts, "; "));
  const NoGrad no_grad;
  for (const auto& [name, tensor] : to) tensor.copy_(from.at(name));
}

}  // namespace fovea
