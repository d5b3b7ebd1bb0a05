# SPDX-License-Identifier: Apache-2.0
"""WARC files for run-warc, and other readers of them.

  warc_records.py make FILE RECORDS [FOLDER...]   writes a WARC file, a member of gzip for each record, of the HTML files
                                                  below the folders, each as often as needed, under its own URI
  warc_records.py READER MODE FILE                reads it by fastwarc or warcio; MODE: records (with their bodies), text
                                                  (of pages, by resiliparse), digest (as warc_bench prints it)
"""

import gzip
import io
import sys
import zlib
from pathlib import Path


def pages(folders):
    found = sorted({path for folder in folders for path in Path(folder).rglob("*.htm*") if path.is_file()})
    for path in found:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        if 1000 < len(content) < 500_000:
            yield path, content


def chunked(body):
    size = 4096
    parts = [body[at:at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def make(file, records, folders):
    from warcio.statusandheaders import StatusAndHeaders
    from warcio.warcwriter import WARCWriter

    sources = list(pages(folders))
    if not sources:
        sys.exit("warc_records: no HTML files in " + " ".join(folders))
    with open(file, "wb") as out:
        writer = WARCWriter(out, gzip=True)
        writer.write_record(writer.create_warcinfo_record("x.warc.gz", {"software": "warc_records.py"}))
        for number in range(records):
            path, body = sources[number % len(sources)]
            uri = f"http://host{number % 97}.example{path}?copy={number // len(sources)}"
            fields = [("Content-Type", "text/html; charset=utf-8"), ("Server", "example")]
            status = "200 OK"
            if number % 10 == 3:
                body = chunked(body)
                fields.append(("Transfer-Encoding", "chunked"))
            elif number % 10 == 5:
                body = gzip.compress(body, 6, mtime=0)
                fields.append(("Content-Encoding", "gzip"))
            elif number % 10 == 7:
                fields[0] = ("Content-Type", "text/plain; charset=utf-8")
            elif number % 20 == 9:
                status = "404 Not Found"
            elif number % 20 == 19:
                fields[0] = ("Content-Type", "application/pdf")
            request = StatusAndHeaders("GET / HTTP/1.1", [("Host", "example")], is_http_request=True)
            writer.write_record(writer.create_warc_record(uri, "request", http_headers=request))
            head = StatusAndHeaders(status, fields, protocol="HTTP/1.1")
            writer.write_record(writer.create_warc_record(uri, "response", payload=io.BytesIO(body), http_headers=head))


def is_page(status, content_type):
    return status == 200 and content_type.split(";")[0].strip() in ("text/html", "text/plain")


def bodies_of_fastwarc(file):
    """URI, type and decoded body of every page; the bodies of other records are passed over, as ours does."""
    from fastwarc.warc import ArchiveIterator, WarcRecordType

    with open(file, "rb") as source:
        for record in ArchiveIterator(source, record_types=WarcRecordType.response, auto_decode="all"):
            kind = record.http_headers.get("Content-Type", "")
            if is_page(record.http_headers.status_code, kind):
                yield record.headers.get("WARC-Target-URI"), kind, record.reader.read()


def bodies_of_warcio(file):
    from warcio.archiveiterator import ArchiveIterator

    with open(file, "rb") as source:
        for record in ArchiveIterator(source):
            if record.rec_type != "response":
                continue
            kind = record.http_headers.get_header("Content-Type", "")
            if is_page(int(record.http_headers.get_statuscode()), kind):
                yield record.rec_headers.get_header("WARC-Target-URI"), kind, record.content_stream().read()


def main():
    if sys.argv[1] == "make":
        return make(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
    reader, mode, file = sys.argv[1:]
    bodies = {"fastwarc": bodies_of_fastwarc, "warcio": bodies_of_warcio}[reader](file)
    count = size = 0
    if mode == "text":
        from resiliparse.extract.html2text import extract_plain_text
    for uri, kind, body in bodies:
        count += 1
        size += len(body)
        if mode == "digest":
            print(f"{uri}\t{len(body)}\t{zlib.crc32(body):08x}")
        elif mode == "text":
            text = body.decode("utf-8", "replace")
            size += len(extract_plain_text(text, main_content=True) if kind.startswith("text/html") else text)
    if mode != "digest":
        print(count, "pages", size)


if __name__ == "__main__":
    main()
