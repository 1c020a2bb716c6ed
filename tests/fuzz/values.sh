#!/bin/sh
# Fuzzes the readers of tensors from elsewhere, of configs and of errors by layer; what ctest runs: values.sh FUZZER BIN FOLDER [RUNS]
set -eu
fuzzer=$1 bin=$2 folder=$3
rm -rf "$folder"
mkdir -p "$folder/seeds"
printf 'origo 1\nmodel tflite version 3\nsubgraph @main(%%x: f32[1,2,3]) -> (%%y) {\n  %%a: f32[1,2,3] = NEG(%%x)\n  %%y: f32[1,2,3] = EXP(%%a)\n}\n' >"$folder/net.origo"
mkdir "$folder/0" "$folder/1"
for record in 0 1; do
  "$bin/circle-interpreter" --seed $record --tap "$folder/$record" --outputs "$folder/out" "$folder/net.origo"
done
cp "$folder"/0/*.npy "$folder/seeds"
if [ -x "$bin/make_data" ]; then
  "$bin/make_data" tensors "$folder/seeds/one.h5" "$folder/0"
  "$bin/make_data" tensors "$folder/seeds/two.h5" "$folder/0" "$folder/1"
fi
# As origo-reader sends an array of six floats.
perl -e 'print pack("L<4Q<4f<6", ord "f", 4, 3, 0, 24, 1, 2, 3, 1 .. 6)' >"$folder/seeds/sent"
"$bin/visq" -f "$folder/net.origo" -q "$folder/net.origo" --blame --stats "$folder/seeds/stats.json" --mse_output "$folder/seeds/mse.json"
cat >"$folder/seeds/config.json" <<'END'
{"default_quantization_dtype": "uint8", "default_granularity": "channel", "layers": [
  {"name": "a", "dtype": "int16", "granularity": "channel"}, {"names": ["b", "c"], "dtype": "float32"}],
 "alternate": {"more": {"layers": [{"name": "nobody", "dtype": "uint8", "granularity": "layer"}]}}}
END
cat >"$folder/seeds/recipe.json" <<'END'
[{"regex": ".*", "operation": "*", "algorithm_key": "min_max_uniform_quantize",
  "op_config": {"weight_tensor_config": {"num_bits": 8, "granularity": "CHANNELWISE"}, "compute_precision": "INTEGER",
   "activation_tensor_config": {"num_bits": 8, "symmetric": false}, "min_weight_elements": 4}},
 {"regex": "^(a|b+)*c$", "operation": "SOFTMAX", "algorithm_key": "no_quantize"},
 {"regex": "a.*", "operation": "FULLY_CONNECTED", "algorithm_key": "GPTQ",
  "op_config": {"weight_tensor_config": {"num_bits": 4}, "explicit_dequantize": true}}]
END
echo '{"unit": "ms", "layers": [{"name": "a", "uint8": 1, "int16": 2, "float32": 4}, {"name": "y", "uint8": 0.5}]}' >"$folder/seeds/costs.json"
"$(dirname "$0")/bounded.sh" "$fuzzer" "$folder" "${4:-30000}" 8000
