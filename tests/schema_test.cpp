#include "schema/OperatorTable.h"
#include "schema/TensorTypes.h"
#include "schema/WireSchema.h"
#include <cmath>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

using namespace origo;
using nlohmann::json;

namespace {

/// A table of the formats, read out of their schemas and out of other implementations.
json facts(const std::string &file) {
  std::ifstream in(ORIGO_SOURCE_DIR "/tests/facts/" + file);
  return json::parse(in, nullptr, /*allow_exceptions=*/false);
}

std::string text(llvm::StringRef string) { return string.str(); }

wire::Type typeNamed(const std::string &name) {
  using wire::Type;
  static const std::map<std::string, Type> types = {
      {"bool", Type::Bool},     {"byte", Type::Int8},     {"ubyte", Type::UInt8},   {"short", Type::Int16},
      {"ushort", Type::UInt16}, {"int", Type::Int32},     {"uint", Type::UInt32},   {"long", Type::Int64},
      {"ulong", Type::UInt64},  {"float", Type::Float32}, {"double", Type::Float64}};
  return types.at(name);
}

/// A field of one type, or an element of a vector.
void compareType(const json &format, const std::string &name, wire::Type type, const wire::Field &field) {
  if (name == "string") {
    EXPECT_EQ(type, wire::Type::String);
  } else if (format["enums"].contains(name)) {
    EXPECT_EQ(type, typeNamed(format["enums"][name]["base"]));
    ASSERT_TRUE(field.enumeration);
    EXPECT_EQ(text(field.enumeration->name), name);
  } else if (format["tables"].contains(name)) {
    EXPECT_EQ(type, wire::Type::Table);
    ASSERT_TRUE(field.table);
    EXPECT_EQ(text(field.table->name), name);
  } else {
    EXPECT_EQ(type, typeNamed(name));
    EXPECT_FALSE(field.enumeration);
  }
}

void compareDefault(const json &format, const json &row, const wire::Field &field) {
  if (row.contains("default_name")) {
    for (const json &value : format["enums"][row["type"].get<std::string>()]["values"]) {
      if (value[0] == row["default_name"]) {
        EXPECT_EQ(field.defaultInteger, value[1].get<int64_t>());
        return;
      }
    }
    FAIL() << "no such default";
  }
  json value = row.value("default", json(0));
  if (wire::isReal(field.type)) {
    EXPECT_EQ(field.defaultReal, value.get<double>());
    return;
  }
  EXPECT_EQ(field.defaultInteger, value.is_boolean() ? int64_t(value.get<bool>()) : value.get<int64_t>());
}

void compareField(const json &format, const json &row, const wire::Field &field, unsigned slot) {
  std::string type = row["type"], kind = row["kind"];
  EXPECT_EQ(text(field.name), row["name"]);
  EXPECT_EQ(field.slot, row["id"].get<unsigned>());
  EXPECT_EQ(field.slot, slot);
  EXPECT_EQ(field.vtableOffset(), row["vt"].get<unsigned>());
  EXPECT_EQ(field.deprecated, row.value("deprecated", false));
  EXPECT_EQ(field.forceAlign, row.value("force_align", 0u));
  if (kind == "utype" || kind == "union") {
    EXPECT_EQ(field.type, kind == "union" ? wire::Type::Union : wire::Type::UnionType);
    ASSERT_TRUE(field.enumeration);
    EXPECT_TRUE(field.enumeration->isUnion);
    EXPECT_EQ(text(field.enumeration->name), type);
  } else if (kind == "vector") {
    EXPECT_EQ(field.type, wire::Type::Vector);
    compareType(format, type.substr(1, type.size() - 2), field.element, field);
  } else {
    compareType(format, type, field.type, field);
  }
  compareDefault(format, row, field);
}

void compareEnumeration(const json &values, const wire::Enumeration &enumeration) {
  EXPECT_EQ(enumeration.values.size(), values.size() + enumeration.isUnion);
  for (const json &row : values) {
    std::string name = row[0];
    SCOPED_TRACE(name);
    const wire::EnumValue *value = enumeration.find(name);
    ASSERT_TRUE(value);
    EXPECT_EQ(value->value, row[1].get<int64_t>());
    EXPECT_EQ(enumeration.find(value->value), value);
    ASSERT_EQ(value->table != nullptr, enumeration.isUnion);
    if (value->table) {
      EXPECT_EQ(text(value->table->name), name);
    }
  }
}

struct Counts {
  size_t enums, unions, tables, slots;
};

void compareSchema(const json &format, const wire::Schema &schema, Counts expected) {
  EXPECT_EQ(text(schema.fileIdentifier()), format["file_identifier"]);
  EXPECT_EQ(text(schema.fileExtension()), format["file_extension"]);
  EXPECT_EQ(text(schema.root().name), format["root"]);

  Counts counts = {0, 0, 0, 0};
  for (auto &[name, row] : format["enums"].items()) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(schema.enumeration(name));
    EXPECT_FALSE(schema.enumeration(name)->isUnion);
    compareEnumeration(row["values"], *schema.enumeration(name));
    ++counts.enums;
  }
  for (auto &[name, row] : format["unions"].items()) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(schema.enumeration(name));
    EXPECT_TRUE(schema.enumeration(name)->isUnion);
    compareEnumeration(row, *schema.enumeration(name));
    ++counts.unions;
  }
  for (auto &[name, rows] : format["tables"].items()) {
    SCOPED_TRACE(name);
    const wire::TableType *table = schema.table(name);
    ASSERT_TRUE(table);
    ASSERT_EQ(table->fields.size(), rows.size());
    for (size_t i = 0; i < rows.size(); ++i, ++counts.slots) {
      SCOPED_TRACE(rows[i]["name"]);
      compareField(format, rows[i], table->fields[i], i);
      EXPECT_EQ(table->find(table->fields[i].name), &table->fields[i]);
    }
    ++counts.tables;
  }
  EXPECT_EQ(schema.enumerations().size(), counts.enums + counts.unions);
  EXPECT_EQ(schema.tables().size(), counts.tables);

  EXPECT_EQ(counts.enums, expected.enums);
  EXPECT_EQ(counts.unions, expected.unions);
  EXPECT_EQ(counts.tables, expected.tables);
  EXPECT_EQ(counts.slots, expected.slots);
}

