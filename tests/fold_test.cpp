#include "eval/Evaluate.h"
#include "eval/Fold.h"
#include "eval/Kernels.h"
#include "eval/RunOperator.h"
#include "ir/shapes/Inference.h"
#include "tests/Samples.h"

#include "schema/TensorTypes.h"

#include <gtest/gtest.h>
#include <random>

// Constants that are computed when somebody reads them: the same bits as the kernels make at once, whatever is asked
// for and in which order; what is made once; what goes to the disk and comes back from there; what export writes of
// them.

using namespace origo;
using namespace origo::eval;
using namespace origo::test;
using Op = BuiltinOperator;

namespace {

using Random = std::mt19937;
int32_t below(Random &random, int32_t end) { return static_cast<int32_t>(random() % static_cast<uint32_t>(end)); }

std::string randomBytes(Random &random, uint64_t size) {
  std::string bytes(size, 0);
  for (char &byte : bytes)
    byte = static_cast<char>(random());
  return bytes;
}

/// Any bits: NaN, infinities and denormals among the floats. Bools are 0 or 1.
DetachedTensor anyNumbers(Random &random, TensorType type, llvm::ArrayRef<int32_t> shape, const Quantization *q) {
  std::string bytes = randomBytes(random, *payloadBytes(type, product(shape)));
  if (type == TensorType::BOOL)
    for (char &byte : bytes)
      byte &= 1;
  return {type, {shape.begin(), shape.end()}, Payload::owned(std::move(bytes)), q};
}

template <class T> DetachedTensor constantOf(TensorType type, llvm::ArrayRef<int32_t> shape, llvm::ArrayRef<T> items) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(items.data()), items.size() * sizeof(T));
  return {type, {shape.begin(), shape.end()}, Payload::owned(bytes.str())};
}

/// The payload's bytes in windows of random lengths, at random places too.
std::string inWindows(const Payload &payload, Random &random) {
  std::string bytes(payload.size(), 0);
  auto read = [&](uint64_t at, uint64_t size) {
    payload.read(at, {reinterpret_cast<uint8_t *>(bytes.data()) + at, size});
  };
  for (uint64_t at = 0; at < bytes.size();) {
    uint64_t size = std::min<uint64_t>(1 + random() % 50000, bytes.size() - at);
    read(at, size);
    at += size;
  }
  for (int i = 0; i < 5 && !bytes.empty(); ++i) {
    uint64_t at = random() % bytes.size();
    read(at, std::min<uint64_t>(random() % 100, bytes.size() - at));
  }
  return bytes;
}

