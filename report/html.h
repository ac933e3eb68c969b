// A minimal HTML writer for self-contained pages. Escapes all outside text.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fovea {

class Html {
 public:
  using Attributes = std::vector<std::pair<std::string_view, std::string_view>>;

  /// Starts a document up to and including <body>. `style` and `script` are trusted texts of the
  /// program. A content security policy prevents the page from loading anything.
  Html(std::string_view title, std::string_view style, std::string_view script);

  /// An element that is open during the object's lifetime and contains everything written
  /// meanwhile.
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
  Html& close();  ///< closes the element opened last
  Html& text(std::string_view text);
  /// An element that contains only a text.
  Html& element(std::string_view tag, std::string_view content, const Attributes& attributes = {});
  /// An embedded picture; `type` is "image/png" or "image/svg+xml". `alternative` describes it for
  /// users who cannot see it.
  Html& image(std::string_view type, std::string_view bytes, std::string_view alternative,
              const Attributes& attributes = {});
  /// A drawing in a separate frame.
  Html& figure(std::string_view svg, std::string_view alternative);
  /// A table that scrolls horizontally if it is wider than the page. The first cell of each row is
  /// the row's heading.
  Html& table(const std::vector<std::string>& headings,
              const std::vector<std::vector<std::string>>& rows);

  /// The whole document. Throws if an element is still open.
  [[nodiscard]] std::string finish() &&;

 private:
  /// A start tag alone, as of elements without an end tag.
  void tag(std::string_view name, const Attributes& attributes);
  void head_row(const std::vector<std::string>& headings);
  void row(const std::vector<std::string>& cells);

  std::string html_;
  std::vector<std::string> open_;
};

}  // namespace fovea
