#include "origin/check/Context.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/MathExtras.h"

/// Law 8 on relations: a tensor has the shape that the steps make of the source tensor's, and its type unless a step
/// changes it. Dimensions that are not known before run time agree with any.
using namespace origo;
using namespace origo::origin;

namespace {

/// What is known of a shape. Negative dimensions are unknown.
struct Shape {
  bool rankKnown = false;
  llvm::SmallVector<int64_t, 6> dims;
  std::optional<uint64_t> count; ///< of elements
  bool atLeast = false;          ///< `dims` are lower bounds: the whole that a source was placed in
};

std::optional<uint64_t> elements(llvm::ArrayRef<int64_t> dims) {
  uint64_t count = 1;
  for (int64_t dim : dims) {
    if (dim < 0)
      return std::nullopt;
    bool overflow = false;
    count = llvm::SaturatingMultiply(count, static_cast<uint64_t>(dim), &overflow);
    if (overflow)
      return std::nullopt;
  }
  return count;
}

Shape shapeOf(const FileGraph &file, uint32_t tensor) {
  Shape result;
  const circle::Tensor &table = *file.tensors[tensor];
  auto *shape = table.shape();
  auto *signature = table.shape_signature();
  bool empty = !shape || shape->size() == 0;
  // An empty shape is a scalar's, or nobody knew it.
  if (empty && !table.has_rank() && file.kind[tensor] != TensorKind::Constant)
    return result;
  result.rankKnown = true;
  if (!empty)
    for (uint32_t i = 0; i < shape->size(); ++i)
      result.dims.push_back(signature && signature->size() == shape->size() && signature->Get(i) < 0 ? -1
                                                                                                     : shape->Get(i));
  result.count = elements(result.dims);
  return result;
}

std::string words(const Shape &shape) {
  if (!shape.rankKnown)
    return shape.count ? std::to_string(*shape.count) + " elements" : "an unknown shape";
  std::string text = shape.atLeast ? "at least [" : "[";
  for (size_t i = 0; i < shape.dims.size(); ++i)
    text += (i ? ", " : "") + (shape.dims[i] < 0 ? std::string("?") : std::to_string(shape.dims[i]));
  return text + "]";
}

bool permute(Shape &shape, llvm::ArrayRef<int64_t> order) {
  llvm::SmallBitVector seen(order.size());
  for (int64_t axis : order) {
    if (axis < 0 || axis >= static_cast<int64_t>(order.size()) || seen[axis])
      return false;
    seen[axis] = true;
  }
  if (!shape.rankKnown) {
    return true;
  }
  if (shape.dims.size() != order.size())
    return false;
  llvm::SmallVector<int64_t, 6> dims;
  for (int64_t axis : order)
    dims.push_back(shape.dims[axis]);
  shape.dims = dims;
  return true;
}

bool slice(Shape &shape, llvm::ArrayRef<int64_t> begin, llvm::ArrayRef<int64_t> size) {
  if (begin.size() != size.size() || (shape.rankKnown && shape.dims.size() != begin.size()))
    return false;
  for (size_t i = 0; i < begin.size(); ++i) {
    int64_t end;
    if (begin[i] < 0 || size[i] < 0 || llvm::AddOverflow(begin[i], size[i], end))
      return false;
    if (shape.rankKnown && !shape.atLeast && shape.dims[i] >= 0 && end > shape.dims[i])
      return false;
  }
  auto count = elements(size);
  if (!shape.rankKnown && shape.count && (!count || *count > *shape.count))
    return false;
  shape = {true, {size.begin(), size.end()}, count, false};
  return true;
}

bool place(Shape &shape, llvm::ArrayRef<int64_t> begin, llvm::ArrayRef<int64_t> size) {
  if (begin.size() != size.size() || (shape.rankKnown && shape.dims.size() != size.size()))
    return false;
  llvm::SmallVector<int64_t, 6> ends;
  for (size_t i = 0; i < begin.size(); ++i) {
    int64_t end;
    if (begin[i] < 0 || size[i] < 0 || llvm::AddOverflow(begin[i], size[i], end))
      return false;
    if (shape.rankKnown && !shape.atLeast && shape.dims[i] >= 0 && size[i] != shape.dims[i])
      return false;
    ends.push_back(end);
  }
  if (!shape.rankKnown && shape.count && elements(size) != shape.count)
    return false;
  shape = {true, ends, std::nullopt, true};
  return true;
}

/// One value for all elements or one for each along the axis.
bool fitsAxis(const FileGraph &file, const FileGraph &source, const FileSubgraph &graph, const Shape &shape,
              const MapStep &step) {
  if (step.axis >= 0 && shape.rankKnown && step.axis >= static_cast<int64_t>(shape.dims.size()))
    return false;
  for (const Term &term : {step.scale, step.shift}) {
    bool bySource = term.kind == Term::Source;
    if (!(bySource ? term.constant < source.tensors.size()
                   : term.kind == Term::Constant && term.constant < graph.tensorCount))
      continue;
    auto count =
        bySource ? shapeOf(source, term.constant).count : shapeOf(file, graph.firstTensor + term.constant).count;
    if (step.axis < 0 || !shape.rankKnown || shape.atLeast || !count || *count == 1)
      continue;
    int64_t dim = shape.dims[step.axis];
    if (dim >= 0 && *count != static_cast<uint64_t>(dim))
      return false;
  }
  return true;
}

/// One factor for each place along the axis.
bool scale(Shape &shape, const MapStep &step) {
  if (!shape.rankKnown)
    return true;
  if (step.axis < 0 || step.axis >= static_cast<int64_t>(shape.dims.size()))
    return false;
  int64_t &dim = shape.dims[step.axis];
  auto places = static_cast<int64_t>(step.factors.size());
  if (dim >= 0 && (shape.atLeast ? places < dim : places != dim))
    return false;
  dim = places;
  return true;
}

const char *stepName(MapStep::Kind kind) {
  static const char *const names[] = {"permute", "reshape",  "slice",   "placed", "cast",
                                      "affine",  "quantize", "unknown", "scaled"};
  return names[kind];
}

/// Applies a step; false: it cannot be applied to such a shape.
bool apply(const FileGraph &file, const FileGraph &source, const FileSubgraph &graph, Shape &shape,
           const MapStep &step) {
  switch (step.kind) {
  case MapStep::Permute:
    return permute(shape, step.first);
  case MapStep::Reshape:
    shape = {false, {}, shape.count, false};
    return true;
  case MapStep::Slice:
    return slice(shape, step.first, step.second);
  case MapStep::Placed:
    return place(shape, step.first, step.second);
  case MapStep::Affine:
    return fitsAxis(file, source, graph, shape, step);
  case MapStep::Scaled:
    return scale(shape, step);
  case MapStep::Cast:
  case MapStep::Quantize:
    return true;
  case MapStep::Unknown:
    return false;
  }
  return false;
}

bool agree(const Shape &expected, const Shape &actual) {
  if (!actual.rankKnown)
    return true;
  if (!expected.rankKnown)
    return !expected.count || !actual.count || *expected.count == *actual.count;
  if (expected.dims.size() != actual.dims.size())
    return false;
  for (auto [want, have] : llvm::zip(expected.dims, actual.dims))
    if (want >= 0 && have >= 0 && (expected.atLeast ? have < want : have != want))
      return false;
  return true;
}

/// The type of the real values that a tensor stands for; a quantised one stands for its dequantised values. Empty:
/// outside the schema.
std::optional<circle::TensorType> realType(const FileGraph &file, uint32_t tensor) {
  const circle::Tensor &table = *file.tensors[tensor];
  std::optional<circle::TensorType> type = table.type();
  if (file.tflite())
    type = fromTflite(static_cast<tflite::TensorType>(static_cast<int8_t>(table.type())));
  const circle::QuantizationParameters *quantization = table.quantization();
  bool quantized = quantization && ((quantization->scale() && quantization->scale()->size()) ||
                                    quantization->details_type() != circle::QuantizationDetails::NONE);
  return quantized ? circle::TensorType::FLOAT32 : type;
}

void checkRelation(CheckContext &context, uint32_t tensor, const MapRelation &relation) {
  const FileGraph &target = context.target, &source = *context.source;
  const FileSubgraph &graph = target.subgraphs[target.subgraphOfTensor(tensor)];
  auto claim = [&] { return context.writtenTensor(tensor) + " cannot be " + context.sourceTensor(relation.tensor); };
  Shape shape = shapeOf(source, relation.tensor);
  bool typeChanges = false;
  for (const MapStep &step : relation.steps) {
    Shape before = shape;
    typeChanges |= step.kind == MapStep::Cast || step.kind == MapStep::Quantize;
    if (apply(target, source, graph, shape, step))
      continue;
    context.report.add(8, [&] {
      return claim() + (step.kind == MapStep::Unknown
                            ? ": this version does not know the step " + quoted(step.unknown)
                            : std::string(": its step ") + stepName(step.kind) + " does not fit " + words(before));
    });
    return;
  }
  if (Shape actual = shapeOf(target, tensor); !agree(shape, actual))
    context.report.add(8, [&] {
      return claim() + (relation.steps.empty() ? "" : " after its steps") + ": that has " + words(shape) + ", this " +
             words(actual);
    });
  auto from = realType(source, relation.tensor), to = realType(target, tensor);
  const circle::Tensor &table = *source.tensors[relation.tensor];
  if (from == circle::TensorType::VARIANT && !table.shape()) // a value of ONNX, whose files do not say types of such
    return;
  if (!typeChanges && from != to)
    context.report.add(8, [&] {
      auto name = [](auto type) { return type ? tensorTypeName(*type).str() : std::string("of an unknown type"); };
      return claim() + ": that is " + name(from) + ", this " + name(to) + ", and no step casts or quantises";
    });
}

} // namespace

void origin::checkRelations(CheckContext &context) {
  for (uint32_t tensor = 0; tensor < context.target.tensors.size(); ++tensor)
    if (const TensorRow *row = context.tensorRow[tensor])
      for (const MapRelation &relation : row->relations)
        if (context.knownTensor(relation.tensor))
          checkRelation(context, tensor, relation);
}
