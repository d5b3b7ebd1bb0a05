# SPDX-License-Identifier: Apache-2.0
"""Line charts with logarithmic axes."""

import math

COLOURS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#000000", "#997700", "#004488", "#bb5566", "#117733"]
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
TICKS = {-3: "0.001", -2: "0.01", -1: "0.1", 0: "1", 1: "10", 2: "100", 3: "1,000"}


def decades(values):
    """The powers of ten that enclose the values."""
    first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return first, max(last, first + 1)


def lines(path, title, across, up, series):
    """{name: [(x, y), …]}, all positive: a line with marks for each name, labelled at its end; the labels keep their order of height
    and a distance. `across` and `up` name the axes. SVG, on white."""
    left, top, width, height, label = 70, 50, 560, 420, 14
    first_x, last_x = decades([x for points in series.values() for x, _ in points])
    first_y, last_y = decades([y for points in series.values() for _, y in points])

    def place(x, y):
        return (left + width * (math.log10(x) - first_x) / (last_x - first_x),
                top + height - height * (math.log10(y) - first_y) / (last_y - first_y))

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 200}" height="{top + height + 60}" font-family="sans-serif" font-size="11">',
             '<rect width="100%" height="100%" fill="#fff"/>', f'<text x="{left}" y="20" font-size="14">{title}</text>',
             f'<text x="{left}" y="{top - 10}">{up}</text>',
             f'<text x="{left + width}" y="{top + height + 40}" text-anchor="end">{across}</text>']
    for power in range(first_x, last_x + 1):
        x, _ = place(10.0 ** power, 10.0 ** first_y)
        parts.append(f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{top + height}" stroke="#ddd"/>'
                     f'<text x="{x:.1f}" y="{top + height + 18}" text-anchor="middle">{tick(power)}</text>')
    for power in range(first_y, last_y + 1):
        _, y = place(10.0 ** first_x, 10.0 ** power)
        parts.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + width}" y2="{y:.1f}" stroke="#ddd"/>'
                     f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{tick(power)}</text>')
    free = top + height + 12
    for i, (name, points) in sorted(enumerate(series.items()), key=lambda item: item[1][1][-1][1]):  # from below
        colour, placed = COLOURS[i % len(COLOURS)], [place(*point) for point in points]
        parts.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in placed)}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in placed]
        free = min(placed[-1][1] + 4, free - label)
        parts.append(f'<text x="{left + width + 12}" y="{free:.1f}" fill="{colour}">{name}</text>')
    path.write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")


def tick(power):
    return TICKS.get(power) or "10" + str(power).translate(SUPERSCRIPTS)
