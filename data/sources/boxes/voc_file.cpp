// Reads the elements of an annotation with pugixml.
#include "data/sources/boxes/voc_file.h"

#include <algorithm>
#include <cmath>
#include <pugixml.hpp>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

constexpr double kMaxCoordinate = 1e6;

/// The text of a child. Throws, naming `context` and the child, if there is none.
std::string text_in(const pugi::xml_node& parent, const char* name, const std::string& context) {
  const pugi::xml_node child = parent.child(name);
  if (!child) fail(context, "has no <", name, ">");
  return child.child_value();
}

double number_in(const pugi::xml_node& parent, const char* name, const std::string& context) {
  const std::string text = text_in(parent, name, context);
  const auto number = parse_real(text);
  if (!number || !(std::abs(*number) <= kMaxCoordinate))  // NaN neither
    fail(context, "<", name, ">: got ", in_quotes(text), ", expected a number of pixels");
  return *number;
}

std::int64_t side_in(const pugi::xml_node& size, const char* name, const std::string& context) {
  const double side = number_in(size, name, context);
  if (side < 1 || side > kMaxCoordinate || side != std::floor(side))
    fail(context, "<", name, ">: got ", shortest_text(side), ", expected 1 to ",
         shortest_text(kMaxCoordinate), " pixels");
  return static_cast<std::int64_t>(side);
}

VocObject object_of(const pugi::xml_node& node, const std::string& context) {
  VocObject object;
  object.name = text_in(node, "name", context);
  if (object.name.empty()) fail(context, "<name>: got nothing, expected the name of a class");
  const pugi::xml_node box = node.child("bndbox");
  if (!box) fail(context, "has no <bndbox>");
  object.x = number_in(box, "xmin", context) - 1;
  object.y = number_in(box, "ymin", context) - 1;
  object.width = number_in(box, "xmax", context) - object.x;
  object.height = number_in(box, "ymax", context) - object.y;
  const std::string difficult = lower_case(node.child("difficult").child_value());
  object.difficult = difficult == "1" || difficult == "true";
  return object;
}

}  // namespace

VocFile parse_voc(std::string_view xml, const std::string& name) {
  pugi::xml_document document;
  const pugi::xml_parse_result result = document.load_buffer(
      xml.data(), xml.size(), pugi::parse_default | pugi::parse_doctype | pugi::parse_trim_pcdata);
  check(result, name, ": is not valid XML at byte ", result.offset, " of ", xml.size(),
        "; the file may be cut or damaged");
  for (const pugi::xml_node& node : document)
    check(node.type() != pugi::node_doctype, name,
          ": has a document type (<!DOCTYPE>), expected a plain <annotation>");
  const pugi::xml_node root = document.child("annotation");
  if (!root) {
    fail(name, ": got <", visible_text(document.document_element().name()),
         ">, expected an <annotation> of PASCAL VOC");
  }
  const std::string context = name + ": <size>: ";
  VocFile file;
  const pugi::xml_node size = root.child("size");
  check(static_cast<bool>(size), name, ": has no <size>");
  file.size = {side_in(size, "height", context), side_in(size, "width", context)};
  for (const pugi::xml_node& node : root.children("object"))
    file.objects.push_back(
        object_of(node, name + ": object " + std::to_string(file.objects.size() + 1) + ": "));
  return file;
}

}  // namespace fovea
