// The layout before PyTorch 1.6, which torch.save still writes on request.
#include <algorithm>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/formats/torch/contents.h"
#include "engine/formats/torch/objects.h"

namespace fovea {
namespace {

/// LONG1 of ten bytes, 0x1950a86a20f9469cfc6c, and STOP. Preceded by PROTO and, from protocol 4
/// on, FRAME.
constexpr std::string_view kMagic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
constexpr std::size_t kProtoBytes = 2, kFrameBytes = 9;
constexpr std::int64_t kProtocol = 1001;
/// Read at first: the object is short unless NumPy arrays lie in it, and the storages follow it.
constexpr std::uint64_t kFirstBytes = std::uint64_t{64} << 20;

/// The end of the pickle with the magic number; 0 if the file has none.
std::uint64_t magic_end(const ByteSource& source) {
  const std::string start = source.text_at(
      0, std::min<std::uint64_t>(source.size(), kProtoBytes + kFrameBytes + kMagic.size()));
  const std::size_t at = start.find(kMagic);
  const bool is_first = at == kProtoBytes || at == kProtoBytes + kFrameBytes;
  return start.starts_with('\x80') && is_first ? at + kMagic.size() : 0;
}

/// The consecutive pickles of a file after the magic number.
class Stream {
 public:
  Stream(const ByteSource& source, const std::string& context)
      : source_(source),
        context_(context),
        start_(magic_end(source)),
        text_(source.text_at(start_, std::min(source.size() - start_, kFirstBytes))) {}

  Pickle next() {
    const std::uint64_t most = std::min(source_.size() - start_, kMaxPickleBytes);
    while (true) {
      try {
        Pickle pickle = parse_pickle(std::string_view(text_).substr(used_), context_);
        used_ += pickle.end;
        return pickle;
      } catch (const Error&) {  // perhaps it only goes on beyond what was read
        if (text_.size() >= most) throw;
        text_ = source_.text_at(start_, std::min<std::uint64_t>(4 * text_.size(), most));
      }
    }
  }
  /// Position of the next byte in the file.
  [[nodiscard]] std::uint64_t at() const { return start_ + used_; }

 private:
  const ByteSource& source_;
  const std::string& context_;
  std::uint64_t start_;
  std::string text_;
  std::size_t used_ = 0;
};

/// All storages that the object refers to. The data section stores their element counts, not their
/// sizes in bytes.
std::map<std::string, TorchStorage> storages_of(const Pickle& object, const std::string& context) {
  std::map<std::string, TorchStorage> storages;
  for (PickleRef ref = 0; ref < object.values.size(); ++ref) {
    const auto storage = storage_of(object, ref, context);
    if (!storage) continue;
    const auto [found, is_new] = storages.emplace(storage->key, *storage);
    check(is_new || (found->second.type == storage->type && found->second.bytes == storage->bytes),
          context, ": names the storage ", in_quotes(storage->key), " as two different storages");
  }
  return storages;
}

/// Reads the element count that precedes the data.
ByteRange read_range(const ByteSource& source, std::uint64_t at, const TorchStorage& storage,
                     const std::string& context) {
  const std::string named = context + ": the storage " + in_quotes(storage.key) + " ";
  std::uint64_t count = 0;
  check(sizeof(count) <= source.size() - at, named, "is missing (is the file truncated?)");
  source.read_at(at, std::as_writable_bytes(std::span(&count, 1)));
  const std::uint64_t size = storage.type ? size_of(*storage.type) : 1, begin = at + sizeof(count);
  check(count == storage.bytes / size, named, "has ", count, " elements in the file, but ",
        storage.bytes / size, " in the object");
  check(storage.bytes <= source.size() - begin, named, "of ", storage.bytes,
        " bytes ends outside of the file (is the file truncated?)");
  return {begin, storage.bytes};
}

}  // namespace

bool has_old_form(const ByteSource& source) { return magic_end(source) > 0; }

TorchContents open_old_form(const ByteSource& source, const std::string& context) {
  Stream stream(source, context);
  const Pickle protocol = stream.next();
  check(protocol.at(protocol.root).integer == kProtocol, context, ": is of protocol ",
        protocol.at(protocol.root).integer, ", expected ", kProtocol);
  static_cast<void>(stream.next());  // the writer's system; numbers are little-endian on all
  TorchContents contents;
  contents.object = stream.next();
  const Pickle keys = stream.next();
  check(keys.at(keys.root).kind == PickleKind::list, context, ": has no list of storages");
  const std::map<std::string, TorchStorage> storages = storages_of(contents.object, context);
  std::uint64_t at = stream.at();
  for (const PickleRef ref : keys.at(keys.root).items) {
    const auto named = storages.find(keys.at(ref).text);
    check(named != storages.end(), context, ": contains the storage ", in_quotes(keys.at(ref).text),
          ", which its object does not reference");
    const ByteRange range = read_range(source, at, named->second, context);
    check(contents.storages.emplace(named->first, range).second, context, ": contains the storage ",
          in_quotes(named->first), " twice");
    at = range.offset + range.size;
  }
  check(at == source.size(), context, ": ", source.size() - at, " bytes follow its last storage");
  return contents;
}

bool has_plain_pickle(const ByteSource& source) {
  if (source.size() < 3) return false;
  const std::string start = source.text_at(0, 2);
  return start[0] == '\x80' && start[1] >= 2 && start[1] <= 5;
}

TorchContents open_plain_pickle(const ByteSource& source, const std::string& context) {
  check(source.size() <= kMaxPickleBytes, context, ": is a pickle of ", source.size(),
        " bytes, expected at most ", kMaxPickleBytes);
  TorchContents contents;
  contents.object = parse_pickle(source.text_at(0, source.size()), context);
  return contents;
}

}  // namespace fovea
