#!/usr/bin/env bash
# `origo`: each command does what the tool behind it does, under the name that was typed; its defaults, closing lines and JSON.
# usage: front_door.sh BIN
. "$(dirname "${BASH_SOURCE[0]}")/command_line.sh" "$1"
says() { # TEXT COMMAND...: success, and the text somewhere in what is printed
  local text=$1
  shift
  "$@" >stdout 2>stderr || fail "$*: exit status $?: $(<stderr)"
  grep -qF -e "$text" stdout || fail "$*: no \"$text\" in: $(head -c 2000 stdout)"
}
json() { # EXPRESSION COMMAND...: standard output is JSON for which the expression of JavaScript holds
  local expression=$1
  shift
  "$@" >stdout 2>stderr || fail "$*: exit status $?: $(<stderr)"
  node -e 'const j = JSON.parse(require("fs").readFileSync("stdout")); if (!('"$expression"')) process.exit(1)' ||
    fail "$*: not $expression: $(head -c 2000 stdout)"
}

circle2circle "$root/res/mobilenet_v2.origo" net.tflite && rm net.tflite.origin.json || fail "res/mobilenet_v2.origo"

# What a model is.
says '204 operators: 62 ADD' origo net.tflite
json 'j.operators === 204 && j.kinds.ADD === 62 && j.inputs[0].type === "float32[1,96,96,3]"' origo net.tflite --json
refused 'origo: error: there is no command and no file "optimise"; did you mean optimize?' origo optimise net.tflite
refused 'origo: error: there are too many arguments' origo net.tflite net.tflite
refused 'origo: error: there is no option --nonsense' origo --nonsense net.tflite
refused 'origo optimize: error: there is no option --nonsense' origo optimize --nonsense net.tflite
refused 'origo diff: error: there is no option --nonsense' origo diff --nonsense net.tflite net.tflite
refused 'origo optimize: error: needs MODEL' origo optimize
# An option that is not there is what is said, whatever else is missing, and near ones are named.
for command in optimize quantize run where diff check infer profile blame view metrics dump reduce completion manual; do
  refused "origo $command: error: there is no option --nonsense" origo $command --nonsense
done
refused 'there is no option --dat; did you mean --data?' origo quantize --dat images.npy net.tflite
refused 'there is no option --topp; did you mean --top?' origo profile --topp=3 net.tflite
refused 'no.tflite: cannot be opened' origo optimize no.tflite

# The same bytes as by the old name.
mkdir a b
says 'Try next:' origo optimize net.tflite
circle2circle -O1 net.tflite a/net.optimized.tflite || fail "circle2circle"
cmp net.optimized.tflite a/net.optimized.tflite || fail "origo optimize writes other bytes than circle2circle -O1"
grep -qE '^operators +204 +65 ' <(origo diff --no-run net.tflite net.optimized.tflite) || fail "origo diff"
says 'a/x.circle' origo optimize --passes=recognise-relu6 net.tflite a/x.circle
circle2circle --passes=recognise-relu6 net.tflite b/x.circle || fail "circle2circle --passes"
cmp a/x.circle b/x.circle || fail "--passes is not all that is done"
json 'j.before.operators === 204 && j.after.operators === 65 && j.run.records === 4 &&
      j.run.outputs.length === 1 && j.run.outputs[0].greatestDifference < 1e-4 && j.run.millisecondsAfter > 0' \
  origo optimize --json net.tflite
json '!("run" in j)' origo optimize --json --no-run net.tflite
json 'j.run.timeChange === null || j.run.timeChangeFrom > 0.02 || j.run.timeChangeTo < -0.02' \
  origo optimize --json net.tflite
# A gain is told with its interval, or not at all: of a model beside itself there is none.
origo diff net.tflite net.tflite >out 2>said || fail "origo diff: $(<said)"
grep -qE '^time of a run +[0-9.e-]+ ms +[0-9.e-]+ ms +(nothing above noise|too few runs to tell|[-+][0-9]+ % \([-+0-9.]+ to [-+0-9.]+ %\))$' out ||
  fail "the time of a run: $(<out)"
