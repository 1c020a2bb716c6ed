#pragma once

#include "passes/Pipeline.h"

#include "quantize/Corrections.h"
#include "quantize/OnnxFake.h"
#include "quantize/Plan.h"

#include "ir/Error.h"
#include "ir/text/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

/// The cases of tests/golden. Each file has several with a line `-----` between them. A case is
///
///     // RUN: --passes=fuse-activation
///     origo 1
///     …
///     =>
///     the whole output with origins, then the ledger; or `error: …`
///
/// One that cannot be executed has a line `// NOT EXECUTED: ` with the reason, which is compared.
namespace origo::test {

struct Case {
  std::string run, input, expected;
};

inline std::string goldenFolder() { return ORIGO_SOURCE_DIR "/tests/golden"; }

inline std::vector<std::string> goldenFiles() {
  std::vector<std::string> files;
  std::error_code ec;
  for (llvm::sys::fs::directory_iterator it(goldenFolder(), ec), end; it != end && !ec; it.increment(ec))
    if (llvm::StringRef(it->path()).ends_with(".txt"))
      files.push_back(llvm::sys::path::stem(it->path()).str());
  llvm::sort(files);
  return files;
}

inline std::string lines(llvm::StringRef text) {
  llvm::StringRef trimmed = text.trim('\n');
  return trimmed.empty() ? std::string() : trimmed.str() + "\n";
}

inline std::vector<Case> readCases(llvm::StringRef text) {
  std::vector<Case> cases;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, "\n-----\n");
  for (llvm::StringRef part : parts) {
    Case &item = cases.emplace_back();
    auto [first, rest] = part.ltrim('\n').split('\n');
    auto [input, expected] = rest.split("\n=>");
    item.run = first.str();
    item.input = lines(input);
    item.expected = lines(expected);
  }
  return cases;
}

/// Why a case is said not to be executed; empty: it is.
inline std::string notExecuted(const Case &item) {
  llvm::StringRef rest = item.input;
  while (!rest.empty()) {
    auto [line, more] = rest.split('\n');
    if (line.consume_front("// NOT EXECUTED: "))
      return line.str();
    rest = more;
  }
  return {};
}

inline llvm::Expected<std::unique_ptr<quantize::Records>> threeRecords(llvm::ArrayRef<eval::Port> inputs,
                                                                       llvm::StringRef) {
  return quantize::seededRecords(inputs, 3);
}

