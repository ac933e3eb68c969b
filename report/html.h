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

  /// An element that is open while this lives: what is written meanwhile stands inside it.
  class Element {
   public:
    Element(Html& html, std::string_view tag, const Attributes& attributes) : html_(html) {
      html_.open(tag, attributes);
    }
    ~Element() { html_.close(); }
    Element(const Element&) = delete;
    Element& operator=(const Element&) = delete;

   private:
    Html& html_;
  };
  [[nodiscard]] Element inside(std::string_view tag, const Attributes& attributes = {}) {
    return {*this, tag, attributes};
  }

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
  /// A table that scrolls sideways where it is wider than the page. The first cell of each row is
  /// the row's heading.
  Html& table(const std::vector<std::string>& headings,
              const std::vector<std::vector<std::string>>& rows);

  /// The whole document. Throws when an element was left open.
  [[nodiscard]] std::string finish() &&;

 private:
  void tag(std::string_view name, const Attributes& attributes);
  void head_row(const std::vector<std::string>& headings);
  void row(const std::vector<std::string>& cells);

  std::string html_;
  std::vector<std::string> open_;
};

}  // namespace fovea
