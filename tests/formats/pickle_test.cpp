// The machine of pickles: what it understands, what it refuses, and that nothing runs.
#include "engine/formats/torch/pickle.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <set>

#include "engine/formats/torch/pickle_opcodes.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/torch_bytes.h"

using namespace fovea;
using namespace fovea::tests;

namespace {

using Kind = PickleKind;

Pickle parse(const std::string& bytes) { return parse_pickle(bytes, "file"); }

PickleValue root_of(const std::string& body) {
  const Pickle pickle = parse(py_pickle(body));
  return pickle.at(pickle.root);
}

std::string pickle_error(const std::string& body) {
  return message_of([&] { static_cast<void>(parse(py_pickle(body))); });
}

}  // namespace

TEST_CASE("numbers and texts") {
  CHECK(root_of("N").kind == Kind::none);
  CHECK(root_of("\x88").integer == 1);
  CHECK(root_of("\x89").kind == Kind::boolean);
  CHECK(root_of("J" + little<std::int32_t>(-70000)).integer == -70000);
  CHECK(root_of("K\xff").integer == 255);
  CHECK(root_of("M\xff\xff").integer == 65535);
  CHECK(root_of("\x8a\x01\xff").integer == -1);
  CHECK(root_of("\x8a\x02\xff\x01").integer == 511);
  CHECK(root_of(std::string("\x8a\x00", 2)).integer == 0);
  CHECK(root_of(py_integer(INT64_MIN)).integer == INT64_MIN);
  CHECK(root_of(std::string("G\x3f\xf8\0\0\0\0\0\0", 9)).real == 1.5);
  CHECK(root_of(py_text("caf\xc3\xa9")).text == "caf\xc3\xa9");
  CHECK(root_of("\x8c\x02hi").text == "hi");
  CHECK(root_of("B" + little<std::uint32_t>(2) + std::string("\0b", 2)).text ==
        std::string("\0b", 2));
  CHECK(root_of("\x8f").kind == Kind::set);
  CHECK(root_of("U\x02hi").text == "hi");  // Python 2's str
  CHECK(root_of("T" + little<std::uint32_t>(2) + "hi").kind == Kind::text);
  CHECK(root_of("C\x02\xff!").text == "\xff!");
  CHECK(root_of("\x96" + little<std::uint64_t>(2) + "hi").kind == Kind::bytes);
}

TEST_CASE("tuples, lists, dictionaries and what is remembered") {
  const Pickle pickle = parse(py_pickle("]q\x05(K\x01K\x02\x86" + py_text("k") + "eNa"));
  const PickleValue& list = pickle.at(pickle.root);
  REQUIRE(list.items.size() == 3);
  CHECK(pickle.at(list.items[0]).items.size() == 2);
  CHECK(pickle.at(list.items[1]).text == "k");
  CHECK(root_of(py_dict({{"a", "N"}, {"b", "N"}})).items.size() == 4);
  CHECK(root_of("c"
                "collections\nOrderedDict\n)R" +
                py_text("a") + "Ns")
            .items.size() == 2);
  CHECK(root_of(py_text("collections") + py_text("OrderedDict") + "\x93)R").kind == Kind::dict);
  const Pickle twice = parse(py_pickle("]\x94(h" + std::string(1, '\0') + "j" +
                                       little<std::uint32_t>(0) + "e"));  // it holds itself
  CHECK(twice.at(twice.root).items == std::vector<PickleRef>{twice.root, twice.root});
  CHECK(root_of("Nr" + little<std::uint32_t>(0xffffffff)).kind == Kind::none);
  CHECK(parse("\x80\x04\x95" + little<std::uint64_t>(2) + "N.rest").end == 13);
}

TEST_CASE("ordinary things beside the weights are read and say nothing") {
  CHECK(root_of("\x8a\x09"
                "12345678" +
                std::string(1, '\0'))
            .kind == Kind::real);  // 2^56 and more
  CHECK(root_of("\x8a\x09" + std::string(9, '\xff')).real == -1);
  CHECK(root_of("\x8b" + little<std::uint32_t>(2) + "\x01\x02").integer == 513);
  CHECK(root_of("\x8f\x94(NN\x90").kind == Kind::set);
  CHECK(root_of("\x8f\x94(NN\x90").items.size() == 2);
  CHECK(root_of("(NNN\x91").items.size() == 3);
  CHECK(root_of("C\x02"
                "ab")
            .kind == Kind::bytes);
  CHECK(root_of("\x8e" + little<std::uint64_t>(2) + "ab").text == "ab");
  CHECK(root_of("\x96" + little<std::uint64_t>(2) + "ab").text == "ab");
  CHECK(root_of("\x8d" + little<std::uint64_t>(2) + "ab").kind == Kind::text);
  CHECK(root_of(py_global("a", "b") + ")}\x92").kind == Kind::call);
}

