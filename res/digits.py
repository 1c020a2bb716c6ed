#!/usr/bin/env python3
"""Draws digits, trains a small classifier of them, quantises it, and tells how many it reads right before and after.

usage: digits.py BIN [FOLDER]     FOLDER (default: digits) gets digits.origo, images/ for calibration, test/, and the results

The images are strokes of random place, size, slant and thickness, 14 by 14 pixels with noise. The classifier is a convolution with
random filters, the greatest of each 2 by 2, and one linear layer that least squares give in closed form. Nothing but Python's own library.
"""

import math
import operator
import os
import random
import struct
import subprocess
import sys

SIZE, FILTERS, POOLED = 14, 6, 6
STROKES = [  # of each digit, in a box of 1 by 1
    [[(0.5, 0), (0.1, 0.3), (0.1, 0.7), (0.5, 1), (0.9, 0.7), (0.9, 0.3), (0.5, 0)]],
    [[(0.25, 0.25), (0.55, 0), (0.55, 1)]],
    [[(0.1, 0.2), (0.5, 0), (0.9, 0.25), (0.1, 1), (0.9, 1)]],
    [[(0.1, 0.1), (0.6, 0), (0.85, 0.25), (0.45, 0.5), (0.9, 0.75), (0.6, 1), (0.1, 0.9)]],
    [[(0.7, 1), (0.7, 0), (0.1, 0.65), (0.95, 0.65)]],
    [[(0.85, 0), (0.2, 0), (0.15, 0.45), (0.6, 0.4), (0.9, 0.7), (0.6, 1), (0.1, 0.9)]],
    [[(0.75, 0), (0.25, 0.4), (0.15, 0.75), (0.5, 1), (0.85, 0.75), (0.5, 0.5), (0.2, 0.65)]],
    [[(0.1, 0), (0.9, 0), (0.4, 1)]],
    [[(0.5, 0.47), (0.15, 0.25), (0.5, 0), (0.85, 0.25), (0.5, 0.47), (0.1, 0.75), (0.5, 1), (0.9, 0.75), (0.5, 0.47)]],
    [[(0.8, 0.35), (0.5, 0.5), (0.15, 0.25), (0.5, 0), (0.85, 0.25), (0.8, 0.6), (0.4, 1)]],
]


def distance(px, py, a, b):
    (ax, ay), (bx, by) = a, b
    dx, dy = bx - ax, by - ay
    t = max(0, min(1, ((px - ax) * dx + (py - ay) * dy) / (dx * dx + dy * dy)))
    return math.hypot(px - ax - t * dx, py - ay - t * dy)


def draw(digit, rng):
    """Pixels from 0 to 255."""
    width, height = rng.uniform(5, 9), rng.uniform(8, 11)
    left, top = rng.uniform(1, SIZE - 2 - width), rng.uniform(1, SIZE - 2 - height)
    slant, thickness = rng.uniform(-0.25, 0.25), rng.uniform(0.6, 1.2)
    segments = []
    for stroke in STROKES[digit]:
        points = [(left + width * x + slant * height * (0.5 - y) + rng.uniform(-0.4, 0.4),
                   top + height * y + rng.uniform(-0.4, 0.4)) for x, y in stroke]
        segments += zip(points, points[1:])
    pixels = []
    for y in range(SIZE):
        for x in range(SIZE):
            near = min(distance(x, y, a, b) for a, b in segments)
            ink = max(0.0, min(1.0, thickness + 0.5 - near))
            pixels.append(round(255 * max(0.0, min(1.0, ink + rng.uniform(-0.15, 0.15)))))
    return pixels


def write_bmp(path, pixels):
    row = (3 * SIZE + 3) // 4 * 4
    data = b"".join(b"".join(bytes([p] * 3) for p in pixels[SIZE * y:SIZE * (y + 1)]).ljust(row, b"\0")
                    for y in reversed(range(SIZE)))
    header = struct.pack("<IiiHHIIiiII", 40, SIZE, SIZE, 1, 24, 0, len(data), 2835, 2835, 0, 0)
    with open(path, "wb") as file:
        file.write(struct.pack("<2sIHHI", b"BM", 54 + len(data), 0, 0, 54) + header + data)


def features(pixels, filters, biases):
    """What the linear layer sees: relu of each filter at each place, and of each 2 by 2 the greatest."""
    x = [p / 255 for p in pixels]
    side = SIZE - 2
    patches = [x[SIZE * r + c:SIZE * r + c + 3] + x[SIZE * (r + 1) + c:SIZE * (r + 1) + c + 3] +
               x[SIZE * (r + 2) + c:SIZE * (r + 2) + c + 3] for r in range(side) for c in range(side)]
    maps = [[max(0.0, sum(map(operator.mul, f, patch)) + b) for patch in patches] for f, b in zip(filters, biases)]
    return [max(m[side * (2 * r + i) + 2 * c + j] for i in (0, 1) for j in (0, 1))
            for r in range(POOLED) for c in range(POOLED) for m in maps]


def solve(matrix, columns):
    """Solves a symmetric positive definite system for each of the columns (Cholesky)."""
    n, lower = len(matrix), []
    for i in range(n):
        row = []
        for j in range(i + 1):
            rest = matrix[i][j] - sum(map(operator.mul, row, lower[j] if j < i else row))
            row.append(math.sqrt(rest) if i == j else rest / lower[j][j])
        lower.append(row)
    upper = [[lower[i][j] for i in range(j, n)] for j in range(n)]
    solutions = []
    for column in columns:
        y = []
        for i in range(n):
            y.append((column[i] - sum(map(operator.mul, lower[i], y))) / lower[i][i])
        z = [0.0] * n
        for i in reversed(range(n)):
            z[i] = (y[i] - sum(map(operator.mul, upper[i][1:], z[i + 1:]))) / upper[i][0]
        solutions.append(z)
    return solutions


