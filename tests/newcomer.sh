#!/usr/bin/env bash
# What somebody meets in the first hour: names that are not quite right, long names, closing lines, files of numpy that are
# almost what is wanted, tables that are longer than a screen.
# usage: newcomer.sh BIN
. "$(dirname "${BASH_SOURCE[0]}")/command_line.sh" "$1"
says() { # STDOUT STDERR COMMAND...: success, and these texts, or nothing where a text is empty
  local out=$1 err=$2
  shift 2
  "$@" >stdout 2>stderr || fail "$*: exit status $?: $(<stderr)"
  [[ $(<stdout) == *"$out"* ]] || fail "$*: no \"$out\" in: $(head -c 2000 stdout)"
  if [[ -z $err ]]; then [[ ! -s stderr ]] || fail "$*: says $(<stderr)"; else
    [[ $(<stderr) == *"$err"* ]] || fail "$*: no \"$err\" in: $(<stderr)"
  fi
}

# A closing line, whatever was asked for.
says '' '204 operators, 204 after 0 rewrites; ' circle2circle "$root/res/mobilenet_v2.origo" net.tflite
grep -q 'no rewrite was asked for, -O1 is all safe ones' stderr || fail "nothing about -O1: $(<stderr)"
says '' '204 operators, 65 after ' circle2circle -O1 net.tflite net.circle
grep -q "; $(stat -c %s net.tflite) bytes, $(stat -c %s net.circle) after, origins included" stderr || fail "other sizes: $(<stderr)"
says '' 'no rewrite applied, --explain=NAME says why' circle2circle -O1 net.circle again.circle
says '' "bytes, $(tflite2circle net.tflite x.circle 2>/dev/null; stat -c %s x.circle) after" tflite2circle -V net.tflite x.circle
says '' 'tflite2circle: note: 204 operators' tflite2circle --verbose net.tflite x.circle
# A file that grew says why; one that did not says nothing of it.
circle-quantizer --scheme=float16 net.tflite half.tflite 2>/dev/null || fail "--scheme=float16"
says '' 'unpacked in the file now, circle-quantizer --scheme=float16 packs it again' circle2circle -O1 half.tflite x.circle
says '' ' after, origins included' circle2circle -O1 half.tflite x.tflite
! grep -q unpacked stderr || fail "constants of a .tflite stay packed: $(<stderr)"
says '' ' after, origins included' circle2circle half.tflite x.tflite
! grep -q unpacked stderr || fail "a file that did not grow: $(<stderr)"

says '' 'records of random numbers, which are for trying out only' record-minmax --input_model net.circle --output_model ranges.circle

# Names that are not quite right.
says 'source operator 1 (MUL "stem/bn/mul")' '' origin-dump --where stem/bn/mul net.circle
says 'source operator 1 (MUL "stem/bn/mul")' 'no name is "stem/bn"; shown is what begins with it' origin-dump --where stem/bn net.circle
says 'source operator 1 (MUL "stem/bn/mul")' 'no name is "TEM/bn/Mul"; shown is what contains it' origin-dump --where TEM/bn/Mul net.circle
refused 'has no operator or tensor "stem/bn/mull"; did you mean "stem/bn/mul"' origin-dump --where stem/bn/mull net.circle
refused 'has no operator or tensor "nothing of the kind"; origin-dump MODEL shows the names' origin-dump --where 'nothing of the kind' net.circle
says 'source operator' ' more have it; --full shows all' origin-dump --where block net.circle
few=$(grep -c '^source ' stdout)
says 'source operator' 'begins with it' origin-dump --where block --full net.circle
((few == 24 && $(grep -c '^source ' stdout) > 150)) || fail "--where block shows $few, with --full $(grep -c '^source ' stdout)"
long=some/very/long/scope/that/goes/on/and/on/for/ever
cat >joined.origo <<END
origo 1
model circle version 0
subgraph @main(%x: f32[4]) -> (%"$long/second") {
  %"conv/a;conv/b;conv/c": f32[4] = NEG(%x)
  %"$long/first": f32[4] = ABS(%"conv/a;conv/b;conv/c")
  %"$long/second": f32[4] = EXP(%"$long/first")
}
END
circle2circle joined.origo joined.circle 2>/dev/null || fail "joined.origo"
says 'NEG "conv/a;conv/b;conv/c"' '"conv/b" is a part of joined names' origin-dump --where conv/b joined.circle
says 'for/ever/second' '' origin-dump joined.circle
grep -q 'some/very/lon…' stdout || fail "a long name is not cut in the middle: $(<stdout)"
says 'for/ever/first' '' circle-metrics --per=operator joined.circle
says "$long/first" '' origin-dump --full joined.circle

