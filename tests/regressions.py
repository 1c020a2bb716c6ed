#!/usr/bin/env python3
"""Files on which something was wrong once, each with its right value: from arithmetic, the specification or another runtime.

usage: regressions.py BIN

A case is a function that is named like its file in tests/regressions/FOLDER, - as _."""
import os, re, subprocess, sys, tempfile
import numpy as np
from many import Tools

TOOLS = Tools(sys.argv[1])
here = os.path.dirname(os.path.abspath(__file__))
failures, covered = [], set()


def tool(name, *words, status=0):
    """What it prints, notes included."""
    done = TOOLS.run(name, *words, seconds=100)
    if status is not None and done.returncode != status:
        raise AssertionError(f"{name} {' '.join(map(str, words))}: exit status {done.returncode}, not {status}: {done.stderr[-400:]}")
    return done.stdout + done.stderr


def expect(holds, what):
    if not holds:
        raise AssertionError(what)


def model(text, to="m.tflite"):
    tool("circle2circle", "-O0", "--embed-origin=none", "--no-origin-json", text, to)
    return to


def optimised(text, to="m.tflite", *words):
    tool("circle2circle", "-O1", "--verify-numerics", *words, text, to)
    return to


def run(path, *inputs, engine="reference"):
    """Its outputs in order, by name."""
    for name in ("in", "out"):
        os.makedirs(name, exist_ok=True)
        for file in os.listdir(name):
            os.unlink(os.path.join(name, file))
    for i, values in enumerate(inputs):
        np.save(f"in/{i}.npy", values)
    tool("circle-interpreter", f"--engine={engine}", "--inputs=in", "--outputs=out", path)
    return {file[:-4]: np.load("out/" + file) for file in os.listdir("out")}


def operators(path):
    """The names of its operators, in order."""
    return re.findall(r"^  %.* = ([A-Z][A-Z_0-9]+)(?:\.v\d+)?\(", tool("circledump", path), re.M)


def tensors(path):
    return tool("circledump", path)


def quantised(text, records, *words, to="q.tflite"):
    np.save("records.npy", np.asarray(records, np.float32))
    tool("circle-quantizer", "--input_data", "records.npy", *words, model(text), to)
    return to


def near(is_, should, within, what="value"):
    is_ = np.asarray(is_, np.float64).ravel()
    expect(np.allclose(is_, np.ravel(should), rtol=0, atol=within), f"{what} is {is_}, not {should} within {within}")


def f32(*values, shape=(1, -1)):
    return np.array(values, np.float32).reshape(shape)


# quantizer/

def int16x8_fc_deep_sum_with_bias(path):
    near(run(quantised(path, np.ones((1, 1, 1024)), "--scheme=int16x8"), np.ones((1, 1024), np.float32))["y"], 10.241, 0.01)


def int16x8_fc_deep_sum_wraps(path):
    near(run(quantised(path, np.ones((1, 1, 1024)), "--scheme=int16x8"), np.ones((1, 1024), np.float32))["y"], 10.24, 0.01)


def int16x8_fc_bias_beyond_32_bits(path):
    x = f32(-1, 1, 0.5, -1)
    near(run(quantised(path, [x, -x], "--scheme=int16x8"), x)["y"], [3.997, -2.003], 0.005)


def int8_fc_bias_saturates_30_becomes_10_5(path):
    x = f32(1, -1, 0.5, -1)
    near(run(quantised(path, [x, -x], "--scheme=int8"), x)["y"], [30, -0.5], 0.13)


def int8_fc_of_zero_weights_loses_bias(path):
    x = f32(1, -1, 0.5, -1)
    near(run(quantised(path, [x, -x], "--scheme=int8"), x)["y"], [1, -0.5], 0.01)


def int8_per_tensor_conv_bias_saturates(path):
    x = f32(1, -1, 0.5, -1, shape=(1, 2, 2, 1))
    near(run(quantised(path, [x, -x], "--scheme=int8", "--per-tensor"), x)["y"], np.tile([1, -0.5], 4), 0.01)


