// Checks that an HTML page is well formed and self-contained: a parser for fovea's HTML, stricter
// than browsers.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

class HtmlCheck {
 public:
  explicit HtmlCheck(std::string_view html) : html_(html) {
    expect("<!DOCTYPE html>\n");
    while (problems_.empty() && at_ < html_.size()) read_next();
    if (!open_.empty()) problem(open_.back() + " is never closed");
    for (const std::string& address : links_) {
      if (!ids_.contains(address)) problem("no element has the id that is linked to: " + address);
    }
  }

  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }
  /// Number of elements with that tag.
  [[nodiscard]] int count(const std::string& tag) const {
    const auto found = counts_.find(tag);
    return found == counts_.end() ? 0 : found->second;
  }

 private:
  void problem(const std::string& what) {
    problems_.push_back(what + ", at byte " + std::to_string(at_));
  }
  void expect(std::string_view text) {
    if (!html_.substr(at_).starts_with(text)) return problem("expected " + std::string(text));
    at_ += text.size();
  }
  std::string_view until(std::string_view end) {
    const std::size_t found = std::min(html_.find(end, at_), html_.size());
    const std::string_view text = html_.substr(at_, found - at_);
    at_ = found;
    return text;
  }

  void read_next() {
    if (html_[at_] != '<') return read_text();
    if (html_.substr(at_).starts_with("</")) return read_end();
    read_start();
  }

  void read_text() {
    const std::string_view text = until("<");
    if (text.find('>') != std::string_view::npos) problem("a > that is not escaped");
    check_entities(text);
  }

  void check_entities(std::string_view text) {
    for (std::size_t i = text.find('&'); i != std::string_view::npos; i = text.find('&', i + 1)) {
      bool known = false;
      for (const char* entity : {"&amp;", "&lt;", "&gt;", "&quot;"}) {
        known = known || text.substr(i).starts_with(entity);
      }
      if (!known) problem("an & that is not escaped");
    }
  }

  void read_end() {
    at_ += 2;
    const std::string name(until(">"));
    if (open_.empty() || open_.back() != name) return problem("</" + name + "> closes nothing");
    open_.pop_back();
    expect(">");
  }

  void read_start() {
    ++at_;
    const std::size_t end = std::min(html_.find_first_of(" >", at_), html_.size());
    const std::string name(html_.substr(at_, end - at_));
    at_ = end;
    std::map<std::string, std::string> attributes;
    while (problems_.empty() && html_.substr(at_).starts_with(" ")) read_attribute(attributes);
    expect(">");
    ++counts_[name];
    check_element(name, attributes);
    static const std::set<std::string> kVoid{"meta", "img", "br", "link", "input"};
    if (kVoid.contains(name)) return;
    open_.push_back(name);
    if (name == "style" || name == "script") until("</");
  }

  void read_attribute(std::map<std::string, std::string>& attributes) {
    ++at_;
    const std::string key(until("="));
    expect("=\"");
    const std::string value(until("\""));
    expect("\"");
    if (key.find_first_of(" <>\"'") != std::string::npos) problem("attribute " + key);
    if (value.find('<') != std::string::npos) problem("a < in attribute " + key);
    check_entities(value);
    if (!attributes.emplace(key, value).second) problem("attribute " + key + " twice");
  }

  void check_element(const std::string& name,
                     const std::map<std::string, std::string>& attributes) {
    const auto has = [&](const char* key) { return attributes.contains(key); };
    if (name == "img" && (!has("alt") || attributes.at("alt").empty())) problem("img without alt");
    if (has("src") && !attributes.at("src").starts_with("data:image/")) {
      problem("src leads elsewhere: " + attributes.at("src").substr(0, 60));
    }
    if (has("href") && !attributes.at("href").starts_with("#")) problem("href leads elsewhere");
    if (has("href")) links_.insert(attributes.at("href").substr(1));
    if (name == "th" && !has("scope")) problem("th without scope");
    if (has("id") && !ids_.insert(attributes.at("id")).second) problem("an id that is there twice");
    if (name == "link" || name == "iframe") problem(name + " is not allowed");
  }

  std::string_view html_;
  std::size_t at_ = 0;
  std::vector<std::string> open_, problems_;
  std::map<std::string, int> counts_;
  std::set<std::string> ids_, links_;
};

}  // namespace fovea
