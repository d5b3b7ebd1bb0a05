# SPDX-License-Identifier: Apache-2.0
"""Grouped bar charts, like the papers' charts of times of several programs on several inputs."""

COLOURS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377"]  # distinguishable with colour blindness too


def bars(path, title, groups, names, values):
    """{(group, name): value}: a group of bars each, the figure above each bar; missing values are skipped. SVG, on
    white."""
    groups = [group for group in groups if any((group, name) in values for name in names)]
    if not groups:
        return
    most = max(values[group, name] for group in groups for name in names if (group, name) in values) or 1
    wide, high, left, top = 28, 220, 40, 56
    step = wide * len(names) + 24
    width, floor = left + step * len(groups) + 20, top + high
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{floor + 40}" font-family="sans-serif" font-size="11">',
             '<rect width="100%" height="100%" fill="#fff"/>', f'<text x="{left}" y="20" font-size="14">{title}</text>']
    for i, name in enumerate(names):
        parts.append(f'<rect x="{left + 110 * i}" y="30" width="11" height="11" fill="{COLOURS[i]}"/>'
                     f'<text x="{left + 110 * i + 16}" y="40">{name}</text>')
    for g, group in enumerate(groups):
        x = left + g * step
        for i, name in enumerate(names):
            if (group, name) not in values:
                continue
            value = values[group, name]
            tall = high * value / most
            parts.append(f'<rect x="{x + i * wide}" y="{floor - tall:.1f}" width="{wide - 2}" height="{tall:.1f}" fill="{COLOURS[i]}"/>'
                         f'<text x="{x + i * wide + wide / 2 - 1}" y="{floor - tall - 3:.1f}" text-anchor="middle" font-size="8">{value:.3g}</text>')
        parts.append(f'<text x="{x + step / 2 - 12}" y="{floor + 16}" text-anchor="middle">{group}</text>')
    parts.append(f'<line x1="{left - 6}" y1="{floor}" x2="{width - 10}" y2="{floor}" stroke="#000"/>')
    path.write_text("\n".join([*parts, "</svg>"]) + "\n")
