// SPDX-License-Identifier: Apache-2.0
// For run-formats, on one thread: format_bench MODE FILE
//   read    makes the documents of a corpus of any form; of a file .txt, of each line
//   bodies  of a WARC file decodes the bodies of pages only
//   unpack  only decompresses: of Parquet and Arrow the pages or buffers of the columns "id", "title" and "text", of other
//           files all bytes
//   parse   decompresses lines of JSON, and parses each with simdjson
//   copy    copies the file's bytes from the page cache
// Prints the seconds of processor time, and the bytes of ids, titles and texts, of bodies, or of what was unpacked.
#include <malloc.h>
#include <simdjson.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "io/arrow/ipc_file.hpp"
#include "io/arrow/record_batch.hpp"
#include "io/byte_source.hpp"
#include "io/corpus/corpus.hpp"
#include "io/corpus/http_response.hpp"
#include "io/corpus/warc_record.hpp"
#include "io/files/mapped_file.hpp"
#include "io/parquet/page_codec.hpp"
#include "io/parquet/parquet_file.hpp"

namespace {

using namespace quern;

std::uint64_t read_documents(const char* path) {
    std::uint64_t bytes = 0;
    io::corpus_options options;
    if (std::string_view(path).ends_with(".txt")) options.form = io::corpus_form::text_lines;
    const auto reader = io::open_corpus({path}, options, context::cpu(1));
    while (const auto unit = reader->next()) {
        for (const document& d : unit->parse().documents)
            bytes += d.id.size() + d.title.size() + d.text.size();
    }
    return bytes;
}

std::uint64_t unpack_parquet(const char* path) {
    using namespace io::parquet;
    const auto file = parquet_file::open(path, UINT64_MAX);
    const file_metadata& metadata = file->metadata();
    std::uint64_t bytes = 0;
    std::vector<char> plain;
    for (const row_group& group : metadata.groups) {
        for (std::size_t leaf = 0; leaf < group.chunks.size(); ++leaf) {
            const std::string_view name = metadata.columns.nodes[metadata.columns.leaves[leaf].node].name;
            if (name != "id" && name != "title" && name != "text") continue;
            const column_chunk& chunk = group.chunks[leaf];
            std::uint64_t at = chunk.begin;
            for (std::uint64_t left = chunk.values; left != 0;) {
                std::size_t header_bytes = 0;
                const page_header header = parse_page_header(file->bytes().substr(at), header_bytes);
                plain.resize(header.plain_bytes);
                decompress(chunk.compression, file->bytes().substr(at + header_bytes, header.packed_bytes),
                           plain);
                if (header.what == page_header::kind::data) left -= header.values;
                at += header_bytes + header.packed_bytes;
                bytes += header.plain_bytes;
            }
        }
    }
    return bytes;
}

std::uint64_t unpack_arrow(const char* path) {
    using namespace io::arrow;
    const auto file = ipc_file::open(path, UINT64_MAX);
    const arrow_schema& schema = file->schema();
    std::vector<std::size_t> leaves;
    for (std::size_t leaf = 0; leaf < schema.columns.leaves.size(); ++leaf) {
        const std::string_view name = schema.columns.nodes[schema.columns.leaves[leaf].node].name;
        if (name == "id" || name == "title" || name == "text") leaves.push_back(leaf);
    }
    const std::vector<std::uint32_t> fields = fields_of(schema, leaves);
    std::uint64_t bytes = 0;
    message_reader messages(file);
    while (const auto next = messages.next()) {
        for (const array& each : load(schema, fields, *next, {}, UINT64_MAX)) bytes += each.owned_bytes;
    }
    return bytes;
}

template <class Take>
void each_piece(const char* path, const Take& take) {
    const auto source = io::open_bytes(path, context::cpu(1));
    std::vector<char> piece(1 << 20);
    while (const std::size_t got = source->read(piece)) take(std::string_view(piece.data(), got));
}

std::uint64_t unpack(std::string_view path) {
    if (path.ends_with(".parquet")) return unpack_parquet(path.data());
    if (path.ends_with(".arrow")) return unpack_arrow(path.data());
    std::uint64_t bytes = 0;
    each_piece(path.data(), [&](std::string_view piece) { bytes += piece.size(); });
    return bytes;
}

std::uint64_t parse_lines(const char* path) {
    simdjson::dom::parser parser;
    std::uint64_t bytes = 0;
    std::string line;
    const auto parse = [&] {
        line.reserve(line.size() + simdjson::SIMDJSON_PADDING);
        if (parser.parse(line.data(), line.size(), false).error() == simdjson::SUCCESS) bytes += line.size();
        line.clear();
    };
    each_piece(path, [&](std::string_view rest) {
        while (!rest.empty()) {
            const std::size_t end = std::min(rest.find('\n'), rest.size());
            line += rest.substr(0, end);
            if (end == rest.size()) return;
            rest.remove_prefix(end + 1);
            parse();
        }
    });
    if (!line.empty()) parse();
    return bytes;
}

std::uint64_t copy_bytes(const char* path) {
    const io::mapped_file file(path, io::mapped_file::access::sequential);
    std::vector<char> piece(1 << 20);
    const std::string_view all = file.text();
    for (std::size_t at = 0; at < all.size(); at += piece.size())
        std::memcpy(piece.data(), all.data() + at, std::min(piece.size(), all.size() - at));
    return all.size();
}

std::uint64_t decode_bodies(const char* path) {
    const auto reader = io::open_corpus({path}, {}, context::cpu(1));
    std::uint64_t bytes = 0;
    while (const auto unit = reader->next()) {
        const auto* const blocks = dynamic_cast<const io::warc_blocks*>(unit.get());
        if (blocks == nullptr) continue;
        blocks->each_block([&](const io::warc_item&, std::string_view block) {
            io::http_body body;
            body.bytes = block;
            if (const auto head = io::read_http_head(block))
                io::decode_http_body(block.substr(head->bytes), head->fields, UINT64_MAX / 2, body);
            bytes += body.bytes.size();
        });
    }
    return bytes;
}

}  // namespace

int main(int count, char** arguments) try {
    mallopt(M_MMAP_THRESHOLD, 1 << 20);  // as the program does
    mallopt(M_TRIM_THRESHOLD, 8 << 20);
    const std::string_view what = count == 3 ? arguments[1] : "";
    const char* const path = arguments[2];
    const std::clock_t start = std::clock();
    std::uint64_t bytes = 0;
    if (what == "read") {
        bytes = read_documents(path);
    } else if (what == "bodies") {
        bytes = decode_bodies(path);
    } else if (what == "unpack") {
        bytes = unpack(path);
    } else if (what == "parse") {
        bytes = parse_lines(path);
    } else if (what == "copy") {
        bytes = copy_bytes(path);
    } else {
        std::fputs("usage: format_bench read|bodies|unpack|parse|copy FILE\n", stderr);
        return 2;
    }
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    std::printf("%.4f %llu\n", seconds, static_cast<unsigned long long>(bytes));
    return 0;
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 3;
}
