#include "import/Import.h"
#include "tests/RandomInputs.h"
#include "tests/RealModels.h"
#include "tests/Sessions.h"

#include <atomic>
#include <cerrno>

/// A run that is like the one before allocates nothing. All memory of the program comes from the functions below, that
/// of libraries too.

static std::atomic<bool> counting = false;
static std::atomic<size_t> allocations = 0;

extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static void count() { allocations += counting.load(); }
void *malloc(size_t size) {
  count();
  return __libc_malloc(size);
}
void *calloc(size_t number, size_t size) {
  count();
  return __libc_calloc(number, size);
}
void *realloc(void *old, size_t size) {
  count();
  return __libc_realloc(old, size);
}
void *memalign(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **memory, size_t alignment, size_t size) {
  *memory = memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}
}

using namespace origo;
using namespace origo::test;

namespace {

size_t allocationsOfOneMoreRun(Model &model, unsigned threads) {
  CompileOptions options;
  options.engine = Engine::Fast;
  options.threads = threads;
  auto session = compile(model, options);
  if (!session) {
    ADD_FAILURE() << llvm::toString(session.takeError());
    return 0;
  }
  auto given = randomInputs(*session->inputs(), 1);
  Inputs inputs;
  for (size_t i = 0; i < given->size(); ++i)
    inputs[(*session->inputs())[i].name] = (*given)[i];
  State state;
  RunOptions run;
  run.state = &state;
  auto results = session->run(inputs, run);
  if (!results) {
    ADD_FAILURE() << llvm::toString(results.takeError());
    return 0;
  }
  std::vector<std::vector<uint8_t>> memory;
  Outputs outputs;
  for (const NamedTensor &result : *results) {
    memory.emplace_back(result.tensor.bytes.size());
    outputs[result.name] = memory.back();
  }
  for (bool steady : {false, true}) {
    counting = steady;
    llvm::Error error = session->run(inputs, outputs, run);
    counting = false;
    EXPECT_FALSE(static_cast<bool>(error));
    llvm::consumeError(std::move(error));
  }
  EXPECT_EQ(memory.front(), results->front().tensor.bytes);
  EXPECT_FALSE(session->coverage().fast.empty());
  return allocations.exchange(0);
}

TEST(SteadyState, AllocationsAreSeen) {
  counting = true;
  auto one = std::make_unique<std::vector<int>>(1000);
  counting = false;
  EXPECT_EQ(allocations.exchange(0), 2u);
}

TEST(SteadyState, ASmallNetworkAllocatesNothing) {
  auto model = parse(R"(origo 1
model circle version 0
subgraph @main(%x: f32[1,4,4,2]) -> (%z) {
  %w: f32[1,2,2,2] = const [1, 2, 3, 4, 5, 6, 7, 8]
  %f: f32[3,4] = const [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
  %shape: i32[2] = const [1, 4]
  %h: f32[1,4,4,1] = CONV_2D(input=%x, filter=%w) {padding=SAME, stride_w=1, stride_h=1, fused_activation_function=RELU}
  %a: f32[1,4,4,1] = LOGISTIC(x=%h)
  %b: f32[1,4,4,1] = ADD(x=%a, y=%h) {fused_activation_function=NONE}
  %p: f32[1,2,2,1] = MAX_POOL_2D(value=%b) {padding=VALID, stride_w=2, stride_h=2, filter_width=2, filter_height=2, fused_activation_function=NONE}
  %r: f32[1,4] = RESHAPE(tensor=%p, shape=%shape)
  %y: f32[1,3] = FULLY_CONNECTED(input=%r, weights=%f) {fused_activation_function=NONE}
  %z: f32[1,3] = SOFTMAX(logits=%y) {beta=1.0}
}
)");
  ASSERT_TRUE(model);
  EXPECT_EQ(allocationsOfOneMoreRun(*model, 1), 0u);
  EXPECT_EQ(allocationsOfOneMoreRun(*model, 2), 0u);
}

/// Nor one whose shapes are known when it runs, with an operator of many operands.
TEST(SteadyState, UnknownBatchAllocatesNothing) {
  auto model = parse(R"(origo 1
model circle version 0
subgraph @main(%x: f32[1?,4,4,1]) -> (%y) {
  %w: f32[1,2,2,1] = const [1, 2, 3, 4]
  %a: f32[1?,4,4,1] = CONV_2D(input=%x, filter=%w) {padding=SAME, stride_w=1, stride_h=1, fused_activation_function=RELU}
  %c: f32[1?,4,4,9] = CONCATENATION(%a, %x, %a, %x, %a, %x, %a, %x, %a) {axis=3, fused_activation_function=NONE}
  %y: f32[1?,4,4,9] = LOGISTIC(x=%c)
}
)");
  ASSERT_TRUE(model);
  EXPECT_EQ(allocationsOfOneMoreRun(*model, 1), 0u);
}

TEST(SteadyState, WholeNumbersAllocateNothing) {
  for (const char *text : {R"(origo 1
model circle version 0
subgraph @main(%x: f32[2,4,4,2]) -> (%z) {
  %w: i8[3,2,2,2] q{scale=[0.1, 0.2, 0.3], zero_point=[0, 0, 0], dim=0} = const [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24]
  %f: i8[2,3] q{scale=0.1, zero_point=0} = const [1, 2, 3, 4, 5, 6]
  %y: f32[2,4,4,3] = CONV_2D(input=%x, filter=%w) {padding=SAME, stride_w=1, stride_h=1}
  %z: f32[2,4,4,2] = FULLY_CONNECTED(input=%y, weights=%f) {keep_num_dims=true}
}
)",
                           R"(origo 1
model circle version 0
subgraph @main(%x: i16[2,4,4,3] q{scale=0.1, zero_point=0}, %r: i8[2,3,5] q{scale=0.1, zero_point=0}) -> (%z, %v) {
  %w: i8[3,1,1,3] q{scale=0.1, zero_point=0} = const [1, 2, 3, 4, 5, 6, 7, 8, 9]
  %d: i8[1,2,2,3] q{scale=0.1, zero_point=0} = const [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
  %a: i16[2,4,4,3] q{scale=0.1, zero_point=0} = CONV_2D(input=%x, filter=%w) {padding=SAME, stride_w=1, stride_h=1}
  %b: i16[2,4,4,3] q{scale=0.1, zero_point=0} = DEPTHWISE_CONV_2D(input=%a, filter=%d) {padding=SAME, stride_w=1, stride_h=1}
  %c: i16[2,4,4,3] q{scale=0.1, zero_point=0} = AVERAGE_POOL_2D(value=%b) {padding=SAME, stride_w=1, stride_h=1, filter_width=2, filter_height=2}
  %axes: i32[1] = const [1]
  %m: i16[2,4,3] q{scale=0.1, zero_point=0} = MEAN(%c, %axes)
  %z: i16[2,4,5] q{scale=0.1, zero_point=0} = BATCH_MATMUL(x=%m, y=%r)
  %u: i8[2,3,5] q{scale=0.00390625, zero_point=-128} = SOFTMAX(%r) {beta=1.0}
  %v: i32[2,3,3] = BATCH_MATMUL(x=%u, y=%r) {adjoint_rhs=true}
}
)"}) {
    auto model = parse(text);
    ASSERT_TRUE(model);
    EXPECT_EQ(allocationsOfOneMoreRun(*model, 1), 0u) << text;
    EXPECT_EQ(allocationsOfOneMoreRun(*model, 2), 0u) << text;
  }
}

TEST(SteadyState, MovementAndReductionsAllocateNothing) {
  auto model = parse(R"(origo 1
model circle version 0
subgraph @main(%x: f32[1,4,6,2], %n: i32[3]) -> (%m, %z) {
  %p: i32[4,2] = const [0, 0, 2, 1, 1, 2, 0, 0]
  %begin: i32[4] = const [0, 1, 2, 0]
  %end: i32[4] = const [1, 7, 8, 2]
  %step: i32[4] = const [1, 2, 2, 1]
  %size: i32[2] = const [6, 6]
  %order: i32[4] = const [0, 3, 2, 1]
  %axes: i32[2] = const [1, 3]
  %two: i32[2] = const [2, 2]
  %none: i32[2,2] = const [0, 0, 0, 0]
  %a: f32[1,7,9,2] = MIRROR_PAD(%x, %p) {mode=REFLECT}
  %b: f32[1,3,3,2] = STRIDED_SLICE(%a, %begin, %end, %step)
  %c: f32[1,6,6,2] = RESIZE_NEAREST_NEIGHBOR(%b, %size)
  %d: f32[1,6,6,4] = CONCATENATION(%c, %c) {axis=3}
  %e: f32[1,4,6,6] = TRANSPOSE(%d, %order)
  %f: f32[4,2,3,6] = SPACE_TO_BATCH_ND(%e, %two, %none)
  %g: f32[4,2,3,6] = TANH(%f)
  %h: f32[4,3] = SUM(%g, %axes)
  %i: f32[3,3] = GATHER(%h, %n)
  %m: f32[3,3] = LOG_SOFTMAX(%i)
  %k: bool[3,3] = LESS(%m, %i)
  %z: f32[3,3] = SELECT_V2(%k, %m, %i)
}
)");
  ASSERT_TRUE(model);
  EXPECT_EQ(allocationsOfOneMoreRun(*model, 1), 0u);
  EXPECT_EQ(allocationsOfOneMoreRun(*model, 2), 0u);
}

void convolutionalNetworksAllocateNothing(const ModelFolder &models, uint64_t leastWork) {
  size_t networks = 0;
  for (const std::string &path : models.all()) {
    auto imported = importModel(path);
    if (!imported) {
      llvm::consumeError(imported.takeError());
      continue;
    }
    using Op = BuiltinOperator;
    auto usual = [](const Operator &op) {
      bool packed = llvm::any_of(op.subgraph()->values, [](const Value *v) { return v->type == TensorType::INT4; });
      return !packed &&
             llvm::is_contained({Op::CONV_2D, Op::DEPTHWISE_CONV_2D, Op::FULLY_CONNECTED, Op::RESHAPE, Op::SOFTMAX,
                                 Op::AVERAGE_POOL_2D, Op::MAX_POOL_2D, Op::ADD, Op::PAD, Op::LOGISTIC, Op::MUL,
                                 Op::RELU, Op::CONCATENATION, Op::RESIZE_BILINEAR, Op::MEAN, Op::TRANSPOSE},
                                op.code);
    };
    const Model &model = *imported->model;
    uint64_t work = multiplyAdds(model);
    if (model.subgraphs.size() != 1 || work < leastWork || work > 100000000 ||
        !llvm::all_of(model.subgraphs[0]->operators, usual))
      continue;
    ++networks;
    EXPECT_EQ(allocationsOfOneMoreRun(*imported->model, 1), 0u) << path;
  }
  EXPECT_GE(networks, 3u);
}

TEST(SteadyState, ConvolutionalNetworksAllocateNothing) { convolutionalNetworksAllocateNothing(ownNetworks(), 100000); }
TEST(SteadyStatePublicModels, AllocateNothing) { convolutionalNetworksAllocateNothing(publicModels(), 1000000); }

} // namespace
