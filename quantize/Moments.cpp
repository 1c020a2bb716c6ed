#include "quantize/Moments.h"

#include "eval/Shapes.h"
#include "quantize/Constraints.h"
#include "quantize/Patches.h"

namespace origo::quantize {

using namespace eval;

namespace {

constexpr uint64_t mostPositions = 256;

/// Inputs of the weights at each position, added up.
class Sums {
public:
  Sums(const Operator &op, bool products) : patches(op) {
    uint64_t weights = patches.length(), groups = patches.groups();
    moments.groups.resize(groups);
    bool few = weights <= mostProducts && weights * weights * groups <= mostProducts * mostProducts;
    for (InputMoments::Group &group : moments.groups) {
      group.sum.assign(weights, 0);
      if (products && few)
        group.products.assign(weights * (weights + 1) / 2, 0);
    }
    patch.resize(weights);
  }

  void add(const float *x, llvm::ArrayRef<int32_t> shape) {
    int64_t channels = shape.empty() ? 1 : shape.back();
    moments.channels.resize(static_cast<size_t>(channels));
    for (int64_t i = 0, count = eval::product(shape); i < count; ++i)
      moments.channels[i % channels].join({x[i], x[i]});
    Patches::Positions positions = patches.over(shape);
    uint64_t every = std::max<uint64_t>(1, (positions.count() + mostPositions - 1) / mostPositions);
    for (uint64_t position = 0; position < positions.count(); ++position)
      for (size_t g = 0; g < moments.groups.size(); ++g) {
        InputMoments::Group &group = moments.groups[g];
        positions.read(x, position, g, patch);
        for (size_t i = 0; i < patch.size(); ++i)
          group.sum[i] += patch[i];
        if (position % every == 0)
          addProducts(group);
      }
    moments.count += positions.count();
  }
  InputMoments moments;

private:
  Patches patches;
  std::vector<float> patch;

  void addProducts(InputMoments::Group &group) {
    if (group.products.empty())
      return;
    double *to = group.products.data();
    for (size_t i = 0; i < patch.size(); to += ++i) {
      double by = patch[i];
      if (by != 0)
        for (size_t j = 0; j <= i; ++j)
          to[j] += by * patch[j];
    }
  }
};

} // namespace

llvm::Expected<Moments> collectMoments(Model &model, OpenRecords open, const CalibrateOptions &options, bool products,
                                       llvm::function_ref<bool(const Operator &)> wanted) {
  llvm::DenseMap<const Value *, llvm::SmallVector<Sums *, 1>> readers;
  std::vector<std::pair<const Operator *, std::unique_ptr<Sums>>> all;
  for (auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators)
      if (Patches::fit(op) && wanted(op)) {
        all.emplace_back(&op, std::make_unique<Sums>(op, products));
        readers[op.operand(inputOf(op))].push_back(all.back().second.get());
      }
  if (all.empty())
    return Moments();
  auto session = compile(model, options.compile);
  if (!session)
    return session.takeError();
  auto see = [&](const Value &value, llvm::ArrayRef<int32_t> shape, llvm::ArrayRef<float> numbers) {
    if (auto found = readers.find(&value); found != readers.end())
      for (Sums *sums : found->second)
        sums->add(numbers.data(), shape);
  };
  if (llvm::Error error = forEachRecord(model, *session, open, options, see, [](uint64_t, uint64_t) {}))
    return error;
  Moments moments;
  for (auto &[op, sums] : all)
    if (sums->moments.count != 0)
      moments[op] = std::move(sums->moments);
  return moments;
}

} // namespace origo::quantize
