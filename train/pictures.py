"""Synthetic pictures: shapes on a plain ground, described by a spec and drawn with whole numbers only.

Every pixel is decided by integer comparisons, so drawing plainly, with NumPy and with PyTorch on any device gives the same bytes.
384 x 384 pixels are 24 x 24 patches of 16, and so 64 soft tokens, without any resizing under a budget of 70.
"""

from __future__ import annotations

import math
import random
from functools import lru_cache
from typing import Any

try:
    import numpy as np
except ImportError:  # specs and plain_rows() need none
    np = None

Spec = dict[str, Any]
SIDE = 384
SOFT_TOKENS = 64
CELL = SIDE // 3
MAX_OBJECTS = 4
MAX_PLANES = 8
FAR = 1 << 28

SHAPES = ["circle", "square", "triangle", "star", "diamond", "cross", "ring"]
COLOURS = {"red": (220, 30, 30), "green": (20, 150, 40), "blue": (30, 60, 220), "yellow": (245, 215, 20), "orange": (250, 130, 10),
           "purple": (130, 30, 160), "pink": (250, 150, 190), "black": (10, 10, 10), "white": (250, 250, 250), "brown": (120, 70, 25)}
GROUNDS = {"white": (250, 250, 250), "black": (10, 10, 10), "gray": (150, 150, 150), "yellow": (245, 215, 20), "blue": (30, 60, 220), "green": (20, 150, 40)}
GROUND_WEIGHTS = [40, 20, 20, 7, 7, 6]
PLACES = ["top left", "top", "top right", "left", "middle", "right", "bottom left", "bottom", "bottom right"]
SIZES = {"small": (29, 35), "large": (48, 56)}
JITTER = 8


def shaded(rgb: tuple[int, int, int], rng: random.Random) -> list[int]:
    """The colour, a little lighter or darker."""
    return [min(255, max(0, channel + rng.randint(-9, 9))) for channel in rgb]


def spec(rng: random.Random) -> Spec:
    """One to four objects in different cells of a 3 x 3 grid, no two alike in shape and colour."""
    ground = rng.choices(list(GROUNDS), weights=GROUND_WEIGHTS)[0]
    count = rng.choices([1, 2, 3, 4], weights=[30, 32, 22, 16])[0]
    cells = sorted(rng.sample(range(9), count))
    colours = [name for name in COLOURS if name != ground]
    objects: list[dict[str, Any]] = []
    for cell in cells:
        while True:
            shape, colour = rng.choice(SHAPES), rng.choice(colours)
            if all((shape, colour) != (other["shape"], other["colour"]) for other in objects):
                break
        size = rng.choice(list(SIZES))
        objects.append({"shape": shape, "colour": colour, "size": size, "place": PLACES[cell], "rgb": shaded(COLOURS[colour], rng),
                        "x": cell % 3 * CELL + CELL // 2 + rng.randint(-JITTER, JITTER), "y": cell // 3 * CELL + CELL // 2 + rng.randint(-JITTER, JITTER),
                        "r": rng.randint(*SIZES[size])})
    return {"background": ground, "rgb": shaded(GROUNDS[ground], rng), "objects": objects}


def key_of(picture: Spec) -> str:
    """What the picture shows, without the small accidents of drawing: pictures with the same key fall into the same split."""
    return "picture " + picture["background"] + " " + "; ".join(f"{one['size']} {one['colour']} {one['shape']} {one['place']}" for one in picture["objects"])


def corner(radius: int, degrees: float) -> tuple[int, int]:
    return round(radius * math.cos(math.radians(degrees))), round(radius * math.sin(math.radians(degrees)))


def plane(p: tuple[int, int], q: tuple[int, int]) -> tuple[int, int, int]:
    """(a, b, c) of the line through p and q, with a*x + b*y + c >= 0 on the side of the origin."""
    a, b = p[1] - q[1], q[0] - p[0]
    c = -(a * p[0] + b * p[1])
    return (a, b, c) if c >= 0 else (-a, -b, -c)


def box(half: int) -> list[tuple[int, int, int]]:
    return [(1, 0, half), (-1, 0, half), (0, 1, half), (0, -1, half)]


