#include "report/join/Kinds.h"

#include "schema/OperatorTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace origo;
using namespace origo::report;
using llvm::StringRef;

std::string report::plainKind(StringRef name) {
  std::string text;
  for (char c : name)
    if (llvm::isAlnum(c))
      text += llvm::toLower(c);
  return text;
}

namespace {

struct Synonym {
  const char *said; ///< as plainKind() has it
  const char *ops;  ///< separated by blanks
};

/// Words of XNNPACK, GPU delegates, Arm NN, ONNX Runtime, ExecuTorch, QNN and Vela for types that the schema calls
/// otherwise. A word that is an operator of the schema, too, is listed where it is used for others as well.
constexpr Synonym synonyms[] = {
    {"activation", "RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 LOGISTIC TANH HARD_SWISH ELU LEAKY_RELU ABS SQRT"},
    {"addmm", "FULLY_CONNECTED"},
    {"argmaxpooling", "ARG_MAX"},
    {"averagepool", "AVERAGE_POOL_2D MEAN"},
    {"averagepooling", "AVERAGE_POOL_2D MEAN"},
    {"avgpool", "AVERAGE_POOL_2D"},
    {"avgpool2d", "AVERAGE_POOL_2D"},
    {"bankersrounding", "ROUND"},
    {"batchmatrixmultiply", "BATCH_MATMUL"},
    {"bmm", "BATCH_MATMUL"},
    {"cat", "CONCATENATION"},
    {"ceiling", "CEIL"},
    {"clamp", "RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 MINIMUM MAXIMUM"},
    {"clip", "RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 MINIMUM MAXIMUM"},
    {"comparison", "EQUAL NOT_EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL"},
    {"concat", "CONCATENATION"},
    {"constantpad", "PAD PADV2"},
    {"conv", "CONV_2D DEPTHWISE_CONV_2D CONV_3D"},
    {"conv1x1", "CONV_2D"},
    {"convdw", "DEPTHWISE_CONV_2D"},
    {"convert", "QUANTIZE DEQUANTIZE CAST"},
    {"convolution", "CONV_2D DEPTHWISE_CONV_2D CONV_3D"},
    {"convolution2d", "CONV_2D"},
    {"convtranspose", "TRANSPOSE_CONV CONV_3D_TRANSPOSE"},
    {"copy", "RESHAPE EXPAND_DIMS SQUEEZE CONCATENATION SPLIT SPLIT_V PACK UNPACK"},
    {"deconvolution", "TRANSPOSE_CONV"},
    {"depthwiseconvolution", "DEPTHWISE_CONV_2D"},
    {"depthwiseconvolution2d", "DEPTHWISE_CONV_2D"},
    {"dequantizelinear", "DEQUANTIZE"},
    {"divide", "DIV"},
    {"division", "DIV"},
    {"dwconv2d", "DEPTHWISE_CONV_2D"},
    {"dynamicfullyconnected", "FULLY_CONNECTED BATCH_MATMUL"},
    {"elementwiseadd", "ADD"},
    {"elementwisedivide", "DIV"},
    {"elementwisemul", "MUL"},
    {"elementwisemultiply", "MUL"},
    {"elementwisesubtract", "SUB"},
    {"elementwiseunary", "ABS EXP NEG RSQRT SQRT"},
    {"evensplit", "SPLIT"},
    {"flatten", "RESHAPE"},
    {"fusedconv", "CONV_2D DEPTHWISE_CONV_2D"},
    {"fusedgemm", "FULLY_CONNECTED"},
    {"fusedmatmul", "FULLY_CONNECTED BATCH_MATMUL"},
    {"gemm", "FULLY_CONNECTED"},
    {"globalaveragepool", "MEAN AVERAGE_POOL_2D"},
    {"globalaveragepooling", "MEAN AVERAGE_POOL_2D"},
    {"globalmaxpool", "MAX_POOL_2D REDUCE_MAX"},
    {"globalsumpooling", "SUM MEAN"},
    {"hardtanh", "RELU6 RELU_N1_TO_1 MINIMUM MAXIMUM"},
    {"leakyrelu", "LEAKY_RELU"},
    {"linear", "FULLY_CONNECTED"},
    {"lrn", "LOCAL_RESPONSE_NORMALIZATION"},
    {"matmul", "BATCH_MATMUL FULLY_CONNECTED"},
    {"max", "MAXIMUM"},
    {"maximum", "MAXIMUM RELU"},
    {"maxpool", "MAX_POOL_2D"},
    {"maxpooling", "MAX_POOL_2D"},
    {"mean", "MEAN"},
    {"min", "MINIMUM"},
    {"mm", "FULLY_CONNECTED BATCH_MATMUL"},
    {"multiplication", "MUL"},
    {"multiply", "MUL"},
    {"negate", "NEG"},
    {"permute", "TRANSPOSE"},
    {"permutecopy", "TRANSPOSE"},
    {"pool", "MAX_POOL_2D AVERAGE_POOL_2D L2_POOL_2D"},
    {"pooling", "MAX_POOL_2D AVERAGE_POOL_2D L2_POOL_2D"},
    {"pooling2d", "MAX_POOL_2D AVERAGE_POOL_2D L2_POOL_2D"},
    {"poolavg2d", "AVERAGE_POOL_2D"},
    {"poolmax2d", "MAX_POOL_2D"},
    {"quantizelinear", "QUANTIZE"},
    {"reciprocalsquareroot", "RSQRT"},
    {"reshapeworkload", "RESHAPE SQUEEZE EXPAND_DIMS UNPACK"},
    {"resize", "RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR"},
    {"sigmoid", "LOGISTIC"},
    {"slicecopy", "SLICE STRIDED_SLICE"},
    {"splitcopy", "SPLIT SPLIT_V"},
    {"splitter", "SPLIT SPLIT_V UNPACK"},
    {"squareroot", "SQRT"},
    {"stack", "PACK"},
    {"subtract", "SUB"},
    {"subtraction", "SUB"},
    {"transposeconvolution2d", "TRANSPOSE_CONV"},
    {"truncation", "CAST"},
    {"viewcopy", "RESHAPE"},
};

struct KindWord {
  llvm::SmallVector<std::string, 4> ops; ///< plain
};

/// Versions of an operator, and the two ways to run a recurrent one, go by one name in profiles.
StringRef family(StringRef name) {
  name.consume_front("unidirectionalsequence") || name.consume_front("bidirectionalsequence");
  return name.size() > 2 && llvm::isDigit(name.back()) && name[name.size() - 2] == 'v' ? name.drop_back(2) : name;
}

const llvm::StringMap<KindWord> &words() {
  static const llvm::StringMap<KindWord> all = [] {
    llvm::StringMap<KindWord> all;
    for (const Synonym &synonym : synonyms) {
      llvm::SmallVector<StringRef> ops;
      StringRef(synonym.ops).split(ops, ' ');
      for (StringRef op : ops)
        all[synonym.said].ops.push_back(plainKind(op));
    }
    for (const OperatorInfo &info : allOperators()) {
      std::string plain = plainKind(info.name);
      if (KindWord &word = all[plain]; !llvm::is_contained(word.ops, plain))
        word.ops.push_back(plain);
    }
    return all;
  }();
  return all;
}

/// What stands in front of "(NHWC, F32) GEMM".
std::string headOf(StringRef said) { return plainKind(said.split('(').first); }

} // namespace

