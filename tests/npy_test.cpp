#include "eval/Npy.h"
#include "schema/TensorTypes.h"

#include <gtest/gtest.h>

using namespace origo;
using namespace origo::eval;

namespace {

/// A file of version 1 with this header and so many bytes of elements.
std::vector<uint8_t> npy(llvm::StringRef header, size_t elements) {
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() & 0xff);
  text += static_cast<char>(header.size() >> 8);
  text += header;
  text.append(elements, '\x01');
  return {text.begin(), text.end()};
}

std::string errorOf(llvm::ArrayRef<uint8_t> file) {
  auto tensor = readNpy(file);
  return tensor ? "no error" : llvm::toString(tensor.takeError());
}

TEST(Npy, ReadsWhatItWrites) {
  for (TensorType type : {TensorType::FLOAT16, TensorType::FLOAT32, TensorType::FLOAT64, TensorType::INT8,
                          TensorType::UINT8, TensorType::INT16, TensorType::INT64, TensorType::BOOL})
    for (const Shape &shape : {Shape{}, Shape{4}, Shape{2, 0, 3}, Shape{1, 2, 3, 1}}) {
      std::vector<uint8_t> bytes(product(shape) * *bitsPerElement(type) / 8, 1);
      std::string header = npyHeader(type, shape, bytes.size());
      EXPECT_EQ(header.size() % 64, 0u);
      std::vector<uint8_t> file(header.begin(), header.end());
      file.insert(file.end(), bytes.begin(), bytes.end());
      auto tensor = readNpy(file);
      ASSERT_TRUE(static_cast<bool>(tensor)) << llvm::toString(tensor.takeError());
      EXPECT_EQ(tensor->type, type);
      EXPECT_EQ(tensor->shape, shape);
      EXPECT_EQ(tensor->bytes, bytes);
    }
  // Without a type of numpy's: bytes.
  std::string header = npyHeader(TensorType::STRING, {2}, 5);
  EXPECT_NE(header.find("'descr': '|u1', 'fortran_order': False, 'shape': (5,)"), std::string::npos) << header;
}

TEST(Npy, AcceptsWhatOthersWrite) {
  for (const char *header : {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }   \n",
                             "{\"shape\": (2L,), \"fortran_order\": False, \"descr\": \"<f4\"}",
                             "  { 'fortran_order' : False , 'shape':( 1 , 2 ) , 'descr':'=f4' } "})
    EXPECT_EQ(errorOf(npy(header, 8)), "no error") << header;
}

TEST(Npy, RefusesWhatIsNoTensor) {
  const std::pair<const char *, const char *> cases[] = {
      {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", "big-endian"},
      {"{'descr': '<f4', 'fortran_order': True, 'shape': (2,)}", "ascontiguousarray"},
      {"{'descr': '<U8', 'fortran_order': False, 'shape': (2,)}", "which no tensor has"},
      {"{'descr': '', 'fortran_order': False, 'shape': (2,)}", "which no tensor has"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", "which no tensor has"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", "\"descr\" that is not understood"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", "\"fortran_order\" that is not understood"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': 2}", "\"shape\" that is not understood"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", "\"shape\" that is not understood"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999,)}", "\"shape\" that is not understood"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2", "\"shape\" that is not understood"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "its shape wants 12"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "its shape wants 4"},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (2147483647, 2147483647, 2147483647)}", "impossible shape"},
      {"{'descr': '<f4', 'fortran_order': False}", "lacks"},
      {"{'descr': '<f4', 'descr\x01: 1", "malformed"},
      {"{'descr': '<f4' 'fortran_order': False, 'shape': (2,)}", "malformed"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} more", "goes on"},
      {"{'descr", "malformed"},
      {"{", "malformed"},
      {"", "no dictionary"},
  };
  for (auto [header, reason] : cases)
    EXPECT_NE(errorOf(npy(header, 8)).find(reason), std::string::npos) << header << "\n" << errorOf(npy(header, 8));
}

TEST(Npy, SurvivesEveryCutAndEveryByte) {
  std::vector<uint8_t> good = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 8);
  ASSERT_EQ(errorOf(good), "no error");
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_NE(errorOf(std::vector<uint8_t>(good.begin(), good.begin() + length)), "no error") << length;
  size_t refused = 0;
  for (size_t i = 0; i < good.size(); ++i)
    for (uint8_t byte : {0x00, 0x20, 0x27, 0x28, 0x29, 0x2c, 0x39, 0x7f, 0xff}) {
      std::vector<uint8_t> changed = good;
      changed[i] = byte;
      refused += errorOf(changed) != "no error";
    }
  EXPECT_GT(refused, good.size() * 4);
  std::vector<uint8_t> longHeader = {0x93, 'N', 'U', 'M', 'P', 'Y', 2, 0, 0xff, 0xff, 0xff, 0xff, '{'};
  EXPECT_NE(errorOf(longHeader).find("ends in its .npy header"), std::string::npos);
}

} // namespace