TEST(WireSchema, circleIsAsDocumented) {
  json format = facts("circle-format.json");
  ASSERT_TRUE(format.is_object());
  compareSchema(format, wire::Schema::circle(), {19, 4, 176, 321});
}

TEST(WireSchema, tfliteIsAsDocumented) {
  json format = facts("tflite-format.json");
  ASSERT_TRUE(format.is_object());
  compareSchema(format, wire::Schema::tflite(), {16, 4, 170, 318});
}

TEST(WireSchema, unknownNames) {
  EXPECT_FALSE(wire::Schema::circle().table("ExternalBuffer"));
  EXPECT_TRUE(wire::Schema::tflite().table("ExternalBuffer"));
  EXPECT_FALSE(wire::Schema::circle().table("Model")->find("external_buffers"));
  EXPECT_FALSE(wire::Schema::circle().enumeration("TensorType")->find(20));
}

/// Copies the root of a finished buffer.
flatbuffers::DetachedBuffer copyRoot(const uint8_t *data, const wire::TableType &type,
                                     llvm::ArrayRef<wire::ScalarEdit> edits = {}) {
  flatbuffers::FlatBufferBuilder builder;
  auto *root = data ? flatbuffers::GetRoot<flatbuffers::Table>(data) : nullptr;
  builder.Finish(flatbuffers::Offset<void>(wire::copyTable(builder, type, root, edits)));
  return builder.Release();
}

template <typename T> void verify(const flatbuffers::DetachedBuffer &buffer) {
  flatbuffers::Verifier verifier(buffer.data(), buffer.size());
  ASSERT_TRUE(verifier.VerifyBuffer<T>());
}

