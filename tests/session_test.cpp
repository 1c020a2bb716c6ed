#include "eval/Strings.h"
#include "tests/Sessions.h"

#include <thread>

using namespace origo;
using namespace origo::test;

namespace {

/// A session of a text that compiles, and the model that it needs.
struct Compiled {
  std::unique_ptr<Model> model;
  std::optional<Session> session;
  explicit Compiled(llvm::StringRef text, const CompileOptions &options = {}) : model(parse(text)) {
    if (!model)
      return;
    model->becomeSource();
    auto compiled = compile(*model, options);
    if (compiled)
      session.emplace(std::move(*compiled));
    else
      ADD_FAILURE() << llvm::toString(compiled.takeError());
  }
  Session *operator->() { return &*session; }
};

using List = std::vector<TensorRef>;

std::unique_ptr<EvalError> errorOf(llvm::Expected<std::vector<NamedTensor>> results) {
  auto errors = errorsOf(results.takeError());
  EXPECT_EQ(errors.size(), 1u);
  if (errors.empty())
    return std::make_unique<EvalError>(ErrorCode::BadGraph, EvalPhase::Build, Place(), "");
  return std::move(errors.front());
}

/// h = x + h
const char *summing = R"(origo 1
model circle version 0
subgraph @main(%x: f32[1,1]) -> (%y) {
  %one: f32[1,1] = const [1]
  %zero: f32[1] = const [0]
  %h: f32[1,1] variable
  %y: f32[1,1] = RNN(input=%x, weights=%one, recurrent_weights=%one, bias=%zero, hidden_state=%h) {fused_activation_function=NONE}
}
)";

/// What a run without a state gives back while it copies outputs is none of those that are still to be copied: several
/// of the same memory, small ones between large ones, inputs and constants among them.
TEST(Outputs, AreCopiedBeforeTheirMemoryGoesBack) {
  const char *text = R"(origo 1
model circle version 0
subgraph @main(%x: f32[1,1,600000]) -> (%a, %s, %b, %x, %k, %c, %a) {
  %n: i32[2] = const [1000, 600]
  %k: f32[3] = const [1, 2, 3]
  %axis: i32[1] = const [1]
  %a: f32[1,1,600000] = NEG(%x)
  %b: f32[1000,600] = RESHAPE(%a, %n)
  %s: f32[1000] = SUM(%b, %axis)
  %c: f32[1,1,600000] = ABS(%a)
}
)";
  CompileOptions fast;
  fast.engine = Engine::Fast;
  Compiled reference(text), c(text, fast);
  std::vector<float> numbers(600000);
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(i % 1009) * 0.01f - 2;
  TensorRef x = floats({1, 1, 600000}, numbers);
  State state;
  RunOptions kept;
  kept.state = &state;
  auto expected = reference->run(List{x}, {}), withState = c->run(List{x}, kept), without = c->run(List{x}, {});
  ASSERT_TRUE(expected && withState && without);
  ASSERT_EQ(without->size(), 7u);
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_EQ((*without)[i].tensor.bytes, (*withState)[i].tensor.bytes) << i;
    if (i != 1) { // sums are added up in another order
      EXPECT_EQ((*without)[i].tensor.bytes, (*expected)[i].tensor.bytes) << i;
    }
  }
}

