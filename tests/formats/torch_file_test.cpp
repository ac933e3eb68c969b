// Files of torch.save: those that PyTorch wrote (tests/interop/torch_files.py makes them), to equal
// bits, and files that lie.
#include "engine/formats/torch/torch_file.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "engine/formats/safetensors.h"
#include "tests/formats/read_torch.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/torch_bytes.h"
#include "tests/support/values.h"

using namespace fovea;
using namespace fovea::tests;

namespace {

const std::filesystem::path kFiles = FOVEA_SOURCE_DIR "/tests/formats/torch_files";

Tensors read_file_of_torch(const std::string& name, const std::string& key) {
  const InputFile file(kFiles / name);
  return TorchDictionary(file, key, name).read();
}
std::string torch_error(const std::string& bytes, const std::string& key = "") {
  return message_of([&] { static_cast<void>(read_torch(bytes, key)); });
}

void check_equal(const Tensors& a, const Tensors& b) {
  REQUIRE(a.size() == b.size());
  for (const auto& entry : a) {
    CAPTURE(entry.first);
    const Tensor &x = entry.second, &y = b.at(entry.first);
    CHECK(x.dtype() == y.dtype());
    CHECK(x.shape() == y.shape());
    CHECK(std::equal(x.raw(), x.raw() + x.byte_count(), y.raw()));
  }
}

/// One tensor "x" in a storage of four f32.
std::string both_forms_of(const PyTensor& tensor, bool old) {
  const std::string value = py_dict({{"x", tensor.bytes()}});
  return old ? torch_old(value, {{"0", floats_to(4)}}) : torch_zip(value, {{"0", floats_to(4)}});
}

/// A file of any size that is mostly a hole, and how much of it was read.
class HollowFile : public ByteSource {
 public:
  HollowFile(std::uint64_t size, std::map<std::uint64_t, std::string> content)
      : size_(size), content_(std::move(content)) {}

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  void read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    read_ += into.size();
    std::fill(into.begin(), into.end(), std::byte{0});
    for (const auto& [at, bytes] : content_) {
      for (std::uint64_t i = std::max(offset, at);
           i < std::min(offset + into.size(), at + bytes.size()); ++i) {
        into[i - offset] = static_cast<std::byte>(bytes[i - at]);
      }
    }
  }
  [[nodiscard]] std::uint64_t bytes_read() const { return read_; }

 private:
  std::uint64_t size_;
  std::map<std::uint64_t, std::string> content_;
  mutable std::uint64_t read_ = 0;
};

}  // namespace

TEST_CASE("PyTorch's own files, both forms: every type and layout to equal bits") {
  const Tensors expected = read_safetensors(kFiles / "expected.safetensors").tensors;
  CHECK(expected.size() > 20);
  check_equal(read_file_of_torch("checkpoint-zip.pth", "model"), expected);
  check_equal(read_file_of_torch("checkpoint-old.pth", "model"), expected);
  CHECK(read_file_of_torch("one.pt", "").at("x").to_vector() == std::vector<double>{0, 1, 2});
}

TEST_CASE("which dictionary is meant") {
  const auto said = [](const std::string& name, const std::string& key) {
    return message_of([&] { static_cast<void>(read_file_of_torch(name, key)); });
  };
  for (const char* file : {"checkpoint-zip.pth", "checkpoint-old.pth"}) {
    CHECK(contains(said(file, ""),
                   "contains 2 dictionaries of tensors; --weights-key selects one of \"model\" (23 "
                   "tensors), \"nested.ema\" (1 tensor)"));
    CHECK(read_file_of_torch(file, "nested.ema").size() == 1);
    CHECK(contains(said(file, "ema"), "\"ema\" is not in it, expected one of"));
    CHECK(contains(said(file, "args"), "is an object of \"argparse.Namespace\" without tensors"));
    CHECK(contains(said(file, "scaler"), "is a dictionary without tensors"));
    CHECK(contains(said(file, "."), "is a dictionary without tensors"));
  }
  CHECK(read_file_of_torch("whole-model.pt", "").size() == 2);  // torch.save(Linear)

  const std::string x = PyTensor{.count = 4, .sizes = {4}, .strides = {1}}.bytes();
  const PyStorages storage{{"0", floats_to(4)}};
  const std::string dots = torch_zip(
      py_dict({{"a", py_dict({{"b", py_dict({{"c", x}})}})}, {"a.b", py_dict({{"d", x}})}}),
      storage);
  CHECK(read_torch(dots, "a.b").contains("d"));  // the longest name first
  CHECK(read_torch(torch_zip(py_dict({{"x", x}, {"epoch", "K\x03"}}), storage)).size() == 1);
  CHECK(
      read_torch(torch_zip(py_dict({{"x", x}, {"m", py_dict({{"y", x}})}}), storage), ".").size() ==
      1);
  CHECK(contains(torch_error(torch_zip(py_dict({{"epoch", "K\x03"}}), {})),
                 "contains no dictionary of tensors; \"epoch\" is an integer"));
  CHECK(contains(torch_error(torch_zip(x, storage)), "contains a tensor, expected a dictionary"));
  const std::string state = "}(K" + std::string(1, '\0') + py_dict({{"exp_avg", x}}) + "u";
  CHECK(
      read_torch(torch_zip(py_dict({{"model", py_dict({{"w", x}})},  // an optimizer's is reached by
                                    {"optimizer", py_dict({{"state", state}})}}),  // numbers
                           storage))
          .contains("w"));
  const std::string circle = "}q\x01(" + py_text("self") + "h\x01" + py_text("x") + x + "u";
  CHECK(read_torch(torch_zip(circle, storage)).size() == 1);
}

