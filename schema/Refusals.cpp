#include "schema/Refusals.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

namespace origo::refusal {

using llvm::StringRef;

namespace {

/// What begins with certain bytes at a certain place.
struct Kind {
  size_t at;
  StringRef bytes;
  const char *what, *next;
};

constexpr const char *convertKeras = "tf.lite.TFLiteConverter of TensorFlow makes a .tflite model of it";
constexpr const char *convertTorch =
    "convert the module with litert-torch (ai-edge-torch), which writes a .tflite model";
constexpr const char *convertOnnx = "its name has to end in .onnx";

constexpr Kind kinds[] = {
    {0, "version https://git-lfs.github.com/spec/", "a pointer of Git LFS, which stands in place of the model",
     "run git lfs pull in its repository, or download the file itself"},
    {0, "\x1f\x8b", "compressed by gzip", "unpack it with gunzip, or tar -xzf where it is an archive"},
    {0, "BZh", "compressed by bzip2", "unpack it with bunzip2"},
    {0, StringRef("\xfd\x37zXZ\0", 6), "compressed by xz", "unpack it with unxz"},
    {0, "\x28\xb5\x2f\xfd", "compressed by zstd", "unpack it with unzstd"},
    {0, "7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "unpack it"},
    {0, "Rar!\x1a\x07", "a RAR archive", "unpack it"},
    {257, "ustar", "a tar archive", "unpack it with tar -xf"},
    {0, "\x89HDF\r\n\x1a\n", "HDF5, as a Keras model (.h5) is", convertKeras},
    {0, "\x93NUMPY", "an array of numpy", "it may be given as data"},
    {0, "GGUF", "a model of llama.cpp (GGUF)", "it has weights for that program, and no graph"},
    {0, "ggml", "a model of llama.cpp (GGML)", "it has weights for that program, and no graph"},
    {0, "ML\xefR", "bytecode of MLIR (StableHLO?)", "convert it to .tflite first"},
    {0, "BC\xc0\xde", "bitcode of LLVM", "give the model itself"},
    {4, "ORTM", "a model of ONNX Runtime (.ort)", convertOnnx},
    {4, "ET12", "a program of ExecuTorch (.pte)", convertTorch},
    {0,
     StringRef("\x7f"
               "ELF"),
     "a program or a library (ELF)", "give the model itself"},
    {0, "\x89PNG\r\n", "a picture (PNG)", "it may be given as data"},
    {0, "\xff\xd8\xff", "a picture (JPEG)", "it may be given as data"},
    {0, "%PDF-", "a PDF document", "give the model itself"},
    {0, "DEX\n", "code for Android", "give the model itself"},
};

std::string described(const llvm::Twine &what, const llvm::Twine &next) {
  return ("is neither a circle nor a tflite model, but " + what + "; " + next).str();
}

/// What a zip archive holds, by the names in it, which stand in front and at the end.
std::string zip(StringRef bytes) {
  StringRef front = bytes.take_front(1 << 16), end = bytes.take_back(1 << 16);
  auto names = [&](StringRef name) { return front.contains(name) || end.contains(name); };
  if (names("data.pkl") || names("constants.pkl"))
    return described("a zip archive as PyTorch writes (.pt)", convertTorch);
  if (names("model.weights.h5"))
    return described("a Keras model (.keras)", convertKeras);
  if (names(".tflite") || names("TFL3"))
    return described("a zip archive that packs models (a .task of MediaPipe?)",
                     "unpack it with unzip, and give the .tflite in it");
  if (names("metadata/MANIFEST") || names(".circle"))
    return described("a zip archive that packs models (an nnpackage?)",
                     "unpack it with unzip, and give the .circle in it");
  if (names(".npy"))
    return described("arrays of numpy (.npz)", "they may be given as data");
  return described("a zip archive", "unpack it with unzip, and give the model in it");
}

/// Messages of protocol buffers have no mark; these are told by what they begin with. Empty: none of them.
std::string protobuf(StringRef bytes) {
  auto at = [&](size_t i) { return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u; };
  if (at(0) == 0x08 && at(1) == 1 && at(2) == 0x12) // its version, a graph
    return described("a SavedModel of TensorFlow", convertKeras);
  if (at(0) == 0x08 && at(1) > 1 && at(1) < 64) { // its version, and then who wrote it, the graph or sets of operators
    if (at(2) == 0x12 && at(4) == 0x0a)
      return described("a model of Core ML", "convert what it was made from");
    if (llvm::is_contained({0x12u, 0x1au, 0x22u, 0x28u, 0x32u, 0x3au, 0x42u}, at(2)))
      return described("an ONNX model", convertOnnx);
  }
  size_t inner = at(1) < 0x80 ? 2 : at(2) < 0x80 ? 3 : 4; // a node, and in it its name
  StringRef start = bytes.take_front(400);
  if (at(0) == 0x0a && at(inner) == 0x0a &&
      (start.contains("Placeholder") || start.contains("Const") || start.contains("VarHandleOp")))
    return described("a graph of TensorFlow (.pb)", convertKeras);
  return {};
}

bool isPickle(StringRef bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5 &&
         StringRef("}](\x8a\x95"
                   "c")
             .contains(bytes[2]);
}

/// The length of a head in JSON, and that.
bool isSafetensors(StringRef bytes) {
  return bytes.size() > 16 && bytes.substr(5, 3) == StringRef("\0\0\0", 3) && bytes.substr(8, 2) == "{\"";
}

std::string text(StringRef bytes) {
  StringRef start = bytes.take_front(4096);
  start.consume_front("\xef\xbb\xbf");
  start = start.ltrim();
  auto *from = start.bytes_begin(), *end = start.bytes_end();
  bool isUtf8 =
      llvm::isLegalUTF8String(&from, end) || (bytes.size() > 4096 && end - from < 4); // cut within a character
  if (!isUtf8 || llvm::any_of(start, [](char c) {
        return static_cast<unsigned char>(c) < 32 && !llvm::isSpace(c) && c != '\x1b';
      }))
    return {};
  if (start.starts_with_insensitive("<!doctype html") || start.starts_with_insensitive("<html") ||
      start.starts_with_insensitive("<head") || (start.starts_with("<!--") && start.contains_insensitive("<html")))
    return described("a web page (HTML)",
                     "the address that it was downloaded from shows the file instead of being it: on "
                     "GitHub take \"raw\", on Hugging Face \"resolve\"");
  if (start.starts_with("<"))
    return described("XML", "where it came from a download, it may say what went wrong there");
  if (start.starts_with("{") || start.starts_with("["))
    return bytes.take_front(200).contains("origo.origin-map")
               ? "is a side file, which tells of origins; its model is needed"
           : start.contains("modelTopology") || start.contains("weightsManifest")
               ? described("a model of TensorFlow.js", "give the .tflite model that it could have been made as")
               : described("JSON", "give the model itself");
  if (start.starts_with("origo "))
    return "is a model as text, which is read where its name ends in .origo; circle2circle makes a model of it";
  if (start.contains("/annex/objects/"))
    return described("a pointer of git-annex", "run git annex get in its repository");
  StringRef line = start.take_until([](char c) { return c == '\n' || c == '\r'; }).take_front(60);
  bool plain = llvm::all_of(line, [](char c) { return c >= 32 && c < 127 && c != '"' && c != '\\'; });
  return described("text",
                   plain && !line.empty() ? "it begins with \"" + line + "\"" : llvm::Twine("give the model itself"));
}

} // namespace

std::string noModel(StringRef bytes) {
  if (bytes.empty())
    return "is no model: it has only 0 bytes; what should have written it, or downloaded it, failed";
  for (const Kind &kind : kinds)
    if (bytes.substr(kind.at).starts_with(kind.bytes))
      return described(kind.what, kind.next);
  if (bytes.starts_with("PK\x03\x04"))
    return zip(bytes);
  if (bytes.size() < 8)
    return ("is no model: it has only " + llvm::Twine(bytes.size()) + (bytes.size() == 1 ? " byte" : " bytes")).str();
  if (isSafetensors(bytes))
    return described("weights in safetensors", "they have no graph; " + llvm::Twine(convertTorch));
  if (isPickle(bytes))
    return described("a pickle of Python, as older files of PyTorch are", convertTorch);
  if (std::string known = protobuf(bytes); !known.empty())
    return known;
  if (std::string known = text(bytes); !known.empty())
    return known;
  if (bytes.take_front(4096).find_first_not_of('\0') == StringRef::npos)
    return described("zeros from its beginning on", "its download or copy did not end well");
  return "is neither a circle nor a tflite model: it has no identifier \"CIR0\" or \"TFL3\"";
}

} // namespace origo::refusal