def scales_stay_near(path):
    x = f32(-1, -1, -1, -1)
    q = quantised(path, [x], "--scheme=int8")
    text, scale_of = tensors(q), {}
    for name, scale in re.findall(r"(%\w+): i8\[[^\]]*\] q\{scale=([0-9.e-]+)", text):
        scale_of[name] = float(scale)
    for result, kind, a, b, clamp in re.findall(r"(%\w+): i8.* = (ADD|MUL)(?:\.v\d+)?\(x=(%\w+), y=(%\w+)\)(.*)", text):
        # A kernel shifts the operands of a sum by 20 bits, and has 32 for a clamp.
        a, b, to = scale_of[a], scale_of[b], scale_of[result]
        expect(kind == "MUL" or 2 * max(a, b) / to < 2 ** 20, f"{kind} of scales {a}, {b} to {to}")
        expect("RELU6" not in clamp or 6 / to < 2 ** 31, f"a clamp of {6 / to} steps")
    run(q, x)


int8_add_of_dead_tensor_aborts_runtime = scales_stay_near
int8_add_of_zeros_to_small_numbers_aborts_runtime = scales_stay_near
int8_mul_relu6_of_tiny_range_refused_by_runtime = scales_stay_near


def blockwise_fc_relu(path):
    tool("circle-quantizer", "--scheme=dynamic", "--weight_bits=4", "--block_size=32", model(path), "q.tflite")
    expect(sorted(operators("q.tflite")) == ["FULLY_CONNECTED", "FULLY_CONNECTED", "RELU"] and "RELU}" not in tensors("q.tflite"),
           "a RELU is fused beside blocks")
    x = np.linspace(-1, 1, 32, dtype=np.float32).reshape(1, 32)
    got = run("q.tflite", x)
    near(got["y"], np.maximum(got["z"], 0), 0)


def one_operator(kind, *words):
    def case(path):
        got = operators(optimised(path, "o.circle", *words))
        expect(got == [kind], f"-O1 leaves {got}, not {kind} alone")
    return case


dequantize_of_ranked_scalar_folded = one_operator("ADD")
dequantize_of_shapeless_constant_not_folded = one_operator("ADD")
prelu_lost_to_merged_constants = one_operator("PRELU")


def records_order_signature_against_subgraph(path):
    big, small = f32(-100, 100, 50, 3), f32(-1, 1, 0.5, 0)
    os.makedirs("list", exist_ok=True)
    for name, values in (("0", big), ("1", small)): # in the subgraph's order: big, small
        values.tofile(f"list/{name}.bin")
    with open("list.txt", "w") as lines:
        lines.write("list/0.bin list/1.bin\n")
    tool("circle-quantizer", "--scheme=int8", "--input_data=list.txt", model(path), "q.tflite")
    scale = {name: float(s) for name, s in re.findall(r"%(\w+): i8\[[^\]]*\] q\{scale=([0-9.e-]+)", tensors("q.tflite"))}
    near(scale["big_Quantize"], 200 / 255, 0.02, "the scale of the big input")
    near(scale["small_Quantize"], 2 / 255, 1e-3, "the scale of the small one")


# reports/

def c104(path):
    data = np.load(os.path.join(here, "regressions/reports/c104_data.npy"))
    q = quantised(path, data[:, None], "--scheme=int8")
    m = model(path)
    worst = max(np.abs(run(q, x[None])["y"] - run(m, x[None])["y"]).max() for x in data[:8])
    expect(worst <= 0.004, f"the error is {worst}")


c104_lstm_int8 = c104_lstm_int8_output_zero_point = c104


def c106_sign_nan(path):
    for engine in ("reference", "fast"):
        got = run(model(path), f32(np.nan, -2, 0, 3, -np.inf), engine=engine)["a"].ravel()
        expect(np.isnan(got[0]) and list(got[1:]) == [-1, 0, 1, -1], f"SIGN is {got}")


def c108_cast_nan_inf(path):
    for engine in ("reference", "fast"):
        got = run(model(path), f32(np.nan, np.inf, -np.inf, 3e9, -1.5), engine=engine)
        near(got["a"], [2 ** 31 - 1, 2 ** 31 - 1, -2 ** 31, 2 ** 31 - 1, -1], 0, "CAST to i32")
        near(got["b"], [127, 127, -128, 127, -1], 0, "CAST to i8")


