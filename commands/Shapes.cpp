#include "commands/Shapes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstring>

namespace origo::commands {

using Op = BuiltinOperator;
using Values = llvm::ArrayRef<Value *>;
using Dims = llvm::ArrayRef<int32_t>;

/// Operators in a row. Numbers depend on nothing but the order in which they are asked for.
class ShapeBuilder {
public:
  explicit ShapeBuilder(Model &model) : model(model) { model.addBuffer({}); }
  Model &model;

  Subgraph &subgraph() {
    graph = &model.addSubgraph();
    graph->name = model.copy("g" + std::to_string(graph->index));
    return *graph;
  }
  void enter(Subgraph &other) { graph = &other; }
  Value *tensor(Dims shape, TensorType type = TensorType::FLOAT32) {
    Value &value = model.addValue(*graph);
    value.name = model.copy("t" + std::to_string(value.index));
    value.type = type;
    value.hasShape = true;
    value.shape = shape;
    return &value;
  }
  Value *input(Dims shape, TensorType type = TensorType::FLOAT32) {
    Value *value = tensor(shape, type);
    model.setInputs(*graph, value);
    return value;
  }
  void outputs(Values values) { model.setOutputs(*graph, values); }

  template <class T> Value *constant(TensorType type, Dims shape, llvm::ArrayRef<T> numbers) {
    Value *value = tensor(shape, type);
    std::string bytes(numbers.size() * sizeof(T), '\0');
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    value->buffer = &model.addBuffer(Payload::owned(std::move(bytes)));
    return value;
  }
  Value *ints(llvm::ArrayRef<int32_t> numbers) {
    return constant<int32_t>(TensorType::INT32, {int32_t(numbers.size())}, numbers);
  }
  Value *same(Dims shape, float number) {
    std::vector<float> numbers(count(shape), number);
    return constant<float>(TensorType::FLOAT32, shape, numbers);
  }
  /// Numbers around 1 that no other constant has.
  Value *distinct(Dims shape) {
    std::vector<float> numbers(count(shape));
    for (float &number : numbers)
      number = this->number();
    return constant<float>(TensorType::FLOAT32, shape, numbers);
  }
  /// The same where the product of many is to stay near 1.
  Value *factor(Dims shape) {
    std::vector<float> numbers(count(shape));
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (last.size() <= i)
        last.push_back(0);
      numbers[i] = last[i] ? 1 / last[i] : number();
      last[i] = last[i] ? 0 : numbers[i];
    }
    return constant<float>(TensorType::FLOAT32, shape, numbers);
  }
  float number() { // the finaliser of splitmix64
    uint64_t bits = state += 0x9E3779B97F4A7C15u;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    return 0.75f + 0.5f * float(bits >> 40) / (1 << 24);
  }

  struct Option {
    llvm::StringRef name;
    int64_t value;
  };
  Value *op(Op code, Values operands, Dims shape, llvm::ArrayRef<Option> options = {},
            TensorType type = TensorType::FLOAT32) {
    Value *result = tensor(shape, type);
    Operator &op = model.addOperator(*graph, code, operands, result);
    op.options.member = static_cast<uint8_t>(op.info()->options);
    if (const wire::TableType *table = op.info()->optionsType()) {
      llvm::SmallVector<wire::ScalarEdit, 4> edits;
      for (const Option &option : options)
        edits.push_back({table->find(option.name)->slot, option.value});
      op.options = model.editOptions(op.options, edits);
    }
    return result;
  }
  /// With a result like its first operand.
  Value *like(Op code, Values operands, llvm::ArrayRef<Option> options = {}) {
    llvm::SmallVector<int32_t, 4> shape(operands.front()->shape);
    return op(code, operands, shape, options, operands.front()->type);
  }

private:
  Subgraph *graph = nullptr;
  uint64_t state = 1;
  std::vector<float> last; ///< factors that the next ones undo
  static size_t count(Dims shape) {
    size_t n = 1;
    for (int32_t d : shape)
      n *= d;
    return n;
  }
};

