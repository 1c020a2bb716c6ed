#include "MapFiles.h"
#include "RandomMap.h"
#include "origin/Utf8.h"

#include "nlohmann/json.hpp"

#include <random>

using namespace origo::origin;
using namespace origo::test;
using llvm::ArrayRef;
using llvm::StringRef;

TEST(OriginJson, ReadsBackWhatWasWritten) {
  std::string model = Small().build();
  auto file = open(model);
  for (unsigned seed = 0; seed < 300; ++seed) {
    OriginMap map = randomMap(seed, file->view());
    map.source.namesKnown = seed % 3;
    std::string text = json(map);
    auto read = readJson(text);
    ASSERT_TRUE(bool(read)) << error(read);
    EXPECT_EQ(json(*read), text);
    EXPECT_EQ(read->source.namesKnown, map.source.namesKnown);
    EXPECT_EQ(read->ledger.size(), map.ledger.size());
    auto document = nlohmann::json::parse(text, nullptr, false);
    ASSERT_FALSE(document.is_discarded());
    EXPECT_EQ(document["map"].size(), 2u);
    EXPECT_EQ(document["map"]["1"], document["target"]["subgraphs"][0]["operators"][1]["origins"]);
  }
}

TEST(OriginJson, HasTheKeysAndTheOrderOfTheDocumentation) {
  OriginMap map;
  map.generator = "origo 0.1.0";
  map.source.file = "face.tflite";
  map.source.format = "tflite";
  map.source.subgraphs.push_back({"main",
                                  0,
                                  0,
                                  {{"CONV_2D", "", {1}}, {"CUSTOM", "X\n", {-1}}},
                                  {{"w", TensorKind::Constant}, {"y", TensorKind::Activation}}});
  map.source.signatures.push_back({"serving_default", 0, {{"x", 5}}, {{"y", 14}}});
  map.target.file = "face.circle";
  map.target.format = "circle";
  TargetSubgraph graph;
  graph.name = "main";
  graph.source = {0};
  graph.operators.resize(2);
  graph.operators[0] = {"CONV_2D", "", {"relu1"}, {0, 1}, {"fuse-activation"}, "", {}, "", {}, {}, {}};
  graph.operators[1] = {"QUANTIZE", "", {"q"}, {}, {"quantize"}, "type-bridge", {1}, "why", {3, 2}, {}, {0, 1}};
  TensorRow constant;
  constant.name = "w";
  constant.constant = true;
  constant.tensors = {0, 4};
  constant.operators = {1};
  MapStep affine;
  affine.kind = MapStep::Affine;
  affine.axis = 0;
  affine.scale = {Term::Constant, 0, 7};
  constant.relations = {{0, std::vector{affine}, false}};
  TensorRow value;
  value.index = 1;
  value.name = "relu1";
  affine.scale = {Term::Number, 7, 0};
  affine.shift = {Term::Number, 0.1, 0};
  value.relations = {{1, std::vector{affine}, true}};
  graph.tensors = {constant, value};
  map.target.subgraphs.push_back(graph);
  MapLedgerRow row;
  row.id = 3;
  row.fate = "folded-to-constant";
  row.pass = "fold-constants";
  row.rewrite = 12;
  row.tensors = {{0, 3}};
  map.ledger.push_back(row);
  row.isTensor = true;
  row.id = 0;
  row.fate = "dead";
  row.tensors.clear();
  map.ledger.push_back(row);
  map.unneeded = {{false, 1, 0, 2, "times-zero"}, {true, 0, 1, 1, "shape-only"}, {true, 0, 1, 2, "shape-only"}};
  map.source.subgraphs[0].operands = {0, -1, 0};
  map.source.subgraphs[0].operandEnds = {3, 3};
  map.source.subgraphs[0].costs = {{12, 34}, {}};
  map.target.laws = 10;
  map.chain.push_back({"between.circle", "circle", {}, 10});
  map.chain.push_back({"", "circle", {}, 0});
  std::string zero = "sha256:" + std::string(64, '0');
  std::string expected = R"({
  "format": "origo.origin-map", "version": 1, "generator": "origo 0.1.0",
  "source": {
    "file": "face.tflite", "format": "tflite", "fingerprint": "Z", "content": "Z",
    "subgraphs": [{
      "name": "main",
      "operators": [
        {"id": 0, "index": 0, "op": "CONV_2D", "outputs": ["y"], "tensors": [1], "operands": [0, -1, 0], "macs": 12, "bytes": 34},
        {"id": 1, "index": 1, "op": "CUSTOM", "custom_code": "X\n", "outputs": [""], "tensors": [-1], "operands": [], "macs": null, "bytes": null}
      ],
      "tensors": [
        {"id": 0, "index": 0, "name": "w", "kind": "constant"},
        {"id": 1, "index": 1, "name": "y", "kind": "activation"}
      ]
    }],
    "signatures": [
      {"key": "serving_default", "subgraph": 0, "inputs": [{"name": "x", "tensor": 5}], "outputs": [{"name": "y", "tensor": 14}]}
    ]
  },
  "target": {
    "file": "face.circle", "format": "circle", "fingerprint": "Z", "content": "Z", "laws": 10,
    "subgraphs": [{
      "name": "main", "source": [0],
      "operators": [
        {"index": 0, "op": "CONV_2D", "outputs": ["relu1"], "origins": [0, 1], "passes": ["fuse-activation"]},
        {"index": 1, "op": "QUANTIZE", "outputs": ["q"], "origins": [], "passes": ["quantize"], "synthetic": {"reason": "type-bridge", "serves": [1]}, "wide": "why", "calls": [3, 2], "movedPast": [0, 1]}
      ],
      "constants": [
        {"index": 0, "name": "w", "tensors": [0, 4], "operators": [1], "relations": [{"tensor": 0, "steps": [{"affine": {"axis": 0, "scale": 7, "shift": null}}], "exact": false}]}
      ],
      "values": [
        {"index": 1, "name": "relu1", "relations": [{"tensor": 1, "steps": [{"affine": {"axis": 0, "scale": 7.0, "shift": 0.1}}], "exact": true}]}
      ]
    }]
  },
  "ledger": [
    {"operator": 3, "fate": "folded-to-constant", "pass": "fold-constants", "run": 0, "rewrite": 12, "into": {"operators": [], "tensors": [[0, 3]]}},
    {"tensor": 0, "fate": "dead", "pass": "fold-constants", "run": 0, "rewrite": 12, "into": {"operators": [], "tensors": []}, "unneeded": [{"operator": 1, "operand": 1, "reason": "shape-only"}, {"operator": 1, "operand": 2, "reason": "shape-only"}]}
  ],
  "chain": [
    {"file": "between.circle", "format": "circle", "fingerprint": "Z", "laws": 10},
    {"file": "", "format": "circle", "fingerprint": "Z"}
  ],
  "unneeded": [
    {"operator": 1, "unneeded": [{"operator": 0, "operand": 2, "reason": "times-zero"}]}
  ],
  "map": {
    "0": [0, 1],
    "1": []
  }
}
)";
  for (size_t at; (at = expected.find("\"Z\"")) != std::string::npos;)
    expected.replace(at + 1, 1, zero);
  EXPECT_EQ(json(map), expected);

  // No number that JSON does not have, and no claim in its place.
  MapSteps &steps = map.target.subgraphs[0].tensors[1].relations[0].steps;
  MapStep endless = steps[0];
  endless.scale.number = std::numeric_limits<double>::infinity();
  steps = std::vector{endless};
  EXPECT_TRUE(contains(json(map), R"({"index": 1, "name": "relu1", "relations": [], "reason": "approximated"})"));
  steps = std::vector{MapStep{MapStep::Unknown, -1, {}, {}, {}, {}, {}, "{\"x\": [}"}};
  auto read = readJson(json(map));
  EXPECT_TRUE(bool(read)) << error(read);
}

