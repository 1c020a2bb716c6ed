#include "tests/Sessions.h"

#include "passes/Pipeline.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <cmath>
#include <map>

/// What runtimes compute, by small models: tests/regressions/runtime/. The head of each says what is right, in words
/// and in lines that the test reads:
///
///     // input: f32[3] = const [nan, -2, 9]      an input, in the order of the model's
///     // result: f32[3] = const [nan, 0, 6]      an output, likewise; exact, but for `within`
///     // within: 1e-6                            of a float, or of 1 if it is less; of an integer, so many steps
///     // refused: index 4 of 3                   no outputs, but an error that says this

using namespace origo;
using namespace origo::test;

namespace {

/// What has no kernel, and is refused with these words. Whoever adds the kernel takes the line away; the right numbers
/// are in the file.
const std::map<std::string, const char *> gaps = {
    // operators
    {"stablehlo_add_mul_max_min_and", "(STABLEHLO_ADD): no kernel for i32, i32 -> i32"},
    {"stablehlo_case", "(STABLEHLO_CASE): no kernel for i32, f32 -> f32"},
    {"stablehlo_gather_clamps_negative", "(STABLEHLO_GATHER): no kernel for f32, i32 -> f32"},
    {"stablehlo_pad", "(STABLEHLO_PAD): no kernel for f32, f32 -> f32"},
    {"stablehlo_reduce_window", "(STABLEHLO_REDUCE_WINDOW): no kernel for f32, f32 -> f32"},
    {"stablehlo_rng_philox", "(STABLEHLO_RNG_BIT_GENERATOR): no kernel for u64 -> u64, u32"},
};

std::vector<std::string> allCases() {
  std::vector<std::string> names;
  std::error_code error;
  llvm::sys::fs::directory_iterator end;
  for (llvm::sys::fs::directory_iterator at(ORIGO_SOURCE_DIR "/tests/regressions/runtime", error); !error && at != end;
       at.increment(error))
    if (llvm::sys::path::extension(at->path()) == ".origo")
      names.push_back(llvm::sys::path::stem(at->path()).str());
  llvm::sort(names);
  return names;
}

class RuntimeRegressions : public testing::TestWithParam<std::string> {
protected:
  std::string text;
  std::vector<OwnedTensor> inputs, results;
  std::vector<std::string> given; ///< the inputs as constants: "const [1]"
  std::string refused;
  double within = 0;

  void SetUp() override {
    auto file = llvm::MemoryBuffer::getFile(ORIGO_SOURCE_DIR "/tests/regressions/runtime/" + GetParam() + ".origo");
    ASSERT_TRUE(static_cast<bool>(file));
    text = (*file)->getBuffer().str();
    llvm::SmallVector<llvm::StringRef> lines;
    llvm::StringRef(text).split(lines, '\n');
    for (llvm::StringRef line : lines) {
      if (line.consume_front("// input: ")) {
        inputs.push_back(constant(line));
        given.push_back(line.substr(line.find("const ")).str());
      } else if (line.consume_front("// result: "))
        results.push_back(constant(line));
      else if (line.consume_front("// within: "))
        ASSERT_FALSE(line.getAsDouble(within));
      else if (line.consume_front("// refused: "))
        refused = line.str();
    }
    ASSERT_NE(results.empty(), refused.empty()) << "the head says neither results nor a refusal, or both";
    if (auto gap = gaps.find(GetParam()); gap != gaps.end())
      refused = gap->second;
  }

  static OwnedTensor constant(llvm::StringRef line) {
    auto model = parse(("origo 1\nmodel circle version 0\nsubgraph @main() -> (%v) {\n  %v: " + line + "\n}\n").str());
    auto session = model ? compile(*model) : llvm::Expected<Session>(llvm::createStringError("no text"));
    auto all = session ? session->run(std::vector<TensorRef>()) : session.takeError();
    if (all)
      return all->front().tensor;
    ADD_FAILURE() << line.str() << ": " << llvm::toString(all.takeError());
    return {};
  }

  /// The model of these inputs alone, of which all may be folded.
  std::string ofConstants() const {
    size_t begin = text.find("@main(") + 6, depth = 0, at = begin;
    std::string constants, declared = "  ";
    size_t input = 0;
    for (;; ++at) {
      char c = text[at];
      bool ends = depth == 0 && (c == ')' || c == ',');
      if (ends && input < given.size()) {
        constants += declared + " = " + given[input++] + "\n";
        declared = " ";
      }
      if (ends && c == ')')
        break;
      depth += c == '[' || c == '{';
      depth -= c == ']' || c == '}';
      if (!ends && c != '?')
        declared += c;
    }
    size_t body = text.find("{\n", at) + 2;
    return text.substr(0, begin) + text.substr(at, body - at) + constants + text.substr(body);
  }