/// Results are computed where the caller wants them, but not where that is seen: in a result that others read, in one
/// that is given out twice, in an input that is read later.
TEST(Outputs, AreComputedInTheCallersMemory) {
  const char *text = R"(origo 1
model circle version 0
subgraph @main(%x: f32[1,40]) -> (%a, %b, %c, %d, %c, %x) {
  %s: i32[2] = const [8, 5]
  %a: f32[1,40] = NEG(%x)
  %b: f32[1,40] = ABS(%a)
  %c: f32[1,40] = SIN(%x)
  %d: f32[8,5] = RESHAPE(%a, %s)
}
)";
  std::vector<float> numbers(40);
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(i) * 0.1f - 2;
  for (Engine engine : {Engine::Reference, Engine::Fast}) {
    CompileOptions options;
    options.engine = engine;
    Compiled c(text, options);
    State state;
    RunOptions kept;
    kept.state = &state;
    auto expected = c->run(List{floats({1, 40}, numbers)}, kept);
    ASSERT_TRUE(bool(expected));
    for (int overlapping : {-1, 1, 2}) { // this output and the input are the same memory
      std::vector<float> input = numbers;
      std::vector<std::vector<uint8_t>> memory;
      std::vector<llvm::MutableArrayRef<uint8_t>> places;
      for (const NamedTensor &output : *expected)
        memory.emplace_back(output.tensor.bytes.size());
      for (auto &bytes : memory)
        places.push_back(bytes);
      if (overlapping >= 0)
        places[overlapping] = {reinterpret_cast<uint8_t *>(input.data()), input.size() * sizeof(float)};
      places[5] = {}; // not wanted
      ASSERT_FALSE(errorToBool(c->runInto(List{floats({1, 40}, input)}, places, kept)));
      for (int i = 0; i < 5; ++i)
        EXPECT_EQ(places[i], llvm::ArrayRef<uint8_t>((*expected)[i].tensor.bytes)) << i << " " << overlapping;
      EXPECT_EQ(memory[5], std::vector<uint8_t>(160));
      places[1] = places[1].drop_back();
      std::string refused = llvm::toString(c->runInto(List{floats({1, 40}, numbers)}, places, kept));
      EXPECT_NE(refused.find("the buffer is not as large as the output"), std::string::npos) << refused;
      EXPECT_TRUE(errorToBool(c->runInto(List{floats({1, 40}, numbers)}, llvm::ArrayRef(places).drop_back(), kept)));
      // And not in memory that a run had before.
      for (auto &bytes : memory)
        bytes.assign(bytes.size(), 7);
      auto again = c->run(List{floats({1, 40}, numbers)}, kept);
      ASSERT_TRUE(bool(again));
      for (auto &bytes : memory)
        EXPECT_EQ(bytes, std::vector<uint8_t>(bytes.size(), 7));
      for (int i = 0; i < 6; ++i)
        EXPECT_EQ((*again)[i].tensor.bytes, (*expected)[i].tensor.bytes);
    }
  }
}

TEST(State, VariableTensorsLiveInTheCallersState) {
  Compiled c(summing);
  State one, other;
  RunOptions inOne, inOther;
  inOne.state = &one;
  inOther.state = &other;
  auto next = [&](float x, const RunOptions &options) {
    return runFloats(*c.session, {floats({1, 1}, {x})}, options).at(0);
  };
  EXPECT_EQ(next(1, inOne), 1);
  EXPECT_EQ(next(2, inOne), 3);
  EXPECT_EQ(next(5, inOther), 5);
  EXPECT_EQ(next(4, inOne), 7);
  EXPECT_EQ(next(1, {}), 1); // a state of its own
  EXPECT_EQ(next(1, {}), 1);
  one.reset();
  EXPECT_EQ(next(2, inOne), 2);
  EXPECT_EQ(next(1, inOther), 6);
}

/// The variable begins as 10, and each run of "add" adds x to it.
const char *counting = R"(origo 1
model circle version 0
subgraph @add(%x: f32[1]) -> (%y) {
  CALL_ONCE() {init_subgraph_index=@init}
  %r: resource[] = VAR_HANDLE() {container="", shared_name="v"}
  %old: f32[1] = READ_VARIABLE(resource_id=%r)
  %y: f32[1] = ADD(x=%old, y=%x) {fused_activation_function=NONE}
  ASSIGN_VARIABLE(resource_id=%r, value=%y)
}
subgraph @get() -> (%z) {
  %s: resource[] = VAR_HANDLE() {container="", shared_name="v"}
  %z: f32[1] = READ_VARIABLE(resource_id=%s)
}
subgraph @init() -> () {
  %ten: f32[1] = const [10]
  %t: resource[] = VAR_HANDLE() {container="", shared_name="v"}
  ASSIGN_VARIABLE(resource_id=%t, value=%ten)
}
signature "add" @add inputs("by"=%x) outputs("sum"=%y)
signature "get" @get inputs() outputs("value"=%z)
)";

