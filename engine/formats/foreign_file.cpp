// Recognises files by their first bytes.
#include "engine/formats/foreign_file.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/base/compressed.h"
#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

struct ForeignKind {
  std::string_view start, what;
};
constexpr std::array kKinds{
    ForeignKind{"7z\xbc\xaf", "is a 7z archive; unpack it with 7z x"},
    ForeignKind{"Rar!", "is a RAR archive; unpack it with unrar x"},
    ForeignKind{"\x89HDF", "is an HDF5 file, as Keras writes it, which is not supported"},
    ForeignKind{"GGUF", "is a GGUF file, which is not supported"},
    ForeignKind{"\x93NUMPY",
                "is a single NumPy array; weights are several arrays by name (numpy.savez)"},
    ForeignKind{"\x89PNG", "is a PNG picture, not weights"},
    ForeignKind{"\xff\xd8\xff", "is a JPEG picture, not weights"},
    ForeignKind{"%PDF", "is a PDF document, not weights"},
};

/// "22883" of a pointer's line "size 22883"; empty if there is none.
std::string size_in_pointer(std::string_view pointer) {
  constexpr std::string_view kLine = "\nsize ";
  const std::size_t at = pointer.find(kLine);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = pointer.substr(at + kLine.size());
  return std::string(rest.substr(0, std::min<std::size_t>(rest.find('\n'), 20)));
}

bool is_page(const std::string& text) {
  constexpr std::array kTags{"<!doctype", "<html", "<head", "<body", "<?xml", "<!--"};
  const std::string start = lower_case(text.substr(0, 20));
  return std::ranges::any_of(kTags, [&](const char* tag) { return start.starts_with(tag); });
}

bool is_plain_text(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) {
    return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\r' || c == '\t';
  });
}

/// Beyond a byte-order mark and blanks.
std::string_view without_blanks(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return text;
}

}  // namespace

void require_no_foreign_file(const ByteSource& source, const std::string& context) {
  check(source.size() > 0, context, ": is empty (0 bytes); copy or download it again");
  const std::string start = source.text_at(0, std::min<std::uint64_t>(source.size(), 512));
  if (start.starts_with("version https://git-lfs.github.com/")) {
    const std::string size = size_in_pointer(start);
    fail(context, ": is a Git LFS pointer", size.empty() ? "" : " to " + size + " bytes",
         ", not the weights themselves; fetch them with git lfs pull");
  }
  const std::string compression = compression_of(start);
  check(compression.empty(), context, ": ", compression);
  for (const ForeignKind& kind : kKinds)
    check(!start.starts_with(kind.start), context, ": ", kind.what);
  check(start.size() < 262 || start.substr(257, 5) != "ustar", context,
        ": is a tar archive; unpack it with tar xf and name the file inside");
  const std::string text(without_blanks(start));
  check(!is_page(text), context,
        ": is a web page, such as a login or error page saved in place of ",
        "the weights; download the file itself");
  if (!is_plain_text(text)) return;
  const bool is_json = text.starts_with('{') || text.starts_with('[');
  fail(context, ": is a ", is_json ? "JSON text" : "text",
       ", not weights: ", in_quotes(text.substr(0, 60)),
       is_json ? "; a server's error message? Download the weights themselves" : "");
}

}  // namespace fovea