def c10_fc_16x8_no_bias_big_sum(path):
    x = np.full((1, 1024), 32767, np.int16)
    near(run(model(path), x)["y"] * 10.0, [32767 * 0.001 * 1.27 * 1024] * 2, 10)


def c10d_float_fc_no_bias(path):
    x = np.ones((1, 1024), np.float32)
    near(run(quantised(path, [x], "--scheme=int16x8"), x)["y"], [1300.48] * 2, 0.1)


def c15_two_signatures_one_subgraph_shared_weights(path):
    text = tensors(optimised(path, "o.tflite"))
    expect(all(f'signature "{name}"' in text for name in ("a", "alias_of_a", "b")), "a signature is lost")
    expect(os.path.getsize("o.tflite") < 64 * 64 * 4 * 1.5, "weights that two subgraphs share stand twice")


def c21_resize_batch_with_constant_reshape(path):
    tool("circle-resizer", "--input_shapes", "[4,4,4,3]", optimised(path, "o.tflite"), "r.tflite")
    x = np.random.default_rng(1).normal(size=(4, 4, 4, 3)).astype(np.float32)
    all_, one = run("r.tflite", x)["y"], np.concatenate([run(model(path), x[i:i + 1])["y"] for i in range(4)])
    near(all_, one, 1e-5)


def c31b_full_fp16_net(path):
    x = np.random.default_rng(1).normal(size=(1, 4, 4, 3)).astype(np.float16)
    before, after = run(model(path), x)["y"], run(optimised(path, "o.tflite"), x)["y"]
    expect(before.dtype == np.float16 and np.isfinite(before).all() and before.max() > 0, "the result is not finite")
    near(after, before, 0.02 * np.abs(before).max())


def c33b_callonce_var_folds(path):
    near(run(optimised(path, "o.tflite"), f32(1, 10))["y"], [21, 43], 0)


c48_mul_add_same_const = one_operator("FULLY_CONNECTED")


def c55_quant_pad_conv(path):
    got = operators(optimised(path, "o.tflite"))
    expect(got == ["CONV_2D", "PADV2", "CONV_2D"], f"{got}: the PAD of zeros is fused, that of another number is not")


def c57_relu_before_residual_add(path):
    x = np.random.default_rng(1).normal(size=(1, 4, 4, 2)).astype(np.float32)
    near(run(optimised(path, "o.tflite"), x)["y"], run(model(path), x)["y"].ravel(), 1e-5)


def c58_int8_io_of_quantised_model(path):
    x = np.random.default_rng(1).normal(size=(20, 1, 4)).astype(np.float32)
    q = quantised(path, x, "--scheme=int8")
    tool("circle-quantizer", "--input_type=int8", "--output_type=int8", q, "ends.tflite")
    expect(operators("ends.tflite") == ["FULLY_CONNECTED", "SOFTMAX"], f"{operators('ends.tflite')}: the ends are not stripped")
    scale = lambda m: re.findall(r"q\{[^}]*\}", tensors(m))
    expect(set(scale("ends.tflite")) <= set(scale(q)), "other scales")


def c59b_one_weight_four_signatures(path):
    for words, at_most in ((["--scheme=float16"], 72000), (["--scheme=int8", "--input_data=random"], 40000)):
        tool("circle-quantizer", *words, model(path), "q.tflite")
        tool("circle2circle", "-O1", "q.tflite", "o.tflite")
        for file in ("q.tflite", "o.tflite"):
            expect(os.path.getsize(file) < at_most, f"{words[0]}: {file} has {os.path.getsize(file)} bytes")


def c62_types_fp8_bf16_i2_u4_constants(path):
    got = run(model(path), f32(0, 0, 0, 0))
    near(got["c"], [1, 2, 3, 4], 0, "bf16")
    near(got["b"], [1, 2, 4, 8], 0, "f8e5m2")
    near(got["a"], [1, 2, 3, 4], 0, "f8e4m3fn")
    near(got["d"], np.array([-1, -2, 1, 0, 1]) * 0.5, 0, "i2")
    near(got["e"], (np.array([15, 8, 1]) - 8) * 0.5, 0, "u4")


def c63_cast_f16_to_f32(path):
    near(run(model(path), np.array([[1, -2, 0.5, 65504]], np.float16))["y"], [1, -2, 0.5, 65504], 0)


