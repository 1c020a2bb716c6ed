#pragma once

#include "ir/Model.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>
#include <string>

namespace origo::test {

class Comparison {
public:
  Comparison(Model &a, Model &b) : a(a), b(b) {}
  std::string found;

  void run();

private:
  Model &a, &b;
  std::string place;

  bool check(bool same, const llvm::Twine &what) {
    if (!same && found.empty())
      found = (place + what).str();
    return same;
  }
  template <class T> void items(llvm::ArrayRef<T> x, llvm::ArrayRef<T> y, const llvm::Twine &what) {
    // By their bits, because NaN differs from itself.
    check(x.size() == y.size() && (x.empty() || !std::memcmp(x.data(), y.data(), x.size() * sizeof(T))), what);
  }
  void name(llvm::StringRef x, llvm::StringRef y, const llvm::Twine &what) {
    check(x == y && (x.data() == nullptr) == (y.data() == nullptr), what);
  }
  static int64_t indexOf(const Value *value) { return value ? int64_t(value->index) : -1; }
  static int64_t indexOf(const Buffer *buffer) { return buffer ? int64_t(buffer->index) : 0; }
  template <class X, class Y> void values(const X &x, const Y &y, const llvm::Twine &what) {
    check(llvm::equal(x, y, [](const Value *v, const Value *w) { return indexOf(v) == indexOf(w); }), what);
  }
  void payload(const Payload &x, const Payload &y, const llvm::Twine &what) { check(x.sameBytes(y), what); }
  void options(const Options &x, const Options &y, const char *unionName);
  void table(const wire::TableType &type, const flatbuffers::Table *x, const flatbuffers::Table *y,
             const llvm::Twine &what);
  void quantization(const Quantization *x, const Quantization *y);
  void value(const Value &x, const Value &y);
  void op(const Operator &x, const Operator &y);
  void subgraph(Subgraph &x, Subgraph &y);
};

inline std::string bytesOf(const wire::TableType &type, const flatbuffers::Table &table) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(flatbuffers::Offset<flatbuffers::Table>(wire::copyTable(builder, type, &table)));
  return {reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize()};
}

inline void Comparison::table(const wire::TableType &type, const flatbuffers::Table *x, const flatbuffers::Table *y,
                              const llvm::Twine &what) {
  if (check(!x == !y, what) && x)
    check(bytesOf(type, *x) == bytesOf(type, *y), what);
}

inline void Comparison::options(const Options &x, const Options &y, const char *unionName) {
  if (!check(x.member == y.member, unionName) || !x.member)
    return;
  const wire::EnumValue *member = wire::Schema::circle().enumeration(unionName)->find(int64_t(x.member));
  if (member && member->table)
    table(*member->table, x.table, y.table, unionName);
}

inline void Comparison::quantization(const Quantization *x, const Quantization *y) {
  if (!check(!x == !y, "quantisation") || !x)
    return;
  items(x->min, y->min, "min");
  items(x->max, y->max, "max");
  items(x->scale, y->scale, "scale");
  items(x->zeroPoint, y->zeroPoint, "zero point");
  items(x->more->custom, y->more->custom, "custom quantisation");
  items(x->more->dimensions, y->more->dimensions, "quantised dimensions");
  check(x->dimension == y->dimension && x->details == y->details && x->more->axis == y->more->axis &&
            x->more->blockSize == y->more->blockSize && indexOf(x->more->scales) == indexOf(y->more->scales) &&
            indexOf(x->more->zeroPoints) == indexOf(y->more->zeroPoints) &&
            (x->more->scales || x->more->rawScales == y->more->rawScales) &&
            (x->more->zeroPoints || x->more->rawZeroPoints == y->more->rawZeroPoints),
        "quantisation details");
}

inline void Comparison::value(const Value &x, const Value &y) {
  place = ("subgraph " + llvm::Twine(x.subgraph()->index) + ", tensor " + llvm::Twine(x.index) + ": ").str();
  check(x.type == y.type, "type");
  check(x.hasShape == y.hasShape && x.hasRank == y.hasRank && x.shape == y.shape, "shape");
  items(x.shapeSignature(), y.shapeSignature(), "shape signature");
  check(x.isVariable == y.isVariable, "variable");
  check(x.compression == y.compression, "compression");
  check(x.externalBuffer == y.externalBuffer, "external buffer");
  check(x.isGraphInput == y.isGraphInput && x.graphOutputs == y.graphOutputs && x.signatureUses == y.signatureUses &&
            x.otherUses == y.otherUses && x.useCount() == y.useCount(),
        "uses");
  check((x.producer() ? int64_t(x.producer()->index) : -1) == (y.producer() ? int64_t(y.producer()->index) : -1) &&
            x.resultIndex() == y.resultIndex(),
        "producer");
  name(x.name, y.name, "name");
  check(indexOf(x.buffer) == indexOf(y.buffer), "buffer");
  quantization(x.quantization, y.quantization);
  table(*wire::Schema::circle().table("SparsityParameters"), reinterpret_cast<const flatbuffers::Table *>(x.sparsity()),
        reinterpret_cast<const flatbuffers::Table *>(y.sparsity()), "sparsity");
  check(llvm::equal(x.variants(), y.variants(),
                    [](const VariantType &v, const VariantType &w) {
                      return v.shape == w.shape && v.type == w.type && v.hasRank == w.hasRank;
                    }),
        "variants");
}