std::string textOf(llvm::ArrayRef<uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

struct Outcome {
  bool folded = false;
  bool lazy = false; ///< at least one result
};

/// evaluate() of an operator whose results have the types of `results`, against its kernel.
Outcome compareFold(Op code, llvm::ArrayRef<DetachedTensor> operands, std::vector<DetachedTensor> results,
                    Random &random, Options options = {}) {
  Outcome outcome;
  if (auto types = inferResults(DetachedOperator(code, operands, results, options).get()))
    for (auto [result, type] : llvm::zip(results, *types))
      result.shape.assign(type.shape.begin(), type.shape.end());
  else
    llvm::consumeError(types.takeError());
  auto expected = runOperator(DetachedOperator(code, operands, results, options).get(), {});
  if (expected)
    for (size_t i = 0; i < results.size(); ++i)
      results[i].shape = (*expected)[i].shape;
  PayloadStore store;
  const char *why = nullptr;
  llvm::SmallVector<Payload, 1> payloads;
  {
    DetachedOperator op(code, operands, results, options); // goes before anything is read
    auto made = evaluate(op.get(), store, why);
    EXPECT_TRUE(static_cast<bool>(made)) << llvm::toString(made.takeError());
    if (made)
      payloads = std::move(*made);
  }
  outcome.folded = !payloads.empty();
  if (!expected) {
    llvm::consumeError(expected.takeError());
    EXPECT_FALSE(outcome.folded) << operatorInfo(code)->name.str();
    return outcome;
  }
  for (size_t i = 0; i < payloads.size(); ++i) {
    outcome.lazy |= payloads[i].cost() != 0;
    const std::string bytes = textOf((*expected)[i].bytes);
    EXPECT_TRUE(inWindows(payloads[i], random) == bytes) << operatorInfo(code)->name.str() << " in windows";
    EXPECT_TRUE(textOf(payloads[i].bytes()) == bytes) << operatorInfo(code)->name.str() << " as a whole";
  }
  return outcome;
}

/// A shape of more than 64 Ki elements.
Shape bigShape(Random &random) {
  Shape shape;
  for (int d = 1 + below(random, 4); d > 0; --d)
    shape.push_back(1 + below(random, 9));
  while (product(shape) <= 70000)
    shape[below(random, static_cast<int32_t>(shape.size()))] *= 2 + below(random, 3);
  return shape;
}

/// One that broadcasts to it.
Shape partOf(llvm::ArrayRef<int32_t> shape, Random &random) {
  Shape part(shape.drop_front(below(random, static_cast<int32_t>(shape.size()) + 1)));
  for (int32_t &dim : part)
    dim = random() % 3 ? dim : 1;
  return part;
}

const float half[] = {0.5f}, several[] = {0.5f, 0.25f, 3.f};
const int64_t zero[] = {0}, zeros[] = {1, 0, -3};

Quantization quantization(llvm::ArrayRef<float> scale, llvm::ArrayRef<int64_t> zeroPoint, int32_t dimension = 0) {
  Quantization q;
  q.scale = scale;
  q.zeroPoint = zeroPoint;
  q.dimension = dimension;
  return q;
}

// Every kernel of every elementwise operator, on operands that broadcast.
TEST(Fold, ElementwiseIsWhatTheKernelsMake) {
  Random random(1);
  Quantization q = quantization(half, zero);
  std::set<Op> lazy;
  for (const Kernel &row : allKernels()) {
    const KernelSignature &types = row.signature;
    const OperatorInfo *info = operatorInfo(row.code);
    if (!info || !info->has(Trait::Elementwise) || info->has(Trait::ShapeQuery) || types.operands.empty())
      continue;
    if (llvm::is_contained(types.operands[0].types, TensorType::STRING)) // folded as a whole
      continue;
    for (int repetition = 0; repetition < 3; ++repetition) {
      std::vector<DetachedTensor> operands, results;
      auto typeOf = [&](const SlotRule &slot) {
        return slot.sameAs ? operands[*slot.sameAs].type
                           : slot.types[below(random, static_cast<int32_t>(slot.types.size()))];
      };
      auto scaleOf = [&](TensorType type) { return bitsPerElement(type).value_or(0) <= 16 ? &q : nullptr; };
      Shape shape = bigShape(random);
      for (size_t i = 0; i < std::max<size_t>(types.operands.size(), types.operandsRepeat ? 3 : 0); ++i) {
        const SlotRule &slot = types.operands[std::min(i, types.operands.size() - 1)];
        TensorType type = typeOf(slot);
        bool whole = i + 1 == types.operands.size() || row.code == Op::ADD_N;
        operands.push_back(anyNumbers(random, type, whole ? shape : partOf(shape, random), scaleOf(type)));
      }
      TensorType type = typeOf(types.results[0]);
      results.push_back({type, {}, {}, scaleOf(type)});
      if (compareFold(row.code, operands, results, random).lazy)
        lazy.insert(row.code);
    }
  }
  for (Op code :
       {Op::ADD,   Op::SUB,    Op::MUL,         Op::DIV,  Op::NEG,  Op::MINIMUM,    Op::MAXIMUM,  Op::RSQRT,
        Op::SQRT,  Op::SQUARE, Op::ABS,         Op::EXP,  Op::CAST, Op::DEQUANTIZE, Op::QUANTIZE, Op::SELECT_V2,
        Op::PRELU, Op::ADD_N,  Op::LOGICAL_AND, Op::LESS, Op::GELU, Op::TANH})
    EXPECT_TRUE(lazy.count(code)) << operatorInfo(code)->name.str();
  EXPECT_GT(lazy.size(), 40u);
}

TEST(Fold, FusedActivationsAreApplied) {
  Random random(2);
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(circle::CreateAddOptions(builder, circle::ActivationFunctionType::RELU6));
  Options options{static_cast<uint8_t>(circle::BuiltinOptions::AddOptions),
                  flatbuffers::GetRoot<flatbuffers::Table>(builder.GetBufferPointer())};
  std::vector<float> numbers(100000);
  for (float &number : numbers)
    number = static_cast<float>(below(random, 20)) - 10;
  DetachedTensor x = constantOf<float>(TensorType::FLOAT32, {100000}, numbers);
  EXPECT_TRUE(compareFold(Op::ADD, {x, x}, {{}}, random, options).lazy);
}

// A single scale is multiplied in double, one of several in float: also where a window has one channel only.
TEST(Fold, ChannelsKeepTheirScales) {
  Random random(3);
  for (int32_t axis = 0; axis < 3; ++axis)
    for (TensorType type : {TensorType::INT8, TensorType::UINT8, TensorType::INT16}) {
      float scales[] = {0.1f, 0.7f, 1e-5f};
      int64_t points[] = {1, 0, type == TensorType::UINT8 ? 3 : -3};
      Quantization q = quantization(scales, points, axis);
      Shape shape{170, 170, 170};
      shape[axis] = 3;
      EXPECT_TRUE(compareFold(Op::DEQUANTIZE, {anyNumbers(random, type, shape, &q)}, {{}}, random).lazy);
      DetachedTensor result{type, {}, {}, &q};
      EXPECT_TRUE(
          compareFold(Op::QUANTIZE, {anyNumbers(random, TensorType::FLOAT32, shape, nullptr)}, {result}, random).lazy);
    }
}

// In every vector and behind the last one.
TEST(Fold, HalvesAreRoundedAwayFromZero) {
  Random random(5);
  std::vector<float> numbers{NAN, INFINITY, -INFINITY, -0.f, 1e-40f, 0.49999997f, -0.49999997f, 3e38f};
  while (numbers.size() < 100003)
    numbers.push_back(static_cast<float>(static_cast<int>(below(random, 1100)) - 550) / 4);
  for (int64_t zero : {0, -128, 5}) {
    float scales[] = {0.5f};
    Quantization q = quantization(scales, zero, 0);
    DetachedTensor result{TensorType::INT8, {}, {}, &q};
    EXPECT_TRUE(
        compareFold(Op::QUANTIZE, {constantOf<float>(TensorType::FLOAT32, {100003}, numbers)}, {result}, random).lazy);
  }
}

TEST(Fold, NumbersWithoutAResultAreFoundWhereverTheyAre) {
  Random random(4);
  std::vector<int32_t> ones(100000, 1);
  std::vector<float> reals(100000, 1);
  auto integers = [&] { return constantOf<int32_t>(TensorType::INT32, {100000}, ones); };
  auto cast = [&] {
    DetachedOperator op(Op::CAST, {constantOf<float>(TensorType::FLOAT32, {100000}, reals)},
                        {{TensorType::INT32, {100000}}});
    PayloadStore store;
    const char *why = nullptr;
    auto made = evaluate(op.get(), store, why);
    return !made ? llvm::toString(made.takeError()) : made->empty() ? std::string(why) : "folded";
  };
  EXPECT_TRUE(compareFold(Op::DIV, {integers(), integers()}, {{TensorType::INT32}}, random).lazy);
  EXPECT_EQ(cast(), "folded");
  DetachedTensor before = integers();
  ones[99999] = 0;
  reals[99999] = 3e9f;
  EXPECT_FALSE(compareFold(Op::DIV, {before, integers()}, {{TensorType::INT32}}, random).folded);
  EXPECT_EQ(cast(), "a number is out of the range of the integer type");
  reals[99999] = -2147483648.f;
  EXPECT_EQ(cast(), "folded");
}

template <class Make>
Options optionsOf(flatbuffers::FlatBufferBuilder &builder, circle::BuiltinOptions member, Make make) {
  builder.Clear();
  builder.Finish(make(builder));
  return {static_cast<uint8_t>(member), flatbuffers::GetRoot<flatbuffers::Table>(builder.GetBufferPointer())};
}

TEST(Fold, MovementIsWhatTheKernelsMake) {
  Random random(5);
  flatbuffers::FlatBufferBuilder b;
  using Member = circle::BuiltinOptions;
  auto ints = [](llvm::ArrayRef<int32_t> items) { return DetachedTensor::integers(items); };
  auto scalar = [](int32_t item) { return constantOf<int32_t>(TensorType::INT32, {}, item); };
  for (TensorType type : {TensorType::INT8, TensorType::FLOAT16, TensorType::FLOAT32, TensorType::INT64}) {
    auto x = [&](llvm::ArrayRef<int32_t> shape) { return anyNumbers(random, type, shape, nullptr); };
    std::vector<DetachedTensor> one{{type}}, three{{type}, {type}, {type}};
    // These are read when they are wanted.
    EXPECT_TRUE(compareFold(Op::TRANSPOSE, {x({40, 50, 60}), ints({2, 0, 1})}, one, random).lazy);
    EXPECT_TRUE(compareFold(Op::TRANSPOSE, {x({400, 300}), ints({1, 0})}, one, random).lazy);
    EXPECT_TRUE(compareFold(Op::SLICE, {x({80, 50, 60}), ints({3, 1, 2}), ints({70, -1, 31})}, one, random).lazy);
    Options masks = optionsOf(b, Member::StridedSliceOptions,
                              [](auto &b) { return circle::CreateStridedSliceOptions(b, 1, 2, 0, 0, 4); });
    EXPECT_TRUE(compareFold(Op::STRIDED_SLICE, {x({400, 600, 3}), ints({5, -1, 1}), ints({-3, 0, 0}), ints({1, -2, 1})},
                            one, random, masks)
                    .lazy);
    EXPECT_TRUE(compareFold(Op::TILE, {x({30, 1, 70}), ints({2, 7, 3})}, one, random).lazy);
    EXPECT_TRUE(compareFold(Op::BROADCAST_TO, {x({5, 1, 7}), ints({3, 5, 1000, 7})}, one, random).lazy);
    EXPECT_TRUE(compareFold(Op::REVERSE_V2, {x({300, 301}), ints({-1})}, one, random).lazy);
    Options blocks =
        optionsOf(b, Member::SpaceToDepthOptions, [](auto &b) { return circle::CreateSpaceToDepthOptions(b, 3); });
    EXPECT_TRUE(compareFold(Op::SPACE_TO_DEPTH, {x({2, 99, 102, 5})}, one, random, blocks).lazy);
    Options depth =
        optionsOf(b, Member::DepthToSpaceOptions, [](auto &b) { return circle::CreateDepthToSpaceOptions(b, 2); });
    EXPECT_TRUE(compareFold(Op::DEPTH_TO_SPACE, {x({2, 49, 52, 20})}, one, random, depth).lazy);
    EXPECT_TRUE(compareFold(Op::SPLIT, {scalar(1), x({300, 900})}, three, random).lazy);
    EXPECT_TRUE(compareFold(Op::SPLIT_V, {x({900, 300}), ints({250, -1, 0}), scalar(-1)}, three, random).lazy);
    Options unpack = optionsOf(b, Member::UnpackOptions, [](auto &b) { return circle::CreateUnpackOptions(b, 3, 1); });
    EXPECT_TRUE(compareFold(Op::UNPACK, {x({300, 3, 300})}, three, random, unpack).lazy);
    // These are made at once.
    Options concat =
        optionsOf(b, Member::ConcatenationOptions, [](auto &b) { return circle::CreateConcatenationOptions(b, 1); });
    EXPECT_TRUE(compareFold(Op::CONCATENATION, {x({300, 30}), x({300, 900})}, one, random, concat).folded);
    Options pack = optionsOf(b, Member::PackOptions, [](auto &b) { return circle::CreatePackOptions(b, 2, 1); });
    EXPECT_TRUE(compareFold(Op::PACK, {x({300, 300}), x({300, 300})}, one, random, pack).folded);
    Options gather = optionsOf(b, Member::GatherOptions, [](auto &b) { return circle::CreateGatherOptions(b, 1); });
    EXPECT_TRUE(compareFold(Op::GATHER, {x({300, 9, 50}), ints({8, 0, 8, 3})}, one, random, gather).folded);
    DetachedTensor amounts = ints({1, 2, 0, 3});
    amounts.shape = {2, 2};
    EXPECT_TRUE(compareFold(Op::PAD, {x({300, 300}), amounts}, one, random).folded);
    EXPECT_TRUE(compareFold(Op::MIRROR_PAD, {x({300, 300}), amounts}, one, random).folded);
    // These share bytes with the operand.
    EXPECT_TRUE(compareFold(Op::SPLIT, {scalar(0), x({900, 300})}, three, random).folded);
    EXPECT_TRUE(compareFold(Op::SLICE, {x({80, 50, 60}), ints({3, 0, 0}), ints({70, -1, 60})}, one, random).folded);
    // What does not fit.
    EXPECT_FALSE(compareFold(Op::TRANSPOSE, {x({400, 300}), ints({1, 1})}, one, random).folded);
    EXPECT_FALSE(compareFold(Op::SLICE, {x({400, 300}), ints({1, 1}), ints({400, 1})}, one, random).folded);
    EXPECT_FALSE(compareFold(Op::GATHER, {x({400, 300}), ints({400})}, one, random).folded);
  }
}

TEST(Fold, APieceOfAConstantIsNotCopied) {
  Random random(6);
  DetachedTensor x = anyNumbers(random, TensorType::FLOAT32, {100, 1000}, nullptr);
  DetachedOperator op(Op::SLICE, {x, DetachedTensor::integers({7, 0}), DetachedTensor::integers({50, 1000})},
                      {{TensorType::FLOAT32, {50, 1000}}});
  PayloadStore store;
  const char *why = nullptr;
  auto made = llvm::cantFail(evaluate(op.get(), store, why));
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].bytes().data(), x.payload.bytes().data() + 7 * 4000);
}

