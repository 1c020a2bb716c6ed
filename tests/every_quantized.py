#!/usr/bin/env python3
"""Quantises every float network in each scheme, from seeded inputs. What comes out keeps its origins (origin-dump --check), is the same
a second time, and runs. What cannot be calibrated because it cannot be run is listed.

usage: every_quantized.py BIN networks|models

Of models of few operators every twelfth is taken, of those that the tree makes every twentieth; ORIGO_THOROUGH=1 in the environment takes
them all."""
import collections, glob, os, re, sys
from many import Tools, line, read, swept

tools, what = Tools(sys.argv[1]), sys.argv[2]
SCHEMES = ["int8", "int16x8", "dynamic", "weights", "float16"]
# All integers already; random divisors and radicands; an input that no record of the signature has.
UNSUITED = rb"no tensor has a range|division by zero|elements below zero|leaves an input of its subgraph out"
# Those with FULLY_CONNECTED, whose weights are stored in blocks; and the least numbers of pairs and of small models that are done.
BLOCKS, LEAST, LEAST_SMALL, EVERY = {
    "networks": (("bert", "language_model_2sg", "vision_transformer"), 200, 20, 20),
    "models": (("dtln_1", "sdpa_composite", "textcls_wordvec", "toy_llm_kv_2sig"), 90, 30, 12)}[what]


def judge(one):
    """The verdict, and why."""
    scheme, model = one
    name, ending = os.path.splitext(os.path.basename(model))
    stored, again = (f"{tools.scratch}/{file}{ending}" for file in ("stored", "again"))
    words = ["--scheme", scheme] if scheme != "blocks" else ["--scheme", "dynamic", "--weight_bits", "4", "--block_size", "32"]
    words += ["--input_data", "random"] if scheme.startswith("int") else []
    runs = lambda file: tools("circle-interpreter", "--seed", "1", file, seconds=300).status == 0
    done = tools("circle-quantizer", "--verify-each", *words, model, stored, seconds=300)
    told = f"{scheme} {name}: {line(done.err)}"
    if done.status:
        if scheme.startswith("int") and not runs(model):
            return "UNRUNNABLE", told
        return "UNSUITED" if re.search(UNSUITED, done.err) else "FAILED", told
    if b"breaks a law" in done.err:
        return "FAILED", told
    checked = tools("origin-dump", "--check", "--source", model, stored)
    if checked.status:
        return "FAILED", f"{scheme} {name}: origins: {line(checked.out + checked.err)}"
    if not runs(stored) and runs(model):
        return "FAILED", f"{scheme} {name}: does not run"
    if tools("circle-quantizer", *words, model, again, seconds=300).status or read(stored) != read(again):
        return "FAILED", f"{scheme} {name}: not the same a second time"
    return "OK", f"{scheme} {name}"


folder, small = swept(what, EVERY)
# --verify-each looks at all of it after each rewrite, which is too much for ten thousand operators.
networks = [file for file in sorted(glob.glob(f"{folder}/*_f32.tflite")) if not file.endswith("/ten_thousand_f32.tflite")]
pairs = [(scheme, model) for scheme in SCHEMES for model in networks]
pairs += [("blocks", f"{folder}/{name}_f32.tflite") for name in BLOCKS]
verdicts = tools.sweep(judge, pairs)
# Of models of few operators, of which many cannot be run from seeded inputs, whatever can.
of_small = tools.sweep(judge, [("int8", model) for model in small if re.search("/(mini|recipes)/", model)])
tools.close()
for verdict, text in sorted(verdicts):
    if verdict != "OK":
        print(verdict, text)
for verdict, text in sorted(of_small):
    if verdict == "FAILED":
        print(verdict, text)
count, of_few = (collections.Counter(verdict for verdict, _ in some) for some in (verdicts, of_small))
print(f"models: {count['OK']} of {len(verdicts)} pairs of network and scheme quantised, and {of_few['OK']} of {len(of_small)} models of few operators")
sys.exit(bool(count["FAILED"] + of_few["FAILED"]) or count["OK"] < LEAST or of_few["OK"] < LEAST_SMALL)
