#pragma once

#include "eval/Session.h"
#include "ir/Error.h"
#include "origin/CLocale.h"
#include "quantize/Records.h"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

/// Between the project's values and Python's: errors, tensors, records.
namespace origo::python {

namespace py = pybind11;

/// An error on its way to origo.Error.
struct Failure {
  std::string text, file, cause;
  Place place;
};
[[noreturn]] void fail(llvm::Error error);
void registerFailure();

template <class T> T take(llvm::Expected<T> value) {
  if (!value)
    fail(value.takeError());
  return std::move(*value);
}
inline void take(llvm::Error error) {
  if (error)
    fail(std::move(error));
}
/// What takes long does not keep other threads of Python waiting, and numbers are those of C in any locale.
template <class Work> auto unlocked(Work work) {
  py::gil_scoped_release release;
  CLocale plain;
  return work();
}

/// Text from a model, which need not be UTF-8.
py::str textOf(llvm::StringRef text);
/// As numpy calls it; of types that numpy does not have, what holds their bytes: uint8. STRING is "object".
std::string dtypeOf(TensorType type);

/// The elements of a tensor without a copy: `owner` has them. Types that numpy does not have are bytes, in one
/// dimension.
py::array viewOf(TensorType type, llvm::ArrayRef<int32_t> shape, llvm::ArrayRef<uint8_t> bytes, py::object owner);
/// The same of a tensor that nobody else wants; of strings, a list of bytes in an array of objects.
py::array arrayOf(eval::OwnedTensor tensor);

/// An array as an input; it has to live as long.
class Given {
public:
  Given(const eval::Port &port, py::handle value);
  eval::TensorRef ref;

private:
  py::array array;
  std::vector<uint8_t> packed; ///< of strings
};

/// Records that are arrays of Python: a list of lists, one array for each input in order. They live as long as this,
/// which is made and destroyed with the lock; what it opens may be used without.
class ArrayRecords {
public:
  explicit ArrayRecords(py::list records) : records(std::move(records)) {}
  /// Takes the lock. What Python says against it, rethrow() throws.
  llvm::Expected<std::unique_ptr<quantize::Records>> open(llvm::ArrayRef<eval::Port> inputs);
  void rethrow() const;

private:
  py::list records;
  std::vector<std::vector<Given>> given;
  std::exception_ptr thrown;
};

} // namespace origo::python