/// Bytes i·7 + i/256, and how often they were asked for.
class Counted : public Computation {
public:
  explicit Counted(uint64_t &bytes) : asked(bytes) {}
  static uint8_t at(uint64_t i) { return static_cast<uint8_t>(i * 7 + i / 256); }
  void fill(uint64_t offset, llvm::MutableArrayRef<uint8_t> window) const override {
    asked += window.size();
    for (size_t i = 0; i < window.size(); ++i)
      window[i] = at(offset + i);
  }
  uint64_t &asked;
};

Payload counted(uint64_t size, uint64_t &asked, PayloadStore &store) {
  return Payload::computed(std::make_shared<Counted>(asked), size, store);
}

TEST(ComputedPayload, IsMadeOnceForAllCopies) {
  for (uint64_t size : {uint64_t(1000), PayloadStore::spillAbove + 77}) {
    PayloadStore store;
    uint64_t asked = 0;
    Payload payload = counted(size, asked, store), copy = payload, part = payload.slice(10, size - 20);
    EXPECT_EQ(payload.size(), size);
    EXPECT_TRUE(payload.hasBytes());
    EXPECT_EQ(payload.cost(), 1u);
    EXPECT_EQ(payload.file(), nullptr);
    EXPECT_EQ(asked, 0u);
    EXPECT_EQ(part.bytes()[5], Counted::at(15));
    EXPECT_EQ(asked, size);
    EXPECT_EQ(copy.cost(), 0u);
    EXPECT_EQ(copy.bytes().data() + 10, part.bytes().data());
    EXPECT_EQ(copy.bytes()[size - 1], Counted::at(size - 1));
    EXPECT_EQ(copy.file() != nullptr, size > PayloadStore::spillAbove);
    if (copy.file()) {
      EXPECT_EQ(part.offset(), payload.offset() + 10);
    }
    EXPECT_EQ(asked, size);
  }
}

