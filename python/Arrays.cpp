#include "python/Arrays.h"

#include "eval/Strings.h"
#include "schema/TensorTypes.h"

namespace origo::python {

void fail(llvm::Error error) {
  Failure failure;
  llvm::handleAllErrors(
      std::move(error),
      [&](const ModelError &e) {
        if (failure.text.empty())
          failure = {e.llvm::ErrorInfoBase::message(), e.file, e.message, e.place};
      },
      [&](const llvm::ErrorInfoBase &e) {
        if (failure.text.empty())
          failure = {e.message(), {}, e.message(), {}};
      });
  throw failure;
}

void registerFailure() {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown)
        std::rethrow_exception(thrown);
    } catch (const Failure &f) {
      auto number = [](int value) -> py::object { return value < 0 ? py::object(py::none()) : py::int_(value); };
      py::object type = py::module_::import("origo._errors").attr("Error");
      PyErr_SetObject(type.ptr(), type(textOf(f.text), textOf(f.file), textOf(f.cause), number(f.place.subgraph),
                                       number(f.place.op), number(f.place.tensor), textOf(f.place.name))
                                      .ptr());
    }
  });
}

py::str textOf(llvm::StringRef text) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

std::string dtypeOf(TensorType type) {
  switch (type) {
  case TensorType::FLOAT16:
  case TensorType::FLOAT32:
  case TensorType::FLOAT64:
  case TensorType::INT8:
  case TensorType::INT16:
  case TensorType::INT32:
  case TensorType::INT64:
  case TensorType::UINT8:
  case TensorType::UINT16:
  case TensorType::UINT32:
  case TensorType::UINT64:
  case TensorType::BOOL:
  case TensorType::COMPLEX64:
  case TensorType::COMPLEX128:
    return tensorTypeName(type).lower();
  case TensorType::STRING:
    return "object";
  default:
    return "uint8";
  }
}

static bool isRaw(TensorType type) { return dtypeOf(type) == "uint8" && type != TensorType::UINT8; }

static py::array arrayAt(TensorType type, llvm::ArrayRef<int32_t> shape, const uint8_t *data, size_t size,
                         py::object owner) {
  std::vector<py::ssize_t> dims(shape.begin(), shape.end());
  py::dtype dtype(dtypeOf(type));
  if (isRaw(type) || type == TensorType::STRING) {
    dims = {static_cast<py::ssize_t>(size)};
    dtype = py::dtype("uint8");
  }
  return py::array(dtype, dims, data, owner);
}

py::array viewOf(TensorType type, llvm::ArrayRef<int32_t> shape, llvm::ArrayRef<uint8_t> bytes, py::object owner) {
  py::array array = arrayAt(type, shape, bytes.data(), bytes.size(), std::move(owner));
  array.attr("setflags")(py::arg("write") = false);
  return array;
}

py::array arrayOf(eval::OwnedTensor tensor) {
  if (tensor.type == TensorType::STRING) {
    auto strings = eval::unpackStrings(tensor.bytes, eval::product(tensor.shape));
    if (!strings)
      fail(makeError("an output does not hold as many strings as its shape says"));
    py::list list;
    for (llvm::StringRef text : *strings)
      list.append(py::bytes(text.data(), text.size()));
    std::vector<py::ssize_t> dims(tensor.shape.begin(), tensor.shape.end());
    py::array array(py::dtype("object"), std::vector<py::ssize_t>{static_cast<py::ssize_t>(strings->size())});
    array[py::ellipsis()] = list;
    return array.reshape(dims);
  }
  auto *bytes = new std::vector<uint8_t>(std::move(tensor.bytes));
  py::capsule owner(bytes, [](void *p) { delete static_cast<std::vector<uint8_t> *>(p); });
  return arrayAt(tensor.type, tensor.shape, bytes->data(), bytes->size(), std::move(owner));
}

