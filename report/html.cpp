// Writing of HTML elements, attributes and escapes.
#include "report/html.h"

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace fovea {
Html::Html(std::string_view title, std::string_view style, std::string_view script) {
  html_ = "<!DOCTYPE html>\n";
  open("html", {{"lang", "en"}}).open("head");
  tag("meta", {{"charset", "utf-8"}});
  tag("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  tag("meta", {{"http-equiv", "Content-Security-Policy"},
               {"content",
                "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
                "script-src 'unsafe-inline'"}});
  tag("meta", {{"name", "color-scheme"}, {"content", "light dark"}});
  element("title", title);
  html_.append("<style>").append(style).append("</style>\n");
  html_.append("<script>").append(script).append("</script>\n");
  close().open("body");
}

void Html::tag(std::string_view name, const Attributes& attributes) {
  html_.append("<").append(name);
  for (const auto& [key, value] : attributes) {
    html_.append(" ").append(key).append("=\"").append(markup_text(value)).append("\"");
  }
  html_ += '>';
}

Html& Html::open(std::string_view name, const Attributes& attributes) {
  tag(name, attributes);
  open_.emplace_back(name);
  return *this;
}

Html& Html::close() {
  check(!open_.empty(), "html: no element is open");
  html_.append("</").append(open_.back()).append(">\n");
  open_.pop_back();
  return *this;
}

Html& Html::text(std::string_view text) {
  html_ += markup_text(text);
  return *this;
}

Html& Html::element(std::string_view name, std::string_view content, const Attributes& attributes) {
  return open(name, attributes).text(content).close();
}

Html& Html::image(std::string_view type, std::string_view bytes, std::string_view alternative,
                  const Attributes& attributes) {
  const std::string source = "data:" + std::string(type) + ";base64," + base64(bytes);
  Attributes all{{"src", source}, {"alt", alternative}};
  all.insert(all.end(), attributes.begin(), attributes.end());
  tag("img", all);
  return *this;
}

Html& Html::figure(std::string_view svg, std::string_view alternative) {
  const auto figure = inside("div", {{"class", "figure"}});
  return image("image/svg+xml", svg, alternative);
}

void Html::head_row(const std::vector<std::string>& headings) {
  const auto head = inside("thead");
  const auto row = inside("tr");
  for (const std::string& heading : headings) element("th", heading, {{"scope", "col"}});
}

void Html::row(const std::vector<std::string>& cells) {
  const auto row = inside("tr");
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i == 0) {
      element("th", cells[i], {{"scope", "row"}});
    } else {
      element("td", cells[i]);
    }
  }
}

Html& Html::table(const std::vector<std::string>& headings,
                  const std::vector<std::vector<std::string>>& rows) {
  const auto scroll = inside("div", {{"class", "scroll"}});
  const auto table = inside("table");
  head_row(headings);
  const auto body = inside("tbody");
  for (const std::vector<std::string>& cells : rows) row(cells);
  return *this;
}

std::string Html::finish() && {
  check(open_.size() == 2, "html: ", open_.size(), " elements are open, expected html and body");
  close().close();
  return std::move(html_);
}

}  // namespace fovea