TEST(ComputedPayload, IsComparedWithoutBeingMade) {
  PayloadStore store;
  uint64_t asked = 0, size = 100000;
  Payload a = counted(size, asked, store), b = counted(size, asked, store);
  std::string bytes(size, 0);
  for (uint64_t i = 0; i < size; ++i)
    bytes[i] = static_cast<char>(Counted::at(i));
  Payload same = Payload::owned(bytes);
  bytes[50000] ^= 1;
  Payload other = Payload::owned(bytes);
  EXPECT_TRUE(a.sameBytes(a));
  EXPECT_EQ(asked, 0u);
  EXPECT_TRUE(a.sameBytes(b));
  EXPECT_TRUE(a.sameBytes(same));
  EXPECT_TRUE(same.sameBytes(a));
  EXPECT_FALSE(a.sameBytes(other));
  EXPECT_FALSE(a.sameBytes(a.slice(1, size - 1)));
  EXPECT_EQ(a.hash(), same.hash());
  EXPECT_EQ(a.hash(), other.hash()); // which differs in the middle
  EXPECT_NE(a.hash(), a.slice(1, size - 1).hash());
  EXPECT_EQ(a.identity(), Payload(a).identity());
  EXPECT_NE(a.identity(), b.identity());
  EXPECT_EQ(a.cost(), 1u);
}