TEST(CopyTable, wholeModel) {
  using namespace circle;
  flatbuffers::FlatBufferBuilder b;
  std::vector<int32_t> shape = {1, -1, 3}, inputs = {0, -1}, outputs = {1};
  std::vector<float> scale = {0.5f, -0.0f};
  std::vector<int64_t> zeroPoint = {-7, int64_t(1) << 40};
  auto details = CreateBlockwiseQuantization(b, 4, 5, 32).Union();
  auto quantization = CreateQuantizationParametersDirect(b, nullptr, nullptr, &scale, &zeroPoint,
                                                         QuantizationDetails::BlockwiseQuantization, details, 2);
  std::vector tensors = {CreateTensorDirect(b, &shape, TensorType::GGML_Q4_0, 1, "weights", quantization),
                         CreateTensorDirect(b, nullptr, TensorType::FLOAT32, 0, "")};
  auto options =
      CreateConv2DOptions(b, Padding::VALID, 2, 3, ActivationFunctionType::RELU6, 1, 4, TensorType::UINT4).Union();
  std::vector<uint8_t> mutating = {1, 0}, custom = {9, 8, 7};
  std::vector operators = {CreateOperatorDirect(b, 0, &inputs, &outputs, BuiltinOptions::Conv2DOptions, options,
                                                &custom, CustomOptionsFormat::FLEXBUFFERS, &mutating),
                           CreateOperatorDirect(b, 0, nullptr, nullptr, BuiltinOptions::QuantizeOptions)};
  std::vector subgraphs = {CreateSubGraphDirect(b, &tensors, &inputs, &outputs, &operators, "main", 12)};
  std::vector<uint8_t> bytes(33, 0xab);
  std::vector buffers = {CreateBufferDirect(b), CreateBufferDirect(b, &bytes, uint64_t(1) << 63, 1)};
  std::vector codes = {CreateOperatorCodeDirect(b, 3, nullptr, 1, BuiltinOperator::CONV_2D)};
  FinishModelBuffer(b, CreateModelDirect(b, 0, &codes, &subgraphs, "hello", &buffers));

  const wire::TableType &type = wire::Schema::circle().root();
  auto copied = copyRoot(b.GetBufferPointer(), type);
  verify<circle::Model>(copied);
  auto *model = flatbuffers::GetRoot<circle::Model>(copied.data());
  EXPECT_TRUE(wire::isFullyKnown(type, *flatbuffers::GetRoot<flatbuffers::Table>(copied.data())));
  EXPECT_EQ(model->description()->str(), "hello");
  EXPECT_EQ(model->operator_codes()->Get(0)->builtin_code(), BuiltinOperator::CONV_2D);

  auto *graph = model->subgraphs()->Get(0);
  EXPECT_EQ(graph->debug_metadata_index(), 12);
  auto *tensor = graph->tensors()->Get(0);
  EXPECT_EQ(tensor->type(), TensorType::GGML_Q4_0);
  EXPECT_EQ(tensor->name()->str(), "weights");
  EXPECT_EQ(std::vector<int32_t>(tensor->shape()->begin(), tensor->shape()->end()), shape);
  EXPECT_TRUE(std::signbit(tensor->quantization()->scale()->Get(1)));
  EXPECT_EQ(tensor->quantization()->zero_point()->Get(1), zeroPoint[1]);
  EXPECT_EQ(tensor->quantization()->details_as_BlockwiseQuantization()->block_size(), 32);
  EXPECT_FALSE(tensor->quantization()->min());
  EXPECT_FALSE(graph->tensors()->Get(1)->shape());
  EXPECT_EQ(graph->tensors()->Get(1)->name()->size(), 0u);

  auto *conv = graph->operators()->Get(0);
  EXPECT_EQ(conv->builtin_options_as_Conv2DOptions()->dilation_h_factor(), 4);
  EXPECT_EQ(conv->builtin_options_as_Conv2DOptions()->quantized_bias_type(), TensorType::UINT4);
  EXPECT_EQ(conv->custom_options()->Get(2), 7);
  EXPECT_EQ(conv->mutating_variable_inputs()->Get(0), 1);
  auto *quantize = graph->operators()->Get(1);
  EXPECT_EQ(quantize->builtin_options_type(), BuiltinOptions::QuantizeOptions);
  EXPECT_FALSE(quantize->builtin_options());

  auto *buffer = model->buffers()->Get(1);
  EXPECT_EQ(buffer->offset(), uint64_t(1) << 63);
  ASSERT_EQ(buffer->data()->size(), bytes.size());
  EXPECT_EQ((buffer->data()->data() - copied.data()) % 16, 0);
  EXPECT_FALSE(model->buffers()->Get(0)->data());

  auto again = copyRoot(copied.data(), type);
  ASSERT_EQ(again.size(), copied.size());
  EXPECT_EQ(std::memcmp(again.data(), copied.data(), copied.size()), 0) << "a copy of a copy is the same bytes";
}