TEST(State, SignaturesShareVariables) {
  Compiled c(counting);
  EXPECT_EQ(c->signatures(), (std::vector<std::string>{"add", "get"}));
  State state;
  RunOptions add, get;
  add.state = get.state = &state;
  add.signature = "add";
  get.signature = "get";
  auto before = errorOf(c->run(Inputs{}, get));
  EXPECT_EQ(before->code, ErrorCode::BadOperand);
  EXPECT_EQ(before->place.opName, "READ_VARIABLE");
  EXPECT_EQ(before->operand, "resource_id");
  EXPECT_EQ(before->origins.size(), 1u);
  EXPECT_EQ(runFloats(*c.session, {floats({1}, {1.f})}, add), std::vector<float>{11});
  EXPECT_EQ(runFloats(*c.session, {floats({1}, {2.f})}, add), std::vector<float>{13});
  auto results = c->run(Inputs{}, get);
  ASSERT_TRUE(static_cast<bool>(results)) << llvm::toString(results.takeError());
  EXPECT_EQ(results->front().name, "value");
  EXPECT_EQ(floatsOf(results->front().tensor), std::vector<float>{13});
  state.reset();
  EXPECT_EQ(runFloats(*c.session, {floats({1}, {1.f})}, add), std::vector<float>{11});
  EXPECT_EQ(errorOf(c->run({{"x", floats({1}, {1.f})}}, add))->code, ErrorCode::MissingInput);
}

/// One plan serves the graph and what names its outputs in another order; a signature with fewer of them has its own.
TEST(State, SignaturesNameOutputsInTheirOrder) {
  Compiled c(R"(origo 1
model circle version 0
subgraph @main(%x: f32[1]) -> (%a, %b) {
  %a: f32[1] = NEG(x=%x)
  %b: f32[1] = SQUARE(x=%x)
}
signature "swapped" @main inputs("x"=%x) outputs("second"=%b, "first"=%a)
signature "one" @main inputs("x"=%x) outputs("b"=%b)
)");
  auto expect = [&](llvm::StringRef signature, const std::vector<std::pair<std::string, float>> &wanted) {
    RunOptions options;
    options.signature = signature.str();
    auto results = c->run({{"x", floats({1}, {3.f})}}, options);
    ASSERT_TRUE(static_cast<bool>(results)) << llvm::toString(results.takeError());
    ASSERT_EQ(results->size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_EQ((*results)[i].name, wanted[i].first);
      EXPECT_EQ(floatsOf((*results)[i].tensor), std::vector<float>{wanted[i].second});
    }
  };
  expect("", {{"a", -3}, {"b", 9}});
  expect("swapped", {{"second", 9}, {"first", -3}});
  expect("one", {{"b", 9}});
}

TEST(State, VariablesCountAsMemory) {
  Compiled c(R"(origo 1
model circle version 0
subgraph @main(%x: f32[1?]) -> (%x) {
  %r: resource[] = VAR_HANDLE() {container="", shared_name="v"}
  ASSIGN_VARIABLE(resource_id=%r, value=%x)
}
)",
             {.memoryLimit = 128});
  std::vector<float> numbers(30), more(40);
  State state;
  RunOptions options;
  options.state = &state;
  for (int i = 0; i < 3; ++i) // what was there before is given back
    EXPECT_EQ(runFloats(*c.session, {floats({30}, numbers)}, options).size(), 30u);
  EXPECT_EQ(errorOf(c->run(List{floats({40}, more)}, options))->code, ErrorCode::MemoryLimit);
}