TEST(ComputedPayload, WhereThereIsNoRoomIsAnError) {
  PayloadStore store("/nonexistent");
  uint64_t asked = 0, size = PayloadStore::spillAbove + 1;
  Payload payload = counted(size, asked, store);
  llvm::Error error = payload.materialize();
  EXPECT_TRUE(static_cast<bool>(error));
  llvm::consumeError(std::move(error));
  EXPECT_EQ(payload.cost(), 1u);
  // Who cannot fail gets the bytes nevertheless.
  EXPECT_EQ(payload.bytes()[size - 1], Counted::at(size - 1));
  EXPECT_EQ(payload.file(), nullptr);
  Payload small = counted(100, asked, store);
  EXPECT_FALSE(small.materialize());

  Random random(7);
  DetachedTensor x = anyNumbers(random, TensorType::FLOAT32, {300000}, nullptr);
  DetachedOperator op(Op::CONCATENATION, {x, x}, {{TensorType::FLOAT32, {600000}}});
  const char *why = nullptr;
  auto made = evaluate(op.get(), store, why);
  EXPECT_FALSE(static_cast<bool>(made));
  llvm::consumeError(made.takeError());
}

/// x + x, n times over.
Payload doubled(Payload payload, int32_t count, int n, PayloadStore &store, unsigned *highest = nullptr) {
  for (int i = 0; i < n; ++i) {
    DetachedTensor x{TensorType::FLOAT32, {count}, payload};
    DetachedOperator op(Op::ADD, {x, x}, {{TensorType::FLOAT32, {count}}});
    const char *why = nullptr;
    payload = llvm::cantFail(evaluate(op.get(), store, why))[0];
    if (highest)
      *highest = std::max(*highest, payload.cost());
  }
  return payload;
}