TEST(OriginJson, NamesTheKeyThatIsMissingOrIllTyped) {
  std::string model = Small().build();
  auto file = open(model);
  OriginMap map = identityMap(file->view());
  map.ledger.resize(1);
  auto document = nlohmann::ordered_json::parse(json(map));
  auto message = [&](const nlohmann::ordered_json &document) {
    auto read = readJson(document.dump());
    return error(read);
  };
  ASSERT_EQ(message(document), "");
  auto list = readJson("[]");
  EXPECT_EQ(error(list), "the side file: must be an object");

  struct Case {
    const char *pointer, *message;
  };
  const Case missing[] = {
      {"/format", "the side file: the key \"format\" is missing"},
      {"/version", "the side file: the key \"version\" is missing"},
      {"/source", "the side file: the key \"source\" is missing"},
      {"/ledger", "the side file: the key \"ledger\" is missing"},
      {"/source/fingerprint", "source: the key \"fingerprint\" is missing"},
      {"/target/subgraphs", "target: the key \"subgraphs\" is missing"},
      {"/target/subgraphs/0/values", "target.subgraphs[0]: the key \"values\" is missing"},
      {"/source/subgraphs/0/operators/1/op", "source.subgraphs[0].operators[1]: the key \"op\" is missing"},
      {"/target/subgraphs/0/operators/1/origins", "target.subgraphs[0].operators[1]: the key \"origins\" is missing"},
      {"/target/subgraphs/0/constants/0/relations/0/tensor",
       "target.subgraphs[0].constants[0].relations[0]: the key \"tensor\" is missing"},
      {"/ledger/0/fate", "ledger[0]: the key \"fate\" is missing"},
      {"/ledger/0/into", "ledger[0]: the key \"into\" is missing"},
  };
  for (const Case &test : missing) {
    auto changed = document;
    nlohmann::ordered_json::json_pointer pointer(test.pointer);
    changed[pointer.parent_pointer()].erase(pointer.back());
    EXPECT_EQ(message(changed), test.message);
  }

  struct Change {
    const char *pointer, *value, *message;
  };
  const Change changes[] = {
      {"/version", "7", "version: the origin map has version 7, this program reads version 1"},
      {"/format", "\"other\"", "format: this is not an origin map"},
      {"/source", "[]", "source: must be an object"},
      {"/source/subgraphs", "{}", "source.subgraphs: must be an array"},
      {"/source/subgraphs", "3", "source.subgraphs: must be an array"},
      {"/source/content", "\"sha256:12\"", "source.content: must be \"sha256:\" and 64 hexadecimal digits"},
      {"/source/subgraphs/0/operators/1", "5", "source.subgraphs[0].operators[1]: must be an object"},
      {"/source/subgraphs/0/operators/1/id", "0", "source.subgraphs[0].operators[1]: \"id\" is 0 where 1 should come"},
      {"/source/subgraphs/0/tensors/0/kind", "\"odd\"", "source.subgraphs[0].tensors[0]: its kind is none of the five"},
      {"/target/subgraphs/0/operators/0/index", "1",
       "target.subgraphs[0].operators[0]: \"index\" is 1 where 0 should come"},
      {"/target/subgraphs/0/operators/0/origins/0", "-1",
       "target.subgraphs[0].operators[0].origins[0]: must be an integer of 32 bits without a sign"},
      {"/target/subgraphs/0/operators/0/origins/0", "4294967296",
       "target.subgraphs[0].operators[0].origins[0]: must be an integer of 32 bits without a sign"},
      {"/target/subgraphs/0/operators/0/origins/0", "1.0",
       "target.subgraphs[0].operators[0].origins[0]: must be an integer of 32 bits without a sign"},
      {"/source/subgraphs/0/operators/0/tensors/0", "2147483648",
       "source.subgraphs[0].operators[0].tensors[0]: must be an integer of 32 bits"},
      {"/target/subgraphs/0/values/0/index", "1", "target.subgraphs[0]: tensor 1 is there twice"},
      {"/target/subgraphs/0/values/0/relations/0/steps", "[{\"reshape\": false}]",
       "target.subgraphs[0].values[0].relations[0].steps[0]: \"reshape\" must be true"},
      {"/target/subgraphs/0/values/0/relations/0/steps", "[{\"reshape\": true, \"cast\": true}]",
       "target.subgraphs[0].values[0].relations[0].steps[0]: is two steps at once"},
      {"/ledger/0/into/operators", "[[1]]", "ledger[0].into.operators[0]: must have two elements"},
      {"/ledger/0/tensor", "1", "ledger[0]: is of an operator and of a tensor"},
  };
  for (const Change &test : changes) {
    auto changed = document;
    changed[nlohmann::ordered_json::json_pointer(test.pointer)] = nlohmann::ordered_json::parse(test.value);
    EXPECT_EQ(message(changed), test.message);
  }

  auto twice = document;
  twice["ledger"].push_back(twice["ledger"][0]);
  EXPECT_EQ(message(twice), "ledger[1]: the ledger has its id twice");
  std::string text = document.dump();
  std::string repeated = text;
  repeated.replace(0, 1, "{\"format\":\"origo.origin-map\",");
  auto read = readJson(repeated);
  EXPECT_EQ(error(read), "format: is there twice");
  repeated = text;
  repeated.insert(repeated.find("\"origins\""), "\"origins\":[],");
  read = readJson(repeated);
  EXPECT_EQ(error(read), "target.subgraphs[0].operators[0]: has a key twice");
  read = readJson(text + "x");
  EXPECT_TRUE(contains(error(read), "not JSON at byte"));
}