TEST_CASE("rare instructions of protocols 2 to 5") {
  CHECK(root_of("K\x01K\x02" + std::string("0")).integer == 1);
  CHECK(root_of("K\x01(K\x02K\x03" + std::string("1")).integer == 1);
  CHECK(root_of("K\x07" + std::string("2\x86")).items.size() == 2);
  CHECK(root_of("\x97\x98").kind == Kind::persistent);
  CHECK(root_of("\x82\x05").text == "copyreg.extension 5");
  CHECK(root_of("\x83\x05\x01").text == "copyreg.extension 261");
  CHECK(root_of("\x84" + little<std::uint32_t>(70000)).kind == Kind::global);
  CHECK(root_of(py_global("__torch__.m", "Format") + py_text("NCHW") + "R").kind == Kind::call);
}

TEST_CASE("dictionaries of other classes, and attributes of objects") {
  const Pickle filled = parse(
      py_pickle(py_call(py_global("collections", "defaultdict"), {py_global("builtins", "int")}) +
                "(" + py_text("a") + "Nu" + py_text("b") + "Ns"));
  CHECK(filled.entries(filled.root).size() == 4);
  CHECK(filled.attributes(filled.root).empty());
  // Python 2 writes an OrderedDict as a call with pairs.
  const std::string pair = "](" + py_text("k") + "K\x05" + "e";
  const Pickle old =
      parse(py_pickle(py_call(py_global("collections", "OrderedDict"), {"](" + pair + "e"})));
  REQUIRE(old.entries(old.root).size() == 2);
  CHECK(old.at(old.entries(old.root)[1]).integer == 5);
  const std::string object = py_global("m", "C") + ")\x81";
  const Pickle plain = parse(py_pickle(object + py_dict({{"x", "N"}}) + "b"));
  CHECK(plain.attributes(plain.root).size() == 2);
  const Pickle slots = parse(py_pickle(object + py_dict({{"x", "N"}}) + "}\x86" + "b"));
  CHECK(slots.attributes(slots.root).size() == 2);
  CHECK(plain.entries(plain.root).empty());
  std::string many = "](";
  for (int i = 0; i < 1000; ++i) many += "K\x01K\x02\x86";
  many = "(" + many + "eq\x01";
  for (int i = 0; i < 3000; ++i) many += py_global("collections", "OrderedDict") + "h\x01\x85R";
  CHECK(contains(pickle_error(many + "t"),
                 "more than 4194304 values"));  // though they are not copied
}

TEST_CASE("what a pickle would call is only noted: nothing runs") {
  const TemporaryFolder folder;
  const std::string marker = (folder / "ran").string();
  const std::string arguments = "(" + py_text("touch '" + marker + "'") + "t";
  for (const std::string& body : {
           py_global("os", "system") + arguments + "R",
           py_global("posix", "system") + arguments + "R",
           py_global("subprocess", "Popen") + arguments + "\x81",
           py_text("os") + py_text("system") + "\x93" + arguments + "R",
           py_global("__builtin__", "getattr") + arguments + "R" + arguments + "R",
           py_global("os", "system") + arguments + "R}" + py_text("x") + "Nsb",
       }) {
    CHECK(root_of(body).kind == Kind::call);
  }
  CHECK_FALSE(std::filesystem::exists(marker));
}

TEST_CASE("what is added to an unknown object is dropped, its state is kept beside it") {
  const std::string object = py_call(py_global("argparse", "Namespace"), {});
  CHECK(root_of(object + "}b").items.size() == 2);
  CHECK(root_of(object + "(" + py_text("k") + "Nu").items.size() == 2);
  CHECK(root_of(object + "(NNe").items.size() == 2);
  CHECK(root_of(object + "Na").items.size() == 2);
  const Pickle pickle = parse(py_pickle(object + "K\x07" + "b"));
  REQUIRE(pickle.states.contains(pickle.root));
  CHECK(pickle.at(pickle.states.at(pickle.root)).integer == 7);
}