TEST(ComputedPayload, ChainsOfFoldsStayLinear) {
  PayloadStore store;
  std::vector<float> ones(50000, 1);
  unsigned highest = 0;
  // Each operand is read twice: without a limit the last number would take 2^60 additions.
  Payload last = doubled(constantOf<float>(TensorType::FLOAT32, {}, ones).payload, 50000, 60, store, &highest);
  EXPECT_GT(highest, 1u);
  EXPECT_LE(highest, Payload::maxCost);
  float number;
  std::memcpy(&number, last.bytes().data() + 4 * 49999, 4);
  EXPECT_EQ(number, std::ldexp(1.f, 60));
}

TEST(PayloadStore, GivesTheDiskBack) {
  Scratch scratch;
  PayloadStore store(scratch.at(""));
  constexpr int32_t count = 1 << 20; // 4 MiB
  std::vector<float> ones(count, 1);
  uint64_t most = 0;
  {
    Payload payload = constantOf<float>(TensorType::FLOAT32, {}, ones).payload;
    for (int i = 0; i < 20; ++i) {
      payload = doubled(payload, count, 5, store);
      EXPECT_FALSE(payload.materialize());
      most = std::max(most, store.spilledBytes());
    }
    EXPECT_GT(most, uint64_t(4 << 20) - 1);
    float number;
    std::memcpy(&number, payload.bytes().data() + payload.size() - 4, 4);
    EXPECT_EQ(number, std::ldexp(1.f, 100));
  }
  EXPECT_LT(most, uint64_t(40 << 20)); // of 100 results of 4 MiB each
  EXPECT_EQ(store.spilledBytes(), 0u);
}

