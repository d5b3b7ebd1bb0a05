# SPDX-License-Identifier: Apache-2.0
"""Heat maps of times over blocks × threads, like the thesis's."""


def heat_map(path, title, times):
    """{(blocks, threads): seconds}: one square a measurement, from fast (dark) to slow (light), milliseconds in it, as an SVG picture."""
    blocks, threads = sorted({b for b, _ in times}), sorted({t for _, t in times})
    least, most = min(times.values()), max(times.values())
    side, left, top = 34, 60, 40
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + side * len(blocks) + 20}" height="{top + side * len(threads) + 50}"'
             ' font-family="sans-serif" font-size="10">',
             f'<text x="{left}" y="20" font-size="13">{title}, blocks × threads</text>']
    for (b, t), seconds in times.items():
        x, y = left + side * blocks.index(b), top + side * (len(threads) - 1 - threads.index(t))
        share = ((seconds - least) / (most - least or 1)) ** 0.5
        parts.append(f'<rect x="{x}" y="{y}" width="{side}" height="{side}" fill="hsl(215,70%,{25 + 70 * share:.0f}%)"/>'
                     f'<text x="{x + side / 2}" y="{y + side / 2 + 3}" text-anchor="middle" fill="{"#fff" if share < 0.5 else "#000"}">'
                     f"{seconds * 1e3:.3g}</text>")
    parts += [f'<text x="{left + side * (i + 0.5)}" y="{top + side * len(threads) + 15}" text-anchor="middle">{b}</text>'
              for i, b in enumerate(blocks)]
    parts += [f'<text x="{left - 6}" y="{top + side * (len(threads) - i - 0.5) + 3}" text-anchor="end">{t}</text>' for i, t in enumerate(threads)]
    path.write_text("\n".join([*parts, "</svg>"]) + "\n")