TEST(State, TwoThreadsRunOneSession) {
  Compiled c(summing);
  auto count = [&](float by, float &last) {
    State state;
    RunOptions options;
    options.state = &state;
    for (int i = 0; i < 200; ++i)
      last = runFloats(*c.session, {floats({1, 1}, {by})}, options).at(0);
  };
  float a = 0, b = 0;
  std::thread first(count, 1.f, std::ref(a)), second(count, 2.f, std::ref(b));
  first.join();
  second.join();
  EXPECT_EQ(a, 200);
  EXPECT_EQ(b, 400);
}

TEST(ControlFlow, IfRunsOneBranch) {
  Compiled c(R"(origo 1
model circle version 0
subgraph @main(%c: bool[1], %x: f32[2]) -> (%y) {
  %y: f32[2] = IF(cond=%c, %x) {then_subgraph_index=@then, else_subgraph_index=@else}
}
subgraph @then(%a: f32[2]) -> (%b) {
  %b: f32[2] = NEG(x=%a)
}
subgraph @else(%d: f32[2]) -> (%e) {
  %e: f32[2] = ABS(x=%d)
}
)");
  std::vector<std::string> seen;
  RunOptions options;
  options.observer = [&](const Operator &op, const Value &, const Tensor &) { seen.push_back(op.opName()); };
  const float x[] = {-1, 2};
  for (uint8_t flag : {1, 0}) {
    auto y = runFloats(*c.session, {tensor<uint8_t>(TensorType::BOOL, {1}, flag), floats({2}, x)}, options);
    EXPECT_EQ(y, flag ? (std::vector<float>{1, -2}) : (std::vector<float>{1, 2}));
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"NEG", "IF", "ABS", "IF"}));
}

/// Twelve subgraphs that call the next one twice: 4,096 calls, and memory for twelve.
TEST(ControlFlow, CallsTakeTheMemoryOfTheirSubgraphs) {
  constexpr unsigned depth = 12;
  std::string text = "origo 1\nmodel circle version 0\n";
  for (unsigned i = 0; i < depth; ++i) {
    std::string next = "@g" + std::to_string(i + 1);
    std::string branches = ") {then_subgraph_index=" + next + ", else_subgraph_index=" + next + "}\n";
    text += "subgraph @g" + std::to_string(i) + "(%x: f32[4]) -> (%y) {\n  %c: bool[] = const [true]\n" +
            "  %a: f32[4] = IF(cond=%c, %x" + branches + "  %y: f32[4] = IF(cond=%c, %a" + branches + "}\n";
  }
  text += "subgraph @g" + std::to_string(depth) + "(%x: f32[4]) -> (%y) {\n  %y: f32[4] = NEG(x=%x)\n}\n";
  Compiled c(text, {.memoryLimit = 16 << 10});
  const float x[] = {1, -2, 3, -4};
  EXPECT_EQ(runFloats(*c.session, {floats({4}, x)}), std::vector<float>(x, x + 4)); // an even number of NEGs
}

TEST(ControlFlow, AWhileWithoutEndTimesOut) {
  Compiled c(R"(origo 1
model circle version 0
subgraph @main(%x: f32[1]) -> (%y) {
  %y: f32[1] = WHILE(%x) {cond_subgraph_index=@cond, body_subgraph_index=@body}
}
subgraph @cond(%a: f32[1]) -> (%b) {
  %b: bool[1] = EQUAL(x=%a, y=%a)
}
subgraph @body(%c: f32[1]) -> (%d) {
  %d: f32[1] = NEG(x=%c)
}
)",
             {.iterationLimit = UINT64_MAX, .timeout = std::chrono::milliseconds(20)});
  auto error = errorOf(c->run(List{floats({1}, {1.f})}));
  EXPECT_EQ(error->code, ErrorCode::Timeout);
  EXPECT_EQ(error->phase, EvalPhase::Run);
  EXPECT_EQ(error->origins.size(), 1u);
}

