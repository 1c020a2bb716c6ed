#pragma once

#include "origin/Files.h"
#include "origin/Fingerprint.h"
#include "origin/codec/Embedded.h"
#include "origin/codec/Json.h"
#include "schema/circle_generated.h"
#include "tests/RealModels.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

/// What tests of maps and model files have in common.
namespace origo::test {

using namespace origo::origin;
using llvm::ArrayRef;
using llvm::StringRef;

inline std::string error(llvm::Error failure) { return llvm::toString(std::move(failure)); }
template <class T> std::string error(llvm::Expected<T> &result) { return result ? "" : error(result.takeError()); }
inline ArrayRef<uint8_t> bytes(const std::string &text) { return llvm::arrayRefFromStringRef(text); }
inline std::string json(const OriginMap &map) {
  std::string text;
  llvm::raw_string_ostream os(text);
  writeJson(map, os);
  return text;
}
inline bool contains(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

/// A circle model of one ADD (constant + input) and one CUSTOM operator, with what the fingerprint must not see as
/// parameters.
struct Small {
  bool codesReversed = false, buffersReversed = false, isOutside = false;
  std::string description = "a", metadata = {};
  std::vector<int32_t> shape = {1, 2}, constant = {7, 8};
  std::string name = "c", customCode = "mine";
  std::optional<circle::BuiltinOptions> emptyOptions = circle::BuiltinOptions::AddOptions;
  uint64_t largeOffset = 1;

  std::string build() const {
    using namespace circle;
    flatbuffers::FlatBufferBuilder b;
    std::vector<uint8_t> data(constant.size() * 4);
    std::memcpy(data.data(), constant.data(), data.size());
    auto empty = [&] { return CreateBuffer(b); };
    auto full = [&](uint64_t offset) {
      return isOutside ? CreateBuffer(b, 0, offset, data.size()) : CreateBuffer(b, b.CreateVector(data));
    };
    auto graph = [&](uint32_t payload) {
      auto tensor = [&](const char *name, TensorType type, uint32_t buffer) {
        auto shapeVector = b.CreateVector(shape);
        return CreateTensor(b, shapeVector, type, buffer, b.CreateString(name));
      };
      std::vector<flatbuffers::Offset<Tensor>> tensors = {
          tensor("x", TensorType::INT32, 0), tensor(name.c_str(), TensorType::INT32, payload),
          tensor("y", TensorType::INT32, 0), tensor("z", TensorType::FLOAT32, 0)};
      auto vector = [&](std::vector<int32_t> indices) { return b.CreateVector(indices); };
      flatbuffers::Offset<void> options = emptyOptions ? CreateAddOptions(b).Union() : 0;
      auto type = emptyOptions.value_or(BuiltinOptions::NONE);
      auto inputs = vector({0, 1}), outputs = vector({2});
      auto add = CreateOperator(b, codesReversed ? 1 : 0, inputs, outputs, type, options);
      inputs = vector({2});
      outputs = vector({3, -1});
      auto custom = CreateOperator(b, codesReversed ? 0 : 1, inputs, outputs, BuiltinOptions::NONE, 0, 0,
                                   CustomOptionsFormat::FLEXBUFFERS, 0, 0, largeOffset, 40);
      std::vector<flatbuffers::Offset<circle::Operator>> operators = {add, custom};
      auto graphInputs = vector({0}), graphOutputs = vector({3});
      auto tensorVector = b.CreateVector(tensors);
      auto operatorVector = b.CreateVector(operators);
      return CreateSubGraph(b, tensorVector, graphInputs, graphOutputs, operatorVector, b.CreateString("main"));
    };
    auto code = [&](bool isCustom) {
      auto text = isCustom ? b.CreateString(customCode) : 0;
      return isCustom ? CreateOperatorCode(b, 32, text, 3, BuiltinOperator::CUSTOM) : CreateOperatorCode(b, 0, text, 2);
    };
    auto make = [&](uint64_t offset) {
      b.Clear();
      std::vector<flatbuffers::Offset<OperatorCode>> codes = {code(codesReversed), code(!codesReversed)};
      uint32_t payload = buffersReversed ? 2 : 1;
      std::vector<flatbuffers::Offset<circle::Buffer>> buffers = {empty(), buffersReversed ? empty() : full(offset),
                                                                  buffersReversed ? full(offset) : empty()};
      std::vector<flatbuffers::Offset<SubGraph>> graphs = {graph(payload)};
      std::vector<flatbuffers::Offset<Metadata>> entries;
      if (!metadata.empty())
        entries.push_back(CreateMetadata(b, b.CreateString(metadata), 2));
      auto entriesVector = b.CreateVector(entries);
      auto codesVector = b.CreateVector(codes);
      auto graphsVector = b.CreateVector(graphs);
      auto buffersVector = b.CreateVector(buffers);
      FinishModelBuffer(b, CreateModel(b, 0, codesVector, graphsVector, b.CreateString(description), buffersVector, 0,
                                       entriesVector));
      return b.GetSize();
    };
    uint64_t size = make(1000);
    if (isOutside)
      make(size);
    std::string result(reinterpret_cast<char *>(b.GetBufferPointer()), b.GetSize());
    if (isOutside)
      result.append(reinterpret_cast<char *>(data.data()), data.size());
    return result;
  }
};

inline std::unique_ptr<ModelFile> open(const std::string &model) {
  auto file = ModelFile::fromBytes(bytes(model), "small");
  EXPECT_TRUE(bool(file)) << error(file);
  return file ? std::move(*file) : nullptr;
}

/// Every operator and tensor of the model comes from itself.
inline OriginMap identityMap(const ModelView &view) {
  OriginMap map;
  map.generator = "origo";
  map.source = describe(view);
  map.target.format = map.source.format;
  map.target.fingerprint = map.source.fingerprint;
  map.target.content = map.source.content;
  uint32_t id = 0;
  for (const SourceSubgraph &graph : map.source.subgraphs) {
    TargetSubgraph &to = map.target.subgraphs.emplace_back();
    to.name = graph.name;
    to.source = {uint32_t(map.target.subgraphs.size() - 1)};
    for (const SourceOperator &op : graph.operators) {
      OperatorRow row;
      row.op = op.op;
      row.customCode = op.customCode;
      for (int32_t tensor : op.tensors)
        row.outputs.push_back(tensor < 0 ? "" : graph.tensors[tensor - graph.firstTensor].name.str());
      row.origins = {id++};
      to.operators.push_back(row);
    }
    for (const SourceTensor &tensor : graph.tensors) {
      TensorRow row;
      row.index = to.tensors.size();
      row.name = tensor.name;
      row.constant = tensor.kind == TensorKind::Constant;
      row.relations = {{graph.firstTensor + row.index, {}, true}};
      if (row.constant)
        row.tensors = {graph.firstTensor + row.index};
      to.tensors.push_back(row);
    }
  }
  return map;
}

} // namespace origo::test