namespace {

using B = ShapeBuilder;
constexpr int32_t row[] = {1, 4}, image[] = {1, 2, 2, 4}, channels[] = {4}, one[] = {1};

/// A main subgraph: from an input to an output.
template <class Body> void line(B &b, Dims shape, Body body) {
  b.subgraph();
  Value *x = b.input(shape);
  b.outputs(body(x));
}

void addDistinct(B &b, uint64_t n) {
  line(b, row, [&](Value *t) {
    while (n--)
      t = b.like(Op::ADD, {t, b.distinct(channels)});
    return t;
  });
}
void mulDistinct(B &b, uint64_t n) {
  line(b, row, [&](Value *t) {
    while (n--)
      t = b.like(Op::MUL, {t, b.factor(channels)});
    return t;
  });
}
void addMulDistinct(B &b, uint64_t n) {
  line(b, row, [&](Value *t) {
    while (n--)
      t = b.like(n % 2 ? Op::ADD : Op::MUL, {t, b.distinct(channels)});
    return t;
  });
}
void manyUsers(B &b, uint64_t n) {
  line(b, row, [&](Value *x) {
    Value *t = x;
    while (n--)
      t = b.like(Op::MAXIMUM, {t, x});
    return t;
  });
}
void equalUsers(B &b, uint64_t n) {
  line(b, row, [&](Value *x) {
    Value *t = x;
    for (n /= 2; n--;)
      t = b.like(Op::MAXIMUM, {t, b.like(Op::ABS, x)});
    return t;
  });
}
void distinctUsers(B &b, uint64_t n) {
  line(b, row, [&](Value *x) {
    Value *t = x;
    for (n /= 2; n--;)
      t = b.like(Op::MAXIMUM, {t, b.like(Op::POW, {x, b.distinct(channels)})});
    return t;
  });
}
void equalConstants(B &b, uint64_t n) {
  line(b, row, [&](Value *t) {
    while (n--)
      t = b.like(Op::POW, {t, b.same(channels, 1.5f)});
    return t;
  });
}
/// As long as the parts that a quick look compares, and different between these.
void nearlyEqualConstants(B &b, uint64_t n) {
  constexpr int32_t size = 2 * 1024 + 64;
  line(b, size, [&](Value *t) {
    std::vector<float> numbers(size, 1.5f);
    while (n--) {
      numbers[size / 2] = b.number();
      t = b.like(Op::POW, {t, b.constant<float>(TensorType::FLOAT32, size, numbers)});
    }
    return t;
  });
}
void equalBiases(B &b, uint64_t n) {
  b.subgraph();
  Value *t = b.input(row, TensorType::INT32);
  while (n--) {
    Value *bias = b.constant<int32_t>(TensorType::INT32, channels, {1, 2, 3, 4});
    float scale = b.number();
    int64_t zero = 0;
    Quantization q;
    q.scale = b.model.copy(llvm::ArrayRef<float>(scale));
    q.zeroPoint = b.model.copy(llvm::ArrayRef<int64_t>(zero));
    b.model.setQuantization(*bias, q);
    t = b.like(Op::MAXIMUM, {t, bias});
  }
  b.outputs(t);
}
void foldChain(B &b, uint64_t n) {
  line(b, row, [&](Value *x) {
    Value *c = b.distinct(channels), *k = b.same(channels, 0.5f);
    for (uint64_t i = 1; i < n; ++i)
      c = b.like(i % 2 ? Op::ADD : Op::MUL, {c, k});
    return b.like(Op::POW, {x, c});
  });
}
void subgraphs(B &b, uint64_t n) {
  Subgraph &main = b.subgraph();
  Value *t = b.input(row);
  for (n /= 2; n--;) {
    Subgraph &callee = b.subgraph();
    b.outputs(b.like(Op::NEG, b.input(row)));
    b.enter(main);
    t = b.op(Op::CALL, t, row, {{"subgraph", callee.index}});
  }
  b.enter(main);
  b.outputs(t);
}
void signatures(B &b, uint64_t n) {
  Subgraph &main = b.subgraph();
  Value *x = b.input(row), *t = x;
  for (uint64_t i = 0; i < n; ++i) {
    t = b.like(i % 2 ? Op::ABS : Op::NEG, t);
    Signature signature;
    signature.key = b.model.copy("s" + std::to_string(i));
    signature.subgraph = &main;
    signature.inputs = {{"x", x}};
    signature.outputs = {{"y", t}};
    b.model.addSignature(std::move(signature));
  }
  b.outputs(t);
}
void manyOutputs(B &b, uint64_t n) {
  b.subgraph();
  Value *t = b.input(row);
  std::vector<Value *> all;
  for (uint64_t i = 0; i < n; ++i)
    all.push_back(t = b.like(i % 2 ? Op::ABS : Op::NEG, t));
  b.outputs(all);
}
/// CALL, IF and WHILE in turn, as deep as the reader goes.
void nesting(B &b, uint64_t n) {
  constexpr unsigned depth = 60;
  uint64_t each = n / depth;
  Subgraph *outer = &b.subgraph();
  Value *t = b.input(row);
  auto fill = [&] {
    for (uint64_t i = 1; i < each; ++i)
      t = b.like(i % 2 ? Op::ABS : Op::NEG, t);
  };
  for (unsigned level = 0; level < depth; ++level) {
    b.enter(*outer);
    fill();
    int64_t next = b.model.subgraphs.size();
    if (level % 3 == 0) {
      t = b.op(Op::CALL, t, row, {{"subgraph", next}});
    } else if (level % 3 == 1) {
      Value *condition = b.tensor(one, TensorType::BOOL);
      b.model.addOperator(*outer, Op::GREATER, {t, b.same(channels, 0)}, condition).options.member =
          static_cast<uint8_t>(circle::BuiltinOptions::GreaterOptions);
      condition->shape = {1, 4};
      Value *any = b.op(Op::REDUCE_ANY, {condition, b.ints({0, 1})}, {}, {}, TensorType::BOOL);
      t = b.op(Op::IF, {any, t}, row, {{"then_subgraph_index", next}, {"else_subgraph_index", next}});
    } else {
      t = b.op(Op::WHILE, t, row, {{"cond_subgraph_index", next + 1}, {"body_subgraph_index", next}});
    }
    b.outputs(t);
    outer = &b.subgraph();
    Value *input = b.input(row);
    if (level % 3 == 2) {
      b.subgraph();
      Value *x = b.input(row);
      Value *less = b.op(Op::LESS, {x, b.same(channels, 8)}, row, {}, TensorType::BOOL);
      b.outputs(b.op(Op::REDUCE_ALL, {less, b.ints({0, 1})}, {}, {}, TensorType::BOOL));
    }
    t = input;
  }
  b.enter(*outer);
  fill();
  b.outputs(b.like(Op::NEG, t));
}
void wideConcatenation(B &b, uint64_t n) {
  line(b, row, [&](Value *t) {
    std::vector<Value *> all;
    for (uint64_t i = 0; i < n; ++i)
      all.push_back(t = b.like(i % 2 ? Op::ABS : Op::NEG, t));
    return b.op(Op::CONCATENATION, all, {1, int32_t(4 * all.size())}, {{"axis", 1}});
  });
}
void concatenations(B &b, uint64_t n) {
  constexpr unsigned width = 15;
  line(b, row, [&](Value *t) {
    for (uint64_t group = 0; group < n / (width + 2); ++group) {
      std::vector<Value *> parts;
      for (unsigned i = 0; i < width; ++i)
        parts.push_back(b.like(Op::POW, {t, b.distinct(channels)}));
      Value *joined = b.op(Op::CONCATENATION, parts, {1, 4 * width}, {{"axis", 1}});
      t = b.op(Op::SLICE, {joined, b.ints({0, 2}), b.ints({1, 4})}, row);
    }
    return t;
  });
}
Value *shapeChain(B &b, Value *x, uint64_t n) {
  Value *flat = b.ints({2}), *t = x;
  for (n /= 4; n--;) {
    Value *shape = b.op(Op::SHAPE, t, {2}, {{"out_type", int64_t(TensorType::INT32)}}, TensorType::INT32);
    Value *packed = b.op(Op::PACK, shape, {1, 2}, {{"values_count", 1}}, TensorType::INT32);
    Value *again = b.op(Op::RESHAPE, {packed, flat}, {2}, {}, TensorType::INT32);
    t = b.op(Op::RESHAPE, {x, again}, row);
  }
  return t;
}
void deadShapes(B &b, uint64_t n) {
  line(b, row, [&](Value *x) {
    shapeChain(b, x, n);
    return b.like(Op::NEG, x);
  });
}
void liveShapes(B &b, uint64_t n) {
  line(b, row, [&](Value *x) { return b.like(Op::NEG, shapeChain(b, x, n)); });
}
void blocks(B &b, uint64_t n) {
  line(b, image, [&](Value *t) {
    for (n /= 4; n--;) {
      t = b.op(Op::CONV_2D, {t, b.distinct({4, 1, 1, 4}), b.distinct(channels)}, image,
               {{"stride_w", 1}, {"stride_h", 1}});
      t = b.like(Op::MUL, {t, b.distinct(channels)});
      t = b.like(Op::ADD, {t, b.distinct(channels)});
      t = b.like(Op::RELU6, t);
    }
    return t;
  });
}
void transposes(B &b, uint64_t n) {
  line(b, {2, 8}, [&](Value *t) {
    Value *swap = b.ints({1, 0});
    for (uint64_t i = 0; i < n / 2; ++i) {
      t = b.op(Op::TRANSPOSE, {t, swap}, {t->shape[1], t->shape[0]});
      t = b.like(i % 2 ? Op::ABS : Op::NEG, t);
    }
    return t;
  });
}
void cancellingTransposes(B &b, uint64_t n) {
  line(b, {2, 8}, [&](Value *t) {
    Value *swap = b.ints({1, 0});
    for (n /= 3; n--;) {
      t = b.op(Op::TRANSPOSE, {t, swap}, {8, 2});
      t = b.like(Op::NEG, t);
      t = b.op(Op::TRANSPOSE, {t, swap}, {2, 8});
    }
    return t;
  });
}
void channelsFirst(B &b, uint64_t n) {
  line(b, {1, 2, 3, 4}, [&](Value *t) {
    Value *first = b.ints({0, 3, 1, 2}), *last = b.ints({0, 2, 3, 1});
    for (n /= 6; n--;) {
      t = b.op(Op::CONV_2D, {t, b.distinct({4, 1, 1, 4}), b.distinct(channels)}, {1, 2, 3, 4},
               {{"stride_w", 1}, {"stride_h", 1}});
      Value *turned = b.op(Op::TRANSPOSE, {t, first}, {1, 4, 2, 3});
      Value *gate = b.like(Op::EXP, turned), *slope = b.like(Op::TANH, turned);
      t = b.op(Op::TRANSPOSE, {b.like(Op::MUL, {gate, slope}), last}, {1, 2, 3, 4});
    }
    return t;
  });
}
void instanceNorms(B &b, uint64_t n) {
  line(b, {1, 2, 3, 4}, [&](Value *x) {
    Value *axes = b.ints({1, 2}), *epsilon = b.factor(one);
    for (n /= 10; n--;) {
      Value *mean = b.op(Op::MEAN, {x, axes}, {1, 1, 1, 4}, {{"keep_dims", 1}});
      Value *squares = b.like(Op::SQUARED_DIFFERENCE, {x, mean});
      Value *variance = b.op(Op::MEAN, {squares, axes}, {1, 1, 1, 4}, {{"keep_dims", 1}});
      Value *scale = b.like(Op::RSQRT, b.like(Op::ADD, {variance, epsilon}));
      scale = b.like(Op::MUL, {scale, b.distinct(channels)});
      Value *offset = b.op(Op::SUB, {b.distinct(channels), b.like(Op::MUL, {mean, scale})}, {1, 1, 1, 4});
      x = b.like(Op::ADD, {b.like(Op::MUL, {x, scale}), offset});
    }
    return x;
  });
}
void intoOne(B &b, uint64_t n) {
  line(b, row, [&](Value *t) {
    t = b.op(Op::FULLY_CONNECTED, {t, b.distinct({4, 4}), b.distinct(channels)}, row);
    for (uint64_t i = 1; i < n; ++i)
      t = i % 2 ? b.like(Op::MUL, {t, b.factor(channels)}) : b.like(Op::ADD, {t, b.distinct(channels)});
    return t;
  });
}
void divs(B &b, uint64_t n) {
  line(b, row, [&](Value *t) {
    while (n--)
      t = b.like(Op::DIV, {t, b.same(one, 3)});
    return t;
  });
}
void linearAdds(B &b, uint64_t n) {
  line(b, row, [&](Value *t) {
    for (n /= 2; n--;) {
      t = b.op(Op::FULLY_CONNECTED, {t, b.distinct({4, 4}), b.same(channels, 0.5f)}, row);
      t = b.like(Op::ADD, {t, b.same(channels, 0.25f)});
    }
    return t;
  });
}
/// Each is twelve operators a moment.
void lstms(B &b, uint64_t n) {
  auto moments = static_cast<int32_t>(std::min<uint64_t>(200, n / 12));
  line(b, {1, moments, 4}, [&](Value *t) {
    for (uint64_t made = 0; made + 12 * moments <= n; made += 12 * moments) {
      llvm::SmallVector<Value *> operands{t};
      for (unsigned weights = 0; weights < 8; ++weights)
        operands.push_back(b.distinct({4, 4}));
      operands.append(3, nullptr); // no gate looks at the cell
      for (unsigned bias = 0; bias < 4; ++bias)
        operands.push_back(b.distinct(channels));
      operands.append(2, nullptr); // no projection
      for (unsigned state = 0; state < 2; ++state)
        operands.push_back(b.same(row, 0));
      t = b.like(Op::UNIDIRECTIONAL_SEQUENCE_LSTM, operands,
                 {{"fused_activation_function", int64_t(circle::ActivationFunctionType::TANH)}});
    }
    return t;
  });
}

} // namespace