TEST(Errors, NameOperatorOperandAndOrigins) {
  Compiled c(R"(origo 1
model circle version 0
subgraph @main(%x: f32[4], %i: i32[2]) -> (%y) {
  %n: f32[4] = NEG(x=%x)
  %y: f32[2] = GATHER(params=%n, indices=%i) {axis=0}
}
)");
  const float x[] = {1, 2, 3, 4};
  const int32_t good[] = {3, 0}, bad[] = {3, 4};
  EXPECT_EQ(runFloats(*c.session, {floats({4}, x), tensor<int32_t>(TensorType::INT32, {2}, good)}),
            (std::vector<float>{-4, -1}));
  auto error = errorOf(c->run(List{floats({4}, x), tensor<int32_t>(TensorType::INT32, {2}, bad)}));
  EXPECT_EQ(error->code, ErrorCode::BadOperand);
  EXPECT_EQ(error->place.subgraph, 0);
  EXPECT_EQ(error->place.op, 1);
  EXPECT_EQ(error->place.opName, "GATHER");
  EXPECT_EQ(error->operand, "indices");
  EXPECT_EQ(error->origins, std::vector<uint32_t>{1});
}

TEST(Errors, NumbersOfInputsMustFit) {
  Compiled c(summing);
  EXPECT_EQ(errorOf(c->run(llvm::ArrayRef<TensorRef>()))->code, ErrorCode::MissingInput);
  RunOptions options;
  options.signature = "nothing";
  EXPECT_EQ(errorOf(c->run(List{floats({1, 1}, {1.f})}, options))->code, ErrorCode::UnknownName);
}

TEST(Errors, ABufferThatIsTooSmallIsToldItsSizeAtRunTime) {
  Compiled c(R"(origo 1
model circle version 0
subgraph @main(%x: f32[1?,2]) -> (%y) {
  %y: f32[1?,2] = NEG(x=%x)
}
)");
  std::vector<float> x(10, 1.f);
  std::vector<uint8_t> small(39, 7), fitting(40);
  auto errors = errorsOf(c->run({{"x", floats({5, 2}, x)}}, {{"y", small}}, {}));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0]->code, ErrorCode::BadOutput);
  EXPECT_EQ(errors[0]->expected, "40");
  EXPECT_EQ(errors[0]->actual, "39");
  EXPECT_EQ(small, std::vector<uint8_t>(39, 7));
  EXPECT_FALSE(c->run({{"x", floats({5, 2}, x)}}, {{"y", fitting}}, {}));
  EXPECT_EQ(floatsOf({TensorType::FLOAT32, {}, fitting}), std::vector<float>(10, -1.f));
}

TEST(Strings, GoThroughASession) {
  Compiled c(R"(origo 1
model circle version 0
subgraph @main(%x: str[1,3], %i: i64[4]) -> (%y) {
  %shape: i32[1] = const [-1]
  %flat: str[3] = RESHAPE(tensor=%x, shape=%shape)
  %y: str[4] = GATHER(params=%flat, indices=%i) {axis=0}
}
)");
  std::vector<uint8_t> words = packStrings({"one", "", "three"});
  const int64_t at[] = {2, 0, 1, 2}, beyond[] = {0, 0, 0, 3};
  TensorRef input(TensorType::STRING, {1, 3}, words);
  auto results = c->run(List{input, tensor<int64_t>(TensorType::INT64, {4}, at)});
  ASSERT_TRUE(static_cast<bool>(results)) << llvm::toString(results.takeError());
  const OwnedTensor &y = results->front().tensor;
  EXPECT_EQ(y.shape, Shape{4});
  EXPECT_EQ(*unpackStrings(y.bytes, 4), (std::vector<llvm::StringRef>{"three", "one", "", "three"}));
  EXPECT_EQ(errorOf(c->run(List{input, tensor<int64_t>(TensorType::INT64, {4}, beyond)}))->operand, "indices");
  // Bytes that are no strings: too many, offsets beyond the end, backward, nothing at all.
  std::vector<std::vector<uint8_t>> broken(4, words);
  broken[0][0] = 200;
  broken[1][16] = 200;
  broken[2][4] = 30;
  broken[3].clear();
  for (const auto &bytes : broken) {
    TensorRef bad(TensorType::STRING, {1, 3}, bytes);
    EXPECT_EQ(errorOf(c->run(List{bad, tensor<int64_t>(TensorType::INT64, {4}, at)}))->code, ErrorCode::BadInput);
  }
}