TEST(CopyTable, edits) {
  using namespace circle;
  const wire::TableType &type = *wire::Schema::circle().table("Conv2DOptions");
  flatbuffers::FlatBufferBuilder b;
  b.Finish(CreateConv2DOptions(b, Padding::VALID, 2, 3, ActivationFunctionType::RELU6, 7, 4));
  uint16_t width = type.find("stride_w")->slot, dilation = type.find("dilation_w_factor")->slot;
  auto copied = copyRoot(b.GetBufferPointer(), type, {{width, 9}, {dilation, 1}});
  verify<Conv2DOptions>(copied);
  auto *options = flatbuffers::GetRoot<Conv2DOptions>(copied.data());
  auto &table = *flatbuffers::GetRoot<flatbuffers::Table>(copied.data());
  EXPECT_EQ(options->stride_w(), 9);
  EXPECT_EQ(options->stride_h(), 3);
  EXPECT_EQ(options->dilation_w_factor(), 1);
  EXPECT_EQ(options->dilation_h_factor(), 4);
  EXPECT_EQ(wire::integer(table, type.fields[width]), 9);
  EXPECT_EQ(wire::integer(table, type.fields[dilation]), 1);
  EXPECT_FALSE(wire::isPresent(table, type.fields[dilation]));
}

TEST(CopyTable, onlyEdits) {
  using namespace circle;
  const wire::TableType &type = *wire::Schema::circle().table("SoftmaxOptions");
  const wire::Field &beta = *type.find("beta");
  auto copied = copyRoot(nullptr, type, {{beta.slot, 0, 1.5}});
  verify<SoftmaxOptions>(copied);
  EXPECT_EQ(flatbuffers::GetRoot<SoftmaxOptions>(copied.data())->beta(), 1.5f);
  EXPECT_EQ(wire::real(*flatbuffers::GetRoot<flatbuffers::Table>(copied.data()), beta), 1.5);

  auto minusZero = copyRoot(nullptr, type, {{beta.slot, 0, -0.0}});
  EXPECT_TRUE(std::signbit(flatbuffers::GetRoot<SoftmaxOptions>(minusZero.data())->beta()));

  auto add = copyRoot(nullptr, *wire::Schema::circle().table("AddOptions"));
  EXPECT_TRUE(flatbuffers::GetRoot<AddOptions>(add.data())->pot_scale_int16());
}

TEST(CopyTable, unknownPartsAreSeen) {
  using namespace circle;
  flatbuffers::FlatBufferBuilder b;
  auto start = b.StartTable();
  b.AddElement<int32_t>(4 + 2 * 9, 5);
  b.Finish(flatbuffers::Offset<void>(b.EndTable(start)));
  auto *table = flatbuffers::GetRoot<flatbuffers::Table>(b.GetBufferPointer());
  EXPECT_FALSE(wire::isFullyKnown(wire::Schema::circle().root(), *table));
  EXPECT_TRUE(wire::isFullyKnown(*wire::Schema::circle().table("Operator"), *table));

  flatbuffers::FlatBufferBuilder u;
  auto member = CreateBlockwiseQuantization(u, 1).Union();
  u.Finish(CreateQuantizationParameters(u, 0, 0, 0, 0, QuantizationDetails(77), member));
  table = flatbuffers::GetRoot<flatbuffers::Table>(u.GetBufferPointer());
  EXPECT_FALSE(wire::isFullyKnown(*wire::Schema::circle().table("QuantizationParameters"), *table));
}

