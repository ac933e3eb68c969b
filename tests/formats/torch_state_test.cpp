// Weights in other containers than a dictionary of tensors: modules, lists, NumPy's arrays.
#include "engine/formats/torch/state.h"

#include <doctest/doctest.h>

#include "tests/formats/read_torch.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/torch_bytes.h"
#include "tests/support/values.h"

using namespace fovea;
using namespace fovea::tests;

namespace {

const PyStorages kStorage{{"0", floats_to(4)}};
const std::string kX = PyTensor{.count = 4, .sizes = {4}, .strides = {1}}.bytes();

Tensors read_state(const std::string& value, const std::string& key = "") {
  return read_torch(torch_zip(value, kStorage), key);
}
std::string state_error(const std::string& value, const std::string& key = "") {
  return message_of([&] { static_cast<void>(read_state(value, key)); });
}

/// An object of a class, with attributes.
std::string object(const std::string& module, const std::string& name, const PyItems& attributes) {
  return py_global(module, name) + ")\x81" + py_dict(attributes) + "b";
}

/// An object of torch.nn.Module.
std::string module(const PyItems& parameters, const PyItems& buffers, const PyItems& modules,
                   const std::string& passing = "\x8f") {
  return object("some.net", "Part",
                {{"training", "\x89"},
                 {"_parameters", py_dict(parameters)},
                 {"_buffers", py_dict(buffers)},
                 {"_non_persistent_buffers_set", passing},
                 {"_modules", py_dict(modules)}});
}

std::string dtype(const std::string& name, const std::string& order) {
  return py_call(py_global("numpy", "dtype"), {py_text(name), "\x89", "\x88"}) +
         py_tuple({py_integer(3), py_text(order), "N", "N", "N", py_integer(-1), py_integer(-1),
                   py_integer(0)}) +
         "b";
}
std::string bytes_value(const std::string& bytes) {
  return "B" + little(static_cast<std::uint32_t>(bytes.size())) + bytes;
}
std::string array(const std::vector<std::int64_t>& shape, const std::string& type,
                  const std::string& order, const std::string& fortran, const std::string& bytes) {
  std::vector<std::string> sizes;
  for (const std::int64_t size : shape) sizes.push_back(py_integer(size));
  return py_call(py_global("numpy.core.multiarray", "_reconstruct"),
                 {py_global("numpy", "ndarray"), py_tuple({py_integer(0)}), bytes_value("b")}) +
         py_tuple(
             {py_integer(1), py_tuple(sizes), dtype(type, order), fortran, bytes_value(bytes)}) +
         "b";
}

std::string swapped(float value) {
  std::string bytes = little(value);
  return {bytes.rbegin(), bytes.rend()};
}

}  // namespace

TEST_CASE("a whole module's parameters and buffers have their state_dict's names") {
  const std::string net = module({{"cls", kX}, {"none", "N"}}, {},
                                 {{"norm", module({{"weight", kX}}, {{"mean", kX}, {"cache", kX}},
                                                  {}, "\x8f(" + py_text("cache") + "\x90")},
                                  {"act", module({}, {}, {})},
                                  {"none", "N"}});
  const Tensors tensors = read_state(net);
  CHECK(tensors.size() == 3);
  CHECK(tensors.at("norm.weight").to_vector() == Values{1, 2, 3, 4});
  CHECK(tensors.contains("norm.mean"));
  CHECK(tensors.contains("cls"));
  // Before protocol 4 a set is a call.
  const std::string old_set =
      py_call(py_global("builtins", "set"), {"](" + py_text("cache") + "e"});
  CHECK(read_state(module({{"w", kX}}, {{"cache", kX}}, {}, old_set)).size() == 1);
  CHECK(read_state(py_dict({{"model", net}, {"epoch", "K\x03"}})).size() == 3);
  CHECK(read_state(py_dict({{"model", net}, {"ema", net}}), "ema").size() == 3);
  CHECK(contains(state_error(py_dict({{"model", net}, {"ema", module({{"w", kX}}, {}, {})}})),
                 "selects one of \"model\" (3 tensors), \"ema\" (1 tensor)"));
}

TEST_CASE("a program of TorchScript is read as a module, whatever its code") {
  const std::string part = object("__torch__.clip.model", "LayerNorm",
                                  {{"weight", kX}, {"training", "\x89"}, {"_hook", "N"}});
  const std::string net = object("__torch__.multimodal.model", "Model",
                                 {{"visual", object("__torch__.a.b", "V", {{"ln_pre", part}})},
                                  {"proj", kX},
                                  {"training", "\x89"}});
  std::vector<fovea::tests::ZipMember> members{
      {"archive/data.pkl", py_pickle(net)},
      {"archive/constants.pkl", py_pickle(")")},
      {"archive/version", "3\n"},
      {.name = "archive/code/a.py", .bytes = "\x03", .method = 8},
      {"archive/data/0", kStorage.at("0")}};
  const Tensors tensors = read_torch(zip_bytes(members));
  CHECK(tensors.size() == 2);
  CHECK(tensors.contains("visual.ln_pre.weight"));
  members.push_back({"archive/byteorder", "big"});
  members[4].bytes = swapped(1) + swapped(2) + swapped(3) + swapped(4);
  CHECK(read_torch(zip_bytes(members)).at("proj").to_vector() == Values{1, 2, 3, 4});
}

