#include "origin/codec/Columns.h"
#include "origin/codec/Embedded.h"
#include "origin/origin_reader.h"
#include "schema/origin_map_generated.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/ErrorHandling.h"

#include <zlib.h>

using namespace origo;
using namespace origo::origin;

/// How many bytes it is about, and a raw deflate stream of them. Level and memory are zlib's defaults, and are spelled
/// out because equal maps are to be equal bytes.
static std::string deflate(llvm::ArrayRef<uint8_t> bytes, int strategy) {
  z_stream stream = {};
  if (deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, strategy) != Z_OK)
    llvm::report_bad_alloc_error("no memory to deflate the origin map");
  std::string result(4 + deflateBound(&stream, bytes.size()), '\0');
  llvm::support::endian::write32le(result.data(), bytes.size());
  stream.next_in = const_cast<Bytef *>(bytes.data());
  stream.avail_in = bytes.size();
  stream.next_out = reinterpret_cast<Bytef *>(result.data()) + 4;
  stream.avail_out = result.size() - 4;
  [[maybe_unused]] int ended = deflate(&stream, Z_FINISH);
  assert(ended == Z_STREAM_END && "there is room for the worst case");
  result.resize(4 + stream.total_out);
  deflateEnd(&stream);
  return result;
}

std::string origin::deflated(llvm::ArrayRef<uint8_t> map, uint64_t modelBytes) {
  std::string result = deflate(map, Z_DEFAULT_STRATEGY);
  // Without repetitions each byte takes a bit at least, so that the file is large enough whatever else it holds.
  return map.size() <= origo__inflated_limit(modelBytes + result.size()) ? result : deflate(map, Z_HUFFMAN_ONLY);
}

flatbuffers::DetachedBuffer origin::deflatedElsewhere() {
  flatbuffers::FlatBufferBuilder builder;
  embedded::OriginMapBuilder map(builder);
  map.add_version(deflatedVersion);
  builder.Finish(map.Finish(), embedded::OriginMapIdentifier());
  return builder.Release();
}
