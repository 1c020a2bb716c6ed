#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

/// Networks in a few lines each, as text (docs/text-form.md). Shapes and types of results are those that the operator's
/// rule gives; weights come from seeds, so the same network is made everywhere.
namespace origo::test {

using Shape = std::vector<int>; ///< −1: open before run time

struct T {
  std::string name, type;
  Shape shape;
  std::string tail;  ///< what stands behind the type: `q{…}`, `variable`
  std::string value; ///< of a constant that rules of shapes look at
  int last() const { return shape.back(); }
};
using Ts = llvm::ArrayRef<T>;
using Named = std::vector<std::pair<const char *, T>>;

class Net {
public:
  explicit Net(bool isTflite, llvm::StringRef description);
  /// The whole text; an output for what was not ended yet.
  std::string text();

  // Subgraphs. The first is the main one, and need not be begun.
  void begin(llvm::StringRef name);
  void end(Ts outputs);
  /// Of the subgraph that was ended last.
  void signature(llvm::StringRef key, const Named &inputs, const Named &outputs);
  /// A line of the model, behind that subgraph.
  void line(const std::string &statement) { behind += statement + "\n"; }
  /// A line in front of the subgraphs.
  void heading(const std::string &statement) { head += statement + "\n"; }
  /// A statement of the subgraph.
  void statement(const std::string &text) { body += "  " + text + "\n"; }
  /// In front of the names of the tensors that follow.
  void scope(llvm::StringRef prefix) { prefixOfNames = prefix.str(); }

  T input(Shape shape, llvm::StringRef type = "f32", llvm::StringRef tail = "");
  T variable(Shape shape, llvm::StringRef type = "f32", llvm::StringRef tail = "");

  // Constants.
  T constant(llvm::StringRef type, Shape shape, const std::string &value, llvm::StringRef tail = "");
  T ints(llvm::ArrayRef<int> numbers, llvm::StringRef type = "i32");
  T number(double number);                  ///< a scalar
  T floats(llvm::ArrayRef<double> numbers); ///< a vector
  T normal(Shape shape, double deviation);
  T uniform(Shape shape, double low, double high, llvm::StringRef type = "f32", llvm::StringRef tail = "");
  /// What keeps the size of numbers, where the last dimensions but the first are summed over.
  T weights(Shape shape);

  // Operators. `options` without braces; "custom …" and the like stand as they are. `result`: where no rule tells it,
  // or what it has besides: a type with its shape, a type, or `q{…}`.
  T op(llvm::StringRef code, Ts operands, llvm::StringRef options = "", llvm::StringRef result = "");
  std::vector<T> ops(llvm::StringRef code, Ts operands, llvm::StringRef options, std::vector<std::string> results);

  // Layers.
  T conv(const T &x, int channels, int size, int stride = 1, llvm::StringRef more = "", bool bias = true);
  T depthwise(const T &x, int size, int stride = 1, llvm::StringRef more = "", bool bias = true);
  T transposeConv(const T &x, int channels, int size, int stride);
  T dense(const T &x, int units, llvm::StringRef more = "", bool bias = true);
  T scale(const T &x); ///< MUL of a constant a channel
  T shift(const T &x);
  T batchNorm(const T &x) { return shift(scale(x)); }
  T pool(const T &x, bool max, int size, int stride, llvm::StringRef padding = "SAME");
  T reshape(const T &x, llvm::ArrayRef<int> shape);
  T transpose(const T &x, llvm::ArrayRef<int> order) { return op("TRANSPOSE", {x, ints(order)}); }
  T pad(const T &x, int by);
  T mean(const T &x, llvm::ArrayRef<int> axes, bool keep = false);
  T softmax(const T &x) { return op("SOFTMAX", x, "beta=1"); }
  T layerNorm(const T &x);
  T gelu(const T &x);
  T add(const T &x, const T &y, llvm::StringRef more = "") { return op("ADD", {x, y}, more); }
  T mul(const T &x, const T &y) { return op("MUL", {x, y}); }

private:
  std::string head, body, inputs, done, behind, prefixOfNames, graph = "main";
  unsigned count = 0, seed = 0;
  std::string fresh(llvm::StringRef stem) { return prefixOfNames + stem.str() + std::to_string(count++); }
  uint64_t nextSeed();
};

/// What is written where: `file` is its name in the folder of networks.
struct Network {
  std::string file;
  void (*make)(Net &);
};
llvm::ArrayRef<Network> allNetworks();

} // namespace origo::test
