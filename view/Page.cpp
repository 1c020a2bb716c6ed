#include "view/Page.h"

#include "llvm/Support/Base64.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/SHA256.h"

namespace origo::view {

#include "view/Page.inc"

static std::string digestOf(llvm::StringRef text) {
  auto hash = llvm::SHA256::hash({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
  return "'sha256-" + llvm::encodeBase64(hash) + "'";
}

void writePage(llvm::StringRef data, llvm::raw_ostream &os) {
  llvm::SmallVector<uint8_t, 0> packed;
  llvm::compression::zlib::compress({reinterpret_cast<const uint8_t *>(data.data()), data.size()}, packed);
  // Nothing may be loaded, and no script or style runs but these two.
  os << "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; form-action "
        "'none'; img-src blob: data:; script-src "
     << digestOf(script) << "; style-src " << digestOf(style)
     << "\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>Origo</title>\n<style>" << style
     << "</style>\n</head>\n"
     << body << "<script type=\"application/octet-stream\" id=\"data\">" << llvm::encodeBase64(packed)
     << "</script>\n<script type=\"module\">" << script << "</script>\n</html>\n";
}

} // namespace origo::view