void compareOperands(const json &row, const OperatorInfo &info) {
  ASSERT_EQ(info.operands.size(), row["operands"].size());
  std::set<unsigned> variable;
  for (const json &index : row.value("variable_operands", json::array()))
    variable.insert(index.get<unsigned>());
  for (unsigned i = 0; i < info.operands.size(); ++i) {
    const json &operand = row["operands"][i];
    EXPECT_EQ(text(info.operands[i].name), operand["name"]);
    EXPECT_EQ(info.operands[i].optional, operand.value("optional", false));
    EXPECT_EQ(info.operands[i].variadic, operand.value("variadic", false));
    EXPECT_EQ(info.operands[i].variable, variable.count(i) == 1);
  }
  if (!row["operand_counts"].is_array()) {
    EXPECT_TRUE(info.accepts(100));
    return;
  }
  for (const json &count : row["operand_counts"])
    EXPECT_TRUE(info.accepts(count.get<unsigned>())) << count;
}

void compareResults(const json &row, const OperatorInfo &info) {
  json names = row.value("result_names", json::array());
  if (names.is_null())
    names = json::array();
  ASSERT_EQ(info.results.size(), names.size());
  for (unsigned i = 0; i < info.results.size(); ++i) {
    std::string marked = text(info.results[i].name);
    marked += info.results[i].optional ? "?" : "";
    marked += info.results[i].variadic ? "*" : "";
    EXPECT_EQ(marked, names[i]);
  }
  if (!row["result_counts"].is_array()) {
    EXPECT_TRUE(info.acceptsResults(100));
    return;
  }
  for (const json &count : row["result_counts"])
    EXPECT_TRUE(info.acceptsResults(count.get<unsigned>())) << count;
}

unsigned effectsOf(const json &row) {
  json sideEffects = row.value("side_effects", json(false));
  bool calls = row["name"] == "CALL_ONCE", reads = calls || row.value("reads_state", false);
  bool random = row.value("random", false), writes = sideEffects == true && !random, unknown = false;
  if (sideEffects.is_string()) {
    // An effect that hangs on an option field is taken for granted.
    bool field = sideEffects.get<std::string>().rfind("field:", 0) == 0;
    unknown = field || sideEffects == "unknown";
    calls = field || sideEffects == "subgraph";
  }
  return (reads ? unsigned(Effect::ReadsState) : 0) | (writes ? unsigned(Effect::WritesState) : 0) |
         (random ? unsigned(Effect::Random) : 0) | (calls ? unsigned(Effect::Calls) : 0) |
         (unknown ? unsigned(Effect::Unknown) : 0);
}

TEST(OperatorTable, isAsDocumented) {
  json file = facts("operators.json");
  ASSERT_TRUE(file.is_object());
  const json &rows = file["operators"];
  EXPECT_EQ(rows.size(), 218u);
  EXPECT_EQ(allOperators().size(), rows.size());
  unsigned inTflite = 0;
  for (const json &row : rows) {
    std::string name = row["name"];
    SCOPED_TRACE(name);
    const OperatorInfo *info = operatorInfo(name);
    ASSERT_TRUE(info);
    EXPECT_EQ(int32_t(info->code), row.value("opcode", 0));
    EXPECT_EQ(operatorInfo(info->code), info);
    if (row["operands"].is_array()) {
      compareOperands(row, *info);
      compareResults(row, *info);
    } else {
      EXPECT_TRUE(info->accepts(0) && info->accepts(9) && info->acceptsResults(0) && info->acceptsResults(9));
    }
    json options = row.value("options", json()), options2 = row.value("options2", json());
    EXPECT_EQ(EnumNameBuiltinOptions(info->options), options.is_null() ? json("NONE") : options);
    EXPECT_EQ(EnumNameBuiltinOptions2(info->options2), options2.is_null() ? json("NONE") : options2);
    EXPECT_EQ(unsigned(info->effects), effectsOf(row));
    EXPECT_EQ(info->has(Trait::HoldsSubgraphs), row.value("holds_subgraphs", false));
    json fields = row.value("subgraph_fields", json::array());
    ASSERT_EQ(info->subgraphFields.size(), fields.size());
    for (unsigned i = 0; i < fields.size(); ++i)
      EXPECT_EQ(text(info->subgraphFields[i]), fields[i]);
    EXPECT_EQ(info->deprecated, row.value("deprecated", false));
    EXPECT_EQ(info->inTflite, row.value("in_tflite", false));
    inTflite += info->inTflite;
  }
  EXPECT_EQ(inTflite, 210u);
}

