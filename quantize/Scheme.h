#pragma once

#include "quantize/Adapt.h"
#include "quantize/Carried.h"
#include "quantize/Constraints.h"
#include "quantize/Moments.h"
#include "quantize/Parameters.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace origo::quantize {

/// What a person asks for.
struct Scheme {
  enum class Mode : uint8_t {
    Full,           ///< all of a model in integers
    Weights,        ///< weights only: kernels quantise the other operand while they run, or widen the weights
    WidenedWeights, ///< weights only, widened in the graph: kernels compute with floats
    RoundedWeights, ///< weights stay floats, of numbers that integers can hold
    Float16,        ///< constants as halves, widened in the graph
    Unsigned,       ///< what is int8 becomes uint8, with the zero point 128 higher
    Signed,         ///< what is uint8 within becomes int8, with the zero point 128 lower; weights around zero
    Fake,           ///< integers become floats that are rounded to the numbers that they held
  };
  struct Choice {
    bool quantize = true;
    /// A literal: where it is not quantised, and not even noted where this is empty, for it has nothing to store.
    llvm::StringRef whyFloat = "that is what was asked for";
    Mode mode = Mode::Full;
    TensorType activations = TensorType::INT8, weights = TensorType::INT8, bias = TensorType::INT32;
    bool perChannel = true;
    bool perChannelDense = true; ///< FULLY_CONNECTED; TensorFlow Lite's specification has one scale for its weights
    int32_t blockSize = 0;       ///< of FULLY_CONNECTED's weights: so many in a row have a scale; 0: none
    /// Of weights, greatest magnitudes are cut: where that loses less than it gains, or as ai-edge-quantizer has it.
    WeightClip clip = WeightClip::None;
    bool asymmetricWeights = false;                     ///< with zero points; what is widened in the graph alone
    bool choosesRounding = false, correctsBias = false; ///< by what the inputs of weights are
    bool adapts = false;        ///< rounding, scales and bias, by what quantised operators give them (quantize/Adapt.h)
    uint64_t leastElements = 0; ///< of weights alone: smaller ones stay
  };
  Dialect dialect = Dialect::Tflite;
  Choice common;
  llvm::StringMap<Choice> layers; ///< by the name of an operator's first result
  /// Operators that have been chosen for themselves, for names need not be there, nor be unique. Where `isFollowed`,
  /// they are those of the model that is planned, and names count for nothing.
  llvm::DenseMap<const Operator *, Choice> operators{};
  bool isFollowed = false;
  void choose(const Operator &op, Choice choice);
  const Choice &of(const Operator &op) const;
  /// What inputs and outputs that are floats become; FLOAT32: they stay. Fewer than there are: the last for the rest.
  llvm::SmallVector<TensorType, 2> inputs, outputs;
  bool poolKeepsScale = false; ///< ONE: MAX_POOL_2D has the scale of its input
  /// Scales that the model has itself, of the model that is planned; null: they are not asked for.
  std::shared_ptr<const CarriedScales> carried;
  /// What the inputs of weights are, for choices that look at it. Of the operators of the model that is planned.
  std::shared_ptr<const Moments> moments;
  /// What has been found for choices that adapt. Likewise; null: nothing yet.
  std::shared_ptr<const Adaptations> adapted;
  const Adapted *adaptedOf(const Operator &op) const {
    auto found = adapted ? adapted->find(&op) : Adaptations::const_iterator();
    return adapted && found != adapted->end() ? &found->second : nullptr;
  }

  /// Does it store tensors that are computed as integers?
  bool needsRanges() const;
  /// Does it look at the inputs of weights, and at their products?
  bool needsMoments() const;
  bool needsProducts() const;
  bool adapts() const;
};

/// What was chosen for the operators of a model, for those that rewrites have put in their place since: of their
/// names, or where these are others, of their origins. Linear in the operators and their origins.
class FollowedChoices {
public:
  FollowedChoices(const Model &model, const Scheme &scheme);
  void follow(const Model &model, Scheme &scheme) const;

private:
  struct Before {
    std::string name;
    llvm::SmallVector<uint32_t, 1> origins;
    std::optional<Scheme::Choice> choice;
  };
  std::vector<Before> all;
};

} // namespace origo::quantize
