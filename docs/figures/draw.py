#!/usr/bin/env python3
"""Draws the graphs of docs/performance.md from the JSON of `outrider bench`, kept in docs/measurements.

    docs/figures/draw.py            # writes docs/figures/*.svg
"""
import json
import pathlib

HERE = pathlib.Path(__file__).parent
DATA = HERE.parent / "measurements"
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 720, 400, 60, 40, 190, 50
COLOURS = ["#1b6ca8", "#d1495b", "#2e933c", "#8d6a9f", "#e0a100", "#555555"]
# Qwen3-4B shape, 4 bits, one sequence, two threads, on the same kind of machine (docs/performance.md).
PEERS = {"llama.cpp Q4_0": [(1, 1), (2, 121 / 70.4), (4, 178 / 70.4), (6, 275 / 70.4), (8, 315 / 70.4)],
         "ik_llama.cpp Q4_0": [(1, 1), (2, 95.2 / 57.9), (4, 122 / 57.9), (6, 156 / 57.9), (8, 196 / 57.9)]}


def load(name):
    path = DATA / (name + ".json")
    if not path.exists():
        return {}
    report = json.loads(path.read_text())
    return {part["part"]: {f["name"]: f for f in part["figures"]} for part in report["parts"]}


def verify_curve(name):
    curve = []
    for label, figure in load(name).get("verify", {}).items():
        words = label.split()
        if label.endswith("of one sequence over 1"):
            curve.append((int(words[0]), figure["median"]))
    return sorted(curve)


def svg(parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
            f'font-size="13">\n<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n'
            + "\n".join(parts) + "\n</svg>\n")


def text(x, y, words, anchor="start", colour="#222", size=13):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}">{words}</text>'


def line(points, colour, dash=""):
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'


def line_chart(title, curves, x_name, y_name, x_most, y_most):
    plot_width, plot_height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    at = lambda x, y: (LEFT + (x - 1) / (x_most - 1) * plot_width, TOP + plot_height - y / y_most * plot_height)
    parts = [text(LEFT, 22, title, size=15)]
    for tick in range(int(y_most) + 1):
        x, y = at(1, tick)
        parts += [line([(x, y), (LEFT + plot_width, y)], "#ddd"), text(LEFT - 8, y + 4, tick, "end")]
    for tick in (1, 2, 4, 6, 8, 12, 16):
        if tick <= x_most:
            parts.append(text(at(tick, 0)[0], TOP + plot_height + 18, tick, "middle"))
    parts += [text(LEFT + plot_width / 2, HEIGHT - 12, x_name, "middle"), text(8, TOP - 6, y_name, size=12)]
    for i, (name, points, dash) in enumerate(curves):
        colour = COLOURS[i % len(COLOURS)]
        parts.append(line([at(x, min(y, y_most)) for x, y in points], colour, dash))
        x, y = WIDTH - RIGHT + 12, TOP + 10 + 20 * i
        parts += [line([(x, y), (x + 24, y)], colour, dash), text(x + 30, y + 4, name, size=12)]
    return svg(parts)


def bar_chart(title, bars, y_name, y_most, mark):
    plot_width, plot_height = WIDTH - LEFT - 20, HEIGHT - TOP - BOTTOM
    parts = [text(LEFT, 22, title, size=15), text(8, TOP - 6, y_name, size=12)]
    height = lambda value: value / y_most * plot_height
    for tick in (0, 0.25, 0.5, 0.75, 1):
        y = TOP + plot_height - height(tick)
        parts += [line([(LEFT, y), (LEFT + plot_width, y)], "#ddd"), text(LEFT - 8, y + 4, f"{tick:.0%}", "end")]
    step = plot_width / max(1, len(bars))
    for i, (name, value, group) in enumerate(bars):
        x, y = LEFT + i * step, TOP + plot_height - height(value)
        parts.append(f'<rect x="{x + 6:.1f}" y="{y:.1f}" width="{step - 12:.1f}" height="{height(value):.1f}" '
                     f'fill="{COLOURS[group % len(COLOURS)]}"/>')
        parts += [text(x + step / 2, y - 5, f"{value:.0%}", "middle", size=11),
                  text(x + step / 2, TOP + plot_height + 16, name.split()[0], "middle", size=11),
                  text(x + step / 2, TOP + plot_height + 32, name.split()[1], "middle", size=11)]
    y = TOP + plot_height - height(mark)
    parts.append(line([(LEFT, y), (LEFT + plot_width, y)], "#222", "5 4"))
    return svg(parts)


MODELS = [("0.6B", "qwen3-0.6b"), ("4B", "qwen3-4b"), ("30B-A3B", "qwen3-30b-a3b")]
FORMATS = ["bf16", "int8", "int4"]


def main():
    curves = [(f"Outrider {label}", verify_curve(f"qwen3-4b-{label}"), "") for label in FORMATS]
    curves = [c for c in curves if c[1]] + [(name, points, "6 4") for name, points in PEERS.items()]
    (HERE / "verify.svg").write_text(line_chart("Rows of one sequence over one row, Qwen3-4B shape", curves, "rows",
                                                "times the cost of one row", 16, 5))
    bars = []
    for group, (name, stem) in enumerate(MODELS):
        for label in FORMATS:
            figure = load(f"{stem}-{label}").get("decode", {}).get("weights and cache per second over probed")
            if figure:
                bars.append((f"{name} {label}", figure["median"], group))
    (HERE / "decode.svg").write_text(bar_chart("Decoding: bytes read per second over the probed bandwidth", bars,
                                               "share", 1.1, 0.9))


if __name__ == "__main__":
    main()