TEST(OperatorTable, agreesWithTheSchemas) {
  for (const wire::EnumValue &value : wire::Schema::circle().enumeration("BuiltinOperator")->values)
    EXPECT_TRUE(operatorInfo(value.name)) << text(value.name);
  for (const OperatorInfo &info : allOperators()) {
    SCOPED_TRACE(text(info.name));
    auto *inTflite = wire::Schema::tflite().enumeration("BuiltinOperator")->find(info.name);
    EXPECT_EQ(info.inTflite, inTflite != nullptr);
    const wire::TableType *options = info.optionsType();
    EXPECT_EQ(info.has(Trait::FusedActivation), options && options->find("fused_activation_function"));
    for (llvm::StringRef field : info.subgraphFields)
      EXPECT_TRUE(options && options->find(field)) << text(field);
    for (const OperandInfo &operand : info.operands)
      EXPECT_TRUE(!operand.variable || info.has(Effect::WritesState));
  }
  EXPECT_FALSE(operatorInfo(-1));
  EXPECT_FALSE(operatorInfo(210));
  EXPECT_FALSE(operatorInfo("NOT_AN_OPERATOR"));
}

TEST(OperatorTable, traitsFitTheOperands) {
  for (const OperatorInfo &info : allOperators()) {
    SCOPED_TRACE(text(info.name));
    EXPECT_TRUE(!info.has(Trait::Unary) || (info.has(Trait::Elementwise) && info.operands.size() == 1));
    EXPECT_TRUE(!info.has(Trait::Binary) || (info.has(Trait::Elementwise) && info.operands.size() == 2));
    EXPECT_TRUE(info.effects == 0 || !info.has(Trait::Elementwise | Trait::DataMovement | Trait::Linear));
    EXPECT_FALSE(info.has(Trait::Elementwise) && info.has(Trait::DataMovement));
  }
}

TEST(OperatorTable, acceptsWhatFilesHold) {
  auto accepts = [](llvm::StringRef name, unsigned count) { return operatorInfo(name)->accepts(count); };
  EXPECT_TRUE(accepts("RESHAPE", 1) && accepts("RESHAPE", 2));
  EXPECT_FALSE(accepts("RESHAPE", 0) || accepts("RESHAPE", 3));
  EXPECT_TRUE(accepts("SVDF", 4) && accepts("PAD", 3) && accepts("LSTM", 5) && accepts("CONCATENATION", 17));
  EXPECT_FALSE(accepts("SVDF", 2) || accepts("SVDF", 6) || accepts("ADD", 1) || accepts("VAR_HANDLE", 1));
  EXPECT_TRUE(operatorInfo("LSTM")->acceptsResults(4));
  EXPECT_FALSE(operatorInfo("LSTM")->acceptsResults(2));
  EXPECT_TRUE(operatorInfo("ASSIGN_VARIABLE")->acceptsResults(0));
}

TEST(OperatorCode, resolution) {
  EXPECT_EQ(resolveOpcode(-4, 0), -4) << "old file";
  EXPECT_EQ(resolveOpcode(-4, -4), -4);
  EXPECT_EQ(resolveOpcode(127, -4), -4) << "placeholder";
  EXPECT_EQ(resolveOpcode(0, -4), -4);
  EXPECT_EQ(resolveOpcode(0, 32), 32) << "deprecated absent";
  EXPECT_EQ(resolveOpcode(0, 130), 130);
  EXPECT_EQ(resolveOpcode(127, 130), 130);
  EXPECT_EQ(resolveOpcode(3, 0), 3) << "builtin absent";
  EXPECT_EQ(resolveOpcode(3, 3), 3);
  EXPECT_EQ(resolveOpcode(0, 0), 0);
  for (const OperatorInfo &info : allOperators())
    EXPECT_EQ(resolveOpcode(deprecatedCode(int32_t(info.code)), int32_t(info.code)), int32_t(info.code));
  EXPECT_EQ(deprecatedCode(126), 126);
  EXPECT_EQ(deprecatedCode(127), 127);
  EXPECT_EQ(deprecatedCode(209), 127);
  EXPECT_EQ(deprecatedCode(-9), -9);
}

