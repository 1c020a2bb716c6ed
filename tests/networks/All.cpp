#include "tests/networks/Net.h"

namespace origo::test {

// In Convolutions.cpp and so on; what is special about each stands there.
#define NETWORKS                                                                                                       \
  NETWORK("mobilenet_unfused_f32.tflite", mobilenetUnfused)                                                            \
  NETWORK("mobilenet_fused_f32.tflite", mobilenetFused)                                                                \
  NETWORK("resnet_f32.tflite", resnet)                                                                                 \
  NETWORK("resnet_preactivation_f32.tflite", resnetPreactivation)                                                      \
  NETWORK("blazeface_f32.tflite", blazeface)                                                                           \
  NETWORK("clamps_spelled_out_f32.circle", clampsSpelledOut)                                                           \
  NETWORK("mobilenet_v3_f32.tflite", mobilenetV3)                                                                      \
  NETWORK("efficientnet_f32.tflite", efficientnet)                                                                     \
  NETWORK("unet_f32.tflite", unet)                                                                                     \
  NETWORK("generator_f32.tflite", generator)                                                                           \
  NETWORK("heatmaps_f32.tflite", heatmaps)                                                                             \
  NETWORK("onnx_channels_first_f32.circle", onnxChannelsFirst)                                                         \
  NETWORK("dilated_f32.tflite", dilated)                                                                               \
  NETWORK("deeplab_f32.tflite", deeplab)                                                                               \
  NETWORK("shufflenet_f32.tflite", shufflenet)                                                                         \
  NETWORK("style_transfer_f32.tflite", styleTransfer)                                                                  \
  NETWORK("detection_f32.tflite", detection)                                                                           \
  NETWORK("pyramid_f32.tflite", pyramid)                                                                               \
  NETWORK("grouped_f32.tflite", grouped)                                                                               \
  NETWORK("densenet_f32.tflite", densenet)                                                                             \
  NETWORK("volumes_f32.tflite", volumes)                                                                               \
  NETWORK("mediapipe_custom_f32.tflite", mediapipeCustom)                                                              \
  NETWORK("unknown_custom_f32.tflite", unknownCustom)                                                                  \
  NETWORK("inception_f32.tflite", inception)                                                                           \
  NETWORK("detection_post_process_f32.tflite", detectionPostProcess)                                                   \
  NETWORK("bert_f32.tflite", bert)                                                                                     \
  NETWORK("vision_transformer_f32.tflite", visionTransformer)                                                          \
  NETWORK("language_model_2sg_f32.tflite", languageModel)                                                              \
  NETWORK("composite_f32.tflite", composite)                                                                           \
  NETWORK("conformer_f32.tflite", conformer)                                                                           \
  NETWORK("keywords_f32.tflite", keywords)                                                                             \
  NETWORK("unrolled_lstm_f32.tflite", unrolledLstm)                                                                    \
  NETWORK("lstm_f32.tflite", lstm)                                                                                     \
  NETWORK("recurrent_f32.tflite", recurrent)                                                                           \
  NETWORK("words_f32.tflite", words)                                                                                   \
  NETWORK("spectrum_f32.tflite", spectrum)                                                                             \
  NETWORK("pitch_f32.tflite", pitch)                                                                                   \
  NETWORK("streaming_f32.tflite", streaming)                                                                           \
  NETWORK("circle_operators_f32.circle", circleOperators)                                                              \
  NETWORK("loop_f32.circle", whileLoop)                                                                                \
  NETWORK("nested_loops_f32.tflite", nestedLoops)                                                                      \
  NETWORK("branches_f32.tflite", branches)                                                                             \
  NETWORK("branches_of_other_sizes_f32.tflite", branchesOfOtherSizes)                                                  \
  NETWORK("signatures_3sg_f32.tflite", signatures)                                                                     \
  NETWORK("call_once_f32.tflite", callOnce)                                                                            \
  NETWORK("hash_tables.tflite", hashTables)                                                                            \
  NETWORK("open_shapes_f32.tflite", openShapes)                                                                        \
  NETWORK("open_results_f32.tflite", openResults)                                                                      \
  NETWORK("ten_thousand_f32.tflite", tenThousand)                                                                      \
  NETWORK("mobilenet_u8.tflite", mobilenetU8)                                                                          \
  NETWORK("mixed_i8.tflite", mixedI8)                                                                                  \
  NETWORK("wide_16x8.tflite", wide16x8)                                                                                \
  NETWORK("halves_f16w.tflite", halves)                                                                                \
  NETWORK("sparse_f16w.tflite", sparse)                                                                                \
  NETWORK("four_bits.tflite", fourBits)                                                                                \
  NETWORK("hybrid_i8w.tflite", hybrid)                                                                                 \
  NETWORK("oddly_shared_f32.tflite", oddlyShared)                                                                      \
  NETWORK("metadata_f32.tflite", metadata)                                                                             \
  NETWORK("elementwise_f32.tflite", elementwise)                                                                       \
  NETWORK("integers_i32.tflite", integers)                                                                             \
  NETWORK("movement_f32.tflite", movement)                                                                             \
  NETWORK("stablehlo_f32.tflite", stablehlo)                                                                           \
  NETWORK("fake_quantized_f32.tflite", fakeQuantized)                                                                  \
  NETWORK("audio_front_end_i16.tflite", audioFrontEnd)                                                                 \
  NETWORK("moved_integers.tflite", movedIntegers)                                                                      \
  NETWORK("archived_f32.tflite", archived)                                                                             \
  NETWORK("sparse_indices_f32.tflite", sparseIndices)                                                                  \
  NETWORK("circle_types.circle", circleTypes)                                                                          \
  NETWORK("rare_rows.tflite", rareRows)                                                                                \
  NETWORK("circle_bits.circle", circleBits)                                                                            \
  NETWORK("small_lstm_f32.tflite", smallLstm)                                                                          \
  NETWORK("old_file_f32.tflite", oldFile)                                                                              \
  NETWORK("upsample_f32.tflite", upsample)                                                                             \
  NETWORK("few_rows.tflite", fewRows)

#define NETWORK(file, make) void make(Net &);
NETWORKS
#undef NETWORK

llvm::ArrayRef<Network> allNetworks() {
#define NETWORK(file, make) {file, make},
  static const Network all[] = {NETWORKS};
#undef NETWORK
  return all;
}

} // namespace origo::test
