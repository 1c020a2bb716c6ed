#pragma once

#include "report/profile/Profile.h"

/// The readers behind readProfile() and what they share.
namespace origo::report {

llvm::Error readBenchmarkText(llvm::StringRef text, const ProfileOptions &options, Profile &profile);
llvm::Error readBenchmarkProto(llvm::StringRef bytes, const ProfileOptions &options, Profile &profile);
llvm::Error readChromeTrace(llvm::StringRef text, const ProfileOptions &options, Profile &profile);
llvm::Error readOnertTrace(llvm::StringRef text, const ProfileOptions &options, Profile &profile);
llvm::Error readOnertTable(llvm::StringRef text, const ProfileOptions &options, Profile &profile);
llvm::Error readSnpe(llvm::StringRef text, const ProfileOptions &options, Profile &profile);
llvm::Error readVela(llvm::StringRef text, const ProfileOptions &options, Profile &profile);
llvm::Error readVelaDebug(llvm::StringRef text, const ProfileOptions &options, Profile &profile);
llvm::Error readCsv(llvm::StringRef text, const ProfileOptions &options, Profile &profile);
llvm::Error readJson(llvm::StringRef text, const ProfileOptions &options, Profile &profile);

bool isBenchmarkProto(llvm::StringRef bytes);
/// What the two cells that name a row of benchmark_model say.
void describeBenchmarkRow(llvm::StringRef type, llvm::StringRef name, ProfileRow &row);

/// A decimal number times 10^exponent, to the nearest integer. Refuses what is negative, no number, or not below 2^63.
llvm::Expected<uint64_t> parseDecimal(llvm::StringRef text, int exponent);
/// Powers of ten from a unit of time to nanoseconds; none for a unit that is not known.
std::optional<int> nanosecondExponent(llvm::StringRef unit);

/// The cells of a line of comma-separated values, without their quotes. `line` and what follows is taken off `text`,
/// since a quoted cell may go over lines.
llvm::Expected<std::vector<std::string>> takeCsvLine(llvm::StringRef &text, char separator = ',');

/// Refuses what is no JSON, is nested deeply, or has a key twice, of which a reader would silently drop one.
llvm::Error checkJson(llvm::StringRef text);

} // namespace origo::report