TEST(OriginJson, ToleratesWhatIsNew) {
  std::string model = Small().build();
  auto file = open(model);
  OriginMap map = identityMap(file->view());
  auto document = nlohmann::ordered_json::parse(json(map));
  document["novel"] = {1, {2, {{"deep", nullptr}}}};
  document["source"]["novel"] = {{"subgraphs", 4}};
  document["target"]["subgraphs"][0]["novel"] = nullptr;
  auto &row = document["target"]["subgraphs"][0]["values"][0];
  row["novel"] = {{"a", {1, 2}}};
  row["relations"][0]["steps"] = {{{"fft", {{"axis", 1}}}}};
  row["relations"][0].erase("exact");
  document["ledger"].push_back(nlohmann::ordered_json::parse(
      R"({"tensor": 2, "fate": "evaporated", "pass": "p", "run": 0, "rewrite": 1, "into": {"operators": [], "tensors": []}})"));
  auto read = readJson(document.dump());
  ASSERT_TRUE(bool(read)) << error(read);
  const TensorRow &value = read->target.subgraphs[0].tensors[row["index"].get<size_t>()];
  EXPECT_FALSE(value.relations.at(0).exact);
  ASSERT_EQ(value.relations[0].steps.size(), 1u);
  EXPECT_EQ(value.relations[0].steps[0].kind, MapStep::Unknown);
  EXPECT_EQ(value.relations[0].steps[0].unknown, R"({"fft":{"axis":1}})");
  EXPECT_EQ(read->ledger.at(0).fate, "evaporated");
  EXPECT_TRUE(contains(json(*read), R"("steps": [{"fft":{"axis":1}}])"));
}