TEST_CASE("what is no tensor is named and left out") {
  const InputFile file(kFiles / "checkpoint-zip.pth");
  const std::string x = PyTensor{.count = 4, .sizes = {4}, .strides = {1}}.bytes();
  const std::string bytes = torch_zip(
      py_dict({{"x", x}, {"args", py_call(py_global("os", "system"), {py_text("exit")})}}),
      {{"0", floats_to(4)}});
  const MemoryBytes source(bytes, "file");
  const TorchDictionary dictionary(source, "", "file");
  CHECK(dictionary.others() == std::vector<std::string>{"args"});
  CHECK(dictionary.entries().size() == 1);
  CHECK(is_torch_file(file));
  CHECK(is_torch_file(MemoryBytes("\x80\x02}.", "file")));
  CHECK_FALSE(is_torch_file(MemoryBytes("\x80\x07}.", "file")));
}

TEST_CASE("views of a storage: whole, part, turned, repeated") {
  for (const bool old : {false, true}) {
    const auto values = [&](const PyTensor& t) {
      return read_torch(both_forms_of(t, old)).at("x");
    };
    CHECK(values({.count = 4, .sizes = {2, 2}, .strides = {2, 1}}).to_vector() ==
          Values{1, 2, 3, 4});
    CHECK(values({.count = 4, .sizes = {2, 2}, .strides = {1, 2}}).to_vector() ==
          Values{1, 3, 2, 4});
    CHECK(values({.count = 4, .offset = 3}).to_vector() == Values{4});
    CHECK(values({.count = 4, .offset = 1, .sizes = {2}, .strides = {2}}).to_vector() ==
          Values{2, 4});
    CHECK(values({.count = 4, .sizes = {3, 2}, .strides = {0, 1}}).to_vector() ==
          Values{1, 2, 1, 2, 1, 2});
    CHECK(values({.count = 4, .sizes = {0, 7}, .strides = {7, 1}}).numel() == 0);
  }
}

TEST_CASE("tensors that do not lie in their storage are refused") {
  const std::int64_t most = INT64_MAX;
  for (const auto& row : std::vector<std::pair<PyTensor, std::string>>{
           {{.count = 4, .sizes = {5}, .strides = {1}}, "beyond a storage of 4 elements"},
           {{.count = 4, .offset = 4}, "beyond a storage of 4 elements"},
           {{.count = 4, .offset = 1, .sizes = {2, 2}, .strides = {2, 1}}, "beyond a storage"},
           {{.count = 4, .offset = -1}, "its offset is -1"},
           {{.count = 4, .offset = most, .sizes = {2}, .strides = {1}}, "beyond a storage"},
           {{.count = 4, .sizes = {-1}, .strides = {1}}, "its shape is -1"},
           {{.count = 4, .sizes = {2}, .strides = {-1}}, "its strides is -1"},
           {{.count = 4, .sizes = {3, 3}, .strides = {most, most}}, "beyond a storage"},
           {{.count = 4, .sizes = {most, most}, .strides = {0, 0}},
            "more bytes than 64 bits can count"},
           {{.count = 4, .sizes = {0, most, most}, .strides = {0, 0, 0}},
            "more bytes than 64 bits can count"},
           {{.count = 4, .sizes = {most / 16}, .strides = {0}}, "its tensors would take more than"},
           {{.count = 4, .sizes = {1, 1, 1, 1, 1, 1, 1}}, "has 7 axes, expected at most 6"},
           {{.count = 4, .sizes = {2, 2}, .strides = {1}}, "and the strides [1]"},
           {{.count = 5, .sizes = {5}, .strides = {1}}, ""},  // the storage has four
           {{.count = -4}, "storage's size is -4"},
           {{.count = most, .sizes = {1}, .strides = {1}}, "more bytes than 64 bits can count"},
           {{.key = "9", .count = 4}, "storage \""},
           {{.type = "ComplexFloatStorage", .count = 4}, "torch.ComplexFloatStorage"},
           {{.type = "system", .count = 4}, "torch.system"}}) {
    const PyTensor& tensor = row.first;
    const std::string& part = row.second;
    for (const bool old : {false, true}) {
      CAPTURE(part);
      const std::string said = torch_error(both_forms_of(tensor, old));
      CHECK_MESSAGE((!said.empty() && contains(said, part)), said);
    }
  }
}

