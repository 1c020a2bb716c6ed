#include "eval/Evaluate.h"
#include "export/Writer.h"
#include "ir/DetachedOperator.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

// Constants of 256 MB that are computed while the file is written, beside loops by hand into the store of computed
// constants, which is then copied into the file. With each, the peak of anonymous memory.
// usage: fold_benchmark DIRECTORY      needs 1 GB there

using namespace origo;
using Op = BuiltinOperator;

static uint64_t anonymousKilobytes() {
  auto status = llvm::MemoryBuffer::getFileAsStream("/proc/self/status");
  llvm::StringRef line = (*status)->getBuffer().split("RssAnon:").second.ltrim();
  uint64_t kilobytes = 0;
  line.consumeInteger(10, kilobytes);
  return kilobytes;
}

/// Seconds, and the peak of anonymous memory beyond that of before.
static void measure(llvm::StringRef name, const std::string &directory,
                    llvm::function_ref<Payload(PayloadStore &)> make) {
  std::vector<double> times;
  uint64_t before = anonymousKilobytes();
  std::atomic<uint64_t> peak = before;
  for (int repetition = 0; repetition < 4; ++repetition) {
    std::atomic<bool> done = false;
    std::thread sampler([&] {
      while (!done) {
        peak = std::max<uint64_t>(peak, anonymousKilobytes());
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    });
    auto begin = std::chrono::steady_clock::now();
    {
      PayloadStore store(directory);
      auto file = llvm::cantFail(OutputFile::open(directory + "/out"));
      file->copy(make(store));
      llvm::cantFail(file->finish());
    }
    if (repetition) // the first one warms up
      times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    done = true;
    sampler.join();
  }
  llvm::sort(times);
  llvm::outs() << llvm::format("%-48s %.3f s, %.1f MB of memory\n", name.str().c_str(), times[times.size() / 2],
                               static_cast<double>(peak - before) / 1024);
  llvm::outs().flush();
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 1;
  std::string directory = argv[1], path = directory + "/weights";
  constexpr int32_t side = 8192;
  constexpr uint64_t count = uint64_t(side) * side;
  {
    auto file = llvm::cantFail(OutputFile::open(path));
    std::vector<float> row(side);
    for (int32_t i = 0; i < side; ++i) {
      for (int32_t k = 0; k < side; ++k)
        row[k] = static_cast<float>(i * 31 + k) * 1e-3f;
      file->write({reinterpret_cast<const uint8_t *>(row.data()), row.size() * sizeof(float)});
    }
    llvm::cantFail(file->finish());
    llvm::cantFail(OutputFile::commit({file.get()}));
  }
  auto file = llvm::cantFail(MappedFile::open(path));
  Payload weights(file, 0, count * sizeof(float)), bytes(file, 0, count);
  std::vector<float> numbers(side, 0.37f);
  for (int32_t i = 0; i < side; ++i)
    numbers[i] += static_cast<float>(i) * 1e-4f;
  Payload scales = Payload::owned(std::string(reinterpret_cast<const char *>(numbers.data()), side * sizeof(float)));
  auto folded = [](Op code, llvm::ArrayRef<DetachedTensor> operands, PayloadStore &store) {
    DetachedOperator op(code, operands, {{TensorType::FLOAT32, {side, side}}});
    const char *why = nullptr;
    return llvm::cantFail(evaluate(op.get(), store, why))[0];
  };
  auto byHand = [&](llvm::StringRef name, auto number) {
    measure(name, directory, [&](PayloadStore &store) {
      return llvm::cantFail(store.make(count * 4, [&](llvm::MutableArrayRef<uint8_t> window, uint64_t offset) {
        for (size_t i = 0; i < window.size() / 4; ++i) {
          float value = number(offset / 4 + i);
          std::memcpy(window.data() + i * 4, &value, 4);
        }
      }));
    });
  };
  auto weight = [&](uint64_t i) {
    float value;
    std::memcpy(&value, weights.bytes().data() + i * 4, 4);
    return value;
  };
  DetachedTensor w{TensorType::FLOAT32, {side, side}, weights};

  volatile size_t known = side; // at run time only, as it is in a rewrite
  const size_t run = known, channels = known;
  byHand("MUL by hand, a channel is a row", [&](uint64_t i) { return weight(i) * numbers[i / run % channels]; });
  measure("MUL, a channel is a row", directory, [&](PayloadStore &store) {
    return folded(Op::MUL, {w, {TensorType::FLOAT32, {side, 1}, scales}}, store);
  });
  measure("MUL, a channel is a column", directory, [&](PayloadStore &store) {
    return folded(Op::MUL, {w, {TensorType::FLOAT32, {side}, scales}}, store);
  });
  measure("  and each product looked at before", directory, [&](PayloadStore &store) {
    DetachedTensor operand{TensorType::FLOAT32, {side, 1}, scales};
    DetachedOperator op(Op::MUL, {w, operand}, {{TensorType::FLOAT32, {side, side}}});
    if (!everyElement(op.get(), [](float a, float, float r) { return a == 0 || std::isnormal(r); }))
      llvm::report_fatal_error("a product is not normal");
    const char *why = nullptr;
    return llvm::cantFail(evaluate(op.get(), store, why))[0];
  });
  byHand("TRANSPOSE by hand", [&](uint64_t i) { return weight(i % channels * run + i / run); });
  measure("TRANSPOSE", directory, [&](PayloadStore &store) {
    return folded(Op::TRANSPOSE, {w, DetachedTensor::integers({1, 0})}, store);
  });
  Quantization q, perChannel;
  float one[] = {0.5f};
  int64_t none[] = {0};
  q.scale = one;
  q.zeroPoint = none;
  perChannel.scale = numbers;
  perChannel.zeroPoint = none;
  byHand("DEQUANTIZE by hand", [&](uint64_t i) {
    return static_cast<float>(0.5 * static_cast<double>(static_cast<int8_t>(bytes.bytes()[i])));
  });
  measure("DEQUANTIZE, one scale", directory, [&](PayloadStore &store) {
    return folded(Op::DEQUANTIZE, {{TensorType::INT8, {side, side}, bytes, &q}}, store);
  });
  byHand("DEQUANTIZE by hand, a scale for each row", [&](uint64_t i) {
    return numbers[i / run % channels] * static_cast<float>(static_cast<int8_t>(bytes.bytes()[i]));
  });
  measure("DEQUANTIZE, a scale for each row", directory, [&](PayloadStore &store) {
    return folded(Op::DEQUANTIZE, {{TensorType::INT8, {side, side}, bytes, &perChannel}}, store);
  });
  llvm::sys::fs::remove(path);
  return 0;
}