static llvm::Error wrongInput(const eval::Port &port, const llvm::Twine &why) {
  return makeError("input \"" + printable(port.name) + "\" " + why);
}

Given::Given(const eval::Port &port, py::handle value) {
  auto numpy = py::module_::import("numpy");
  std::string wanted = dtypeOf(port.type);
  if (!py::isinstance<py::array>(value)) // a number or a list has no type of its own
    array = numpy.attr("asarray")(value, py::arg("dtype") = wanted);
  else
    array = py::reinterpret_borrow<py::array>(value);
  if (std::string has = py::str(array.dtype()); has != wanted)
    fail(
        wrongInput(port, "is " + wanted + ", and the array " + has + "; array.astype(\"" + wanted + "\") makes it so"));
  eval::Shape shape;
  for (py::ssize_t i = 0; i < array.ndim(); ++i)
    shape.push_back(static_cast<int32_t>(array.shape(i)));
  if (port.type == TensorType::STRING) {
    std::vector<std::string> texts;
    for (py::handle text : array.attr("ravel")())
      texts.push_back(text.cast<std::string>());
    std::vector<llvm::StringRef> refs(texts.begin(), texts.end());
    packed = eval::packStrings(refs);
    ref = {port.type, shape, packed};
    return;
  }
  if (isRaw(port.type))
    shape = port.shape;
  else if (port.rankKnown && shape.size() + 1 == port.shape.size() && port.shape[0] == 1)
    shape.insert(shape.begin(), 1); // an image, or a sentence, of a batch of one
  bool fits = !port.rankKnown || shape.size() == port.shape.size();
  for (size_t i = 0; fits && port.rankKnown && i < shape.size(); ++i)
    fits = port.shape[i] < 0 || port.shape[i] == shape[i];
  if (!fits)
    fail(wrongInput(port, "is of shape " + eval::shapeText(port.shape) + ", and the array of " +
                              eval::shapeText(shape) + "; array.reshape or array[numpy.newaxis] may make it so"));
  array = numpy.attr("require")(array, py::arg("requirements") = py::make_tuple("C", "A"));
  ref = {port.type, shape, {static_cast<const uint8_t *>(array.data()), static_cast<size_t>(array.nbytes())}};
}

namespace {
class TensorRecords : public quantize::Records {
public:
  explicit TensorRecords(std::vector<std::vector<eval::TensorRef>> records) : records(std::move(records)) {}
  uint64_t count() const override { return records.size(); }
  llvm::Expected<std::vector<eval::OwnedTensor>> read(uint64_t record) override {
    std::vector<eval::OwnedTensor> tensors;
    for (const eval::TensorRef &ref : records[record])
      tensors.push_back({ref.type, ref.shape, ref.bytes.vec()});
    return tensors;
  }

private:
  std::vector<std::vector<eval::TensorRef>> records;
};
} // namespace

llvm::Expected<std::unique_ptr<quantize::Records>> ArrayRecords::open(llvm::ArrayRef<eval::Port> inputs) {
  py::gil_scoped_acquire lock;
  try {
    std::vector<std::vector<eval::TensorRef>> refs;
    for (py::handle row : records) {
      auto arrays = row.cast<py::list>();
      if (arrays.size() != inputs.size())
        fail(makeError("record " + llvm::Twine(refs.size()) + " has " + llvm::Twine(arrays.size()) +
                       " arrays, and the model " + llvm::Twine(inputs.size()) + " inputs"));
      auto &record = given.emplace_back();
      auto &ref = refs.emplace_back();
      for (size_t i = 0; i < inputs.size(); ++i)
        ref.push_back(record.emplace_back(inputs[i], arrays[i]).ref);
    }
    return std::make_unique<TensorRecords>(std::move(refs));
  } catch (...) { // not through the libraries
    thrown = std::current_exception();
    return makeError("the records are refused");
  }
}

void ArrayRecords::rethrow() const {
  if (thrown)
    std::rethrow_exception(thrown);
}

} // namespace origo::python
