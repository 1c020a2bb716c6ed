#pragma once

#include "origin/Files.h"

/// The two digests by which maps and model files know each other again.
namespace origo::origin {

/// The fingerprint of origin-map.md: SHA-256 over the four bytes of the file identifier ("TFL3" or "CIR0") and
/// enc(Model), where the text leaves the bytes open as follows. All numbers are little-endian.
///
///   enc(table)  for each field of the file's own schema in slot order, deprecated ones included, unless its value is
///   the
///               default: u16 slot, value. Then u16 0xFFFF. Slots that the schema does not have are left out.
///   value       scalar: in the width of the schema. string: u32 length, bytes. vector: u32 count, elements (strings
///               and tables as here). table: enc. A union's type field is a u8 in its own slot; a table behind a type
///               that is NONE or unknown to the schema is left out.
///   default     A scalar with the bits of its default (so −0.0 is a value), a vector or string of length 0, a table
///               whose enc is the end mark alone.
///
///   Model       left out: version, description, buffers, metadata, metadata_buffer, operator_codes.
///   Operator    opcode_index: i32 code as resolveOpcode() gives it, i32 version, custom code as a string; never a
///               default, so ADD version 1 is written too. Left out if there is no such operator code.
///               large_custom_options_offset: u64, the value of large_custom_options_size (which follows in its own
///               slot), whatever the offset is; 0 is the default.
///   Tensor      buffer: u64 byte count of the payload, 0 being the default; if the type is INT32, INT64, BOOL
///               or STRING and the count at most 4096, the payload's bytes follow. `external_buffer` stays as it is.
///   ExternalBuffer  offset: u64, the value of `length`, likewise.
///
/// A view must know the bytes, not only the count, of such small payloads.
Digest fingerprint(const ModelView &view);

/// The content digest: SHA-256 over, for each tensor of kind constant, subgraph by subgraph in file order: u64 byte
/// count n, the first min(n, 4096) bytes, the last min(n, 4096) bytes (the two overlap where n < 8192). Of a payload
/// whose bytes are not at hand (in another file) only the count.
Digest content(const ModelView &view);

/// The content digest of a source whose inputs are bound: SHA-256 over that of the file and, for each of them, u32 id
/// and its digest. Without any, that of the file.
Digest contentWith(const Digest &file, std::span<const BoundInput> bound);

/// 64 lower-case digits, without the prefix "sha256:" of the side file.
std::string hex(const Digest &digest);

/// list() with the two digests, which cost a walk over all tables and both ends of all constants.
Listing describe(const ModelView &view);

} // namespace origo::origin