says 'recognise-relu6' origo optimize --list-passes
# The page of both, with each rewrite.
says 'net.optimized.html shows both' origo optimize --view --no-run net.tflite # which was rewritten before, of another file
circle2circle --embed-origin=none --no-origin-json net.tflite fresh.tflite || fail "circle2circle"
says 'seen.html shows both' origo optimize --view --no-run fresh.tflite seen.circle
[[ $(head -c 15 seen.html) == '<!doctype html>' ]] || fail "optimize --view writes no page"
circle2circle -O1 --history=seen.history fresh.tflite a/seen.circle && origin-view a/seen.circle --source fresh.tflite --history seen.history -o a/seen.html || fail "origin-view"
cmp seen.html a/seen.html || fail "optimize --view writes another page than origin-view"
says 'timed.html shows both' origo optimize --view --profile --no-run fresh.tflite timed.circle
(($(stat -c %s timed.html) > $(stat -c %s seen.html))) || fail "optimize --view --profile shows no times"
refused 'origo optimize: error: --profile is for the page' origo optimize --profile fresh.tflite timed.circle
# A browser opens it where somebody sits at a terminal with a screen; it goes on when the terminal is gone.
mkdir screen
for opener in xdg-open open; do
  printf '#!/bin/sh\nsleep 1\nprintf "%%s" "$1" >>"%s/opened"\n' "$PWD" >screen/$opener && chmod +x screen/$opener
done
PATH=$PWD/screen:$PATH DISPLAY=:0 origo optimize --view --no-run fresh.tflite unseen.circle >/dev/null 2>&1 # nobody looks
PATH=$PWD/screen:$PATH DISPLAY=:0 script -qec 'origo optimize --view --no-run fresh.tflite seen.circle' /dev/null >/dev/null </dev/null
for ((i = 0; i < 100; ++i)); do [[ -s opened ]] && break; sleep 0.1; done
[[ -s opened && $(<opened) == "$PWD/seen.html" ]] || fail "optimize --view does not open seen.html alone"
[[ -z $(find "${TMPDIR:-/tmp}" -maxdepth 1 \( -name 'origo-*.history' -o -name 'origo-profile*' \) -newer net.tflite) ]] || fail "optimize --view leaves files behind"

says 'net.tflite -> net.dynamic.tflite' origo quantize net.tflite
origo quantize --no-run --scheme=float16 net.tflite half.tflite >/dev/null 2>&1 || fail "--scheme=float16"
says 'The constants grew, for what was unpacked in each run is unpacked in the file now' origo optimize --no-run half.tflite wide.circle
says 'wide.circle -> again.circle' origo quantize --no-run --scheme=float16 wide.circle again.circle
says 'net.tflite -> net.int8.tflite' origo quantize net.tflite --data random
circle-quantizer --scheme int8 --input_data random net.tflite a/net.int8.tflite 2>/dev/null || fail "circle-quantizer"
cmp net.int8.tflite a/net.int8.tflite || fail "origo quantize writes other bytes than circle-quantizer"
# Recipes, and configurations of ONE with whatever scheme is the default.
printf '[{"regex": "\\\\bstem\\\\b", "op_config": {"weight_tensor_config": {"num_bits": 8}, "compute_precision": "INTEGER"}}]' >recipe.json
says 'net.tflite -> net.quantized.tflite' origo quantize --no-run --recipe recipe.json net.tflite
circle-quantizer --recipe recipe.json net.tflite a/recipe.tflite 2>notes && cmp net.quantized.tflite a/recipe.tflite || fail "--recipe: $(<notes)"
grep -q 'CONV_2D stay float: no entry of the recipe is about it' notes || fail "another reason: $(<notes)"
! cmp -s net.tflite net.quantized.tflite || fail "the recipe does nothing"
printf '[{"regex": "^stam", "op_config": {"weight_tensor_config": {}}}]' >vain.json
says 'vain.tflite' origo quantize --no-run --recipe=vain.json net.tflite vain.tflite
grep -q 'vain.json: entry 0: "^stam" matches no layer' stderr || fail "no note of an entry in vain: $(<stderr)"
circle-quantizer --strict --recipe vain.json net.tflite x.tflite >stdout 2>stderr
[[ $? == 2 && $(<stderr) == *'vain.json: --strict: entry 0: "^stam" matches no layer'* && ! -e x.tflite ]] || fail "--strict: $(<stderr)"
printf '{"layers": [{"name": "stem", "dtype": "float32"}]}' >config.json
says 'net.tflite -> net.dynamic.tflite' origo quantize --no-run --config config.json net.tflite
circle-quantizer --scheme dynamic --config config.json net.tflite a/config.tflite 2>/dev/null && cmp net.dynamic.tflite a/config.tflite || fail "--config"
origo quantize --no-run --data random --config=config.json net.tflite c.tflite >stdout 2>stderr || fail "--config --data: $(<stderr)"