def c63c_cast_bf16(path):
    near(run(model(path), f32(1, -2, 0.5, 3.140625))["y"], [1, -2, 0.5, 3.140625], 0)


def c63d_dequantize_i2(path):
    near(run(optimised(path, "o.circle"), np.zeros(5, np.float32))["y"], np.array([-1, -2, 1, 0, 1]) * 0.5, 0)


def c63f_f16_add(path):
    near(run(model(path), np.array([[1, 2, 3, 4]], np.float16))["y"], [2, 4, 6, 8], 0)


def c63h_exp_f16(path):
    near(run(model(path), np.array([[0, 1, -1, 9]], np.float16))["y"], np.tanh([0, 1, -1, 9]), 1e-3)


def at_most(count, *words):
    def case(path):
        got = operators(optimised(path, "o.circle", *words))
        expect(len(got) <= count, f"-O1 leaves {got}")
    return case


c70_mean_mul_reshape_div = at_most(3)
c71_transpose_mul_scalar_fc = at_most(2)
c85_conv1d_bias_behind_transposes = at_most(5)


def c84_pt2e_qdq_conv_with_transposed_int8_weights(path):
    tool("circle-quantizer", "--scheme=int8", "--input_data=random", model(path), "q.tflite")
    text = tensors("q.tflite")
    expect(re.search(r"i8\[1,8,8,4\] q\{scale=0.1, zero_point=-128\} = CONV_2D", text), "CONV_2D stays float")
    expect("scale=[0.01, 0.02, 0.03, 0.04]" in text, "the weights have other scales than the file's")


def c90_embedding_lookup_int4(path):
    got = run(model(path), np.array([0, 1, 9], np.int32))["y"].reshape(3, 8)
    # Two a byte, the lower half first; a scale a row.
    near(got[0], np.arange(8) * 0.1, 1e-6)
    near(got[1], np.array([-3, -2, -5, -4, -7, -6, 7, -8]) * 0.2, 1e-6)


def c90e_float_embedding(path):
    tool("circle-quantizer", "--scheme=dynamic", model(path), "q.tflite")
    said = tool("circle-quantizer", "--scheme=dynamic", "--strict", model(path), "s.tflite", status=None)
    expect("i8[64,64]" in tensors("q.tflite") or "EMBEDDING_LOOKUP" in said, "the table stays float silently")


def c91_hybrid_transpose_conv(path):
    x = np.random.default_rng(1).normal(size=(1, 4, 4, 8)).astype(np.float32)
    got = run(model(path), x)["y"]
    expect(np.isfinite(got).all() and got.any(), "TRANSPOSE_CONV of integer weights does not run")


def c95_requantize_pairs_and_noop_quantize(path):
    got = operators(optimised(path, "o.tflite"))
    expect(sorted(got) == ["LOGISTIC", "QUANTIZE", "RELU", "TANH"], f"-O1 leaves {got}")


# commands/ and hostile/

def bisect_ignores_change_outputs(path):
    said = tool("circle2circle", "-O1", "--change_outputs=z", "--bisect=test -s", path, "o.circle", status=None)
    plain = optimised(path, "p.circle", "--change_outputs=z")
    expect(operators("o.circle") == operators(plain) and "RELU" not in operators(plain), said)


def bisect_ignores_target(path):
    target = os.path.join(here, "regressions/commands/bisect_ignores_target.npu.json")
    command = "sh " + os.path.join(here, "regressions/commands/bisect_fails_without_relu.sh")
    os.environ["PATH"] = sys.argv[1] + os.pathsep + os.environ["PATH"]
    said = tool("circle2circle", "-O1", f"--target={target}", f"--bisect={command}", path, "o.circle", status=None)
    expect("fuse-activation" not in said, said)


def decline_reason_is_protocol_of_quantiser(path):
    tool("circle-quantizer", "--scheme=int8", "--input_data=random", "--strict", model(path, "m.circle"), "q.circle")


def min_runtime_version_of_gather_nd_v3_is_2_3_0_should_be_2_5_0(path):
    expect('"2.5.0' in tensors(optimised(path, "o.tflite")), "min_runtime_version is not 2.5.0")


