#include "eval/fast/ByReference.h"
#include "eval/fast/Parallel.h"
#include "eval/fast/Xnnpack.h"

#include <cstring>

/// Functions of one number of 8 or 16 bits: what the reference kernel makes of each, looked up.
namespace origo::eval {

namespace {

using Op = BuiltinOperator;

/// What makes a table of 16 bit numbers pay.
constexpr int64_t fewElements = 1 << 14;

template <class From, class To> std::unique_ptr<FastKernel> lookUp(llvm::ArrayRef<uint8_t> bytes) {
  std::vector<To> table(bytes.size() / sizeof(To));
  std::memcpy(table.data(), bytes.data(), bytes.size());
  return fastKernel([table = std::move(table)](Operands in, Operands out, pthreadpool_t threads) {
    const From *x = dataOf<From>(*in[0]);
    To *y = dataOf<To>(*out[0]);
    parallelFor(threads, in[0]->storage.size() / sizeof(From), 1 << 13, [&](size_t first, size_t count) {
      for (size_t i = first; i < first + count; ++i)
        y[i] = table[x[i]];
    });
    return true;
  });
}

template <class From> std::unique_ptr<FastKernel> byTable(const FastSite &site) {
  constexpr int32_t numbers = 1 << 8 * sizeof(From);
  AllNumbers each(site.input(0), {numbers});
  auto table = computeByReference(site, each.tensor);
  if (!table)
    return nullptr;
  switch (table->size() / numbers) {
  case 1:
    return lookUp<From, uint8_t>(*table);
  case 2:
    return lookUp<From, uint16_t>(*table);
  case 4:
    return lookUp<From, uint32_t>(*table);
  default:
    return nullptr;
  }
}

std::unique_ptr<FastKernel> unary(const FastSite &site) {
  const Tensor &x = site.input(0), &y = site.output();
  // With one scale for all, the result does not depend on where a number is.
  auto hasManyScales = [](const Tensor &tensor) {
    return tensor.perChannel() || (tensor.quantization && tensor.quantization->details != Quantization::Details::None);
  };
  if (site.constant(0) || hasManyScales(x) || hasManyScales(y))
    return nullptr;
  switch (x.type) {
  case TensorType::INT8:
  case TensorType::UINT8:
  case TensorType::BOOL:
    return byTable<uint8_t>(site);
  case TensorType::INT16:
    return y.rankKnown && y.count() < fewElements ? nullptr : byTable<uint16_t>(site);
  default:
    return nullptr;
  }
}

} // namespace

llvm::ArrayRef<FastRow> fastUnaryTable() {
  static const FastRow rows[] = {
      {Op::ABS, unary},   {Op::CAST, unary},        {Op::DEQUANTIZE, unary},  {Op::ELU, unary},
      {Op::EXP, unary},   {Op::GELU, unary},        {Op::HARD_SWISH, unary},  {Op::LEAKY_RELU, unary},
      {Op::LOG, unary},   {Op::LOGICAL_NOT, unary}, {Op::LOGISTIC, unary},    {Op::QUANTIZE, unary},
      {Op::RELU, unary},  {Op::RELU6, unary},       {Op::RELU_0_TO_1, unary}, {Op::RELU_N1_TO_1, unary},
      {Op::RSQRT, unary}, {Op::SQRT, unary},        {Op::TANH, unary}};
  return rows;
}

} // namespace origo::eval
