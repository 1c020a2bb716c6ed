#include "import/onnx/Reader.h"

#include "ir/Printable.h"

#include "llvm/ADT/STLExtras.h"

namespace origo::onnx {

using llvm::Error;

namespace {

constexpr unsigned deepest = 64; ///< graphs within graphs; libprotobuf takes about as many

Error damaged(llvm::StringRef what) { return makeError(what + " is cut off or damaged"); }

/// Calls `take` for each field of a message, until it fails.
Error forEach(llvm::StringRef message, llvm::StringRef what, llvm::function_ref<Error(const Field &)> take) {
  Cursor cursor(message);
  while (std::optional<Field> field = cursor.next())
    if (Error error = take(*field))
      return error;
  return cursor.isDamaged() ? damaged(what) : Error::success();
}

Error good(bool whole, llvm::StringRef what) { return whole ? Error::success() : damaged(what); }

Error readPair(llvm::StringRef message, std::vector<std::pair<llvm::StringRef, llvm::StringRef>> &list) {
  auto &[key, value] = list.emplace_back();
  return forEach(message, "a pair of metadata", [&, k = &key, v = &value](const Field &field) {
    (field.number == 1 ? *k : *v) = field.bytes;
    return Error::success();
  });
}

/// Elements that stand as integers of protobuf, in as many bytes as the type has.
template <class T> void narrow(llvm::ArrayRef<int64_t> numbers, std::string &bytes) {
  for (int64_t number : numbers) {
    T element = static_cast<T>(number);
    bytes.append(reinterpret_cast<const char *>(&element), sizeof(T));
  }
}

Error readTensor(llvm::StringRef message, TensorProto &tensor) {
  llvm::SmallVector<int64_t> small, wide, unsignedWide;
  std::string floats, doubles;
  const char *what = "a tensor";
  Error error = forEach(message, what, [&](const Field &field) -> Error {
    switch (field.number) {
    case 1:
      return good(addIntegers(field, tensor.dims), what);
    case 2:
      tensor.type = static_cast<Type>(field.value);
      return Error::success();
    case 3:
      return makeError("a tensor is one of several segments, which are not taken");
    case 4:
      return good(addFixed(field, 4, floats), what);
    case 5:
      return good(addIntegers(field, small), what);
    case 6:
      tensor.strings.push_back(field.bytes);
      return Error::success();
    case 7:
      return good(addIntegers(field, wide), what);
    case 8:
      tensor.name = field.bytes;
      return Error::success();
    case 9:
      tensor.hasRaw = true;
      tensor.raw = field.bytes;
      return Error::success();
    case 10:
      return good(addFixed(field, 8, doubles), what);
    case 11:
      return good(addIntegers(field, unsignedWide), what);
    case 13: {
      std::vector<std::pair<llvm::StringRef, llvm::StringRef>> pair;
      if (Error bad = readPair(field.bytes, pair))
        return bad;
      auto [key, value] = pair.front();
      uint64_t number = 0;
      if (key == "location")
        tensor.location = value.str();
      else if ((key == "offset" || key == "length") && value.getAsInteger(10, number))
        return makeError("the " + key + " of external data is not a number");
      else if (key == "offset")
        tensor.offset = number;
      else if (key == "length")
        tensor.length = number;
      return Error::success();
    }
    case 14:
      tensor.external = field.value == 1;
      return Error::success();
    default:
      return Error::success();
    }
  });
  if (error)
    return error;
  switch (tensor.type) {
  case Type::Float:
    tensor.typed = std::move(floats);
    break;
  case Type::Double:
    tensor.typed = std::move(doubles);
    break;
  case Type::Int64:
    narrow<int64_t>(wide, tensor.typed);
    break;
  case Type::Uint64:
    narrow<uint64_t>(unsignedWide, tensor.typed);
    break;
  case Type::Uint32:
    narrow<uint32_t>(unsignedWide, tensor.typed);
    break;
  case Type::Int32:
    narrow<int32_t>(small, tensor.typed);
    break;
  case Type::Int16:
  case Type::Uint16:
  case Type::Float16:
  case Type::Bfloat16:
    narrow<uint16_t>(small, tensor.typed);
    break;
  case Type::Int8:
  case Type::Uint8:
  case Type::Bool:
    narrow<uint8_t>(small, tensor.typed);
    break;
  default:
    break;
  }
  return Error::success();
}

/// A tensor of which the elements are listed that are not zero becomes one with all of them.
Error readSparse(llvm::StringRef message, TensorProto &tensor) {
  const uint64_t most = 1024 * message.size(); // a small file must not ask for much memory
  TensorProto values, indices;
  const char *what = "a sparse tensor";
  Error error = forEach(message, what, [&](const Field &field) -> Error {
    return field.number == 1   ? readTensor(field.bytes, values)
           : field.number == 2 ? readTensor(field.bytes, indices)
           : field.number == 3 ? good(addIntegers(field, tensor.dims), what)
                               : Error::success();
  });
  if (error)
    return error;
  auto bytesOf = [](const TensorProto &of) { return of.hasRaw ? of.raw : llvm::StringRef(of.typed); };
  llvm::StringRef elements = bytesOf(values), places = bytesOf(indices);
  size_t rank = tensor.dims.size(), perElement = indices.dims.size() == 2 ? rank : 1;
  auto count = values.dims.size() == 1 ? static_cast<uint64_t>(values.dims[0]) : 0;
  if (values.external || indices.external || indices.type != Type::Int64 || count > elements.size() ||
      places.size() != count * perElement * sizeof(int64_t) || (count && elements.size() % count))
    return makeError("sparse tensor \"" + printable(values.name) + "\" has not as many indices as elements");
  uint64_t width = count ? elements.size() / count : 1, all = 1;
  for (int64_t dim : tensor.dims)
    all = dim < 0 || (all && static_cast<uint64_t>(dim) > most / all) ? most + 1 : all * static_cast<uint64_t>(dim);
  if (count == 0 || all > most / width)
    return makeError("sparse tensor \"" + printable(values.name) +
                     "\" has no elements, or far more of them than it lists");
  tensor.name = values.name;
  tensor.type = values.type;
  tensor.typed.assign(all * width, '\0');
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t at = 0;
    for (size_t k = 0; k < perElement; ++k) {
      int64_t index;
      std::memcpy(&index, places.data() + (i * perElement + k) * sizeof(index), sizeof(index));
      uint64_t size = perElement == 1 ? all : static_cast<uint64_t>(tensor.dims[k]);
      if (index < 0 || static_cast<uint64_t>(index) >= size)
        return makeError("sparse tensor \"" + printable(values.name) + "\" has an index beyond its shape");
      at = at * size + static_cast<uint64_t>(index);
    }
    std::memcpy(tensor.typed.data() + at * width, elements.data() + i * width, width);
  }
  return Error::success();
}

Error readGraph(llvm::StringRef message, GraphProto &graph, unsigned depth);

Error readAttribute(llvm::StringRef message, AttributeProto &attribute, unsigned depth) {
  const char *what = "an attribute";
  std::string floats;
  AttributeProto::Kind seen = AttributeProto::None;
  Error error = forEach(message, what, [&](const Field &field) -> Error {
    auto is = [&](AttributeProto::Kind kind) { seen = kind; };
    switch (field.number) {
    case 1:
      attribute.name = field.bytes;
      return Error::success();
    case 2:
      is(AttributeProto::Float);
      attribute.real = field.real();
      return Error::success();
    case 3:
      is(AttributeProto::Int);
      attribute.integer = field.integer();
      return Error::success();
    case 4:
      is(AttributeProto::String);
      attribute.text = field.bytes;
      return Error::success();
    case 5:
    case 10:
      is(field.number == 5 ? AttributeProto::Tensor : AttributeProto::Tensors);
      return readTensor(field.bytes, attribute.tensors.emplace_back());
    case 6:
    case 11:
      is(field.number == 6 ? AttributeProto::Graph : AttributeProto::Graphs);
      return readGraph(field.bytes, *attribute.graphs.emplace_back(std::make_shared<GraphProto>()), depth + 1);
    case 7:
      is(AttributeProto::Floats);
      return good(addFixed(field, 4, floats), what);
    case 8:
      is(AttributeProto::Ints);
      return good(addIntegers(field, attribute.integers), what);
    case 9:
      is(AttributeProto::Strings);
      attribute.texts.push_back(field.bytes);
      return Error::success();
    case 20:
      attribute.kind = static_cast<AttributeProto::Kind>(field.value);
      return Error::success();
    case 21:
      attribute.reference = field.bytes;
      return Error::success();
    case 22:
      is(AttributeProto::SparseTensor);
      return Error::success();
    default:
      return Error::success();
    }
  });
  if (attribute.kind == AttributeProto::None) // files of 2017 leave it out
    attribute.kind = seen;
  attribute.reals.resize(floats.size() / sizeof(float));
  if (!attribute.reals.empty()) // fewer bytes than a number has are none
    std::memcpy(attribute.reals.data(), floats.data(), attribute.reals.size() * sizeof(float));
  return error;
}

Error readNode(llvm::StringRef message, NodeProto &node, unsigned depth) {
  return forEach(message, "a node", [&](const Field &field) -> Error {
    switch (field.number) {
    case 1:
      node.inputs.push_back(field.bytes);
      return Error::success();
    case 2:
      node.outputs.push_back(field.bytes);
      return Error::success();
    case 3:
      node.name = field.bytes;
      return Error::success();
    case 4:
      node.op = field.bytes;
      return Error::success();
    case 5:
      return readAttribute(field.bytes, node.attributes.emplace_back(), depth);
    case 6:
      node.doc = field.bytes;
      return Error::success();
    case 7:
      node.domain = field.bytes == "ai.onnx" ? llvm::StringRef() : field.bytes;
      return Error::success();
    case 8:
      node.overload = field.bytes;
      return Error::success();
    case 9:
      return readPair(field.bytes, node.metadata);
    default:
      return Error::success();
    }
  });
}

Error readShape(llvm::StringRef message, ValueInfo &value) {
  value.hasShape = true;
  return forEach(message, "a shape", [&](const Field &field) -> Error {
    if (field.number != 1)
      return Error::success();
    Dimension &dim = value.dims.emplace_back();
    return forEach(field.bytes, "a dimension", [&](const Field &part) {
      if (part.number == 1 && part.integer() >= 0) // below 0 it is open
        dim.size = part.integer();
      else if (part.number == 2)
        dim.parameter = part.bytes;
      return Error::success();
    });
  });
}

Error readValue(llvm::StringRef message, ValueInfo &value) {
  return forEach(message, "a value", [&](const Field &field) -> Error {
    if (field.number == 1)
      value.name = field.bytes;
    if (field.number != 2)
      return Error::success();
    return forEach(field.bytes, "a type", [&](const Field &kind) -> Error {
      if (kind.number != 1)
        return Error::success();
      value.isTensor = true;
      return forEach(kind.bytes, "the type of a tensor", [&](const Field &part) -> Error {
        if (part.number == 1)
          value.type = static_cast<Type>(part.value);
        return part.number == 2 ? readShape(part.bytes, value) : Error::success();
      });
    });
  });
}

Error readGraph(llvm::StringRef message, GraphProto &graph, unsigned depth) {
  if (depth > deepest)
    return makeError("graphs are nested more than " + llvm::Twine(deepest) + " deep");
  return forEach(message, "a graph", [&](const Field &field) -> Error {
    switch (field.number) {
    case 1:
      return readNode(field.bytes, graph.nodes.emplace_back(), depth);
    case 2:
      graph.name = field.bytes;
      return Error::success();
    case 5:
      return readTensor(field.bytes, graph.initializers.emplace_back());
    case 11:
      return readValue(field.bytes, graph.inputs.emplace_back());
    case 12:
      return readValue(field.bytes, graph.outputs.emplace_back());
    case 15:
      return readSparse(field.bytes, graph.initializers.emplace_back());
    default:
      return Error::success();
    }
  });
}

Error readOpset(llvm::StringRef message, Opsets &opsets) {
  auto &[domain, version] = opsets.list.emplace_back("", 0);
  return forEach(message, "an operator set", [&, d = &domain, v = &version](const Field &part) {
    if (part.number == 1)
      *d = part.bytes == "ai.onnx" ? llvm::StringRef() : part.bytes;
    else if (part.number == 2)
      *v = part.integer();
    return Error::success();
  });
}

Error readFunction(llvm::StringRef message, FunctionProto &function) {
  return forEach(message, "a function", [&](const Field &field) -> Error {
    switch (field.number) {
    case 1:
      function.name = field.bytes;
      return Error::success();
    case 4:
      function.inputs.push_back(field.bytes);
      return Error::success();
    case 5:
      function.graph.outputs.emplace_back().name = field.bytes;
      return Error::success();
    case 7:
      return readNode(field.bytes, function.graph.nodes.emplace_back(), 1);
    case 9:
      return readOpset(field.bytes, function.opsets);
    case 10:
      function.domain = field.bytes == "ai.onnx" ? llvm::StringRef() : field.bytes;
      return Error::success();
    case 11:
      return readAttribute(field.bytes, function.defaults.emplace_back(), 1);
    case 13:
      function.overload = field.bytes;
      return Error::success();
    default:
      return Error::success();
    }
  });
}

} // namespace