def train(images, labels, rng):
    filters = [[rng.gauss(0, 0.4) for _ in range(9)] for _ in range(FILTERS)]
    biases = [rng.uniform(-0.2, 0.2) for _ in range(FILTERS)]
    seen = [features(image, filters, biases) + [1.0] for image in images]
    # Ridge regression by the products of images, which are fewer than those of features would be.
    products = [[sum(map(operator.mul, a, b)) for b in seen[:i + 1]] for i, a in enumerate(seen)]
    for i, row in enumerate(products):
        row[i] += 1.0
    targets = [[10.0 if label == digit else 0.0 for label in labels] for digit in range(10)]
    columns = list(zip(*seen))
    linear = [[sum(map(operator.mul, column, dual)) for column in columns] for dual in solve(products, targets)]
    return filters, biases, [row[:-1] for row in linear], [row[-1] for row in linear]


def model(filters, biases, weights, offsets):
    def listed(numbers):
        return "[" + ", ".join(f"{number:.7g}" for number in numbers) + "]"

    side = SIZE - 2
    inputs = POOLED * POOLED * FILTERS
    return f"""origo 1
model tflite version 3 description "digits of {SIZE} by {SIZE} pixels, from 0 to 1"
subgraph @main(%image: f32[1,{SIZE},{SIZE},1]) -> (%scores) {{
  %filters: f32[{FILTERS},3,3,1] = const {listed(sum(filters, []))}
  %thresholds: f32[{FILTERS}] = const {listed(biases)}
  %weights: f32[10,{inputs}] = const {listed(sum(weights, []))}
  %offsets: f32[10] = const {listed(offsets)}
  %sizes: i32[2] = const [1, {inputs}]
  %strokes: f32[1,{side},{side},{FILTERS}] = CONV_2D(%image, %filters, %thresholds) {{padding=VALID, stride_w=1, stride_h=1, fused_activation_function=RELU}}
  %places: f32[1,{POOLED},{POOLED},{FILTERS}] = MAX_POOL_2D(%strokes) {{padding=VALID, stride_w=2, stride_h=2, filter_width=2, filter_height=2}}
  %list: f32[1,{inputs}] = RESHAPE(%places, %sizes)
  %logits: f32[1,10] = FULLY_CONNECTED(%list, %weights, %offsets)
  %scores: f32[1,10] = SOFTMAX(%logits) {{beta=1.0}}
}}
signature "serving_default" @main inputs("image"=%image) outputs("scores"=%scores)
"""


def right(tools, first, second, folder, labels):
    """How many of the images in a folder each of two models reads right."""
    prefix = os.path.join(folder, "..", "scores")
    subprocess.run([f"{tools}/circle-eval-diff", "--first_model", first, "--second_model", second, "--first_input_data", folder,
                    "--dump_output_with_prefix", prefix, "--print_top1_match"], check=True, stdout=subprocess.DEVNULL)
    counts = []
    for which in ("first", "second"):
        count = 0
        for i, label in enumerate(labels):
            path = f"{prefix}.{i}.{which}.output0"
            with open(path, "rb") as file:
                scores = struct.unpack("<10f", file.read()[-40:])
            os.remove(path)
            count += scores.index(max(scores)) == label
        counts.append(count)
    return counts


def main():
    tools, folder = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "digits"
    rng = random.Random(7)
    for name in ("images", "test"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    labels = [i % 10 for i in range(400)]
    images = [draw(label, rng) for label in labels]
    tests = [i % 10 for i in range(200)]
    for i in range(50):
        write_bmp(os.path.join(folder, "images", f"{i:03}_{labels[i]}.bmp"), images[i])
    for i, label in enumerate(tests):
        write_bmp(os.path.join(folder, "test", f"{i:03}_{label}.bmp"), draw(label, rng))
    network = os.path.join(folder, "digits.tflite")
    with open(os.path.join(folder, "digits.origo"), "w", encoding="utf-8") as file:
        file.write(model(*train(images, labels, rng)))
    subprocess.run([f"{tools}/circle2circle", "--origin=ignore", os.path.join(folder, "digits.origo"), network], check=True,
                   stderr=subprocess.DEVNULL)
    print(f"{len(images)} digits drawn to train on, {len(tests)} others to test with")
    first = True
    for name, options in (("int8", ["--scheme", "int8"]),
                          ("weights of 4 bits", ["--scheme", "weights", "--weight_bits", "4", "--per-channel-dense"]),
                          ("... by GPTQ", ["--scheme", "weights", "--weight_bits", "4", "--per-channel-dense", "--gptq",
                                           "--bias-correction"])):
        made = os.path.join(folder, name.replace(" ", "_").strip("._") + ".tflite")
        subprocess.run([f"{tools}/circle-quantizer", *options, "--input_data", os.path.join(folder, "images"), network, made],
                       check=True, stderr=subprocess.DEVNULL)
        before, after = right(tools, network, made, os.path.join(folder, "test"), tests)
        if first:
            print(f"{'float':18} {100 * before / len(tests):5.1f} % right")
        first = False
        print(f"{name:18} {100 * after / len(tests):5.1f} % right")


if __name__ == "__main__":
    main()
