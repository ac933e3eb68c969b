// Building, folding and printing a model's tree of modules.
#include "models/summary.h"

#include <algorithm>
#include <cctype>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <ostream>

#include "engine/autograd.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "engine/base/wrap.h"
#include "engine/graph_dump.h"
#include "models/layers/position_attention.h"
#include "ops/reduce.h"

namespace fovea {
namespace {

template <class T>
std::string text_of(const T& value) {
  return concat(value);
}

/// True for a matrix product of tokens with tokens. Model::costs() labels products without
/// parameters by their ops.
bool is_attention(const ModuleCost& cost) {
  const std::string_view path = cost.path;
  return path.ends_with("softmax(q k^T) v") || path.ends_with("matmul");
}

/// The child of that name, created if missing.
SummaryNode& child_of(SummaryNode& parent, const std::string& name) {
  for (SummaryNode& child : parent.children) {
    if (child.name == name) return child;
  }
  parent.children.push_back({});
  parent.children.back().name = name;
  return parent.children.back();
}

/// Adds to each node along "blocks.0.attn.qkv" and returns the last one.
template <class Add>
SummaryNode& visit(SummaryNode& root, std::string_view path, const Add& add) {
  SummaryNode* node = &root;
  add(*node);
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    node = &child_of(*node, std::string(path.substr(0, dot)));
    add(*node);
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return *node;
}

bool same_content(const SummaryNode& a, const SummaryNode& b) {
  return a.shape == b.shape && a.parameters == b.parameters && a.fixed == b.fixed &&
         a.multiply_adds == b.multiply_adds && a.children.size() == b.children.size() &&
         std::equal(a.children.begin(), a.children.end(), b.children.begin(),
                    [](const SummaryNode& x, const SummaryNode& y) {
                      return x.name == y.name && same_content(x, y);
                    });
}

/// Folds equal numbered neighbours into one node named "0 to 11".
void fold(SummaryNode& node) {
  std::vector<SummaryNode> folded;
  for (std::size_t i = 0; i < node.children.size();) {
    std::size_t end = i + 1;
    const bool numbered = std::isdigit(static_cast<unsigned char>(node.children[i].name[0])) != 0;
    while (numbered && end < node.children.size() &&
           same_content(node.children[i], node.children[end])) {
      ++end;
    }
    SummaryNode one = node.children[i];
    one.repeats = static_cast<std::int64_t>(end - i);
    if (one.repeats > 1) one.name += " to " + node.children[end - 1].name;
    fold(one);
    folded.push_back(std::move(one));
    i = end;
  }
  node.children = std::move(folded);
}

struct SummaryRow {
  std::string tree, shape, parameters, multiply_adds;
};

/// Formats 1234567 as 1,234,567.
std::string grouped(std::int64_t n) {
  std::string digits = std::to_string(n);
  for (std::int64_t i = std::ssize(digits) - 3; i > 0; i -= 3) {
    digits.insert(static_cast<std::size_t>(i), ",");
  }
  return digits;
}

std::string multiply_adds_text(std::int64_t n) {
  if (n == 0) return "";
  return fixed_text(static_cast<double>(n) * 1e-6, 2) + " M";
}

/// Prints multiply-adds, with and without the attention products.
void print_costs(std::ostream& out, const SummaryNode& root) {
  out << "multiply-adds " << grouped(root.multiply_adds) << " per image ("
      << multiply_adds_text(2 * root.multiply_adds) << "FLOP)\n";
  if (root.attention == 0) return;
  const std::int64_t others = root.multiply_adds - root.attention;
  out << "              " << grouped(others) << " (" << multiply_adds_text(2 * others)
      << "FLOP) without q k^T and A v,\n              as in the PerViT paper\n";
}

/// For a PerViT, prints the parameters of its attention by position.
void print_position_attention(std::ostream& out, const Model& model, std::int64_t parameters) {
  const std::int64_t count = position_attention_parameters(model.store());
  if (count == 0) return;
  const double share = 100 * static_cast<double>(count) / static_cast<double>(parameters);
  out << "Phi_p         " << grouped(count) << " of the parameters, " << percent_text(share)
      << ";\n              computed once, not counted in the multiply-adds\n";
}

void add_rows(std::vector<SummaryRow>& rows, const SummaryNode& node, std::int64_t depth) {
  SummaryRow row;
  row.tree = std::string(static_cast<std::size_t>(2 * depth), ' ') + node.name;
  if (node.repeats > 1) row.tree += " (" + std::to_string(node.repeats) + " times, each:)";
  row.shape = node.shape;
  const std::int64_t count = node.parameters + node.fixed;
  if (count > 0) row.parameters = grouped(count) + (node.parameters == 0 ? " fixed" : "");
  row.multiply_adds = multiply_adds_text(node.multiply_adds);
  rows.push_back(std::move(row));
  for (const SummaryNode& child : node.children) add_rows(rows, child, depth + 1);
}

/// A model's settings on lines that are broken between them and indented by `indent`. They stay
/// JSON, for --model-args.
std::string broken_settings(const std::string& config, std::size_t indent) {
  const nlohmann::json settings = parse_json(config);
  std::vector<std::string> pieces;
  for (const auto& [name, value] : settings.items()) {
    if (!pieces.empty()) pieces.back() += ",";
    pieces.push_back((pieces.empty() ? "{" : " ") + json_text(nlohmann::json(name)) + ": " +
                     json_text(value));
  }
  if (pieces.empty()) return config;
  pieces.back() += "}";
  return wrapped(pieces, indent, indent);
}

}  // namespace

SummaryNode summarize(Model& model) {
  SummaryNode root;
  root.name = model.info().name;
  for (const Parameter& p : model.store().parameters()) {
    const bool top = p.name.find('.') == std::string::npos;
    if (!top) continue;  // tokens and position embeddings precede the modules
    child_of(root, p.name).shape = text_of(p.tensor.shape());
  }
  for (const ModuleCost& cost : model.costs()) {
    const auto add = [&](SummaryNode& n) {
      n.multiply_adds += cost.multiply_adds;
      if (is_attention(cost)) n.attention += cost.multiply_adds;
    };
    visit(root, cost.path, add).shape = text_of(cost.output);
  }
  for (const Parameter& p : model.store().parameters()) {
    const std::size_t dot = p.name.rfind('.');
    const std::string owner = dot == std::string::npos ? p.name : p.name.substr(0, dot);
    visit(root, owner, [&](SummaryNode& n) {
      (p.tensor.requires_grad() ? n.parameters : n.fixed) += p.tensor.numel();
    });
  }
  fold(root);
  return root;
}

MemoryCost measure_memory(Model& model) {
  MemoryCost cost;
  for (const auto* list : {&model.store().parameters(), &model.store().buffers()}) {
    for (const Parameter& p : *list) cost.weights += p.tensor.byte_count();
  }
  const TensorOptions options{DType::f32, model.device()};
  const auto [height, width] = model.info().img_size;
  const Tensor image = zeros({1, model.info().in_chans, height, width}, options);
  const auto peak_of = [&](const auto& run) {
    reset_peak_memory(options.device);
    const std::int64_t before = memory_stats(options.device).current_bytes;
    run();
    return memory_stats(options.device).peak_bytes - before;
  };
  Context evaluation, training;
  training.training = true;
  cost.forward = peak_of([&] {
    const NoGrad no_grad;
    static_cast<void>(model.probe(image, evaluation));
  });
  cost.step = peak_of([&] {
    backward(ops::sum(model.probe(image, training)));
    model.finish_backward();
  });
  model.store().zero_grad();
  return cost;
}

void print_summary(std::ostream& out, Model& model) {
  const SummaryNode root = summarize(model);
  std::vector<SummaryRow> rows{{"module", "output", "parameters", "multiply-adds"}};
  add_rows(rows, root, 0);
  SummaryRow widest;
  const auto widen = [](std::string& width, const std::string& cell) {
    if (cell.size() > width.size()) width = cell;
  };
  for (const SummaryRow& row : rows) {
    widen(widest.tree, row.tree);
    widen(widest.shape, row.shape);
    widen(widest.parameters, row.parameters);
    widen(widest.multiply_adds, row.multiply_adds);
  }
  const auto width = [](const std::string& cell) { return static_cast<int>(cell.size()) + 2; };
  for (const SummaryRow& row : rows) {
    out << std::left << std::setw(width(widest.tree)) << row.tree << std::setw(width(widest.shape))
        << row.shape << std::right << std::setw(width(widest.parameters)) << row.parameters
        << std::setw(width(widest.multiply_adds)) << row.multiply_adds << '\n';
  }
  const ModelInfo& info = model.info();
  out << "\ninput         [" << info.in_chans << ", " << info.img_size[0] << ", "
      << info.img_size[1] << "]\nparameters    " << grouped(root.parameters) << " trainable";
  if (root.fixed > 0) out << ", " << grouped(root.fixed) << " fixed";
  out << '\n';
  print_costs(out, root);
  print_position_attention(out, model, root.parameters + root.fixed);
  const MemoryCost memory = measure_memory(model);
  out << "memory        " << megabytes_text(memory.weights) << " of weights; an image "
      << megabytes_text(memory.forward) << " forward,\n              "
      << megabytes_text(memory.step) << " forward and backward (" << to_string(model.device())
      << ")\nsettings      " << broken_settings(info.config, 14) << '\n';
}

std::string draw_graph(Model& model) {
  const ModelInfo& info = model.info();
  const Tensor images =
      zeros({1, info.in_chans, info.img_size[0], info.img_size[1]}, {DType::f32, model.device()});
  images.set_name("images");
  Context ctx;
  return graph_dot(model.probe(images, ctx));
}

}  // namespace fovea
