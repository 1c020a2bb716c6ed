#include "tests/networks/Hostile.h"

#include "schema/circle_generated.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <limits>

using namespace origo::test;
using llvm::StringRef;

namespace {

/// A file whose fields can be overwritten. Both formats have these at the same places.
class Damaged {
public:
  explicit Damaged(StringRef bytes) : bytes(bytes.str()) {}
  std::string bytes;

  const circle::Model &model() const { return *circle::GetModel(bytes.data()); }
  const circle::SubGraph &graph(unsigned i = 0) const { return *model().subgraphs()->Get(i); }
  template <class Value> static bool set(const flatbuffers::Table *table, flatbuffers::voffset_t field, Value value) {
    auto *at = const_cast<uint8_t *>(table->GetAddressOf(field));
    return at && write(at, value);
  }
  template <class Vector, class Value> static bool element(const Vector *vector, size_t i, Value value) {
    return vector && i < vector->size() && write(const_cast<uint8_t *>(vector->Data()) + i * sizeof(value), value);
  }
  template <class Vector> static bool length(const Vector *vector, uint32_t size) {
    return vector && write(reinterpret_cast<uint8_t *>(const_cast<Vector *>(vector)), size);
  }
  bool word(size_t at, uint32_t value) { return write(reinterpret_cast<uint8_t *>(bytes.data()) + at, value); }

private:
  template <class Value> static bool write(uint8_t *at, Value value) {
    std::memcpy(at, &value, sizeof(value));
    return true;
  }
};

struct Damage {
  const char *what;
  bool (*make)(Damaged &file); ///< false: the file has nothing of the kind
};

template <class Table, class Visit>
bool first(const flatbuffers::Vector<flatbuffers::Offset<Table>> *tables, Visit visit) {
  for (const Table *table : *tables)
    if (visit(table))
      return true;
  return false;
}
bool firstOperator(Damaged &file, llvm::function_ref<bool(const circle::Operator *)> visit) {
  return first(file.graph().operators(), visit);
}
bool firstTensor(Damaged &file, llvm::function_ref<bool(const circle::Tensor *)> visit) {
  return first(file.graph().tensors(), visit);
}
template <class Value> bool scale(Damaged &file, Value value) {
  return firstTensor(file, [&](const circle::Tensor *t) {
    return t->quantization() && Damaged::element(t->quantization()->scale(), 0, value);
  });
}
bool subgraphOf(Damaged &file, bool body, int32_t index) {
  return firstOperator(file, [&](const circle::Operator *op) {
    auto *loop = op->builtin_options_as_WhileOptions();
    return loop && Damaged::set(reinterpret_cast<const flatbuffers::Table *>(loop),
                                body ? circle::WhileOptions::VT_BODY_SUBGRAPH_INDEX
                                     : circle::WhileOptions::VT_COND_SUBGRAPH_INDEX,
                                index);
  });
}
template <class Table> const flatbuffers::Table *raw(const Table *table) {
  return reinterpret_cast<const flatbuffers::Table *>(table);
}

const Damage damages[] = {
    {"magic_bad", [](Damaged &f) { return f.word(4, 0x21212121); }},
    {"root_oob", [](Damaged &f) { return f.word(0, f.bytes.size() + 64); }},
    {"root_max", [](Damaged &f) { return f.word(0, 0xffffffff); }},
    {"root_self", [](Damaged &f) { return f.word(0, 0); }},
    {"vtable_oob", [](Damaged &f) { return f.word(flatbuffers::ReadScalar<uint32_t>(f.bytes.data()), 0x7fffff00); }},
    {"buffers_empty", [](Damaged &f) { return Damaged::length(f.model().buffers(), 0); }},
    {"buffers_veclen_huge", [](Damaged &f) { return Damaged::length(f.model().buffers(), 0x3fffffff); }},
    {"subgraph_veclen_huge", [](Damaged &f) { return Damaged::length(f.model().subgraphs(), 0x3fffffff); }},
    {"shape_veclen_huge", [](Damaged &f) { return Damaged::length(f.graph().tensors()->Get(0)->shape(), 0x3fffffff); }},
    {"shape_neg", [](Damaged &f) { return Damaged::element(f.graph().tensors()->Get(0)->shape(), 0, -7); }},
    {"shape_zero", [](Damaged &f) { return Damaged::element(f.graph().tensors()->Get(0)->shape(), 0, 0); }},
    {"shape_huge",
     [](Damaged &f) {
       return firstTensor(f, [](const circle::Tensor *t) {
         return t->shape() && t->shape()->size() >= 3 && Damaged::element(t->shape(), 0, 0x7fffffff) &&
                Damaged::element(t->shape(), 1, 0x7fffffff) && Damaged::element(t->shape(), 2, 0x7fffffff);
       });
     }},
    {"tensor_type_99",
     [](Damaged &f) {
       return firstTensor(
           f, [](const circle::Tensor *t) { return Damaged::set(raw(t), circle::Tensor::VT_TYPE, int8_t(99)); });
     }},
    {"buffer_idx_oob",
     [](Damaged &f) {
       return firstTensor(
           f, [](const circle::Tensor *t) { return Damaged::set(raw(t), circle::Tensor::VT_BUFFER, 99999u); });
     }},
    {"scale_nan", [](Damaged &f) { return scale(f, std::numeric_limits<float>::quiet_NaN()); }},
    {"scale_neg", [](Damaged &f) { return scale(f, -1.f); }},
    {"scale_zero", [](Damaged &f) { return scale(f, 0.f); }},
    {"scale_veclen3",
     [](Damaged &f) {
       return firstTensor(f, [](const circle::Tensor *t) {
         auto *q = t->quantization();
         return q && q->scale() && q->scale()->size() == 1 && Damaged::length(q->scale(), 3);
       });
     }},
    {"graph_output_oob", [](Damaged &f) { return Damaged::element(f.graph().outputs(), 0, 99999); }},
    {"opcode_idx_oob",
     [](Damaged &f) {
       return firstOperator(f, [](const circle::Operator *op) {
         return Damaged::set(raw(op), circle::Operator::VT_OPCODE_INDEX, 9999u);
       });
     }},
    {"op_input_oob", [](Damaged &f) { return Damaged::element(f.graph().operators()->Get(0)->inputs(), 0, 99999); }},
    {"op_input_neg2", [](Damaged &f) { return Damaged::element(f.graph().operators()->Get(0)->inputs(), 0, -2); }},
    {"op_output_oob", [](Damaged &f) { return Damaged::element(f.graph().operators()->Get(0)->outputs(), 0, 99999); }},
    {"op_output_is_input",
     [](Damaged &f) {
       return Damaged::element(f.graph().operators()->Get(0)->outputs(), 0, f.graph().inputs()->Get(0));
     }},
    {"op_cycle",
     [](Damaged &f) {
       auto *operators = f.graph().operators();
       return operators->size() > 1 && Damaged::element(operators->Get(0)->inputs(), 0,
                                                        operators->Get(operators->size() - 1)->outputs()->Get(0));
     }},
    {"sg_idx_oob0", [](Damaged &f) { return subgraphOf(f, false, 99); }},
    {"sg_idx_oob1", [](Damaged &f) { return subgraphOf(f, true, 99); }},
    {"sg_idx_neg0", [](Damaged &f) { return subgraphOf(f, false, -5); }},
    {"sg_idx_neg1", [](Damaged &f) { return subgraphOf(f, true, -5); }},
    {"recursive_sg0", [](Damaged &f) { return subgraphOf(f, false, 0); }},
    {"recursive_sg1", [](Damaged &f) { return subgraphOf(f, true, 0); }},
};

void write(const std::string &path, StringRef bytes) {
  std::error_code ec;
  llvm::raw_fd_ostream(path, ec) << bytes;
}

} // namespace

void origo::test::writeHostile(const std::string &folder) {
  for (const char *name : {"mobilenet_i8.tflite", "resnet_f32.tflite", "loop_f32.circle"}) {
    auto whole = llvm::MemoryBuffer::getFile(folder + "/" + name);
    if (!whole)
      continue;
    StringRef bytes = (*whole)->getBuffer();
    auto [stem, suffix] = StringRef(name).split('.');
    auto path = [&, stem = stem, suffix = suffix](const std::string &what) {
      return folder + "/hostile/derived/" + stem.str() + "__" + what + "." + suffix.str();
    };
    for (const Damage &damage : damages)
      if (Damaged file(bytes); damage.make(file))
        write(path(damage.what), file.bytes);
    for (size_t size :
         {size_t(0), size_t(3), size_t(8), size_t(60), bytes.size() / 4, bytes.size() / 2, bytes.size() - 1})
      write(path("trunc" + std::to_string(size)), bytes.take_front(size));
  }
  write(folder + "/hostile/bad_model.tflite", "no model");
  write(folder + "/hostile/empty.circle", "");
}