  enum class How { AsItIs, Optimised, Folded };

  /// The outputs, or why there are none.
  llvm::Expected<std::vector<OwnedTensor>> run(Engine engine, How how) {
    PayloadStore store;
    auto model = parseText(how == How::Folded ? ofConstants() : text, "", store);
    if (!model)
      return model.takeError();
    if (how != How::AsItIs) {
      (*model)->becomeSource();
      if (llvm::Error error = runPipeline(**model, Pipeline::o1(), store))
        return llvm::Expected<std::vector<OwnedTensor>>(std::move(error));
    }
    CompileOptions options;
    options.engine = engine;
    auto session = compile(**model, options);
    if (!session)
      return session.takeError();
    auto outputs = session->run(how == How::Folded ? std::vector<TensorRef>()
                                                   : std::vector<TensorRef>(inputs.begin(), inputs.end()));
    if (!outputs)
      return outputs.takeError();
    std::vector<OwnedTensor> all;
    for (auto &output : *outputs)
      all.push_back(std::move(output.tensor));
    return all;
  }

  template <class T> static double farthest(const OwnedTensor &a, const OwnedTensor &b) {
    auto *x = reinterpret_cast<const T *>(a.bytes.data()), *y = reinterpret_cast<const T *>(b.bytes.data());
    double worst = 0;
    for (size_t i = 0; i < a.bytes.size() / sizeof(T); ++i) {
      auto p = static_cast<double>(x[i]), q = static_cast<double>(y[i]);
      bool same = p == q || (std::isnan(p) && std::isnan(q));
      double off = std::fabs(p - q) / (std::is_floating_point_v<T> ? std::max(1.0, std::fabs(p)) : 1);
      worst = same ? worst : std::isnan(off) ? std::numeric_limits<double>::infinity() : std::max(worst, off);
    }
    return worst;
  }
  static double distanceOf(const OwnedTensor &a, const OwnedTensor &b) {
    switch (a.type) {
    case TensorType::FLOAT32:
    case TensorType::COMPLEX64:
      return farthest<float>(a, b);
    case TensorType::FLOAT64:
      return farthest<double>(a, b);
    case TensorType::INT8:
      return farthest<int8_t>(a, b);
    case TensorType::INT16:
      return farthest<int16_t>(a, b);
    default:
      return a.bytes == b.bytes ? 0 : std::numeric_limits<double>::infinity();
    }
  }

  void check(Engine engine, How treated, const char *how) {
    auto actual = run(engine, treated);
    // Folding may do without a kernel.
    bool folded = treated == How::Folded && actual && !results.empty();
    if (!refused.empty() && !folded) {
      if (actual)
        ADD_FAILURE() << how << " runs; expected: " << refused;
      else if (std::string why = llvm::toString(actual.takeError()); why.find(refused) == std::string::npos)
        ADD_FAILURE() << how << ": " << why << "\nexpected: " << refused;
      return;
    }
    if (!actual) {
      ADD_FAILURE() << how << ": " << llvm::toString(actual.takeError());
      return;
    }
    ASSERT_EQ(actual->size(), results.size()) << how;
    for (size_t i = 0; i < results.size(); ++i) {
      const OwnedTensor &x = results[i], &y = (*actual)[i];
      EXPECT_EQ(x.type, y.type) << how << ": output " << i;
      EXPECT_EQ(x.shape, y.shape) << how << ": output " << i;
      if (x.type != y.type || x.bytes.size() != y.bytes.size())
        continue;
      EXPECT_LE(distanceOf(x, y), within) << how << ": output " << i << "\n"
                                          << testing::PrintToString(x.bytes) << "\n"
                                          << testing::PrintToString(y.bytes);
    }
  }
};

TEST_P(RuntimeRegressions, Right) {
  check(Engine::Reference, How::AsItIs, "reference");
  check(Engine::Fast, How::AsItIs, "fast");
  check(Engine::Reference, How::Optimised, "reference after -O1");
  check(Engine::Fast, How::Optimised, "fast after -O1");
  check(Engine::Reference, How::Folded, "folded by -O1");
}

INSTANTIATE_TEST_SUITE_P(All, RuntimeRegressions, testing::ValuesIn(allCases()),
                         [](const auto &info) { return info.param; });

TEST(RuntimeRegressionsTable, NamesFilesThatAreThere) {
  auto names = allCases();
  EXPECT_GE(names.size(), 190u);
  for (const auto &[name, reason] : gaps)
    EXPECT_TRUE(llvm::is_contained(names, name)) << name;
}

} // namespace
