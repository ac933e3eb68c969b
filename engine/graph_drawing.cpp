// The tape as Graphviz. An op belongs to the module of its parameters ("blocks.0.attn.qkv"); an op
// without parameters belongs to the innermost module that its neighbours on both sides share.
#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include "engine/base/text.h"
#include "engine/graph_dump.h"

namespace fovea {
namespace {

bool is_parameter(const Tensor& t) { return !t.node() && t.requires_grad() && !t.name().empty(); }
bool is_named_input(const Tensor& t) {
  return !t.node() && !t.requires_grad() && !t.name().empty();
}

bool lies_within(const std::string& path, const std::string& outer) {
  return outer.empty() || path == outer || path.starts_with(outer + ".");
}

/// `path` relative to an enclosing module.
std::string relative(const std::string& path, const std::string& outer) {
  if (outer.empty()) return path;
  return path.size() <= outer.size() ? "" : path.substr(outer.size() + 1);
}

std::string common(std::string a, const std::string& b) {
  while (!lies_within(b, a)) a = parent_module(a);
  return a;
}

using Module = std::optional<std::string>;  // none: unknown

void meet(Module& module, const Module& other) {
  if (!other) return;
  module = module ? common(*module, *other) : *other;
}

struct Op {
  const Node* node = nullptr;
  Module own;     ///< module of the op's own parameters
  Module before;  ///< module of the ops that it reads, or its own
  Module after;   ///< module of the ops that read it

  /// The module whose frame contains the op. The module of its own parameters is its title.
  [[nodiscard]] std::string frame() const {
    if (own) return parent_module(*own);
    Module both = before;
    meet(both, after);
    return both.value_or("");
  }
};

/// All ops of a tape in order, with their modules.
class Graph {
 public:
  explicit Graph(const Tensor& root) {
    nodes_ = tape_of(root);
    std::reverse(nodes_.begin(), nodes_.end());
    for (const auto& node : nodes_) {
      numbers_.emplace(node.get(), ops_.size());
      ops_.push_back({node.get(), own_module(*node), {}, {}});
    }
    for (Op& op : ops_) {
      op.before = op.own;
      if (!op.own) for_each_read(op, [&](const Op& read) { meet(op.before, read.before); });
    }
    for (auto op = ops_.rbegin(); op != ops_.rend(); ++op) {
      const Module seen = op->own ? op->own : op->after;
      for_each_read(*op, [&](Op& read) { meet(read.after, seen); });
    }
  }

  [[nodiscard]] const std::vector<Op>& ops() const { return ops_; }
  [[nodiscard]] std::size_t number_of(const Node* node) const { return numbers_.at(node); }

 private:
  static Module own_module(const Node& node) {
    Module module;
    for (const Tensor& input : node.inputs) {
      if (is_parameter(input)) meet(module, parent_module(input.name()));
    }
    return module;
  }

  /// Calls f with each op that `op` reads.
  template <class F>
  void for_each_read(const Op& op, const F& f) {
    for (const Tensor& input : op.node->inputs) {
      if (input.node()) f(ops_[numbers_.at(input.node().get())]);
    }
  }

  std::vector<std::shared_ptr<Node>> nodes_;
  std::map<const Node*, std::size_t> numbers_;
  std::vector<Op> ops_;
};

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return result + '"';
}

/// The text in an op's box; its title is relative to `frame`.
std::string box_text(const Op& op, const std::string& frame) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  const std::string title = relative(op.own.value_or(frame), frame);
  text << title << (title.empty() ? "" : ": ") << op.node->name;
  const char* before = "\n";
  for (const OpAttribute& attribute : op.node->attributes) {
    text << before << attribute;
    before = ", ";
  }
  for (const Tensor& input : op.node->inputs) {
    if (!is_parameter(input)) continue;
    text << '\n' << relative(input.name(), parent_module(input.name())) << ' ' << input.shape();
  }
  text << "\n-> " << op.node->output_shape;
  return text.str();
}