TEST_CASE("calls of PyTorch's functions with other arguments are refused") {
  const auto made = [](const std::string& name, const std::vector<std::string>& arguments) {
    return torch_error(
        torch_zip(py_dict({{"x", py_call(py_global("torch._utils", name), arguments)}}),
                  {{"0", floats_to(4)}}));
  };
  const std::string storage = py_storage("FloatStorage", "0", 4), one = py_tuple({py_integer(1)});
  CHECK(contains(made("_rebuild_tensor_v2", {}), "is built from 0 values"));
  CHECK(contains(made("_rebuild_tensor_v2", {storage, "N", one, one}), "its offset is None"));
  CHECK(contains(made("_rebuild_tensor_v2", {"N", "N", one, one}), "its storage is None"));
  CHECK(
      contains(made("_rebuild_tensor", {storage, py_integer(0), "]", one}), "its shape is a list"));
  CHECK(made("_rebuild_tensor", {storage, py_integer(0), one, one}).empty());
  CHECK(contains(made("_rebuild_tensor_v2",
                      {storage, py_integer(0), one, one, "\x89", "N", py_dict({{"neg", "\x88"}})}),
                 "is a view that strides cannot describe"));
  CHECK(contains(made("_rebuild_parameter", {"N", "\x88", "N"}), "is built by None"));
  const std::string untyped = py_tuple({py_text("storage"), py_global("torch", "UntypedStorage"),
                                        py_text("0"), py_text("cpu"), py_integer(16)}) +
                              "Q";
  CHECK(contains(made("_rebuild_tensor_v2", {untyped, py_integer(0), one, one}),
                 "its storage does not specify its type"));
  const auto of_dtype = [&](const std::string& dtype) {
    return made("_rebuild_tensor_v3",
                {untyped, py_integer(0), one, one, "\x89", "N", py_global("torch", dtype)});
  };
  CHECK(of_dtype("uint32").empty());
  CHECK(of_dtype("float8_e4m3fn").empty());
  CHECK(contains(of_dtype("complex64"), "torch.complex64"));
  const std::string x = PyTensor{.count = 4, .sizes = {4}, .strides = {1}}.bytes();
  CHECK(contains(torch_error(torch_zip(py_dict({{"x", x}, {"x", x}}), {{"0", floats_to(4)}})),
                 "the name \"x\" appears twice"));
}

TEST_CASE("files that lie about their parts are refused") {
  const std::string object = py_pickle(py_dict({{"x", PyTensor{.count = 4}.bytes()}}));
  const std::string four = py_dict({{"x", PyTensor{.count = 4}.bytes()}});
  CHECK(contains(torch_error(zip_bytes({{"a/data.pkl", object}, {"b/data.pkl", object}})),
                 "contains two objects"));
  CHECK(contains(torch_error(zip_bytes({{"data.pkl", object}})), "without NAME/data.pkl"));
  CHECK(contains(torch_error(zip_bytes({{"a/data.pkl", object}, {"a/byteorder", "middle"}})),
                 "its byte order is \"middle\", expected little or big"));
  CHECK(contains(torch_error(zip_bytes({{.name = "a/data.pkl", .bytes = object, .method = 8}})),
                 "is compressed, which torch.save never does"));
  CHECK(contains(torch_error(torch_zip(four, {})), "its storage \"0\" is not in the file"));
  CHECK(contains(torch_error(torch_zip(four, {{"0", floats_to(4) + "1"}})),
                 "has 17 bytes in the file, but 16"));

  CHECK(contains(torch_error(torch_old(four, {})), "its storage \"0\" is not in the file"));
  CHECK(contains(torch_error(torch_old(four, {{"0", floats_to(4)}, {"1", floats_to(4)}})),
                 "does not reference"));
  CHECK(contains(torch_error(torch_old(four, {{"0", floats_to(4) + "1234"}})),
                 "has 5 elements in the file"));
  CHECK(contains(torch_error(torch_old(four, {{"0", floats_to(4)}}) + "1"), "1 bytes follow"));
  CHECK(contains(torch_error(kOldMagic + py_pickle(py_integer(7))), "is of protocol 7"));
  const std::string twice =
      py_dict({{"x", PyTensor{.count = 4}.bytes()}, {"y", PyTensor{.count = 2}.bytes()}});
  CHECK(
      contains(torch_error(torch_old(twice, {{"0", floats_to(4)}})), "as two different storages"));
  CHECK(contains(torch_error("neither"), "is a text, not weights"));
}