def refused(path):
    for words in (["-O1"], ["-O0"]):
        status = tool_status("circle2circle", *words, path, "o.tflite")
        expect(status in (0, 1), f"circle2circle {words}: exit status {status}")
    status = tool_status("circle-quantizer", "--scheme=int8", "--input_data=random", path, "q.tflite")
    expect(status in (0, 1, 2), f"circle-quantizer: exit status {status}")


def tool_status(name, *words):
    def bounded():
        import resource
        if "asan" not in sys.argv[1]:
            resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    return subprocess.run([os.path.join(sys.argv[1], name), *words], capture_output=True, timeout=60, preexec_fn=bounded).returncode


concatenation_without_operands_SEGV_in_O1 = refused


def exponential_calls_40_subgraphs_hangs_despite_timeout(path):
    for level in ("-O0", "-O1"):
        expect(tool_status("circle2circle", level, path, "o.tflite") == 0, f"circle2circle {level}")
    for engine in ("reference", "fast"):
        status = tool_status("circle-interpreter", "--timeout=2", f"--engine={engine}", "--seed=1", path)
        expect(status == 1, f"circle-interpreter: exit status {status}")


# origins/: results that were true, and refused; and results of -O1 or of the fast engine that were wrong

def true_and_equal(path):
    """-O1 keeps the numbers and the laws, and both engines compute the same of what it makes."""
    optimised(path, "o.tflite", "--verify-each")
    expect(tool("origin-dump", "--check", "--source", path, "o.tflite") == "ok\n", "its own result is refused")
    for model in (path, "o.tflite"):
        outputs = []
        for engine in ("reference", "fast"):
            os.makedirs(engine, exist_ok=True)
            tool("circle-interpreter", f"--engine={engine}", "--seed=3", f"--outputs={engine}", model)
            outputs.append({file: np.load(f"{engine}/{file}") for file in sorted(os.listdir(engine))})
            for file in os.listdir(engine):
                os.unlink(f"{engine}/{file}")
        expect(outputs[0].keys() == outputs[1].keys() and outputs[0], "the engines have other outputs")
        for name, values in outputs[0].items():
            expect(np.allclose(values, outputs[1][name], rtol=1e-5, atol=1e-6, equal_nan=True), f"{model}: {name}: the engines differ")


def product_in_place_of_tile(path):
    tool("circle2circle", "--passes=decompose-hard-swish,remove-broadcast", "--verify-numerics", path, "o.circle")
    expect(tool("origin-dump", "--check", "--source", path, "o.circle") == "ok\n", "its own result is refused")


def shared_constant_in_two_runs(path):
    """One of its users was fused in the first run, the other did without it in the second."""
    tool("circle2circle", "--passes=merge-transposes", path, "a.circle")
    tool("circle2circle", "--passes=substitute-to-reshape", "a.circle", "b.circle")
    expect(tool("origin-dump", "--check", "--source", path, "b.circle") == "ok\n", "its own result is refused")
    expect("it went into operator" in tool("origin-dump", "--where", "zero", "b.circle"), "it is not where its user is")


movements_in_a_circle = fast_same_stride = exact_folded = exact_zero_sign = law6_detour = law6_identity_merged = true_and_equal
law7_twins = expand_shift = expand_identity = known_range = forward_cast = true_and_equal


external_buffer_id_4294967295_assertion = refused
operator_code_2147483647 = refused
quantizer_softmax_of_i8_to_f32_SEGV = refused
splat_of_8_GB_in_132_bytes = refused


def main():
    cases = dict(globals())
    count = 0
    for folder in ("quantizer", "reports", "commands", "hostile", "origins"):
        for file in sorted(os.listdir(os.path.join(here, "regressions", folder))):
            stem, ending = os.path.splitext(file)
            if ending != ".origo":
                continue
            case = cases.get(re.sub(r"[-.]", "_", stem))
            try:
                expect(case, "has no case")
                case(os.path.join(here, "regressions", folder, file))
            except (AssertionError, subprocess.TimeoutExpired) as error:
                failures.append(file)
                print(f"FAILED: {folder}/{file}: {error}")
            count += 1
    print(f"models: {count} files on which something was wrong, {len(failures)} are wrong")
    sys.exit(1 if failures or not count else 0)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.argv[1] = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        main()