TEST(Fold, EveryElementSeesOperandsAndResult) {
  std::vector<float> weights(70000, 2), scales{1, 2, 4, 8, 16, 32, 64};
  auto check = [&](llvm::function_ref<bool(float, float, float)> holds) {
    DetachedOperator op(Op::MUL,
                        {constantOf<float>(TensorType::FLOAT32, {100, 7, 100}, weights),
                         constantOf<float>(TensorType::FLOAT32, {7, 1}, scales)},
                        {{TensorType::FLOAT32, {100, 7, 100}}});
    return everyElement(op.get(), holds);
  };
  uint64_t seen = 0;
  auto product = [&](float a, float b, float r) { return ++seen, r == a * b && a != 0; };
  EXPECT_TRUE(check(product));
  EXPECT_EQ(seen, 70000u);
  weights[69999] = 0;
  EXPECT_FALSE(check(product));
  weights[0] = 0;
  seen = 0;
  EXPECT_FALSE(check(product));
  EXPECT_EQ(seen, 1u);
  DetachedOperator unary(Op::NEG, {constantOf<float>(TensorType::FLOAT32, {7}, scales)}, {{TensorType::FLOAT32, {7}}});
  EXPECT_FALSE(everyElement(unary.get(), [](float, float, float) { return true; }));
}

// Two tensors with one buffer, one with a buffer of the same payload, and a piece of it.
TEST(ComputedPayload, IsWrittenAsItIsMade) {
  for (Format format : {Format::Circle, Format::Tflite}) {
    Scratch scratch;
    PayloadStore store(scratch.at(""));
    uint64_t asked = 0, size = 3 << 20;
    Imported imported;
    imported.model = std::make_unique<Model>();
    Model &model = *imported.model;
    model.format = format;
    Subgraph &graph = model.addSubgraph();
    model.addBuffer({});
    Payload payload = counted(size, asked, store);
    Buffer &shared = model.addBuffer(payload), &again = model.addBuffer(payload);
    Buffer &piece = model.addBuffer(payload.slice(1, 999));
    llvm::SmallVector<Value *> values;
    for (Buffer *buffer : {&shared, &shared, &again, &piece}) {
      Value &value = model.addValue(graph);
      value.type = TensorType::INT8;
      value.shape = {static_cast<int32_t>(buffer->payload.size())};
      value.hasShape = value.hasRank = true;
      value.buffer = buffer;
      values.push_back(&value);
    }
    model.setOutputs(graph, values);
    ExportOptions options;
    options.format = format;
    options.embed = origin::Embed::None;
    ASSERT_FALSE(restart(imported));
    std::string first = scratch.at("first"), second = scratch.at("second"), third = scratch.at("third");
    asked = 0;
    ASSERT_FALSE(exportModel(model, imported.lineage, first, options));
    EXPECT_EQ(payload.cost(), 1u) << "it was made as a whole";
    EXPECT_EQ(store.spilledBytes(), 0u);
    EXPECT_LT(asked, size + 200000) << "once for all tensors, and the ends for the digest";
    ASSERT_FALSE(exportModel(model, imported.lineage, second, options));
    EXPECT_FALSE(payload.materialize());
    ASSERT_FALSE(exportModel(model, imported.lineage, third, options));
    auto contents = [](const std::string &path) {
      auto buffer = llvm::MemoryBuffer::getFile(path);
      return buffer ? (*buffer)->getBuffer().str() : std::string();
    };
    EXPECT_FALSE(contents(first).empty());
    EXPECT_TRUE(contents(first) == contents(second));
    EXPECT_TRUE(contents(first) == contents(third)) << "the file shows that the bytes had been made";

    auto back = importModel(first);
    ASSERT_TRUE(static_cast<bool>(back)) << llvm::toString(back.takeError());
    auto &read = back->model->subgraphs[0]->values;
    ASSERT_EQ(read.size(), 4u);
    EXPECT_EQ(read[0]->buffer, read[1]->buffer);
    EXPECT_EQ(read[0]->payload().bytes().data(), read[2]->payload().bytes().data());
    for (int i = 0; i < 4; ++i)
      EXPECT_TRUE(read[i]->payload().sameBytes(values[i]->payload())) << i;
  }
}

} // namespace