const char* colour_of(const Op& op) {
  if (op.node->multiply_adds > 0) return "#dbe9f6";  // GEMMs and convolutions
  return op.own ? "#e3f1dd" : "#ffffff";
}

/// A module's frame: its ops and the frames within it.
struct Frame {
  std::string path{};
  std::vector<std::size_t> ops{};
  std::vector<Frame> inner{};

  [[nodiscard]] std::size_t count() const {
    std::size_t sum = ops.size();
    for (const Frame& frame : inner) sum += frame.count();
    return sum;
  }
  /// Whether the frame is drawn: not around a single op or a single frame.
  [[nodiscard]] bool is_drawn() const {
    return !path.empty() && count() > 1 && (!ops.empty() || inner.size() > 1);
  }
  /// The frame of `wanted`, created together with the frames around it.
  Frame& at(const std::string& wanted) {
    if (wanted == path) return *this;
    const std::string rest = relative(wanted, path);
    const std::string next = (path.empty() ? "" : path + ".") + rest.substr(0, rest.find('.'));
    const auto found = std::find_if(inner.begin(), inner.end(),
                                    [&](const Frame& frame) { return frame.path == next; });
    if (found != inner.end()) return found->at(wanted);
    return inner.emplace_back(Frame{next}).at(wanted);
  }
};

class Drawing {
 public:
  explicit Drawing(const Tensor& root) : graph_(root) {
    out_.imbue(std::locale::classic());
    out_ << "digraph tape {\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\", "
            "fontsize=11];\n  edge [arrowsize=0.6];\n";
    Frame top;
    for (std::size_t i = 0; i < graph_.ops().size(); ++i) {
      top.at(graph_.ops()[i].frame()).ops.push_back(i);
    }
    frame(top, "", 1);
    for (std::size_t i = 0; i < graph_.ops().size(); ++i) arrows(i);
    out_ << "}\n";
  }

  [[nodiscard]] std::string text() const { return out_.str(); }

 private:
  /// `around` is the path of the innermost frame drawn around this one.
  void frame(const Frame& f, const std::string& around, int depth) {
    const bool drawn = f.is_drawn();
    const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
    const std::string& seen_from = drawn ? f.path : around;
    if (drawn) {
      out_ << indent << "subgraph " << quoted("cluster_" + f.path) << " {\n"
           << indent << "  label=" << quoted(relative(f.path, around))
           << "; style=rounded; color=\"#888888\"; fontname=\"sans-serif\"; fontsize=12;\n";
    }
    for (const std::size_t i : f.ops) box(i, seen_from, drawn ? indent + "  " : indent);
    for (const Frame& inner : f.inner) frame(inner, seen_from, depth + (drawn ? 1 : 0));
    if (drawn) out_ << indent << "}\n";
  }

  void box(std::size_t i, const std::string& seen_from, const std::string& indent) {
    const Op& op = graph_.ops()[i];
    out_ << indent << 'n' << i << " [label=" << quoted(box_text(op, seen_from)) << ", fillcolor=\""
         << colour_of(op) << "\"];\n";
  }

  void arrows(std::size_t to) {
    for (const Tensor& input : graph_.ops()[to].node->inputs) {
      if (input.node()) {
        out_ << "  n" << graph_.number_of(input.node().get()) << " -> n" << to << ";\n";
      } else if (is_named_input(input)) {
        out_ << "  " << quoted(input.name()) << " [shape=ellipse, fillcolor=\"#f6ecd9\", label="
             << quoted(concat(input.name(), '\n', input.shape())) << "];\n  "
             << quoted(input.name()) << " -> n" << to << ";\n";
      }
    }
  }

  Graph graph_;
  std::ostringstream out_;
};

}  // namespace

std::string graph_dot(const Tensor& root) { return Drawing(root).text(); }

}  // namespace fovea