TEST(OriginJson, DamageIsAnErrorAndNeverMore) {
  std::string model = Small().build();
  auto file = open(model);
  const std::string whole = json(randomMap(5, file->view()));
  ASSERT_GT(whole.size(), 2000u);
  size_t end = whole.find_last_of('}');
  for (size_t size = 0; size <= end; size += 1 + size / 200) {
    auto read = readJson(StringRef(whole).take_front(size));
    EXPECT_FALSE(bool(read)) << size;
    error(read);
  }
  size_t refused = 0, good = 0;
  for (size_t i = 0; i < whole.size(); i += 1 + i / 500)
    for (uint8_t change : {0x01, 0x02, 0x10, 0x80}) {
      std::string damaged = whole;
      damaged[i] ^= change;
      auto read = readJson(damaged);
      ++(read ? good : refused);
      if (read)
        json(*read);
      error(read);
    }
  EXPECT_GT(refused, 500u);
  EXPECT_GT(good, 500u);

  // Depth is the input's choice: a million brackets where a row is, and where nothing is known.
  for (std::string start : {R"({"ledger":[)", R"({"novel":)", ""}) {
    auto read = readJson(start + std::string(1000000, '['));
    EXPECT_FALSE(bool(read));
    error(read);
  }
}

TEST(OriginJson, ReplacesInvalidUtf8AsPythonDoes) {
  // The right sides are what bytes.decode("utf-8", errors="replace") gives in Python 3.11, with ? for U+FFFD.
  const std::pair<std::string, const char *> cases[] = {
      {"", ""},
      {"plain", "plain"},
      {"\xCE\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "\xCE\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"},
      {"\x80", "?"},
      {"a\xFFz", "a?z"},
      {"\xC0\x80", "??"}, // overlong
      {"\xC1\xBF", "??"},
      {"\xE2\x82", "?"}, // cut short: one
      {"\xE2\x82z", "?z"},
      {"\xE2z", "?z"},
      {"\xE0\x80\x80", "???"}, // overlong
      {"\xED\xA0\x80", "???"}, // a surrogate
      {"\xED\x9F\xBF", "\xED\x9F\xBF"},
      {"\xF0\x9F\x98", "?"},
      {"\xF0\x9F\x98\xF0\x9F\x98\x80", "?\xF0\x9F\x98\x80"},
      {"\xF0\x80\x80\x80", "????"},
      {"\xF4\x90\x80\x80", "????"}, // beyond U+10FFFF
      {"\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"},
      {"\xF5\x80\x80\x80", "????"},
      {"\xF8\x88\x80\x80\x80", "?????"},
      {"\xE2\x82\xE2\x82\xAC", "?\xE2\x82\xAC"},
      {std::string("\0\x7F", 2), "\0\x7F"},
  };
  for (const auto &[text, marked] : cases) {
    std::string expected;
    for (char c : text.size() == 2 && !text[0] ? std::string("\0\x7F", 2) : std::string(marked))
      expected += c == '?' ? "\xEF\xBF\xBD" : std::string(1, c);
    EXPECT_EQ(replaceInvalidUtf8(text), expected) << llvm::toHex(text);
  }
}