TEST_CASE("one long text that is meant a hundred thousand times costs no more than itself") {
  const std::string text(1 << 20, 'n'), pushed = "X" + little<std::uint32_t>(1 << 20) + text;
  std::string dictionaries, objects, storages;
  for (int i = 0; i < 100'000; ++i) {
    dictionaries += "h\x01}";
    objects += "h\x01)RN";
    storages += "h\x01Q";
  }
  CHECK(contains(torch_error(torch_zip("}(" + pushed + "q\x01N" + dictionaries + "u", {})),
                 "contains no dictionary of tensors"));

  const std::string x = py_text("x") + PyTensor{.count = 4, .sizes = {4}, .strides = {1}}.bytes();
  const std::string bytes =
      torch_zip("}(" + x + "cm\n" + text + "\nq\x01N" + objects + "u", {{"0", floats_to(4)}});
  const MemoryBytes source(bytes, "file");
  CHECK(TorchDictionary(source, ".", "file").others().size() == 100'001);

  const std::string id = py_tuple(
      {py_text("storage"), py_global("torch", "FloatStorage"), pushed, "N", py_integer(1)});
  CHECK(contains(torch_error(torch_old(id + "q\x01](" + storages + "e\x86", {})),
                 "its storage's key has 1048576 bytes"));
}

TEST_CASE("a file that is cut anywhere is refused") {
  for (const bool old : {false, true}) {
    const std::string whole = both_forms_of({.count = 4, .sizes = {4}, .strides = {1}}, old);
    CHECK(read_torch(whole).size() == 1);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      CAPTURE(size);
      CHECK_FALSE(torch_error(whole.substr(0, size)).empty());
    }
  }
}

TEST_CASE("of a large file only what is asked for is read") {
  const std::int64_t count = std::int64_t{5} << 28;  // f32: 5 GiB
  const PyTensor end{.count = count, .offset = count - 2, .sizes = {2}, .strides = {1}};
  const PyTensor all{.count = count, .sizes = {count}, .strides = {1}};
  const std::string object = py_pickle(py_dict(
      {{"model", py_dict({{"x", end.bytes()}})}, {"other", py_dict({{"y", all.bytes()}})}}));
  const std::string start = zip_local({"a/data.pkl", object}) + object;
  const std::string large = zip_local({"a/data/0", ""});
  const std::uint64_t bytes = 4 * static_cast<std::uint64_t>(count);
  const std::uint64_t directory = start.size() + large.size() + bytes;
  std::string entry = zip_entry({"a/data/0", ""}, static_cast<std::uint32_t>(start.size()));
  entry.replace(20, 8, little<std::uint64_t>(~0ULL));
  entry.replace(30, 2, little<std::uint16_t>(20));
  entry += little<std::uint16_t>(1) + little<std::uint16_t>(16) + little(bytes) + little(bytes);
  entry = zip_entry({"a/data.pkl", object}, 0) + entry;
  const std::string ends = "PK\6\6" + little<std::uint64_t>(44) + std::string(12, '\0') +
                           little<std::uint64_t>(2) + little<std::uint64_t>(2) +
                           little<std::uint64_t>(entry.size()) + little(directory) + "PK\6\7" +
                           std::string(4, '\0') + little(directory + entry.size()) +
                           little<std::uint32_t>(1) + zip_end(2, 0xffffffff, 0xffffffff);
  const HollowFile file(directory + entry.size() + ends.size(),
                        {{0, start + large},
                         {directory - 8, little(1.5F) + little(2.5F)},
                         {directory, entry + ends}});
  const Tensors tensors = TorchDictionary(file, "model", "file").read();
  CHECK(tensors.at("x").to_vector() == std::vector<double>{1.5, 2.5});
  CHECK(file.size() > std::uint64_t{5} << 30);
  CHECK(file.bytes_read() < 100'000);
}
