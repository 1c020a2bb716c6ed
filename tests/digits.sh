#!/usr/bin/env bash
# The first command of docs/quantization.md, and what makes a quantised network better, on the digits that it draws.
# usage: digits.sh BIN
. "$(dirname "${BASH_SOURCE[0]}")/command_line.sh" "$1"
python3 "$root/res/digits.py" "$bin" digits >shown || fail "digits.py: $(<shown)"
right() { awk -v name="$1" 'index($0, name) == 1 { print 10 * substr($0, length(name) + 1) + 0 }' shown; } # in thousandths
float=$(right float) int8=$(right int8) four=$(right 'weights of 4 bits') gptq=$(right '... by GPTQ')
((float > 850 && int8 >= float - 15 && gptq >= float - 25 && gptq >= four - 5)) || fail "other figures: $(<shown)"
for made in digits/*.tflite; do
  [[ $made == digits/digits.tflite ]] && continue
  origin-dump --check --source digits/digits.tflite "$made" >check || fail "$made: $(<check)"
done

# Each of the methods, and that it changes something for the better: the error over the range falls.
quantise() { circle-quantizer --verify-each --input_data digits/images "$@" digits/digits.tflite made.tflite 2>stderr || fail "$*: $(<stderr)"; }
noise() { # OPTION...: in thousandths of a dB below the range
  quantise "$@"
  origin-dump --check --source digits/digits.tflite made.tflite >check || fail "$*: $(<check)"
  circle-eval-diff --first_model digits/digits.tflite --second_model made.tflite --first_input_data digits/test --print_psnr |
    awk '{ printf "%d", 1000 * $(NF - 1) }'
}
four=(--scheme weights --weight_bits 4 --per-channel-dense)
plain=$(noise "${four[@]}")
for better in --gptq --bias-correction '--gptq --bias-correction' --gptaq; do
  now=$(noise "${four[@]}" $better)
  ((now > plain + 500)) || fail "$better: $now instead of $plain"
done
circle2circle -O1 --origin=ignore "$root/res/mobilenet_v2.origo" net.tflite 2>stderr || fail "$(<stderr)"
circle-quantizer --scheme int8 --smooth 0.5 --verify-each --input_data random net.tflite smooth.tflite 2>stderr || fail "--smooth: $(<stderr)"
origin-dump --check --source net.tflite smooth.tflite >check || fail "--smooth: $(<check)"
(($(circledump --origins smooth.tflite | grep -c 'scaled axis') > 20)) || fail '--smooth scales next to nothing'
circle-quantizer --scheme int8 --per-tensor --equalize --absorb --verify-each --input_data random net.tflite absorbed.tflite 2>stderr ||
  fail "--absorb: $(<stderr)"
origin-dump --check --source net.tflite absorbed.tflite >check || fail "--absorb: $(<check)"
(($(circledump --origins absorbed.tflite | grep -c 'absorb-bias') > 1)) || fail '--absorb does nothing'

# --best takes what is of use, and says so; judged on digits that it never saw. Where nothing is, the file is as without it.
best=$(noise --scheme int8 --weight_bits 4 --best)
grep -q 'records that are held out' stderr && grep -q '% off instead of' stderr || fail "--best says nothing: $(<stderr)"
alone=$(noise --scheme int8 --weight_bits 4)
((best > alone + 500)) || fail "--best: $best instead of $alone"
quantise --scheme int8 --weight_bits 4 --best
cp made.tflite once.tflite
quantise --scheme int8 --weight_bits 4 --best
cmp -s once.tflite made.tflite || fail '--best is not the same a second time'
# Bounded, it says how to have the same again, whatever the clock.
tried() { sed -n 's/.*records that are held out: //p' stderr | tr ';' '\n' | wc -l; }
quantise --scheme int8 --weight_bits 4 --best --steps 1
(($(tried) == 2)) && grep -q 'not all was tried: --steps 1 does' stderr || fail "--steps: $(<stderr)"
quantise --scheme int8 --weight_bits 4 --best --time 0
(($(tried) == 1)) && grep -q 'not all was tried: --steps 0 does' stderr || fail "--time: $(<stderr)"
cp made.tflite once.tflite
quantise --scheme int8 --weight_bits 4
cmp -s once.tflite made.tflite || fail '--best changes the result though it tried nothing'
quantise --scheme int8 --weight_bits 4 --best --time 100000
grep -q 'not all was tried' stderr && fail "--time: $(<stderr)"
refused 'goes with --best' circle-quantizer --scheme int8 --steps 3 --input_data digits/images digits/digits.tflite none.tflite
cat >plain.origo <<'END'
origo 1
model tflite version 3
subgraph @main(%x: f32[1,28,28,1]) -> (%y) {
  %y: f32[1,28,28,1] = RELU(%x)
}
END
circle2circle plain.origo plain.tflite 2>stderr
circle-quantizer --scheme int8 --input_data digits/images plain.tflite plain8.tflite 2>stderr || fail "$(<stderr)"
circle-quantizer --scheme int8 --best --input_data digits/images plain.tflite best8.tflite 2>stderr || fail "$(<stderr)"
grep -q 'nothing takes a hundredth off\|ranges by' stderr || fail "--best of what cannot be better: $(<stderr)"
refused 'give --data' circle-quantizer --scheme int8 --best --input_data random digits/digits.tflite none.tflite
refused 'goes with --scheme' circle-quantizer --scheme float16 --best --input_data digits/images digits/digits.tflite none.tflite
mkdir few && cp $(ls digits/images/* | head -n 4) few
refused 'at least five' circle-quantizer --scheme int8 --best --input_data few digits/digits.tflite none.tflite

for options in '--gptq --bias-correction' --gptaq; do
  quantise --scheme dynamic $options
  cp made.tflite once.tflite
  quantise --scheme dynamic $options
  cmp -s once.tflite made.tflite || fail "$options is not the same a second time"
done
for option in --gptq --gptaq --bias-correction --absorb '--smooth 0.5'; do
  refused 'give --data' circle-quantizer --scheme int8 $option digits/digits.tflite none.tflite
done
refused 'a number from 0 to 1' circle-quantizer --scheme int8 --smooth 2 --input_data random digits/digits.tflite none.tflite
[[ ! -e none.tflite ]] || fail 'a refused run leaves a file'
cat shown
