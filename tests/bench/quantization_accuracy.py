#!/usr/bin/env python3
"""What each way of quantising costs in accuracy: writes the tables of docs/quantization.md.

usage: quantization_accuracy.py BIN [PAGE]                      without PAGE the tables are printed
       quantization_accuracy.py BIN --check models|networks     only what has to hold, as a test
ORIGO_MODELS says where the models are. Ranges come from four seeded records; the errors are on twenty
others: the root of the mean square of the difference to the float model's outputs, over their range, and the share of
inputs for which the greatest number of the first output is at the same place.
"""

import math
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from page_tables import generated_floats, public_folder, write_tables  # noqa: E402

NETWORKS = ["blazeface_front_f32", "mobilenet_v1_025_128_f32", "mtcnn_rnet_f32", "resnet8_cifar_f32", "vww_96_f32",
            "ultraface_rfb320_f32", "yunet_f32"]
INT8, FOUR, RANDOM = ["--scheme", "int8"], ["--scheme", "weights", "--weight_bits", "4"], ["--input_data", "random"]
WAYS = [("int8", INT8), ("… biases corrected", INT8 + ["--bias-correction"]),
        ("… smoothed", INT8 + ["--smooth", "0.5"]), ("int8, per tensor", INT8 + ["--per-tensor"]),
        ("… equalised", INT8 + ["--per-tensor", "--equalize"]),
        ("… and absorbed", INT8 + ["--per-tensor", "--equalize", "--absorb"]),
        ("… biases corrected too", INT8 + ["--per-tensor", "--equalize", "--bias-correction"]),
        ("int16x8", ["--scheme", "int16x8"]),
        ("dynamic", ["--scheme", "dynamic"]), ("weights", ["--scheme", "weights"]), ("… of 4 bits", FOUR),
        ("… clipped", FOUR + ["--clip-weights"]), ("… by GPTQ", FOUR + ["--gptq"]),
        ("… biases corrected too", FOUR + ["--gptq", "--bias-correction"]), ("float16", ["--scheme", "float16"])]
# Float network, what a converter made of it, our scheme, and records to take ranges from.
PUBLISHED = [("pairs/ad01_f32", "pairs/ad01_i8", "int8", "random"),
             ("models/cifar10_f32", "pairs/cifar10_i8", "int8", "random"),
             ("models/dtln_1_f32", "models/dtln_1_hybrid", "dynamic", "random"),
             ("pairs/mnist_dw_f32", "pairs/mnist_dw_i8", "int8", "pairs/mnist_calibration"),
             ("pairs/mnist_valid_f32", "pairs/mnist_valid_i8", "int8", "pairs/mnist_calibration"),
             ("models/resnet8_cifar_f32", "models/resnet8_cifar_i8", "int8", "random"),
             ("pairs/toycar_f32", "pairs/toycar_hybrid", "dynamic", "random"),
             ("models/vww_96_f32", "pairs/vww_96_i8", "int8", "random"),
             ("models/yunet_f32", "models/yunet_hybrid", "dynamic", "random")]
# Weights of 4 bits beside floats, of networks of FULLY_CONNECTED.
DENSE = ["models/dtln_1_f32", "pairs/toycar_f32", "models/toy_llm_kv_2sig_f32"]
BLOCKS = [("one scale", []), ("by row", ["--per-channel-dense"])] + [
    (f"blocks of {size}", ["--block_size", str(size)]) for size in (128, 64, 32)]
SEEDS = range(101, 121)


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


class Judge:
    """Compares a network with what was made of it."""

    def __init__(self, tools, network, folder, data="random"):
        self.tools, self.network, self.records = tools, network, data
        if data == "random":
            self.records = os.path.join(folder, "records")
            os.makedirs(self.records)
            for seed in SEEDS:
                prefix = os.path.join(folder, f"input{seed}.")
                run(f"{tools}/circle-interpreter", f"--seed={seed}", f"--save-inputs={prefix}", network)
                with open(os.path.join(self.records, f"{seed}.bin"), "wb") as whole:
                    for name in sorted(os.listdir(folder)):
                        if name.startswith(f"input{seed}."):
                            with open(os.path.join(folder, name), "rb") as part:
                                whole.write(part.read())

    def __call__(self, made):
        """Error over range, and the share of equal greatest numbers of the first output; in percent."""
        text = run(f"{self.tools}/circle-eval-diff", "--first_model", self.network, "--second_model", made,
                   "--first_input_data", self.records, "--print_psnr", "--print_top1_match")
        noise = [10 ** (-float(number) / 20) if number != "inf" else 0 for number in re.findall(r"PSNR for .* is (\S+)", text)]
        matches = re.findall(r"Top-1 match ratio for .* is (\S+)", text)
        return 100 * sum(noise) / len(noise), 100 * float(matches[0]) if matches else 100.0


def cell(figures):
    return f"{figures[0]:.2f} %, {figures[1]:.0f}"


def quantised(tools, network, made, options):
    run(f"{tools}/circle-quantizer", *options, network, made)
    return made


def as_one(tools, network, folder, data):
    """ONE's three steps, with channel-wise uint8."""
    paths = [os.path.join(folder, f"one{i}.circle") for i in range(4)]
    run(f"{tools}/tflite2circle", network, paths[0])
    run(f"{tools}/circle-quantizer", "--quantize_dequantize_weights", "float32", "uint8", "channel", paths[0], paths[1])
    run(f"{tools}/record-minmax", "--input_model", paths[1], "--input_data", data, "--output_model", paths[2])
    run(f"{tools}/circle-quantizer", "--quantize_with_minmax", "float32", "uint8", "channel", paths[2], paths[3])
    return paths[3]


