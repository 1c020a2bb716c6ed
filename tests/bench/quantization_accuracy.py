#!/usr/bin/env python3
"""What each way of quantising costs in accuracy: writes the table of docs/quantization.md.

usage: quantization_accuracy.py BIN [PAGE]      without PAGE the table is printed
ORIGO_SHARED says where the folder with the models is. Ranges come from four seeded records; the errors are on twenty
others: the root of the mean square of the difference to the float model's outputs, over their range, and the share of
inputs for which the greatest number of the first output is at the same place.
"""

import math
import os
import struct
import subprocess
import sys
import tempfile

NETWORKS = ["blazeface_front_f32", "mobilenet_v1_025_128_f32", "mtcnn_rnet_f32", "resnet8_cifar_f32", "vww_96_f32",
            "yunet_f32"]
WAYS = [("int8", ["--scheme", "int8"]), ("int8, per tensor", ["--scheme", "int8", "--per-tensor"]),
        ("… equalised", ["--scheme", "int8", "--per-tensor", "--equalize"]), ("int16x8", ["--scheme", "int16x8"]),
        ("dynamic", ["--scheme", "dynamic"]), ("weights", ["--scheme", "weights"]),
        ("… of 4 bits", ["--scheme", "weights", "--weight_bits", "4"]),
        ("… clipped", ["--scheme", "weights", "--weight_bits", "4", "--clip-weights"]), ("float16", ["--scheme", "float16"])]
SEEDS = range(101, 121)
BEGIN, END = "<!-- accuracy -->\n", "<!-- end of accuracy -->\n"


def read(path):
    """The numbers of a .npy file of float32."""
    with open(path, "rb") as file:
        data = file.read()
    start = 10 + struct.unpack_from("<H", data, 8)[0]
    assert b"'<f4'" in data[:start], path
    return struct.unpack(f"<{(len(data) - start) // 4}f", data[start:])


def outputs(tools, model, seed, folder):
    os.makedirs(folder, exist_ok=True)
    subprocess.run([f"{tools}/circle-interpreter", "--engine=fast", f"--seed={seed}", f"--outputs={folder}", model],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return [read(os.path.join(folder, name)) for name in sorted(os.listdir(folder))]


def main():
    tools = os.path.realpath(sys.argv[1])
    shared = os.environ.get("ORIGO_SHARED") or os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../../shared")
    rows = []
    with tempfile.TemporaryDirectory() as work:
        for network in NETWORKS:
            model = os.path.join(shared, "models", network + ".tflite")
            wanted = {seed: outputs(tools, model, seed, f"{work}/{network}.{seed}") for seed in SEEDS}
            cells = []
            for i, (_, options) in enumerate(WAYS):
                made = f"{work}/{network}.{i}.tflite"
                data = ["--input_data", "random"] if "int" in options[1] else []
                subprocess.run([f"{tools}/circle-quantizer", *options, *data, model, made], check=True,
                               stderr=subprocess.DEVNULL)
                errors, agreed = [], 0
                for seed, want in wanted.items():
                    have = outputs(tools, made, seed, f"{work}/{network}.{i}.{seed}")
                    for a, b in zip(want, have):
                        span = max(a) - min(a) or 1
                        errors.append(math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b)) / len(a)) / span)
                    agreed += max(range(len(want[0])), key=want[0].__getitem__) == max(range(len(have[0])),
                                                                                       key=have[0].__getitem__)
                cells.append(f"{100 * sum(errors) / len(errors):.2f} %, {100 * agreed // len(wanted)}")
            rows.append(f"| {network.removesuffix('_f32')} | " + " | ".join(cells) + " |")
    table = ("| | " + " | ".join(name for name, _ in WAYS) + " |\n|---|" + "---|" * len(WAYS) + "\n" +
             "\n".join(rows) + "\n")
    if len(sys.argv) < 3:
        print(table, end="")
        return
    with open(sys.argv[2], encoding="utf-8") as file:
        page = file.read()
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(before + BEGIN + table + END + after)


if __name__ == "__main__":
    main()