@lru_cache(maxsize=None)
def outline(shape: str, radius: int) -> tuple[list[tuple[int, int, int]], int, int, int]:
    """Half planes around the origin, how many of them must hold, and the squares of the outer and inner radius."""
    if shape == "circle":
        return [], 0, radius * radius, -1
    if shape == "ring":
        return [], 0, radius * radius, (radius * 11 // 20) ** 2
    if shape == "square":
        return box(radius * 17 // 20), 4, FAR, -1
    if shape == "cross":
        return box(radius) + box(radius * 3 // 10), 7, FAR, -1
    if shape == "diamond":
        corners = [(radius, 0), (0, radius), (-radius, 0), (0, -radius)]
        return [plane(corners[i], corners[(i + 1) % 4]) for i in range(4)], 4, FAR, -1
    if shape == "triangle":
        corners = [corner(radius, angle) for angle in (-90, 30, 150)]
        return [plane(corners[i], corners[(i + 1) % 3]) for i in range(3)], 3, FAR, -1
    if shape == "star":
        corners = [corner(radius, -90 + 72 * i) for i in range(5)]
        return [plane(corners[i], corners[(i + 2) % 5]) for i in range(5)], 4, FAR, -1
    raise ValueError(f"no such shape: {shape}")


def object_row(one: dict[str, Any]) -> tuple[list[int], list[list[int]]]:
    """An object as numbers: [x, y, needed, outer, inner, r, g, b] and its half planes, padded with ones that never hold."""
    planes, needed, outer, inner = outline(one["shape"], one["r"])
    rows = [list(row) for row in planes] + [[0, 0, -1]] * (MAX_PLANES - len(planes))
    return [one["x"], one["y"], needed, outer, inner, *one["rgb"]], rows


def plain_rows(picture: Spec) -> list[bytes]:
    """The rows of render(), three bytes a pixel, by Python alone."""
    rows = [bytearray(bytes(picture["rgb"]) * SIDE) for _ in range(SIDE)]
    for one in picture["objects"]:
        (x, y, needed, outer, inner, *rgb), _ = object_row(one)
        planes = outline(one["shape"], one["r"])[0]
        low, high = -one["r"] - 1, one["r"] + 2
        for dy in range(max(low, -y), min(high, SIDE - y)):
            for dx in range(max(low, -x), min(high, SIDE - x)):
                if inner <= dx * dx + dy * dy <= outer and sum(a * dx + b * dy + c >= 0 for a, b, c in planes) >= needed:
                    rows[y + dy][3 * (x + dx):3 * (x + dx) + 3] = bytes(rgb)
    return [bytes(row) for row in rows]


def render(picture: Spec) -> np.ndarray:
    """The picture as uint8 [384, 384, 3]."""
    pixels = np.empty((SIDE, SIDE, 3), np.uint8)
    pixels[:] = np.array(picture["rgb"], np.uint8)
    for one in picture["objects"]:
        (x, y, needed, outer, inner, *rgb), planes = object_row(one)
        dx = np.arange(SIDE, dtype=np.int32)[None, :] - x
        dy = np.arange(SIDE, dtype=np.int32)[:, None] - y
        distance = dx * dx + dy * dy
        held = np.zeros((SIDE, SIDE), np.int32)
        for a, b, c in planes:
            held += a * dx + b * dy + c >= 0
        pixels[(held >= needed) & (distance <= outer) & (distance >= inner)] = rgb
    return pixels


def specs_to_arrays(pictures: list[Spec]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Grounds [n, 3], objects [n, 4, 8] and half planes [n, 4, 8, 3], all int32; an absent object needs more than can hold."""
    grounds = np.array([picture["rgb"] for picture in pictures], np.int32)
    objects = np.zeros((len(pictures), MAX_OBJECTS, 8), np.int32)
    objects[:, :, 2] = MAX_PLANES + 1
    planes = np.zeros((len(pictures), MAX_OBJECTS, MAX_PLANES, 3), np.int32)
    for number, picture in enumerate(pictures):
        for place, one in enumerate(picture["objects"]):
            objects[number, place], planes[number, place] = object_row(one)
    return grounds, objects, planes


def draw_torch(grounds: Any, objects: Any, planes: Any) -> Any:
    """The pictures of specs_to_arrays() as a uint8 tensor [n, 384, 384, 3], on the device that holds the arrays."""
    import torch

    axis = torch.arange(SIDE, dtype=torch.int32, device=grounds.device)
    pixels = grounds[:, None, None, :].to(torch.uint8).expand(-1, SIDE, SIDE, -1)
    for place in range(MAX_OBJECTS):
        one = objects[:, place]
        dx = axis[None, None, :] - one[:, 0, None, None]
        dy = axis[None, :, None] - one[:, 1, None, None]
        distance = dx * dx + dy * dy
        held = torch.zeros_like(distance)
        for number in range(MAX_PLANES):
            a, b, c = (planes[:, place, number, part, None, None] for part in range(3))
            held = held + (a * dx + b * dy + c >= 0).to(torch.int32)
        inside = (held >= one[:, 2, None, None]) & (distance <= one[:, 3, None, None]) & (distance >= one[:, 4, None, None])
        colour = one[:, 5:8].to(torch.uint8)[:, None, None, :]
        pixels = torch.where(inside[..., None], colour, pixels)
    return pixels


def render_batch_torch(pictures: list[Spec], device: Any) -> Any:
    """The pictures as a uint8 tensor [n, 384, 384, 3] on `device`: the same bytes as render()."""
    import torch

    return draw_torch(*(torch.from_numpy(array).to(device) for array in specs_to_arrays(pictures)))


def patches(pixels: np.ndarray, size: int = 16) -> np.ndarray:
    """Patches in row-major order, [n, size*size*3], inside a patch by row, column, channel."""
    across = pixels.shape[1] // size
    cut = pixels.reshape(pixels.shape[0] // size, size, across, size, 3).transpose(0, 2, 1, 3, 4)
    return cut.reshape(-1, size * size * 3)
