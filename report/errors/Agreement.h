#pragma once

#include "report/errors/Print.h"

/// Which layers of two models compute the same numbers, up to floats that are added up in another order.
namespace origo::report {

/// What a line stands for.
enum class AgreementBy : uint8_t { Operator, Scope, Line, File };

/// Tensors agree where no element is off by more than this part of the range.
inline constexpr double agreementBound = 1e-4;

/// A line each, in the order of execution: how many tensors are compared and agree, and the one that is off most. Then
/// how many of all do, and the first that does not.
void printAgreement(const ErrorReport &report, AgreementBy by, llvm::raw_ostream &os);
/// `pairing`: what is said of how tensors were paired; empty: nothing.
void printAgreementJson(const ErrorReport &report, AgreementBy by, llvm::StringRef pairing, llvm::raw_ostream &os);

} // namespace origo::report