json 'j.after.bytes < 0.3 * j.before.bytes && j.run.outputs[0].greatestDifference > 1e-4' origo diff --json net.tflite net.int8.tflite
# Records, and inputs that became integers.
node -e '
const header = "{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (2, 1, 96, 96, 3), }".padEnd(117) + "\n";
const head = Buffer.concat([Buffer.from("\x93NUMPY\x01\x00", "latin1"), Buffer.from([118, 0]), Buffer.from(header)]);
const data = Float32Array.from({length: 2 * 96 * 96 * 3}, (_, i) => Math.sin(i));
require("fs").writeFileSync("images.npy", Buffer.concat([head, Buffer.from(data.buffer)]))'
says 'on 2 records of images.npy' origo quantize net.tflite i.tflite --data images.npy --input_type=int8 --output_type=uint8
refused 'nothing.npy' origo diff --data nothing.npy net.tflite net.tflite
says 'the output is the same, bit for bit' origo diff net.tflite net.tflite
# The graphs of two signatures, of which the second has another constant; and what has no element.
for factor in 4 7; do
  cat >two.origo <<END
origo 1
model tflite version 3
subgraph @main(%x: f32[1,4]) -> (%y) {
  %y: f32[1,4] = TANH(%x)
}
signature "a" @main inputs("x"=%x) outputs("y"=%y)
subgraph @other(%x: f32[1,4]) -> (%y) {
  %k: f32[] = const [$factor]
  %y: f32[1,4] = MUL(%x, %k)
}
signature "b" @other inputs("x"=%x) outputs("y"=%y)
END
  circle2circle two.origo "two$factor.tflite" || fail "two.origo"
done
says 'this is the first of 2 signatures; the others are not run' origo diff two4.tflite two7.tflite
printf 'origo 1\nmodel tflite version 3\nsubgraph @main(%%x: f32[0,4]) -> (%%y) {\n  %%y: f32[0,4] = TANH(%%x)\n}\n' >none.origo
circle2circle none.origo none.tflite || fail "none.origo"
says 'not compared by running them: no output has an element' origo diff none.tflite none.tflite
circle2circle "$root/res/while.origo" while.circle || fail "while.origo"
says 'not compared by running them' origo diff net.tflite while.circle

# Names that a shell would take apart are quoted in what is suggested; what has no extension is what its bytes are.
mkdir "a b" && cp net.tflite "a b/it's.tflite" && cp net.tflite plain || fail "copies"
says "origo check 'it'\\''s.optimized.tflite' 'a b/it'\\''s.tflite'" origo optimize --no-run "a b/it's.tflite"
eval "$(sed -n 's/^  \(origo check .*[^ ]\)    are .*/\1/p' stdout)" >checked || fail "the suggested command: $(<checked)"
says 'plain -> plain.optimized.tflite' origo optimize --no-run plain
says ok origo check plain.optimized.tflite plain
# A text is a source, too, of which the suggested check and the page's hold.
says 'origo check mobilenet_v2.optimized.circle' origo optimize --no-run "$root/res/mobilenet_v2.origo"
says ok origo check mobilenet_v2.optimized.circle "$root/res/mobilenet_v2.origo"
says ok origin-dump --check mobilenet_v2.optimized.circle --source "$root/res/mobilenet_v2.origo"
refused 'while.origo is not the source of mobilenet_v2.optimized.circle' \
  origin-dump --join=device.csv --source="$root/res/while.origo" mobilenet_v2.optimized.circle
# Signatures, metadata and the files behind a model; a pipe has a size.
cat >told.origo <<'END'
origo 1
model tflite version 3
subgraph @main(%x: f32[4]) -> (%y) {
  %y: f32[4] = NEG(%x)
}
signature "serve" @main inputs("image"=%x) outputs("scores"=%y)
metadata "notes" "abc"
END
circle2circle told.origo told.tflite 2>/dev/null && python3 -c '
import zipfile
with zipfile.ZipFile("told.tflite", "a") as z: z.writestr("labels.txt", "cat"); z.writestr("more/words.txt", "dog")' || fail "told.tflite"
says 'signatures  serve(image) -> (scores)' origo told.tflite
grep -q '^metadata    notes  3 B$' stdout && grep -q '^packed      labels.txt$' stdout && grep -q '^            more/words.txt$' stdout || fail "$(<stdout)"
json 'j.signatures[0].key === "serve" && j.signatures[0].outputs[0] === "scores" && j.metadata.some(m => m.name === "notes" && m.bytes === 3) &&
      j.packedFiles[1] === "more/words.txt"' origo --json told.tflite
says ', 14.2 MB' origo - <net.tflite

