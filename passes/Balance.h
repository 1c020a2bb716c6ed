#pragma once

#include "passes/Rule.h"

namespace origo {

/// Lists by channel: the greatest magnitudes of what makes it, of all that reads it, and what to divide it by. None:
/// unknown.
using ChannelRatio = std::optional<Expr> (*)(Match &m, Expr w, Expr v);

/// g(relu(f(x, W, b)), V, c) → g(relu(f(x, W/s, b/s)), V·s, c), with s for each channel in between. What is clamped at
/// 6 is then clamped at 6/s, by an operator of its own. `norms`: f may be x · W + b or x · W, by channel, too.
Rule balancedChannels(ChannelRatio ratio, bool norms = false);

/// The same, with norms, where several linear operators, and nothing else, read f, and the plan of the run says what
/// all of them weigh: one of them takes s back, and for the others f(x, W/s, b/s) · s is in the place of f.
Rule balancedForAll(ChannelRatio ratio);

} // namespace origo
