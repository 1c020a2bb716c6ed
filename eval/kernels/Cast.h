#pragma once

#include "schema/TensorTypes.h"

#include <cmath>
#include <limits>
#include <type_traits>

/// What CAST makes of a number, in both engines.
namespace origo::eval {

/// What C++ leaves undefined (a float out of the integer's range) is the nearest number that there is, NaN the largest.
template <class To, class From> To convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (value <= static_cast<From>(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::min();
    if (std::isnan(value) || value >= static_cast<From>(std::numeric_limits<To>::max()))
      return std::numeric_limits<To>::max();
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

} // namespace origo::eval
