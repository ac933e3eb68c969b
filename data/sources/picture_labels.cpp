// Reading lists of labels, and giving each picture its own.
#include "data/sources/picture_labels.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "data/image.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kKitFolders = 1000;

std::string without_ending(const std::string& picture) {
  const fs::path name = fs::path(picture).filename();
  return (has_picture_ending(name) ? name.stem() : name).string();
}

/// The class of a word, by its name or by its number from 0 on.
std::int64_t find_class(const PictureLabels& labels, const std::string& word,
                        const ClassList& classes) {
  if (const auto label = classes.find(word)) return *label;
  const auto count = static_cast<std::int64_t>(classes.ids().size());
  const std::int64_t number = parse_integer(word).value_or(-1);
  check(number >= 0 && number < count, labels.where, ": has the class \"", visible_text(word),
        "\", expected the name of one of the ", count, " classes, or a number from 0 to ",
        count - 1);
  return number;
}

/// Of an ordered list the numbers are the kit's.
std::string class_in_order(const PictureLabels& labels, const std::string& word) {
  const auto number = parse_integer(word);
  if (!number) return word;
  check(*number >= 1 && *number <= kKitFolders, labels.where, ": has the number ", *number,
        ", expected numbers of ImageNet's development kit, 1 to ", kKitFolders,
        "; write labels that start at 0 as lines \"PICTURE LABEL\"");
  return imagenet_folder(*number);
}

std::int64_t find_class_in_order(const PictureLabels& labels, const std::string& word,
                                 const ClassList& classes) {
  const std::string name = class_in_order(labels, word);
  const auto label = classes.find(name);
  check(label.has_value(), labels.where, ": has the class ",
        name == word ? visible_text(word) : word + ", ImageNet's " + name,
        ", which is not one of the ", classes.ids().size(),
        " classes; --class-map FILE sets others");
  return *label;
}

/// What the list says of each picture. Lines about others, as the title of a table, say nothing
/// here.
std::vector<std::string> words_of_pictures(const PictureLabels& labels,
                                           const std::vector<std::string>& names) {
  if (labels.pictures.empty()) {
    check(labels.classes.size() == names.size(), labels.where, ": has ", labels.classes.size(),
          " labels for ", names.size(),
          " pictures, expected one per picture, in the order of their names");
    return labels.classes;
  }
  std::map<std::string, std::string> said;
  for (std::size_t i = 0; i < labels.pictures.size(); ++i) {
    const auto [word, is_new] = said.emplace(labels.pictures[i], labels.classes[i]);
    check(is_new || word->second == labels.classes[i], labels.where, ": labels \"",
          visible_text(word->first), "\" as both ", visible_text(word->second), " and ",
          visible_text(labels.classes[i]));
  }
  std::vector<std::string> words;
  for (const std::string& name : names) {
    const auto word = said.find(without_ending(name));
    check(word != said.end(), labels.where, ": has no class for the picture \"", visible_text(name),
          "\"");
    words.push_back(word->second);
  }
  return words;
}

}  // namespace

PictureLabels parse_picture_labels(std::string_view text, const std::string& where) {
  PictureLabels labels{where, {}, {}};
  std::size_t line = 0;
  for (const std::string& content : lines_of(text)) {
    ++line;
    const std::vector<std::string> words = words_of(content, ",");
    const bool named = words.size() > 1;
    if (words.empty()) continue;
    check(labels.classes.empty() || named == !labels.pictures.empty(), where, ": line ", line,
          " has ", words.size(), " words, expected ",
          named ? "only a class" : "a picture and its class", " as in the lines before");
    if (named) labels.pictures.push_back(without_ending(words[0]));
    labels.classes.push_back(words[named ? 1 : 0]);
  }
  check(!labels.classes.empty(), where, ": contains no labels, expected lines \"PICTURE CLASS\"");
  return labels;
}

ClassList listed_classes(const PictureLabels& labels, const std::vector<std::string>& names) {
  if (labels.pictures.empty() && parse_integer(labels.classes.front())) {
    std::set<std::string> kit;
    for (std::int64_t number = 1; number <= kKitFolders; ++number) {
      kit.insert(imagenet_folder(number));
    }
    return {{kit.begin(), kit.end()}, labels.where};
  }
  const bool has_title = !labels.pictures.empty() &&
                         std::none_of(names.begin(), names.end(), [&](const std::string& name) {
                           return without_ending(name) == labels.pictures.front();
                         });
  const std::set<std::string> classes(labels.classes.begin() + (has_title ? 1 : 0),
                                      labels.classes.end());
  for (const std::string& word : classes) {
    check(
        !parse_integer(word), labels.where, ": has the class ", word,
        ", a number, but there are no class folders to count; --class-map FILE names the classes");
  }
  check(!classes.empty(), labels.where, ": has no labels for the ", names.size(), " pictures");
  return {{classes.begin(), classes.end()}, labels.where};
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
