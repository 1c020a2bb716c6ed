#!/usr/bin/env bash
# record-minmax as a command line: kinds of data, parts by Slurm and GNU parallel as docs/quantization.md has them, a part that is
# killed, what is refused.
# usage: calibrate.sh BIN
. "$(dirname "${BASH_SOURCE[0]}")/command_line.sh" "$1"
# Little-endian floats.
floats() { perl -e 'print pack("f<*", @ARGV)' -- "$@"; }

cat >net.origo <<'END'
origo 1
model tflite version 3
subgraph @main(%x: f32[1,8]) -> (%z) {
  %w: f32[8,8] = const seed 1 normal 0 1
  %y: f32[1,8] = FULLY_CONNECTED(%x, %w) {fused_activation_function=RELU}
  %z: f32[1,8] = TANH(%y)
}
END
circle2circle net.origo net.tflite 2>/dev/null || fail "net.origo"
mkdir records
for ((i = 0; i < 50; ++i)); do
  floats "$i" "-$i" 0 "$((i % 7)).5" 1 2 3 "$((i * i % 11))" >"records/$(printf %03d "$i").bin"
done
run() { record-minmax --input_model net.tflite "$@"; }
run --input_data records/ --histograms --stats whole.json || fail "one run"
grep -q '"cells":\[[0-9]' whole.json || fail "no histograms: $(head -c 300 whole.json)"

# The blocks of the page, by their order.
block() { awk -v n="$1" '/^```sh$/ { inside = ++at == n; next } /^```$/ { inside = 0 } inside' "$root/docs/quantization.md"; }
block 1 >job.sh
grep -q '#SBATCH --array=1-16' job.sh || fail "docs/quantization.md: the first block is not the job of Slurm"
for task in $(seq 16 -1 1); do
  SLURM_ARRAY_TASK_ID=$task bash job.sh || fail "task $task"
done
[[ $(ls part*.json | wc -l) == 16 ]] || fail "not 16 parts: $(ls)"
block 3 >merge.sh
bash merge.sh || fail "the merge of the page"
cmp whole.json all.json || fail "16 parts are not the whole"
[[ -s ranges.tflite ]] || fail "no ranges.tflite"
for order in "2 9 16 1 3 4 5 6 7 8 15 14 13 12 11 10" "16 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1"; do
  run --merge "$(printf 'part%s.json,' $order | sed 's/,$//')" --stats again.json && cmp whole.json again.json || fail "order $order"
done
if command -v parallel >/dev/null; then
  rm part*.json
  block 2 >parallel.sh
  bash parallel.sh 2>/dev/null || fail "GNU parallel"
  run --merge part*.json --stats again.json && cmp whole.json again.json || fail "the parts of GNU parallel"
  echo "calibrate: GNU parallel as the page has it"
else
  echo "calibrate: skipped GNU parallel, which is not installed"
fi

# A part that is killed leaves nothing, and harms no other.
sha256sum part*.json >sums
big=$scratch/many.bin
perl -e 'print "records/", sprintf("%03d", $_ % 50), ".bin\n" for 0 .. 199999' >many.txt
rm -f killed.json
record-minmax --input_model net.tflite --input_data many.txt --stats killed.json &
victim=$!
sleep 0.3
kill -KILL "$victim" 2>/dev/null || fail "the part has ended before it could be killed"
wait "$victim" 2>/dev/null
[[ ! -e killed.json ]] || fail "a killed part leaves a file"
sha256sum --quiet -c sums || fail "a killed part has changed others"
rm part3.json
SLURM_ARRAY_TASK_ID=3 bash job.sh && run --merge part*.json --stats again.json && cmp whole.json again.json || fail "a part run again"

# Threads change nothing; engines do not mix, nor do other tensors, models, records.
run --input_data records/ --histograms --threads 2 --stats two.json && cmp whole.json two.json || fail "--threads 2"
run --input_data records/ --histograms --engine reference --shard 3/16 --stats reference.json || fail "--engine reference"
refused "were made by another engine or processor (reference, not fast" run --merge part1.json reference.json --stats x.json
sed 's/AVX[-0-9]*\|least vectors/other vectors/' part3.json >other.json
refused "were made by another engine or processor" run --merge part1.json other.json --stats x.json
run --input_data records/ --shard 3/16 --stats bare.json || fail "--shard"
refused "without histograms" run --merge part1.json bare.json --stats x.json
refused "which another part has too" run --merge part1.json part1.json --stats x.json
refused "the statistics are of another model" record-minmax --input_model "$root/res/while.origo" --merge part1.json --stats x.json
refused "have no histograms, which this calibrator needs" run --merge bare.json --calibrator mse --output_model x.tflite
refused 'is none of minmax, ema, percentile, mse, entropy, auto' run --calibrator=best --stats x.json
refused 'no tensor of floats is called "nothing"' run --calibrator=nothing=mse --stats x.json
refused 'there are too many arguments: "part1.json"' run part1.json --stats x.json
refused '--std: what is divided by is not 0' run --std 0 --stats x.json
refused 'is not like 3/16' run --shard 17/16 --stats x.json
[[ ! -e x.json && ! -e x.tflite ]] || fail "something is written where all is refused"