# The wrong source is told by the file that is expected.
circle2circle "$root/res/while.origo" other.tflite 2>/dev/null
printf 'tensor,ms\nstem/relu6,2.5\nblock1/depthwise/relu6,4\nblock1/project/bn/add,1\n' >a.csv
sed 's/,4$/,3/;s/,1$/,9/' a.csv >b.csv
for command in 'circle-metrics --source=other.tflite net.circle' 'origin-dump --join a.csv --source other.tflite net.circle' \
  'origin-view --source other.tflite -o page.html net.circle'; do
  refused 'other.tflite is not the source of net.circle, which was made from mobilenet_v2.origo with' $command
done

# The dearest first, and not more than a screen.
says '' '' origin-dump --join a.csv --by=operator net.circle 2>/dev/null
awk 'NR > 1 && NF == 0 { exit } NR > 1 { if (NR > 2 && $1 > last) exit 1; last = $1; ++n } END { if (n < 11) exit 1 }' stdout ||
  fail "--by=operator is not sorted: $(<stdout)"
says 'and ' '' origin-dump --join a.csv --by=operator --top=3 net.circle
[[ $(sed -n '/^MS\|^ *MS/,/^and/p' stdout | wc -l) == 5 ]] || fail "--top=3: $(<stdout)"
says '' '' origin-dump --join a.csv --by=operator --sort=id net.circle
[[ $(awk 'NR == 2 { print $3 }' stdout) == 0 ]] || fail "--sort=id: $(<stdout)"
for profile in a b; do origin-dump --join $profile.csv --json net.circle >$profile.json || fail "--join $profile.csv --json"; done
says 'block1/project' '' origin-dump --top=1 --compare a.json b.json
[[ $(sed -n 2p stdout) == *block1/project* && $(sed -n 2p stdout) == *8.* ]] || fail "--compare does not begin with the greatest change: $(<stdout)"
says 'and ' '' origin-dump --sort=a --top=2 --compare a.json b.json
[[ $(sed -n 2p stdout) == *block1/depthwise* ]] || fail "--compare --sort=a: $(<stdout)"
refused '--top' origin-dump --top=3 net.circle
refused '--sort=change and --sort=b go with --compare' origin-dump --join a.csv --sort=b net.circle

# Files of numpy.
npy() { # FILE DTYPE SHAPE COUNT BYTES-EACH
  node -e '
const [file, dtype, shape, count, size] = process.argv.slice(1);
const header = `{"descr": "${dtype}", "fortran_order": False, "shape": (${shape}), }`.padEnd(117) + "\n";
const data = Buffer.alloc(count * size);
for (let i = 0; i < count; ++i) size == 8 ? data.writeDoubleLE(Math.sin(i), 8 * i) : data.writeFloatLE(Math.sin(i), 4 * i);
require("fs").writeFileSync(file, Buffer.concat([Buffer.from("\x93NUMPY\x01\x00v\x00", "latin1"), Buffer.from(header), data]))' "$@"
}
mkdir in bare wrong flat
npy in/image.npy '<f4' '1, 96, 96, 3' 27648 4
npy bare/image.npy '<f4' '96, 96, 3' 27648 4
npy wrong/image.npy '<f8' '1, 96, 96, 3' 27648 8
npy flat/image.npy '<f4' '27648,' 27648 4
says '' 'circle-interpreter: note: wrote out/probabilities.npy' circle-interpreter --inputs=in --outputs=out net.circle
says '' 'wrote bare_out/probabilities.npy' circle-interpreter --inputs=bare --outputs=bare_out net.circle
cmp out/probabilities.npy bare_out/probabilities.npy || fail "an image without its batch gives something else"
refused 'the input is FLOAT32; write it with array.astype(numpy.float32)' circle-interpreter --inputs=wrong --outputs=o net.circle
refused 'array.reshape' circle-interpreter --inputs=flat --outputs=o net.circle
npy images.npy '<f4' '2, 96, 96, 3' 55296 4
npy doubles.npy '<f8' '2, 96, 96, 3' 55296 8
npy stacked.npy '<f4' '2, 1, 96, 96, 3' 55296 4
for data in images stacked bare/image; do
  circle-quantizer --scheme int8 --input_data $data.npy net.tflite "q_${data%/*}.tflite" 2>stderr || fail "$data.npy: $(<stderr)"
done
cmp q_images.tflite q_stacked.tflite || fail "records without a batch give other ranges"
refused 'write it with array.astype(numpy.float32)' circle-quantizer --scheme int8 --input_data doubles.npy net.tflite q.tflite

# The inputs of a run, for another program.
says 'output 0' '' circle-interpreter --seed=3 --save-inputs=given net.circle
circle-interpreter --seed=3 --outputs=o1 net.circle 2>/dev/null && circle-interpreter --outputs=o2 net.circle given 2>/dev/null || fail "runs"
cmp o1/probabilities.npy o2/probabilities.npy || fail "--save-inputs writes other inputs than those of the run"
echo "newcomer: fine"
