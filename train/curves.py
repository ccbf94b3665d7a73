"""Loss curves of run logs as a small SVG: `python3 -m train.curves OUT.svg LOG.jsonl:KEY[:LABEL] ...`."""
from __future__ import annotations

import json
import math
import sys
from pathlib import Path

WIDTH, HEIGHT, LEFT, BOTTOM, RIGHT, TOP = 640, 260, 46, 32, 110, 14
COLOURS = ["#1f6feb", "#d1242f", "#1a7f37", "#8250df", "#bf8700"]


def read_curve(argument: str) -> tuple[str, list[tuple[float, float]]]:
    path, key, *label = argument.split(":")
    rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
    return (label[0] if label else key), [(row["step"], row[key]) for row in rows]


def svg(curves: list[tuple[str, list[tuple[float, float]]]]) -> str:
    """One line per curve; the loss axis is logarithmic."""
    last = max(x for _, points in curves for x, _ in points)
    values = [max(y, 1e-3) for _, points in curves for _, y in points]
    low, high = math.log(min(values) * 0.95), math.log(min(max(values), 10.0))
    place_x = lambda x: LEFT + (WIDTH - LEFT - RIGHT) * x / last
    place_y = lambda y: TOP + (HEIGHT - TOP - BOTTOM) * (high - min(math.log(max(y, 1e-3)), high)) / (high - low)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for tick in (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5):
        if low <= math.log(tick) <= high:
            y = place_y(tick)
            parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/><text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for part in range(5):
        x = place_x(last * part / 4)
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{last * part / 4:.0f}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 3}" text-anchor="middle">step</text>')
    for number, (label, points) in enumerate(curves):
        colour = COLOURS[number % len(COLOURS)]
        line = "L".join(f"{place_x(x):.1f} {place_y(y):.1f}" for x, y in points)
        parts.append(f'<path d="M{line}" fill="none" stroke="{colour}" stroke-width="1.4"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 6}" y="{TOP + 14 + 16 * number}" fill="{colour}">{label}</text>')
    return "\n".join(parts) + "\n</svg>\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(svg([read_curve(argument) for argument in sys.argv[2:]]))