TEST_CASE("every instruction that is not needed is refused by its name") {
  const std::set<std::string_view> understood{
      "PROTO",      "FRAME",          "MARK",        "STOP",
      "EMPTY_DICT", "EMPTY_LIST",     "EMPTY_TUPLE", "EMPTY_SET",
      "TUPLE",      "TUPLE1",         "TUPLE2",      "TUPLE3",
      "APPEND",     "APPENDS",        "SETITEM",     "SETITEMS",
      "BININT",     "BININT1",        "BININT2",     "BINFLOAT",
      "BINUNICODE", "BINGET",         "BINPUT",      "BINPERSID",
      "LONG1",      "LONG_BINGET",    "LONG_BINPUT", "SHORT_BINUNICODE",
      "MEMOIZE",    "NONE",           "NEWTRUE",     "NEWFALSE",
      "GLOBAL",     "STACK_GLOBAL",   "REDUCE",      "NEWOBJ",
      "BUILD",      "BINBYTES",       "LONG4",       "BINUNICODE8",
      "BINBYTES8",  "BYTEARRAY8",     "ADDITEMS",    "FROZENSET",
      "NEWOBJ_EX",  "SHORT_BINBYTES", "BINSTRING",   "SHORT_BINSTRING",
      "POP",        "POP_MARK",       "DUP",         "EXT1",
      "EXT2",       "EXT4",           "NEXT_BUFFER", "READONLY_BUFFER"};
  std::set<int> codes;
  for (const PickleOpcode& opcode : kPickleOpcodes) {
    codes.insert(opcode.code);
    const std::string said =
        pickle_error(std::string(1, static_cast<char>(opcode.code)) + "\n\n\n");
    CAPTURE(opcode.name);
    const bool is_refused = contains(said, "the instruction " + std::string(opcode.name) + " at");
    CHECK(is_refused != understood.contains(opcode.name));
  }
  CHECK(codes.size() == 68);
  for (int code = 0; code < 256; ++code) {
    if (codes.contains(code)) continue;
    CHECK(contains(pickle_error(std::string(1, static_cast<char>(code))),
                   "code " + std::to_string(code) + " at byte 2"));
  }
}

TEST_CASE("depth costs no stack, and has a limit where Python would nest") {
  std::string nested = "N";
  for (int i = 0; i < 1'000'000; ++i) nested += "\x85";
  CHECK(root_of(nested).kind == Kind::tuple);
  std::string dicts, ends;
  for (int i = 0; i < 100'000; ++i) {
    dicts += "}" + py_text("k");
    ends += "s";
  }
  CHECK(root_of(dicts + "N" + ends).kind == Kind::dict);
  CHECK(contains(pickle_error(std::string(1001, '(')), "more than 1000 open MARKs"));
}

TEST_CASE("what no writer leaves is refused") {
  for (const auto& row : std::vector<std::pair<std::string, std::string>>{
           {"X" + little<std::uint32_t>(0xffffffff) + "abc", "is truncated: 4294967295 bytes"},
           {"B" + little<std::uint32_t>(10), "is truncated"},
           {"\x8a\xff", "is truncated"},
           {"\x8b" + little<std::uint32_t>(0xffffffff), "is truncated"},
           {"\x8e" + little<std::uint64_t>(~std::uint64_t{0}), "is truncated"},
           {"N(N\x90", "a value that is not modifiable"},
           {"N\x91", "collects values without a MARK"},
           {py_global("a", "b") + ")N\x92", "keyword arguments that are not a dictionary"},
           {"cos", "is truncated in a name"},
           {"h\x07", "reads memo 7"},
           {"j" + little<std::uint32_t>(7), "reads memo 7"},
           {"q\x01", "memoizes a value on an empty stack"},
           {"(q\x01", "memoizes a value on an empty stack"},
           {"0", "takes 1 values from a stack of 0"},
           {"1", "collects values without a MARK"},
           {"\x98", "takes 1 values from a stack of 0"},
           {"NNt", "collects values without a MARK"},
           {"(N\x86", "takes 2 values from a stack of 1"},
           {"a", "takes 1 values from a stack of 0"},
           {"NNa", "a value that is not modifiable"},
           {"N(NNu", "a value that is not modifiable"},
           {"](NNu", "a value that is not modifiable"},
           {"}(Nu", "a key without a value"},
           {"N}b", "a value that is not modifiable"},
           {"(}b", "modifies a value on an empty stack"},
           {"N)R", "calls a value that is not callable"},
           {"NN\x93", "a name that is not a string"},
           {"", "ends with 0 values"},
           {"NN", "ends with 2 values"},
           {"(N", "1 open MARKs"},
           {"\x80\x06", "protocol 6"},
           {"\x95" + little<std::uint64_t>(9), "a FRAME of 9 bytes, but 1 follow"}}) {
    const std::string& body = row.first;
    const std::string& part = row.second;
    CAPTURE(part);
    CHECK_MESSAGE(contains(pickle_error(body), part), pickle_error(body));
    CHECK(pickle_error(body).starts_with("file: the pickle "));
  }
  CHECK(contains(pickle_error(std::string(kMaxPickleValues + 1, '}')), "more than 4194304 values"));
}

TEST_CASE("a pickle that is cut anywhere is refused") {
  const std::string whole = py_pickle(
      py_dict({{"a", PyTensor{}.bytes()}, {"b", "\x8c\x02hi"}, {"c", "(K\x01\x88M\x01\x01t"}}));
  static_cast<void>(parse(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(message_of([&] { static_cast<void>(parse(whole.substr(0, size))); }).empty());
  }
}
