// Parses lists of labels, and assigns labels to pictures.
#include "data/sources/files/picture_labels.h"

#include <algorithm>
#include <map>
#include <set>

#include "data/image.h"
#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/lists.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kKitFolders = 1000;

std::string without_ending(const std::string& picture) {
  const fs::path name = fs::path(picture).filename();
  return (has_picture_ending(name.native()) ? name.stem() : name).string();
}

/// The class at the start of a text: a name, which may contain blanks, or a number from 0 on.
std::int64_t find_class(const PictureLabels& labels, const std::string& text,
                        const ClassList& classes) {
  if (const auto label = classes.find(text)) return *label;
  const std::string word = split_words(text).front();
  if (const auto label = classes.find(word)) return *label;
  const auto count = static_cast<std::int64_t>(classes.ids().size());
  const std::int64_t number = parse_integer(word).value_or(-1);
  check(number >= 0 && number < count, labels.context, ": has the class \"", visible_text(text),
        "\", expected the name of one of the ", count, " classes, or a number from 0 to ",
        count - 1);
  return number;
}

/// The class of an entry without a picture. Numbers are those of ImageNet's development kit.
std::string class_in_order(const PictureLabels& labels, const std::string& word) {
  const auto number = parse_integer(word);
  if (!number) return word;
  check(*number >= 1 && *number <= kKitFolders, labels.context, ": has the number ", *number,
        ", expected numbers of ImageNet's development kit, 1 to ", kKitFolders,
        "; write labels that start at 0 as lines \"PICTURE LABEL\"");
  return imagenet_folder(*number);
}

std::int64_t find_class_in_order(const PictureLabels& labels, const std::string& word,
                                 const ClassList& classes) {
  const std::string name = class_in_order(labels, word);
  const auto label = classes.find(name);
  check(label.has_value(), labels.context, ": has the class ",
        name == word ? visible_text(word) : word + ", ImageNet's " + name,
        ", which is not one of the ", classes.ids().size(),
        " classes; --class-map FILE sets others");
  return *label;
}

/// The entry of each picture. Ignores lines about other pictures, such as a table header.
std::vector<std::string> words_of_pictures(const PictureLabels& labels,
                                           const std::vector<std::string>& names) {
  if (labels.pictures.empty()) {
    check(labels.classes.size() == names.size(), labels.context, ": has ", labels.classes.size(),
          " labels for ", names.size(),
          " pictures, expected one per picture, in the order of their names");
    return labels.classes;
  }
  std::map<std::string, std::string> said;
  for (std::size_t i = 0; i < labels.pictures.size(); ++i) {
    const auto [word, is_new] = said.emplace(labels.pictures[i], labels.classes[i]);
    check(is_new || word->second == labels.classes[i], labels.context, ": labels \"",
          visible_text(word->first), "\" as both ", visible_text(word->second), " and ",
          visible_text(labels.classes[i]));
  }
  std::vector<std::string> words;
  for (const std::string& name : names) {
    const auto word = said.find(without_ending(name));
    check(word != said.end(), labels.context, ": has no class for the picture \"",
          visible_text(name), "\"");
    words.push_back(word->second);
  }
  return words;
}

/// Drops the boxes, four whole numbers each, that follow the class in Kaggle's table.
std::string without_boxes(const std::string& text) {
  const std::vector<std::string> words = split_words(text);
  const bool has_box = words.size() > 4 && std::all_of(words.begin() + 1, words.begin() + 5,
                                                       [](const std::string& word) {
                                                         return parse_integer(word).has_value();
                                                       });
  return has_box ? words.front() : text;
}

/// Splits a line into a picture and its class, or a class alone. Both may contain blanks if commas
/// or tabs separate them.
std::vector<std::string> columns_of(const std::string& line) {
  std::string commas = line;
  std::replace(commas.begin(), commas.end(), '\t', ',');
  const std::vector<std::string> parts = comma_parts(commas);
  const std::vector<std::string> words = split_words(line, ",");
  const bool is_table =
      parts.size() > 1 && (has_picture_ending(parts[0]) || split_words(parts[0]).size() == 1);
  if (is_table && !parts[1].empty()) return {parts[0], without_boxes(parts[1])};
  if (words.size() < 2) return words;
  const std::size_t begin = line.find(words[1], line.find(words[0]) + words[0].size());
  return {unquoted(words[0]), unquoted(trimmed(std::string_view(line).substr(begin)))};
}

}  // namespace

PictureLabels parse_picture_labels(std::string_view text, const std::string& context) {
  PictureLabels labels{context, {}, {}};
  std::size_t line = 0;
  for (const std::string& content : list_entries(text, context)) {
    ++line;
    const std::vector<std::string> columns = columns_of(content);
    const bool named = columns.size() > 1;
    if (columns.empty()) continue;
    check(labels.classes.empty() || named == !labels.pictures.empty(), context, ": entry ", line,
          " is ", in_quotes(content), ", expected ",
          named ? "only a class" : "a picture and its class", " as in the previous entries");
    if (named) labels.pictures.push_back(without_ending(columns[0]));
    labels.classes.push_back(named ? columns[1] : unquoted(columns[0]));
  }
  check(!labels.classes.empty(), context, ": contains no labels, expected lines \"PICTURE CLASS\"");
  return labels;
}

ClassList listed_classes(const PictureLabels& labels, const std::vector<std::string>& names) {
  if (labels.pictures.empty() && parse_integer(labels.classes.front())) {
    std::set<std::string> kit;
    for (std::int64_t number = 1; number <= kKitFolders; ++number) {
      kit.insert(imagenet_folder(number));
    }
    return {{kit.begin(), kit.end()}, labels.context};
  }
  const bool has_title = !labels.pictures.empty() &&
                         std::none_of(names.begin(), names.end(), [&](const std::string& name) {
                           return without_ending(name) == labels.pictures.front();
                         });
  const std::set<std::string> classes(labels.classes.begin() + (has_title ? 1 : 0),
                                      labels.classes.end());
  for (const std::string& word : classes) {
    check(
        !parse_integer(word), labels.context, ": has the class ", word,
        ", a number, but there are no class folders to number; --class-map FILE names the classes");
  }
  check(!classes.empty(), labels.context, ": has no labels for the ", names.size(), " pictures");
  return {{classes.begin(), classes.end()}, labels.context};
}

std::vector<std::int64_t> labels_of(const PictureLabels& labels,
                                    const std::vector<std::string>& names,
                                    const ClassList& classes) {
  std::vector<std::int64_t> found;
  for (const std::string& word : words_of_pictures(labels, names)) {
    found.push_back(labels.pictures.empty() ? find_class_in_order(labels, word, classes)
                                            : find_class(labels, word, classes));
  }
  return found;
}

}  // namespace fovea
