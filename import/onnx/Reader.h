#pragma once

#include "import/onnx/Wire.h"

#include <deque>
#include <string>
#include <vector>

/// An ONNX file as data: the messages of onnx.proto that a graph needs, each a struct whose text and numbers are slices
/// of the file.
namespace origo::onnx {

/// TensorProto.DataType.
enum class Type : int32_t {
  Undefined = 0,
  Float = 1,
  Uint8 = 2,
  Int8 = 3,
  Uint16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  Uint32 = 12,
  Uint64 = 13,
  Bfloat16 = 16,
};

struct TensorProto {
  llvm::StringRef name;
  Type type = Type::Undefined;
  llvm::SmallVector<int64_t, 4> dims;
  bool hasRaw = false;
  llvm::StringRef raw; ///< little-endian elements
  std::string typed;   ///< the same, of one of the fields by type
  std::vector<llvm::StringRef> strings;
  bool external = false; ///< the elements lie in another file:
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

struct GraphProto;

struct AttributeProto {
  enum Kind : uint8_t {
    None = 0,
    Float = 1,
    Int = 2,
    String = 3,
    Tensor = 4,
    Graph = 5,
    Floats = 6,
    Ints = 7,
    Strings = 8,
    Tensors = 9,
    Graphs = 10,
    SparseTensor = 11,
    TypeProto = 13
  };
  llvm::StringRef name, reference;
  Kind kind = None;
  float real = 0;
  int64_t integer = 0;
  llvm::StringRef text;
  std::vector<TensorProto> tensors;                ///< one, or several
  std::vector<std::shared_ptr<GraphProto>> graphs; ///< likewise
  std::vector<float> reals;
  llvm::SmallVector<int64_t, 4> integers;
  std::vector<llvm::StringRef> texts;
};

struct NodeProto {
  llvm::StringRef name, op, domain, overload, doc;
  llvm::SmallVector<llvm::StringRef, 4> inputs, outputs; ///< empty: absent
  std::vector<AttributeProto> attributes;
  std::vector<std::pair<llvm::StringRef, llvm::StringRef>> metadata;
};

struct Dimension {
  std::optional<int64_t> size; ///< none: open
  llvm::StringRef parameter;
};

struct ValueInfo {
  llvm::StringRef name;
  bool isTensor = false; ///< else a sequence, a map or an optional
  Type type = Type::Undefined;
  bool hasShape = false;
  llvm::SmallVector<Dimension, 4> dims;
};

struct GraphProto {
  llvm::StringRef name;
  std::deque<NodeProto> nodes; ///< a vector would copy them while it grows
  std::deque<TensorProto> initializers;
  std::vector<ValueInfo> inputs, outputs;
};

/// Operator sets: domain and version; ai.onnx is the empty domain.
struct Opsets {
  std::vector<std::pair<llvm::StringRef, int64_t>> list;
  std::optional<int64_t> of(llvm::StringRef domain) const;
};

struct FunctionProto {
  llvm::StringRef name, domain, overload;
  std::vector<llvm::StringRef> inputs;
  GraphProto graph; ///< nodes and outputs
  Opsets opsets;
  std::vector<AttributeProto> defaults; ///< of attributes that a call leaves out
};

struct ModelProto {
  int64_t version = 0; ///< of the format
  Opsets opsets;
  GraphProto graph;
  std::deque<FunctionProto> functions;
  std::vector<std::pair<llvm::StringRef, llvm::StringRef>> metadata;
};

/// Does the file look like an ONNX model? It has no magic number: a message whose fields are those of ModelProto, with
/// a graph.
bool isModel(llvm::StringRef bytes);

/// The message; text and elements are slices of `bytes`. An error where it is damaged or nested too deeply.
llvm::Expected<ModelProto> parse(llvm::StringRef bytes);

} // namespace origo::onnx