TEST(HashTable, IsFilledOnceAndFinds) {
  Compiled c(R"(origo 1
model circle version 0
subgraph @main(%x: str[3]) -> (%n, %w, %s) {
  CALL_ONCE() {init_subgraph_index=@init}
  %t: resource[1] = HASHTABLE() {table_id=1, key_dtype=STRING, value_dtype=INT64}
  %u: resource[1] = HASHTABLE() {table_id=2, key_dtype=INT64, value_dtype=STRING}
  %none: i64[] = const [-1]
  %unknown: str[1] = const ["?"]
  %n: i64[3] = HASHTABLE_FIND(hash_table=%t, keys=%x, default_value=%none)
  %w: str[3] = HASHTABLE_FIND(hash_table=%u, keys=%n, default_value=%unknown)
  %s: i64[1] = HASHTABLE_SIZE(hash_table=%t)
}
subgraph @init() -> () {
  %a: resource[1] = HASHTABLE() {table_id=1, key_dtype=STRING, value_dtype=INT64}
  %b: resource[1] = HASHTABLE() {table_id=2, key_dtype=INT64, value_dtype=STRING}
  %words: str[3] = const ["a", "b", "a"]
  %numbers: i64[3] = const [5, 6, 7]
  HASHTABLE_IMPORT(hash_table=%a, keys=%words, values=%numbers)
  HASHTABLE_IMPORT(hash_table=%b, keys=%numbers, values=%words)
  HASHTABLE_IMPORT(hash_table=%a, keys=%words, values=%numbers)
}
)");
  std::vector<uint8_t> words = packStrings({"b", "c", "a"});
  auto results = c->run(List{TensorRef(TensorType::STRING, {3}, words)});
  ASSERT_TRUE(static_cast<bool>(results)) << llvm::toString(results.takeError());
  const int64_t numbers[] = {6, -1, 5}, two = 2;
  EXPECT_EQ((*results)[0].tensor.bytes, tensor<int64_t>(TensorType::INT64, {3}, numbers).bytes.vec());
  EXPECT_EQ(*unpackStrings((*results)[1].tensor.bytes, 3), (std::vector<llvm::StringRef>{"b", "?", "a"}));
  EXPECT_EQ((*results)[2].tensor.bytes, tensor<int64_t>(TensorType::INT64, {1}, two).bytes.vec());
}

TEST(HashTable, HandlesOfTheWrongKindAreRefused) {
  Compiled c(R"(origo 1
model circle version 0
subgraph @main(%x: i64[1]) -> (%y) {
  %v: resource[1] = VAR_HANDLE() {container="", shared_name="v"}
  %none: str[1] = const [""]
  %y: str[1] = HASHTABLE_FIND(hash_table=%v, keys=%x, default_value=%none)
}
)");
  const int64_t key = 1;
  auto error = errorOf(c->run(List{tensor<int64_t>(TensorType::INT64, {1}, key)}));
  EXPECT_EQ(error->code, ErrorCode::BadOperand);
  EXPECT_EQ(error->operand, "hash_table");
}

} // namespace
