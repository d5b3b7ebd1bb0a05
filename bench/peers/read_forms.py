# SPDX-License-Identifier: Apache-2.0
"""Files for run-formats, and other readers of them.

  read_forms.py make SOURCE COPIES FOLDER   the documents of SOURCE (JSON lines, zstd) COPIES times, in every form; as plain
                                            text with a document on each line, and with a line of a document on each
  read_forms.py READER MODE FILE            reads it; prints the seconds of processor time and the bytes read. MODE read:
                                            the columns id, title and text; of WARC files the main text; MODE bodies: the
                                            bodies of a WARC file
"""
import gzip
import os
import sys
from pathlib import Path

COLUMNS = ["id", "title", "text"]


def make(source, copies, folder):
    import csv
    import json

    import pyarrow as pa
    import pyarrow.parquet as pq
    import zstandard

    folder = Path(folder)
    with open(source, "rb") as file:
        rows = [json.loads(line) for line in zstandard.ZstdDecompressor().stream_reader(file).read().splitlines()]
    schema = pa.schema([(name, pa.string()) for name in COLUMNS])
    columns = {codec: pq.ParquetWriter(folder / f"text_{codec}.parquet", schema, compression=codec)
               for codec in ("none", "snappy", "gzip", "zstd", "lz4")}
    streams = {codec: pa.ipc.new_file(str(folder / f"text_{codec}.arrow"), schema,
                                      options=pa.ipc.IpcWriteOptions(compression=None if codec == "none" else codec))
               for codec in ("none", "lz4", "zstd")}
    with (open(folder / "text.jsonl", "w", encoding="utf-8") as lines, open(folder / "texts.txt", "w", encoding="utf-8") as texts,
          open(folder / "lines.txt", "w", encoding="utf-8") as short, open(folder / "text.csv", "w", encoding="utf-8", newline="") as table):
        in_table = csv.writer(table)
        in_table.writerow(COLUMNS)
        for part in range(int(copies)):
            made = [{"id": f"{row['id']}-{part}", "title": row.get("title") or "", "text": row["text"]} for row in rows]
            for row in made:
                lines.write(json.dumps(row, ensure_ascii=False) + "\n")
                in_table.writerow(row.values())
                texts.write(" ".join(row["text"].splitlines()) + "\n")
                short.writelines(line + "\n" for line in row["text"].splitlines() if line)
            batch = pa.Table.from_pylist(made, schema=schema)
            for writer in columns.values():
                writer.write_table(batch, 20000)
            for writer in streams.values():
                writer.write_table(batch, 2000)
    for writer in (*columns.values(), *streams.values()):
        writer.close()
    for name in ("text.jsonl", "text.csv"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes(), 6, mtime=0))
    (folder / "text.jsonl.zst").write_bytes(zstandard.ZstdCompressor(3).compress((folder / "text.jsonl").read_bytes()))


def of_pyarrow(path):
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.json
    import pyarrow.parquet

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)

    def columns():
        if path.endswith(".parquet"):
            return sum(batch.nbytes for batch in pa.parquet.ParquetFile(path).iter_batches(columns=COLUMNS, use_threads=False))
        if path.endswith(".arrow"):
            size = 0
            with pa.memory_map(path) as source:
                reader = pa.ipc.open_file(source)
                for number in range(reader.num_record_batches):
                    batch = reader.get_batch(number).select(COLUMNS)
                    for column in batch.columns:
                        column.validate(full=True)  # touches the text, as reading it would
                    size += batch.nbytes
            return size
        if path.endswith(".txt"):
            parsing = pa.csv.ParseOptions(delimiter="\x01", quote_char=False)
            reading = pa.csv.ReadOptions(use_threads=False, column_names=["text"])
            return pa.csv.read_csv(path, reading, parsing, pa.csv.ConvertOptions(column_types={"text": pa.string()})).nbytes
        if ".csv" in path:
            parsing = pa.csv.ParseOptions(newlines_in_values=True)
            return pa.csv.read_csv(path, pa.csv.ReadOptions(use_threads=False), parsing).nbytes
        with pa.input_stream(path) as source:
            return pa.json.read_json(source, pa.json.ReadOptions(use_threads=False, block_size=8 << 20)).nbytes

    return columns


def of_polars(path):
    import polars

    def columns():
        if path.endswith(".parquet"):
            return polars.read_parquet(path, columns=COLUMNS).estimated_size()
        if path.endswith(".arrow"):
            table = polars.read_ipc(path, columns=COLUMNS)
            return table.estimated_size() + 0 * table["text"].str.len_chars().sum()
        if path.endswith(".txt"):
            return polars.read_csv(path, has_header=False, separator="\x01", quote_char=None, infer_schema=False).estimated_size()
        if ".csv" in path:
            return polars.read_csv(path, columns=COLUMNS, infer_schema=False).estimated_size()
        if path.endswith(".jsonl"):
            return polars.read_ndjson(path).estimated_size()
        return polars.scan_ndjson(path).collect().estimated_size()

    return columns


def opened(path):
    if path.endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8", newline="")
    if path.endswith(".zst"):
        import io

        import zstandard

        return io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(open(path, "rb")), encoding="utf-8")
    return open(path, encoding="utf-8", newline="")


def of_json(path):
    import json

    def rows():
        size = 0
        with opened(path) as lines:
            for line in lines:
                row = json.loads(line)
                size += sum(len(row[name]) for name in COLUMNS)
        return size

    return rows


def of_csv(path):
    import csv

    csv.field_size_limit(1 << 30)

    def rows():
        with opened(path) as lines:
            return sum(len(field) for row in csv.reader(lines) for field in row)

    return rows


def of_lines(path):
    def lines():
        with opened(path) as texts:
            return sum(len(line) for line in texts)

    return lines


def of_warc(reader, mode, path):
    sys.path.insert(0, str(Path(__file__).parent))
    import warc_records

    bodies = {"fastwarc": warc_records.bodies_of_fastwarc, "warcio": warc_records.bodies_of_warcio}[reader]
    if mode == "bodies":
        return lambda: sum(len(body) for _, _, body in bodies(path))
    from resiliparse.extract.html2text import extract_plain_text

    def texts():
        size = 0
        for _, kind, body in bodies(path):
            text = body.decode("utf-8", "replace")
            size += len(extract_plain_text(text, main_content=True) if kind.startswith("text/html") else text)
        return size

    return texts


def main():
    if sys.argv[1] == "make":
        return make(*sys.argv[2:])
    reader, mode, path = sys.argv[1:]
    if ".warc" in path:
        read = of_warc(reader.split()[0], mode, path)
    else:
        read = {"pyarrow": of_pyarrow, "polars": of_polars, "json": of_json, "csv": of_csv, "python": of_lines}[reader](path)
    before = os.times()
    size = read()
    after = os.times()
    print(after.user - before.user + after.system - before.system, size)


if __name__ == "__main__":
    main()