# By layer: what one gets is not what the others get.
run --input_data records/ --calibrator minmax --calibrator x=percentile --percentile 60 --output_model named.tflite || fail "by layer"
run --input_data records/ --calibrator minmax --output_model plain.tflite || fail "minmax"
cmp -s named.tflite plain.tflite && fail "--calibrator x=percentile changes nothing"

# One that lies far away: TANH does not see how far, so that clipping pays.
cat >far.origo <<'END'
origo 1
model tflite version 3
subgraph @main(%x: f32[1,4096]) -> (%z) {
  %y: f32[1,4096] = NEG(%x)
  %z: f32[1,4096] = TANH(%y)
}
END
mkdir far
perl -e 'srand(1); print pack("f<*", (map { rand(2) - 1 } 1 .. 4095), 300)' >far/0
record-minmax --input_model far.origo --input_data far --calibrator auto --output_model far.tflite 2>chosen || fail "--calibrator auto"
[[ $(<chosen) == *"--calibrator=auto chose, by tensors: "* ]] || fail "--calibrator auto does not say what it chose: $(<chosen)"
record-minmax --input_model far.origo --input_data far --calibrator minmax --output_model plain.tflite || fail "minmax of far"
cmp -s far.tflite plain.tflite && fail "--calibrator auto clips nothing where TANH does"
record-minmax --input_model far.origo --input_data far --histograms --stats far.json || fail "--stats of far"
record-minmax --input_model far.origo --input_data far --merge far.json --calibrator auto --output_model far2.tflite 2>/dev/null || fail "auto after merge"
cmp far.tflite far2.tflite || fail "--calibrator auto chooses otherwise after --merge"

# Signatures have data of their own.
cat >two.origo <<'END'
origo 1
model tflite version 3
subgraph @first(%x: f32[1,2]) -> (%y) {
  %y: f32[1,2] = NEG(%x)
}
subgraph @second(%v: f32[1,3]) -> (%w) {
  %w: f32[1,3] = ABS(%v)
}
signature "a" @first inputs("x"=%x) outputs("y"=%y)
signature "b" @second inputs("v"=%v) outputs("w"=%w)
END
mkdir -p both/a both/b
floats 1 2 >both/a/0 && floats 3 4 >both/a/1 && floats -5 6 7 >both/b/0
record-minmax --input_model two.origo --input_data both --stats both.json || fail "two signatures"
grep -q '"name":"y","min":\[-2,-4\],"max":\[-1,-3\]' both.json && grep -q '"name":"w","min":\[5,null\],"max":\[7,null\]' both.json ||
  fail "two signatures: $(<both.json)"

# Each record tells what the model does not know of shapes.
cat >any.origo <<'END'
origo 1
model tflite version 3
subgraph @main(%x: f32[1?,1]) -> (%y) {
  %y: f32[1?,1] = NEG(%x)
}
END
mkdir any
floats 1 2 3 >any/0 && floats 4 >any/1
record-minmax --input_model any.origo --input_data any --stats any.json || fail "shapes from records"
grep -q '"name":"y","min":\[-3,-4\],"max":\[-1,-4\]' any.json || fail "shapes from records: $(<any.json)"

# HDF5 and images end to end, where they were built in.
if [[ -x $bin/make_data ]]; then
  cat >pair.origo <<'END'
origo 1
model tflite version 3
subgraph @main(%x: f32[1,2,3], %i: i32[2]) -> (%y, %j) {
  %y: f32[1,2,3] = NEG(%x)
  %j: i32[2] = ABS(%i)
}
END
  make_data hdf5 five.h5 5 || fail "make_data"
  record-minmax --input_model pair.origo --input_data five.h5 --input_data_format h5 --stats five.json || fail "HDF5"
  grep -q '"name":"y","min":\[-1.25,-2.25,-3.25,-4.25,-5.25\]' five.json || fail "HDF5: $(<five.json)"
  head -c 1000 five.h5 >half.h5
  refused "half.h5: is no HDF5 file, or a damaged one" record-minmax --input_model pair.origo --input_data half.h5 --stats x.json
  mkdir pictures && make_data images pictures || fail "make_data images"
  cat >image.origo <<'END'
origo 1
model tflite version 3
subgraph @main(%x: f32[1,2,4,3]) -> (%y) {
  %y: f32[1,2,4,3] = NEG(%x)
}
END
  record-minmax --input_model image.origo --input_data pictures --mean 0 --std 10 --stats image.json || fail "images"
  grep -q '"name":"x","min":\[0,0,' image.json && grep -q '"max":\[10,10,12.8' image.json || fail "images: $(<image.json)"
  echo "no image" >pictures/e.png
  refused_after_notes "pictures/e.png: is no PNG, JPEG or BMP" record-minmax --input_model image.origo --input_data pictures --stats x.json
else
  echo "calibrate: skipped HDF5 and images, for libhdf5-dev or libstb-dev was not there when this was built"
fi
echo "calibrate: fine"