std::optional<int64_t> Opsets::of(llvm::StringRef domain) const {
  for (const auto &[name, version] : list)
    if (name == domain)
      return version;
  return std::nullopt;
}

bool isModel(llvm::StringRef bytes) {
  Cursor cursor(bytes);
  bool hasGraph = false;
  while (std::optional<Field> field = cursor.next()) {
    bool isText = llvm::is_contained({2u, 3u, 4u, 6u, 7u, 8u, 14u, 20u, 25u, 26u}, field->number);
    if ((field->number < 26 && isText != (field->kind == Field::Bytes)) || field->number > 1000)
      return false;
    hasGraph |= field->number == 7;
  }
  return hasGraph && !cursor.isDamaged();
}

llvm::Expected<ModelProto> parse(llvm::StringRef bytes) {
  ModelProto model;
  Error error = forEach(bytes, "the model", [&](const Field &field) -> Error {
    switch (field.number) {
    case 1:
      model.version = field.integer();
      return Error::success();
    case 7: // of two, the second is merged into the first
      return readGraph(field.bytes, model.graph, 0);
    case 8:
      return readOpset(field.bytes, model.opsets);
    case 14:
      return readPair(field.bytes, model.metadata);
    case 25:
      return readFunction(field.bytes, model.functions.emplace_back());
    default:
      return Error::success();
    }
  });
  if (error)
    return error;
  return model;
}

} // namespace origo::onnx
