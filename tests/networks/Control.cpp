#include "tests/networks/Net.h"

/// Loops, branches, state, and networks whose shapes are known late.
namespace origo::test {

namespace {
std::string name(const T &t) { return "%\"" + t.name + "\""; }
constexpr const char *slice0 = "shrink_axis_mask=1";
} // namespace

void whileLoop(Net &n) {
  T x = n.input({1, 8}), zero = n.constant("i32", {}, "[0]");
  std::vector<T> ends =
      n.ops("WHILE", {zero, x}, "cond_subgraph_index=@condition, body_subgraph_index=@body", {"i32[]", "f32[1,8]"});
  n.end(n.mul(ends[1], n.number(0.5)));
  n.begin("condition");
  n.scope("condition/");
  T step = n.input({}, "i32");
  n.input({1, 8});
  n.end(n.op("LESS", {step, n.constant("i32", {}, "[4]")}));
  n.begin("body");
  n.scope("body/");
  T count = n.input({}, "i32"), state = n.input({1, 8});
  T next = n.add(count, n.constant("i32", {}, "[1]"));
  n.end({next, n.op("RELU", n.batchNorm(n.dense(state, 8)))});
}

/// A loop in a loop, the inner one with an invariant.
void nestedLoops(Net &n) {
  T x = n.input({4}), zero = n.constant("i32", {}, "[0]");
  std::vector<T> ends = n.ops(
      "WHILE", {zero, x}, "cond_subgraph_index=@outer_condition, body_subgraph_index=@outer_body", {"i32[]", "f32[4]"});
  n.end(ends[1]);
  for (bool outer : {true, false}) {
    std::string prefix = outer ? "outer" : "inner";
    n.begin(prefix + "_condition");
    n.scope(prefix + "_condition/");
    T step = n.input({}, "i32");
    n.input({4});
    if (!outer)
      n.input({4});
    n.end(n.op("LESS", {step, n.constant("i32", {}, outer ? "[2]" : "[3]")}));
    n.begin(prefix + "_body");
    n.scope(prefix + "_body/");
    T count = n.input({}, "i32"), state = n.input({4});
    T next = n.add(count, n.constant("i32", {}, "[1]"));
    if (outer) {
      T start = n.constant("i32", {}, "[0]"), factor = n.op("TANH", state);
      std::vector<T> inner =
          n.ops("WHILE", {start, state, factor},
                "cond_subgraph_index=@inner_condition, body_subgraph_index=@inner_body", {"i32[]", "f32[4]", "f32[4]"});
      n.end({next, n.add(inner[1], n.number(0.25))});
    } else {
      T factor = n.input({4});
      n.end({next, n.mul(n.add(state, factor), n.number(0.5)), factor});
    }
  }
}

void branches(Net &n) {
  T x = n.input({1, 4, 4, 2}), flag = n.input({}, "bool");
  T y = n.op("IF", {flag, x}, "then_subgraph_index=@then, else_subgraph_index=@else", "f32[1,4,4,2]");
  T always = n.constant("bool", {}, "[true]");
  T z = n.op("IF", {always, y}, "then_subgraph_index=@else, else_subgraph_index=@then", "f32[1,4,4,2]");
  n.end(n.op("RELU", z));
  n.begin("then");
  n.scope("then/");
  T a = n.input({1, 4, 4, 2});
  n.end(n.batchNorm(n.conv(a, 2, 3, 1, "", false)));
  n.begin("else");
  n.scope("else/");
  T b = n.input({1, 4, 4, 2});
  n.end(n.op("LEAKY_RELU", n.depthwise(b, 3), "alpha=0.2"));
}

/// Branches whose results have other sizes.
void branchesOfOtherSizes(Net &n) {
  T x = n.input({1, 6});
  T positive = n.op("GREATER", {n.op("SUM", {x, n.ints({0, 1})}), n.number(0)});
  T y = n.op("IF", {positive, x}, "then_subgraph_index=@longer, else_subgraph_index=@shorter", "f32[1,?]");
  n.end(n.mean(y, {-1}));
  n.begin("longer");
  n.scope("longer/");
  T a = n.input({1, 6});
  n.end(n.op("CONCATENATION", {a, n.dense(a, 3)}, "axis=1"));
  n.begin("shorter");
  n.scope("shorter/");
  T b = n.input({1, 6});
  n.end(n.dense(b, 2));
}

/// Three functions of one model, the second of which calls no other, and all share a weight.
void signatures(Net &n) {
  for (const char *what : {"add", "sub", "mul"}) {
    bool first = what == std::string("add");
    n.begin(first ? "main" : what);
    n.scope(std::string(what) + "/");
    T x = n.input({1, 5}), y = n.input({1, 5});
    T weights = n.constant("f32", {5, 5}, first ? "#1 seed 5 normal 0 0.5" : "#1");
    T z = n.op("FULLY_CONNECTED", {n.op(llvm::StringRef(what).upper(), {x, y}), weights});
    z = n.op("RELU", n.shift(z));
    n.end(z);
    n.signature(what, {{"x", x}, {"y", y}}, {{"z", z}});
  }
}

void callOnce(Net &n) {
  T x = n.input({1, 3});
  n.statement("CALL_ONCE() {init_subgraph_index=@init}");
  T handle = n.op("VAR_HANDLE", {}, "container=\"c\", shared_name=\"counter\"", "resource[]");
  T sum = n.add(n.op("READ_VARIABLE", handle, "", "f32[1,3]"), x);
  n.statement("ASSIGN_VARIABLE(" + name(handle) + ", " + name(sum) + ")");
  n.end(n.op("TANH", sum));
  n.begin("init");
  n.scope("init/");
  T again = n.op("VAR_HANDLE", {}, "container=\"c\", shared_name=\"counter\"", "resource[]");
  T start = n.floats({1, 2, 3});
  T row = n.reshape(start, {1, 3});
  n.statement("ASSIGN_VARIABLE(" + name(again) + ", " + name(row) + ")");
  n.end({});
}

/// Words to numbers and back.
void hashTables(Net &n) {
  T words = n.input({3}, "i64");
  n.statement("CALL_ONCE() {init_subgraph_index=@init}");
  T table = n.op("HASHTABLE", {}, "table_id=1, key_dtype=INT64, value_dtype=STRING", "resource[1]");
  T other = n.constant("str", {}, "[\"none\"]");
  T found = n.op("HASHTABLE_FIND", {table, words, other}, "", "str[3]");
  T size = n.op("HASHTABLE_SIZE", table, "", "i64[1]");
  n.end({n.op("GATHER", {found, n.ints({2, 0})}, "axis=0"), size});
  n.begin("init");
  n.scope("init/");
  T again = n.op("HASHTABLE", {}, "table_id=1, key_dtype=INT64, value_dtype=STRING", "resource[1]");
  T keys = n.constant("i64", {3}, "[0, 1, 2]"),
    values = n.constant("str", {3}, "[\"cat\", \"dog\", \"a \\\"bird\\\"\"]");
  n.statement("HASHTABLE_IMPORT(" + name(again) + ", " + name(keys) + ", " + name(values) + ")");
  n.end({});
}

/// Batch and length are open.
void openShapes(Net &n) {
  T x = n.input({-1, -1, 8});
  T shape = n.op("SHAPE", x, "out_type=INT32");
  auto size = [&](int i) { return n.op("STRIDED_SLICE", {shape, n.ints({i}), n.ints({i + 1}), n.ints({1})}, slice0); };
  T batch = size(0), length = size(1), eight = n.constant("i32", {}, "[8]");
  T y = n.dense(n.op("RESHAPE", {x, n.ints({-1, 8})}, "new_shape=[-1, 8]", "f32[?,8]"), 8);
  y = n.op("RESHAPE", {n.op("RELU", n.batchNorm(y)), n.op("PACK", {batch, length, eight}, "values_count=3")}, "",
           "f32[?,?,8]");
  T mask = n.op(
      "CAST",
      n.op("LESS", {n.op("RANGE", {n.constant("i32", {}, "[0]"), length, n.constant("i32", {}, "[1]")}, "", "i32[?]"),
                    n.constant("i32", {}, "[2]")}),
      "in_data_type=BOOL, out_data_type=FLOAT32", "f32[?]");
  T wide =
      n.op("RESHAPE",
           {mask, n.op("PACK", {n.constant("i32", {}, "[1]"), length, n.constant("i32", {}, "[1]")}, "values_count=3")},
           "", "f32[1,?,1]");
  T ones = n.op("FILL", {n.op("PACK", {batch, length, n.constant("i32", {}, "[1]")}, "values_count=3"), n.number(1)},
                "", "f32[?,?,1]");
  y = n.mul(y, n.add(wide, ones));
  n.end({n.op("SUM", {y, n.ints({1})}),
         n.op("TILE", {n.op("EXPAND_DIMS", {y, n.constant("i32", {}, "[0]")}), n.ints({2, 1, 1, 1})})});
}

/// How many results there are depends on the numbers.
void openResults(Net &n) {
  T x = n.input({12}), k = n.input({8}, "i32");
  T where = n.op("WHERE", n.op("GREATER", {x, n.number(0)}), "", "i64[?,1]");
  std::vector<T> unique = n.ops("UNIQUE", {k}, "idx_out_type=INT32", {"i32[?]", "i32[8]"});
  T boxes = n.uniform({12, 4}, 0, 1);
  std::vector<T> kept =
      n.ops("NON_MAX_SUPPRESSION_V4", {boxes, x, n.constant("i32", {}, "[5]"), n.number(0.5), n.number(0.1)}, "",
            {"i32[5]", "i32[]"});
  std::vector<T> top = n.ops("TOPK_V2", {x, n.constant("i32", {}, "[3]")}, "", {"f32[3]", "i32[3]"});
  n.end({n.op("GATHER_ND", {x, where}, "", "f32[?]"), unique[0], unique[1], kept[0], kept[1], top[0], top[1]});
}

/// Ten thousand operators in rows of kinds, a sum at the end.
void tenThousand(Net &n) {
  T x = n.input({1, 4}), one = n.floats({1}), two = n.floats({1.0009765625}), sum = x;
  const char *unary[] = {"TANH", "ABS", "RELU", "COS", "LOGISTIC"};
  for (int row = 0; row < 100; ++row) {
    T t = sum;
    for (int i = 0; i < 99; ++i) {
      std::string type = "f32[1,4]";
      t = i % 3 == 0   ? n.op("ADD", {t, one}, "", type)
          : i % 3 == 1 ? n.op("MUL", {t, two}, "", type)
                       : n.op(unary[(row + i) % 5], t, "", type);
    }
    sum = n.op("MAXIMUM", {t, x}, "", "f32[1,4]");
  }
  n.end(sum);
}

} // namespace origo::test