llvm::ArrayRef<Shape> allShapes() {
  static constexpr llvm::StringRef plain = "-O1", merging = "-O1 --remove_duplicate_const";
  static const Shape shapes[] = {
      {"add-distinct", "a chain of ADDs of distinct constants", plain, 1, addDistinct},
      {"mul-distinct", "a chain of MULs by distinct constants", plain, 1, mulDistinct},
      {"add-mul-distinct", "ADDs and MULs of distinct constants in turn", plain, 1, addMulDistinct},
      {"many-users", "one value that every operator uses", plain, 1, manyUsers},
      {"equal-users", "n/2 equal operators on one value", plain, 1, equalUsers},
      {"distinct-users", "n/2 operators on one value that differ in a constant", plain, 1, distinctUsers},
      {"equal-constants", "n equal constants", merging, 1, equalConstants},
      {"near-constants", "n constants of 8.4 KB that differ in the middle", merging, 10, nearlyEqualConstants},
      {"equal-biases", "n equal constants of distinct scales", merging, 1, equalBiases},
      {"fold-chain", "constants computed from constants, n deep", plain, 1, foldChain},
      {"subgraphs", "n/2 subgraphs of one operator, each called once", plain, 1, subgraphs},
      {"signatures", "n signatures", plain, 1, signatures},
      {"outputs", "n outputs", plain, 1, manyOutputs},
      {"nesting", "subgraphs in subgraphs, 60 deep, by CALL, IF and WHILE", plain, 1, nesting},
      {"wide-concat", "one CONCATENATION of n operands", plain, 1, wideConcatenation},
      {"concats", "CONCATENATIONs of 15 operands", plain, 1, concatenations},
      {"dead-shapes", "chains of SHAPE, PACK and RESHAPE that nothing needs", plain, 1, deadShapes},
      {"live-shapes", "the same where an output needs them", plain, 1, liveShapes},
      {"blocks", "CONV_2D, MUL, ADD, RELU6", plain, 1, blocks},
      {"transposes", "TRANSPOSE and a unary operator in turn", plain, 1, transposes},
      {"transpose-pairs", "TRANSPOSEs that cancel, around a unary operator", plain, 1, cancellingTransposes},
      {"channels-first", "branches with channels first between convolutions", "-O1 --convert_nchw_to_nhwc", 1,
       channelsFirst},
      {"instance-norms", "ten operators that are one INSTANCE_NORM", plain, 1, instanceNorms},
      {"into-one", "n operators that fuse into one FULLY_CONNECTED", plain, 1, intoOne},
      {"divs", "DIVs by equal constants, merged and expanded", "-O1 --remove_duplicate_const --expand_broadcast_const",
       1, divs},
      {"lstms", "UNIDIRECTIONAL_SEQUENCE_LSTMs of 200 moments", "--unroll_unidirseqlstm", 1, lstms},
      {"linear-adds", "FULLY_CONNECTED and ADD, with equal biases", merging, 1, linearAdds},
  };
  return shapes;
}

void makeShape(Model &model, const Shape &shape, uint64_t operators) {
  ShapeBuilder builder(model);
  shape.make(builder, operators);
}

} // namespace origo::commands
