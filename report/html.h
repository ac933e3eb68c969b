// Just enough HTML to write a page that stands alone. Texts from outside are escaped here and
// nowhere else.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fovea {

class Html {
 public:
  using Attributes = std::vector<std::pair<std::string_view, std::string_view>>;

  /// Starts a document up to and with <body>. `style` and `script` are the program's own text. The
  /// page forbids itself to load anything (content security policy).
  Html(std::string_view title, std::string_view style, std::string_view script);

  Html& open(std::string_view tag, const Attributes& attributes = {});
  Html& close();  ///< the element opened last
  Html& text(std::string_view text);
  /// An element with a text and nothing else.
  Html& element(std::string_view tag, std::string_view content, const Attributes& attributes = {});
  /// A picture inside the page; `type` is "image/png" or "image/svg+xml". `alternative` says what
  /// it shows to those who do not see it.
  Html& image(std::string_view type, std::string_view bytes, std::string_view alternative,
              const Attributes& attributes = {});
  /// A drawing in a frame of its own.
  Html& figure(std::string_view svg, std::string_view alternative);
  /// A table's head: a column heading each.
  Html& head_row(const std::vector<std::string>& headings);
  /// A row whose first cell is its heading.
  Html& row(const std::vector<std::string>& cells);

  /// The whole document. Throws when an element was left open.
  [[nodiscard]] std::string finish() &&;

 private:
  void tag(std::string_view name, const Attributes& attributes);

  std::string html_;
  std::vector<std::string> open_;
};

}  // namespace fovea