/// `--scheme=int8`, int8-ends (of inputs and outputs too), dynamic, blocks (of 32 weights in 4 bits) or float16, from
/// ranges that the model has, unsigned or fake, with `--gptaq`, `--gptq` and `--bias-correction`, or `--smooth` or
/// `--absorb` alone, from what three seeded records show,
/// `--onnx`: pairs of ONNX become operators, `--fake-quant`: FAKE_QUANT does, `--passes=a,b`, `-O1`, or the flags of
/// circle2circle that stand for passes.
inline llvm::Expected<Pipeline> pipelineOf(const Case &item) {
  llvm::StringRef options = item.run;
  if (!options.consume_front("// RUN:"))
    return makeError("the first line of a case has to be `// RUN: …`");
  Pipeline pipeline;
  quantize::Scheme scheme;
  llvm::SmallVector<llvm::StringRef> words;
  options.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef word : words) {
    if (word == "-O1") {
      pipeline = Pipeline::o1();
      continue;
    }
    bool found = false;
    if (word.consume_front("--scheme=")) {
      using enum quantize::Scheme::Mode;
      auto mode = llvm::StringSwitch<std::optional<quantize::Scheme::Mode>>(word)
                      .Cases("int8", "int8-ends", Full)
                      .Cases("dynamic", "blocks", Weights)
                      .Cases("weights", "weights4", WidenedWeights)
                      .Case("float16", Float16)
                      .Case("unsigned", Unsigned)
                      .Case("fake", Fake)
                      .Default(std::nullopt);
      found = mode.has_value();
      scheme.common.mode = mode.value_or(Full);
      if (word == "weights4" || word == "blocks")
        scheme.common.weights = TensorType::INT4;
      if (word == "blocks")
        scheme.common.blockSize = 32;
      if (word == "int8-ends")
        scheme.inputs = scheme.outputs = {TensorType::INT8};
      pipeline = Pipeline::quantization(quantize::planBy(scheme));
    } else if (word == "--gptaq") {
      scheme.common.adapts = found = true;
      pipeline.plan = [scheme](Model &model) mutable -> llvm::Expected<StoragePlan> {
        auto adapted = quantize::adaptRoundings(model, threeRecords, scheme, {});
        if (!adapted)
          return adapted.takeError();
        scheme.adapted = std::make_shared<const quantize::Adaptations>(std::move(*adapted));
        return quantize::planBy(scheme)(model);
      };
    } else if (word == "--gptq" || word == "--bias-correction") {
      scheme.common.choosesRounding |= word == "--gptq";
      scheme.common.correctsBias |= word == "--bias-correction";
      found = true;
      pipeline.plan = [scheme](Model &model) mutable -> llvm::Expected<StoragePlan> {
        auto moments = quantize::collectMoments(model, threeRecords, {}, scheme.needsProducts());
        if (!moments)
          return moments.takeError();
        scheme.moments = std::make_shared<const quantize::Moments>(std::move(*moments));
        return quantize::planBy(scheme)(model);
      };
    } else if (word == "--onnx") {
      found = true;
      pipeline.add(*findPass("resolve-onnx-quantization"));
      pipeline.plan = [](Model &model) -> llvm::Expected<StoragePlan> {
        quantize::Scheme scheme;
        auto fakes = quantize::readOnnxFakes(model, scheme);
        return fakes ? llvm::Expected<StoragePlan>(StoragePlan()) : fakes.takeError();
      };
    } else if (word == "--fake-quant") {
      found = true;
      pipeline = Pipeline::quantization(quantize::planFakeQuants);
    } else if (word == "--smooth" || word == "--absorb") {
      found = true;
      bool smooth = word == "--smooth";
      pipeline.add(*findPass(smooth ? "smooth-channels" : "absorb-bias"));
      pipeline.plan = [smooth](Model &model) -> llvm::Expected<StoragePlan> {
        auto moments = quantize::collectMoments(model, threeRecords, {}, false);
        if (!moments)
          return moments.takeError();
        return smooth ? quantize::reachesOf(model, *moments, 0.5) : quantize::shiftsOf(model, *moments);
      };
    } else if (word.consume_front("--passes=")) {
      llvm::SmallVector<llvm::StringRef> names;
      word.split(names, ',');
      for (llvm::StringRef name : names) {
        const Pass *pass = findPass(name);
        if (!pass)
          return makeError("no such pass: " + name);
        pipeline.add(*pass);
        found = true;
      }
    } else if (word == "--nchw_to_nhwc_input_shape") {
      found = pipeline.turnsInputs = true;
    } else if (word == "--nchw_to_nhwc_output_shape") {
      found = pipeline.turnsOutputs = true;
    } else if (word.consume_front("--")) {
      for (const Pass &pass : allPasses())
        for (const PassFlag &flag : pass.flags)
          if (flag.name == word) {
            pipeline.add(pass, flag.scopes);
            found = true;
          }
    }
    if (!found)
      return makeError("no such option: " + word);
  }
  return pipeline;
}

/// Other numbers are what was asked for, and nothing that a case could compare; of a plan, tests/quantization_test.cpp
/// does.
inline bool changesNumbers(const Pipeline &pipeline) {
  return pipeline.plan || pipeline.turnsInputs || pipeline.turnsOutputs ||
         llvm::any_of(pipeline.entries, [](const Pipeline::Entry &entry) {
           return entry.pass->changesResults &&
                  !entry.pass->usesCodes; // those of the cases are as good as what they stand for
         });
}

/// A model with its origins, as cases show it.
inline std::string printed(Model &model) {
  std::string text;
  llvm::raw_string_ostream os(text);
  PrintOptions print;
  print.origins = true;
  print.layout = false;
  print.inlineBytes = 1024;
  printText(model, os, print);
  return text;
}

} // namespace origo::test