def by_way(tools, shared):
    rows = []
    for name in NETWORKS:
        network = os.path.join(shared, "models", name + ".tflite")
        with tempfile.TemporaryDirectory() as work:
            judge, cells = Judge(tools, network, work), []
            for i, (_, options) in enumerate(WAYS):
                data = RANDOM if "int" in options[1] or "--gptq" in options or "--bias-correction" in options else []
                cells.append(cell(judge(quantised(tools, network, f"{work}/{i}.tflite", options + data))))
        rows.append((name.removesuffix("_f32"), cells))
    # A network a column, for there are more ways.
    lines = ["| | " + " | ".join(name for name, _ in rows) + " |", "|---|" + "---|" * len(rows)]
    lines += [f"| {way} | " + " | ".join(cells[i] for _, cells in rows) + " |" for i, (way, _) in enumerate(WAYS)]
    return "\n".join(lines) + "\n"


def check(tools, shared):
    """Nobody's file is nearer to its float network than one of ours, and equalisation wins back most of what one scale loses."""
    failed = []
    for other, figures in published_figures(tools, shared, ones=False):
        theirs, ours = figures[0][0], min(figures[1][0], figures[2][0])
        print(f"{other}: {theirs:.2f} %, ours {ours:.2f} %")
        if ours > 1.05 * theirs:
            failed.append(other)
    network = os.path.join(shared, "models", "mobilenet_v1_025_128_f32.tflite")
    with tempfile.TemporaryDirectory() as work:
        judge, ways = Judge(tools, network, work), dict(WAYS)
        best, worst, equalised, absorbed = (judge(quantised(tools, network, f"{work}/made.tflite", ways[way] + RANDOM))[0]
                                            for way in ("int8", "int8, per tensor", "… equalised", "… and absorbed"))
    print(f"mobilenet_v1: {worst:.2f} % with one scale, {equalised:.2f} % equalised, {absorbed:.2f} % absorbed too, "
          f"{best:.2f} % by channel")
    if absorbed > 0.95 * equalised:
        failed.append("absorption")
    if worst - equalised < 0.5 * (worst - best):
        failed.append("equalisation")
    sys.exit(f"FAILED: {', '.join(failed)}" if failed else 0)


def generated(tools):
    """The finer a way is, the nearer is what it makes."""
    failed, judged, ways = [], 0, dict(WAYS)
    for network in generated_floats()[::2]:
        with tempfile.TemporaryDirectory() as work:
            try:
                judge = Judge(tools, network, work)
                int8, finer, half = (judge(quantised(tools, network, f"{work}/made.tflite", ways[way] + (RANDOM if "int" in way else [])))[0]
                                     for way in ("int8", "int16x8", "float16"))
            except (subprocess.CalledProcessError, ZeroDivisionError):
                continue  # every_quantized.py looks at what cannot be made or run
        if math.isnan(int8 + finer + half):
            continue  # its float outputs have NaN, beside which there is no error
        judged += 1
        print(f"{os.path.basename(network)}: int8 {int8:.2f} %, int16x8 {finer:.2f} %, float16 {half:.3f} %")
        if int8 > 20 or finer > max(1.1 * int8, 0.01) or half > 3:  # weights are random, and what is deep makes much of a rounding
            failed.append(os.path.basename(network))
    print(f"models: {judged} generated networks in three schemes")
    sys.exit(f"FAILED: {', '.join(failed) or 'too few'}" if failed or judged < 12 else 0)


def published_figures(tools, shared, ones=True):
    for source, other, scheme, data in PUBLISHED:
        network = os.path.join(shared, source + ".tflite")
        with tempfile.TemporaryDirectory() as work:
            records = data if data == "random" else os.path.join(shared, data)
            judge, options = Judge(tools, network, work, records), ["--scheme", scheme, "--input_data", records]
            figures = [judge(os.path.join(shared, other + ".tflite")),
                       judge(quantised(tools, network, f"{work}/ours.tflite", options)),
                       judge(quantised(tools, network, f"{work}/corrected.tflite", options + ["--bias-correction"]))]
            if scheme == "int8" and ones:
                figures.append(judge(as_one(tools, network, work, records)))
        yield os.path.basename(other), figures


def published(tools, shared):
    lines = ["| published | its error | ours | … biases corrected | ONE's uint8, by channel |", "|---|---|---|---|---|"]
    for other, figures in published_figures(tools, shared):
        lines.append(f"| {other} | " + " | ".join(map(cell, figures)) + (" |" if len(figures) == 4 else " | |"))
    return "\n".join(lines) + "\n"


def by_block(tools, shared):
    lines = ["| | " + " | ".join(way for way, _ in BLOCKS) + " |", "|---|" + "---|" * len(BLOCKS)]
    for source in DENSE:
        network, cells = os.path.join(shared, source + ".tflite"), []
        with tempfile.TemporaryDirectory() as work:
            judge = Judge(tools, network, work)
            for _, options in BLOCKS:
                made = quantised(tools, network, f"{work}/made.tflite",
                                 ["--scheme", "dynamic", "--weight_bits", "4", *options])
                cells.append(cell(judge(made)))
        lines.append(f"| {os.path.basename(source).removesuffix('_f32')} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    tools = os.path.realpath(sys.argv[1])
    if sys.argv[2:] == ["--check", "networks"]:
        generated(tools)
    shared = public_folder("models")
    if sys.argv[2:] == ["--check", "models"]:
        check(tools, shared)
    tables = {"accuracy": by_way(tools, shared), "blocks": by_block(tools, shared), "published": published(tools, shared)}
    if len(sys.argv) < 3:
        print("\n".join(tables.values()), end="")
        return
    write_tables(sys.argv[2], tables)


if __name__ == "__main__":
    main()