TEST_CASE("modules without end are refused") {
  const std::string self = "cm\nC\n)\x81q\x01" + py_dict({{"_parameters", "}"}}) +
                           py_text("_modules") + "}" + py_text("a") + "h\x01ssb";
  CHECK(contains(state_error(self), "or contain themselves"));
  std::string twice = module({{"w", kX}}, {}, {});
  std::string all;
  for (int i = 2; i < 40; ++i) {  // 2^38 parts
    all += twice + std::string("q") + static_cast<char>(i) + "0";
    const std::string get = std::string("h") + static_cast<char>(i);
    twice = module({}, {}, {{"a", get}, {"b", get}});
  }
  CHECK(contains(state_error(all + twice), "more than 20000"));
}

TEST_CASE("a list or tuple, an object or another dictionary around the weights") {
  const std::string state = py_dict({{"w", kX}});
  CHECK(read_state("](" + state + py_dict({{"lr", "K\x01"}}) + "e").contains("w"));
  CHECK(read_state("K\x03" + state + "\x86").contains("w"));
  CHECK(read_state(state + "\x85").contains("w"));
  CHECK(contains(state_error(state + state + "\x86"),
                 "selects one of \"0\" (1 tensor), \"1\" (1 tensor)"));
  CHECK(read_state(state + py_dict({{"v", kX}}) + "\x86", "1").contains("v"));
  CHECK(read_state(object("argparse", "Namespace", {{"weights", state}})).contains("w"));
  CHECK(read_state(py_call(py_global("collections", "defaultdict"), {}) + "(" + py_text("w") + kX +
                   "u")
            .contains("w"));
  CHECK(contains(state_error("](NNe"), "contains no dictionary of tensors; \"0\" is None"));
}

TEST_CASE("counters and states of random generators are not weights") {
  const PyStorages storages{{"0", kStorage.at("0")}, {"1", std::string(16, '\0')}};
  const std::string bytes =
      PyTensor{.key = "1", .type = "ByteStorage", .count = 16, .sizes = {16}, .strides = {1}}
          .bytes();
  const std::string score = PyTensor{.count = 4}.bytes();
  const std::string file = torch_zip(
      py_dict({{"net", py_dict({{"w", kX}})},
               {"rng", py_dict({{"cpu", bytes}})},
               {"best", py_dict({{"score", score}})},
               {"numpy", py_dict({{"key", array({2, 3}, "f4", "<", "\x89", floats_to(6))}})}}),
      storages);
  CHECK(read_torch(file).size() == 1);
  CHECK(read_torch(file, "rng").size() == 1);  // as asked for
}

TEST_CASE("arrays of NumPy are weights") {
  const auto one = [](const std::string& value) {
    return read_state(py_dict({{"x", value}})).at("x");
  };
  CHECK(one(array({2, 3}, "f4", "<", "\x89", floats_to(6))).to_vector() ==
        Values{1, 2, 3, 4, 5, 6});
  CHECK(one(array({2, 3}, "f4", "<", "\x88", floats_to(6))).to_vector() ==
        Values{1, 3, 5, 2, 4, 6});
  CHECK(one(array({2}, "f4", ">", "\x89", swapped(1) + swapped(2))).to_vector() == Values{1, 2});
  CHECK(one(array({2}, "V2", "|", "\x89", std::string("\x80\x3f\x00\x40", 4))).to_vector() ==
        Values{1, 2});
  const std::string joined = py_call(
      py_global("numpy._core.numeric", "_frombuffer"),
      {bytes_value(floats_to(6)), dtype("f4", "<"), py_tuple({py_integer(6)}), py_text("C")});
  CHECK(one(joined).numel() == 6);
  CHECK(contains(state_error(py_dict({{"x", array({7}, "f4", "<", "\x89", floats_to(6))}})),
                 "has 24 bytes, but its shape [7] takes 28"));
  const std::string text = array({1}, "U3", "<", "\x89", std::string(12, 'a'));
  CHECK(read_state(py_dict({{"x", kX}, {"y", text}})).size() == 1);
  // A pickle by itself, without a file of torch.save around it.
  const std::string dumped =
      py_pickle(py_dict({{"x", array({6}, "f4", "<", "\x89", floats_to(6))}}));
  CHECK(read_torch(dumped).at("x").numel() == 6);
}

TEST_CASE("tensors with attributes and tensors of eight bits") {
  const std::string attributes = py_dict({{"note", "K\x01"}});
  const std::string storage = py_storage("FloatStorage", "0", 4), four = py_tuple({py_integer(4)}),
                    one = py_tuple({py_integer(1)});
  const std::string noted =
      py_call(py_global("torch._tensor", "_rebuild_from_type_v2"),
              {py_global("torch._utils", "_rebuild_tensor_v2"), py_global("torch", "Tensor"),
               py_tuple({storage, py_integer(0), four, one, "\x89", "}"}), attributes});
  CHECK(read_state(py_dict({{"x", noted}})).at("x").to_vector() == Values{1, 2, 3, 4});
}