TEST(TensorTypes, mapping) {
  for (const wire::EnumValue &value : wire::Schema::tflite().enumeration("TensorType")->values) {
    SCOPED_TRACE(text(value.name));
    auto type = fromTflite(tflite::TensorType(value.value));
    ASSERT_TRUE(type);
    EXPECT_EQ(tensorTypeName(*type), value.name);
    EXPECT_EQ(toTflite(*type), tflite::TensorType(value.value));
    EXPECT_EQ(isInCircle(*type), wire::Schema::circle().enumeration("TensorType")->find(value.name) != nullptr);
  }
  for (const wire::EnumValue &value : wire::Schema::circle().enumeration("TensorType")->values) {
    SCOPED_TRACE(text(value.name));
    auto type = circle::TensorType(value.value);
    EXPECT_TRUE(isInCircle(type));
    EXPECT_EQ(tensorTypeName(type), value.name);
    EXPECT_EQ(tensorTypeFromName(value.name), type);
    EXPECT_EQ(tensorTypeFromShortName(tensorTypeShortName(type)), type);
    EXPECT_EQ(toTflite(type).has_value(),
              wire::Schema::tflite().enumeration("TensorType")->find(value.name) != nullptr);
  }
  EXPECT_EQ(int(*fromTflite(tflite::TensorType::UINT4)), -1);
  EXPECT_FALSE(fromTflite(tflite::TensorType(-1)) || fromTflite(tflite::TensorType(23)));
  EXPECT_FALSE(isKnown(circle::TensorType(20)) || isKnown(circle::TensorType(-8)));
  EXPECT_FALSE(tensorTypeFromName("FLOAT33") || tensorTypeFromShortName("f33"));

  EXPECT_EQ(fromTflite(tflite::QuantizationDetails::BlockwiseQuantization),
            circle::QuantizationDetails::BlockwiseQuantization);
  EXPECT_FALSE(fromTflite(tflite::QuantizationDetails::MultiAxisQuantization));
  EXPECT_EQ(int(*toTflite(circle::QuantizationDetails::BlockwiseQuantization)), 2);
  EXPECT_FALSE(toTflite(circle::QuantizationDetails::MXQuantization));
}

TEST(TensorTypes, payload) {
  EXPECT_EQ(payloadBytes(circle::TensorType::INT4, 5), 3u);
  EXPECT_EQ(payloadBytes(tensorTypeInt2, 5), 2u);
  EXPECT_EQ(payloadBytes(circle::TensorType::COMPLEX128, 2), 32u);
  EXPECT_EQ(payloadBytes(circle::TensorType::GGML_Q4_0, 64), 36u);
  EXPECT_EQ(payloadBytes(circle::TensorType::GGML_Q8_1, 32), 36u);
  EXPECT_FALSE(payloadBytes(circle::TensorType::GGML_Q4_0, 33));
  EXPECT_FALSE(payloadBytes(circle::TensorType::STRING, 1));
  EXPECT_FALSE(payloadBytes(circle::TensorType::MXFP4, 32));
  EXPECT_FALSE(payloadBytes(circle::TensorType::FLOAT32, UINT64_MAX / 2));
  EXPECT_EQ(payloadBytes(circle::TensorType::UINT4, UINT64_MAX), uint64_t(1) << 63);
  EXPECT_FALSE(bitsPerElement(circle::TensorType::GGML_Q8_0));
}

TEST(TensorTypes, optionsThatHoldThem) {
  std::set<std::string> found;
  for (const wire::TableType &table : wire::Schema::circle().tables())
    if (holdsTensorType(table) && llvm::StringRef(table.name).ends_with("Options"))
      found.insert(text(table.name));
  std::set<std::string> expected = {"CastOptions",          "UniqueOptions",         "Conv2DOptions",
                                    "TransposeConvOptions", "ArgMaxOptions",         "ArgMinOptions",
                                    "ShapeOptions",         "FullyConnectedOptions", "HashtableOptions"};
  EXPECT_EQ(found, expected);
}

} // namespace
