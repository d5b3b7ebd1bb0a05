# SPDX-License-Identifier: Apache-2.0
"""The summary of docs/results.md: rows of bench/summary.toml, with the numbers that the sections have; and its goals, of
bench/goals.toml."""
import pathlib
import re
import tomllib

SPEC = pathlib.Path(__file__).with_name("summary.toml")
GOALS = pathlib.Path(__file__).with_name("goals.toml")
NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?")


def cells(line):
    return [cell.strip().strip("*") for cell in line.strip().strip("|").split("|")]


def tables(section):
    """Each table as a list of its lines: the cells by the header of their column, and in their order."""
    header, lines = None, []
    for line in [*section.splitlines(), ""]:
        if not line.startswith("|"):
            if header:
                yield lines
            header = None
        elif header is None:
            header, lines = cells(line), []
        elif not re.fullmatch(r"[|\s:-]+", line):
            lines.append((dict(zip(header, cells(line))), cells(line)))


def cell(section, column, row, table=1, after=""):
    """The text of a cell, of what follows `after` in it, in the table-th table that has the cell."""
    found = [
        next(named[column] for named, values in lines if column in named and set(row) <= set(values))
        for lines in tables(section)
        if any(column in named and set(row) <= set(values) for named, values in lines)
    ]
    if len(found) < table:
        raise LookupError(f"no cell in column {column!r}, row {row}")
    text = found[table - 1]
    if after not in text:
        raise LookupError(f"no {after!r} in the cell {text!r}")
    return text.partition(after)[2] if after else text


def printed(text):
    """The first number of a cell, as it stands there."""
    found = NUMBER.search(text)
    if not found:
        raise LookupError(f"no number in the cell {text!r}")
    return found[0]


def number(text):
    return float(printed(text).replace(",", ""))


def place(section):
    """The device of a section, from the line that names commit and machine."""
    line = re.search(r"^\*.*\*$", section, flags=re.M)
    gpu = re.search(r"NVIDIA ([A-Z]\d+)", line[0]) if line else None
    return gpu[1] if gpu else "CPU"


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def link(row, section):
    heading = re.search(r"^## (.+)$", section, flags=re.M)[1]
    return f"[{row['what']}](#{anchor(heading)})"


def line_of(row, section):
    ours, peer = cell(section, **row["ours"]), cell(section, **row["peer"])
    ratio = number(ours) / number(peer) if row.get("more") else number(peer) / number(ours)
    limit = ""
    if "share" in row:
        share = cell(section, **row["share"])
        value = number(share)
        if row.get("floor"):
            value = 100 * value / number(ours)
        elif "%" not in share:
            value *= 100
        limit = f"{value:.0f} % of {row['limit']}"
    day = re.search(r"\d{4}-\d\d-\d\d", section)
    unit = f" {row['unit']}" if row["unit"] else ""
    return (
        f"| {link(row, section)} | {place(section)} | {printed(ours)}{unit} | {printed(peer)}{unit}, "
        f"{row['name']} | {ratio:.2f}× | {limit} | {day[0] if day else ''} |"
    )


def goal_line(row, section):
    reached = number(cell(section, **row["reached"]))
    if "per" in row:
        reached /= number(cell(section, **row["per"]))
        text = f"{reached:.2f}"
    else:
        text = printed(cell(section, **row["reached"]))
    met = reached >= row["goal"] if row.get("more") else reached <= row["goal"]
    unit = "×" if row["unit"] == "×" else f" {row['unit']}"
    why = "reached" if met else row["why"]
    return f"| {link(row, section)} | {place(section)} | {row['goal']:g}{unit} | {text}{unit} | {why} |"


def rows_of(spec, key, line, sections):
    """The lines of a table and the complaints about rows that no section has the numbers of."""
    lines, complaints = [], []
    for row in tomllib.loads(spec.read_text())[key]:
        section = sections.get(row["section"])
        if section is None:
            complaints.append(f"{row['what']}: there is no section {row['section']}")
            continue
        try:
            lines.append(line(row, section))
        except LookupError as error:
            complaints.append(f"{row['what']}: section {row['section']}: {error}")
    return "\n".join(lines) + "\n", complaints


def summary(sections):
    """The Markdown of the summary and the goals, and the complaints about their rows."""
    rows, complaints = rows_of(SPEC, "row", line_of, sections)
    goals, more_complaints = rows_of(GOALS, "goal", goal_line, sections)
    text = (
        "## Summary\n\n"
        "A row for each capability, from the sections below, with the machine and the day of its measurement; the ratio is above 1\n"
        "where Quern is ahead. The limit is what no program can go below: the bytes over the bandwidth, or the unavoidable step alone.\n"
        "`bench/summary.toml` names the rows; `./dev bench` writes this table.\n\n"
        "| what | on | Quern | best peer | ratio | share of the limit | measured |\n"
        "| --- | --- | ---: | ---: | ---: | ---: | --- |\n"
        f"{rows}\n"
        "## Goals\n\n"
        "What we set out to reach and do not, or did not until lately: the goal, the figure of the section, where the rest goes, and the\n"
        "next idea. `bench/goals.toml` names the rows.\n\n"
        "| what | on | goal | now | why, and what is next |\n"
        "| --- | --- | ---: | ---: | --- |\n"
        f"{goals}"
    )
    return text, complaints + more_complaints