bool report::isDelegateKind(StringRef said) { return said.contains("Delegate"); }

bool report::isSchemaKind(StringRef said) {
  static const llvm::StringSet<> names = [] {
    llvm::StringSet<> names;
    for (const OperatorInfo &info : allOperators())
      names.insert(plainKind(info.name));
    return names;
  }();
  return names.contains(plainKind(said));
}

Agreement report::agreement(StringRef said, StringRef op) {
  std::string is = plainKind(op), head = headOf(said);
  if (!head.empty() && family(head) == family(is))
    return Agreement::Agrees;
  auto word = words().find(head);
  if (word == words().end())
    return Agreement::Unknown;
  return llvm::any_of(word->second.ops, [&](StringRef known) { return family(known) == family(is); })
             ? Agreement::Agrees
             : Agreement::Contradicts;
}

StringRef report::kindOf(const ProfileRow &row) {
  static const llvm::StringSet<> names = [] {
    llvm::StringSet<> names;
    for (const OperatorInfo &info : allOperators())
      names.insert(info.name);
    return names;
  }();
  return !row.kind.empty() || !names.contains(row.rawName) ? StringRef(row.kind) : StringRef(row.rawName);
}

KernelWords KernelWords::of(StringRef said) {
  KernelWords words;
  auto [head, rest] = said.split('(');
  auto [types, kernel] = rest.split(')');
  kernel = kernel.trim();
  if (plainKind(head) == "convolution") {
    words.depthwise = kernel == "DWConv" || kernel == "VMulCAddC";
    if (kernel == "GEMM" || kernel == "SPMM" || kernel == "IGEMM")
      words.pointwise = kernel != "IGEMM";
  }
  llvm::SmallVector<StringRef> parts;
  types.split(parts, ',');
  for (StringRef part : parts) { // of which the last one is the result's
    part = part.trim();
    if (part == "F32" || part == "F16")
      words.isFloat = true;
    else if (part.starts_with("Q") || part == "S8" || part == "U8")
      words.isFloat = false;
    if (!words.takesFloat)
      words.takesFloat = words.isFloat;
  }
  words.converts = plainKind(head) == "convert";
  return words;
}
