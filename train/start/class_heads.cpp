// Reordering of the rows of loaded heads by class name.
#include "train/start/class_heads.h"

#include <algorithm>

#include "engine/autograd.h"
#include "engine/base/lists.h"
#include "ops/index.h"

namespace fovea {
namespace {

/// The heads loaded from the file, with one row per class.
std::vector<Parameter> loaded_heads(const Model& model, const LoadReport& report) {
  std::vector<Parameter> heads;
  for (const Parameter& p : model.store().parameters()) {
    const bool kept =
        std::find(report.kept.begin(), report.kept.end(), p.name) != report.kept.end();
    if (has_class_rows(p.role) && !kept) heads.push_back(p);
  }
  return heads;
}

void move_rows(const Tensor& head, std::vector<std::int64_t> rows) {
  const NoGrad no_grad;
  // Rows of no class come last and stay.
  for (std::int64_t row = std::ssize(rows); row < head.size(0); ++row) rows.push_back(row);
  const std::vector<double> numbers(rows.begin(), rows.end());
  const Tensor index = from_values({std::ssize(rows)}, numbers, {DType::i64, {}});
  head.copy_(ops::index_select(head.to(Device{}), 0, index));
}

}  // namespace

TensorMap copies_of_heads(const Model& model) {
  TensorMap copies;
  for (const Parameter& p : model.store().parameters())
    if (has_class_rows(p.role)) copies[p.name] = p.tensor.detach().clone();
  return copies;
}

void match_heads(const HeadOrigin& origin, const std::vector<std::string>& classes,
                 const TensorMap& initial, const Model& model, LoadReport& report,
                 Notices& notices) {
  const std::vector<Parameter> heads = loaded_heads(model, report);
  if (heads.empty()) return;
  const DataClasses own{classes};
  std::optional<ClassMatch> match;
  if (origin.learned.count == std::ssize(classes)) match = find_match(origin.learned, own);
  const bool table = heads.front().role == Role::class_table;
  const std::string head = origin.where + (table ? ": its class embedding " : ": its head ");
  if (!match) {
    notices.add(
        head, "has other classes (", first_few(origin.learned.names), ") than this run (",
        first_few(classes),
        "): ", origin.finetune ? "it is reinitialised" : "it is kept; --finetune reinitialises it");
    if (!origin.finetune) return;
    const NoGrad no_grad;
    for (const Parameter& p : heads) {
      p.tensor.copy_(initial.at(p.name));
      report.kept.push_back(p.name);
    }
  } else if (match->by != MatchedBy::name) {
    const std::string said = match_notice(origin.learned, own, *match);
    if (origin.finetune && !said.empty()) notices.add(head, "is kept: ", said);
  }
  if (!match || match->is_identity()) return;
  notices.add(head, "has this run's classes in another order: its rows are reordered");
  for (const Parameter& p : heads) move_rows(p.tensor, match->labels);
}

}  // namespace fovea