says 'lives in operator 0 (CONV_2D "stem/relu6")' origo where stem/bn/mul net.optimized.tflite
says 'lives in operator 0 (CONV_2D "stem/relu6")' origo where net.optimized.tflite stem/bn/mul
(cd a && mkdir one && cp net.optimized.tflite* one && cd one && says 'lives in operator 0' origo where stem/bn/mul) || exit 1
json 'j.operators[0].livesIn[0].name === "stem/relu6" && j.operators[0].constants[0].name === "stem/filter" && j.tensors[0].gone.fate === "fused-away"' \
  origo where stem/bn/mul net.optimized.tflite --json
json 'j.ok && j.violations.length === 0 && j.notChecked.length === 0' origo check --json net.optimized.tflite net.tflite
json 'j.outputs[0].name === "probabilities" && j.outputs[0].values.length === 1000 && j.runs.medianMs > 0' origo run --json --runs=2 net.optimized.tflite
json 'j.operators.length === 65 && j.operators.every(op => op.ms >= 0) && j.operators.some(op => op.sources[1] === "MUL stem/bn/mul")' \
  origo profile --json net.optimized.tflite
json 'j.meta.metric === "MPEIR" && j.errors.length > 5' origo blame --json while.circle while.circle
refused 'which model? There are several' origo where stem/bn/mul
says ok origo check net.optimized.tflite net.tflite
echo '{"ops": {"ADD": {}}}' >npu.json
origo check --target npu.json net.tflite >stdout 2>&1
[[ $? == 2 ]] && grep -q CONV_2D stdout || fail "origo check --target: $(<stdout)"
says 'output 0 "probabilities"' origo run net.tflite
says 'stem/relu6' origo profile net.optimized.tflite
says 'CONV_2D' origo dump net.optimized.tflite
says 'stem/relu6' origo metrics net.optimized.tflite
# What tells of profiles tells of what is measured here, too; what has no origins is its own source.
says 'stem/bn/mul' origo profile --by=operator net.optimized.tflite
origin-dump --strip=bare.tflite net.tflite || fail "--strip"
for model in net.optimized.tflite bare.tflite "$root/res/while.origo"; do
  says 'and ' origo profile --top=3 --by=operator "$model"
  (($(wc -l <stdout) < 12)) || fail "--top=3: $(<stdout)"
done
says 'stem/bn/mul' origo profile --csv --by=operator --runs=2 net.optimized.tflite
printf 'layer,time\nstem/relu6,2.5\n' >device.csv
says 'stem/bn/mul' origo profile net.optimized.tflite device.csv --format=csv --columns=name=layer,ms=time --by=operator --full

says 'stem/relu6' origo profile device.csv net.optimized.tflite --format=csv --columns=name=layer,ms=time
origo view net.optimized.tflite net.tflite 2>stderr && grep -q '<html' net.optimized.html || fail "origo view: $(<stderr)"
origo view -o page.html net.optimized.tflite && grep -q '<html' page.html || fail "origo view -o"
json 'j.page === "net.optimized.html" && j.source === "net.tflite" && j.bytes === require("fs").statSync(j.page).size' \
  origo view --json net.optimized.tflite net.tflite
json 'j.page === "other.html" && !("source" in j)' origo view --json -o other.html net.optimized.tflite
refused 'there is no option --json' origo dump --json net.tflite
says 'block' origo blame net.tflite net.int8.tflite --blame_records=1 --records=1

# Each command teaches by example, and its examples begin with its name.
count=0
for command in $(origo manual | sed -n 's/^origo-//p'); do
  says "  origo $command " origo "$command" --help
  says 'Exit status:' origo "$command" --help
  ((++count))
done
((count >= 14)) || fail "only $count commands"
refused 'cannot write the output' bash -c 'origo --help >/dev/full'
# What takes long says so on a terminal, and what is printed then begins on a clean line.
if command -v script >/dev/null; then
  script -qec "sh -c '(sleep 4; cat net.tflite) | circle2circle - slow.circle'" /dev/null </dev/null >typed || fail "a slow input: $(<typed)"
  grep -q $'\r\e\\[Kreading, [23] s\r' typed || fail "no progress: $(cat -A typed)"
  grep -q $'\r\e\\[Kcircle2circle: note: 204 operators' typed || fail "no clean line: $(cat -A typed)"
fi
# A tool that is not there is named.
mkdir alone && cp "$bin/origo" alone/
refused 'needs circle2circle, which does not lie beside this program' alone/origo optimize net.tflite
echo "front door: fine, $count commands"
