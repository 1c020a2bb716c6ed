#pragma once

#include "ir/StoragePlan.h"
#include "quantize/Moments.h"

/// What records tell about constants of linear operators beyond their ranges: what to add to them before they are
/// rounded. W̃ are the weights as they will be stored, x their inputs.
namespace origo::quantize {

/// To weights, so that Σ (Wx − W̃x)² becomes small: one weight after another, each to one of the two numbers beside it,
/// by what the errors of those before it, added up over the inputs, ask for (Frantar et al., GPTQ, 2022; the same
/// numbers by the factors of the matrix instead of its inverse: Chee et al., QuIP, 2023). None: its inputs have no
/// products.
std::optional<Summand> chosenRounding(const Operator &op, const Storage &stored, const InputMoments &inputs);

/// For the pass smooth-channels. Channels that hardly moved are taken to go 1/32 as far as the one that goes farthest;
/// what was always zero stays. Where several operators read a tensor, and nothing else does, each is told the weights
/// of all.
StoragePlan reachesOf(const Model &model, const Moments &moments, double migration);

/// For the pass absorb-bias. What is nowhere below zero, as after RELU, may go a sixteenth of its range further down
/// than records show; other channels are shifted by their middle. None where the range of the whole tensor would hardly
/// become less.
StoragePlan shiftsOf(const Model &model, const Moments &moments);

/// To the bias, or as the bias of an operator that has none: the mean of Wx − W̃x of each channel. `rounding`: what is
/// added to the weights. None: the bias has other channels; or it is absent, and nothing shifts.
std::optional<Summand> biasCorrection(const Operator &op, unsigned bias, const Storage &stored, const Summand *rounding,
                                      const InputMoments &inputs);

} // namespace origo::quantize