inline void Comparison::op(const Operator &x, const Operator &y) {
  place = ("subgraph " + llvm::Twine(x.subgraph()->index) + ", operator " + llvm::Twine(x.index) + ": ").str();
  check(x.code == y.code && x.version == y.version && x.customCode() == y.customCode(), "operator code");
  auto operands = [](const Operator &op) {
    llvm::SmallVector<Value *> result;
    for (const Use &use : op.operands())
      result.push_back(use.get());
    return result;
  };
  values(operands(x), operands(y), "operands");
  values(x.results(), y.results(), "results");
  values(x.intermediates(), y.intermediates(), "intermediates");
  options(x.options, y.options, "BuiltinOptions");
  options(x.options2(), y.options2(), "BuiltinOptions2");
  payload(x.customOptions(), y.customOptions(), "custom options");
  check(x.largeCustomOptions == y.largeCustomOptions, "large custom options");
  check(x.customOptionsFormat == y.customOptionsFormat, "format of custom options");
  check(x.debugMetadata == y.debugMetadata, "debug metadata");
  items(x.mutatingVariableInputs(), y.mutatingVariableInputs(), "mutating inputs");
}

inline void Comparison::subgraph(Subgraph &x, Subgraph &y) {
  place = ("subgraph " + llvm::Twine(x.index) + ": ").str();
  name(x.name, y.name, "name");
  check(x.debugMetadata == y.debugMetadata && x.channelsFirst == y.channelsFirst, "attributes");
  values(x.inputs, y.inputs, "inputs");
  values(x.outputs, y.outputs, "outputs");
  if (!check(x.values.size() == y.values.size(), "number of tensors") ||
      !check(x.operators.size() == y.operators.size(), "number of operators"))
    return;
  for (auto [v, w] : llvm::zip_equal(x.values, y.values))
    value(*v, *w);
  for (auto [o, p] : llvm::zip_equal(x.operators, y.operators))
    op(o, p);
}

inline void Comparison::run() {
  a.number();
  b.number();
  check(a.format == b.format && a.version == b.version && a.description == b.description, "header");
  check(a.opcodes == b.opcodes, "operator codes");
  check(a.externalGroups == b.externalGroups, "external groups");
  check(llvm::equal(a.externalBuffers, b.externalBuffers,
                    [](const ExternalBuffer &x, const ExternalBuffer &y) {
                      return x.id == y.id && x.group == y.group && x.offset == y.offset && x.length == y.length &&
                             x.packing == y.packing;
                    }),
        "external buffers");
  if (check(a.buffers.size() == b.buffers.size(), "number of buffers"))
    for (auto [x, y] : llvm::zip_equal(a.buffers, b.buffers))
      payload(x->payload, y->payload, "bytes of buffer " + llvm::Twine(x->index));
  if (check(a.subgraphs.size() == b.subgraphs.size(), "number of subgraphs"))
    for (auto [x, y] : llvm::zip_equal(a.subgraphs, b.subgraphs))
      subgraph(*x, *y);
  place.clear();
  check(llvm::equal(a.metadata, b.metadata,
                    [](const MetadataEntry &x, const MetadataEntry &y) {
                      return x.name == y.name && indexOf(x.buffer) == indexOf(y.buffer);
                    }),
        "metadata");
  check(llvm::equal(a.metadataBuffers, b.metadataBuffers,
                    [](const Buffer *x, const Buffer *y) { return indexOf(x) == indexOf(y); }),
        "metadata buffers");
  auto sameEntries = [](const Signature::Entry &x, const Signature::Entry &y) {
    return x.name == y.name && indexOf(x.value) == indexOf(y.value) && (x.value || x.rawTensor == y.rawTensor);
  };
  check(llvm::equal(a.signatures, b.signatures,
                    [&](const Signature &x, const Signature &y) {
                      return x.key == y.key && x.deprecatedTag == y.deprecatedTag && !x.subgraph == !y.subgraph &&
                             (x.subgraph ? x.subgraph->index == y.subgraph->index : x.rawSubgraph == y.rawSubgraph) &&
                             llvm::equal(x.inputs, y.inputs, sameEntries) &&
                             llvm::equal(x.outputs, y.outputs, sameEntries);
                    }),
        "signatures");
  payload(a.archive, b.archive, "archive");
}

/// The first place in which two models differ, everything that a file can say taken into account; empty if there is
/// none. Provenance is not compared. Numbers both models.
inline std::string difference(Model &a, Model &b) {
  Comparison comparison(a, b);
  comparison.run();
  return comparison.found;
}

} // namespace origo::test
