// SPDX-License-Identifier: Apache-2.0
// For run-parquet, on one thread: parquet_bench read FILE makes the documents of a Parquet or Arrow file, parquet_bench unpack FILE
// only decompresses the pages or buffers of its columns "id", "title" and "text". Prints the seconds of processor time, and
// the bytes.
#include <cstdio>
#include <ctime>
#include <exception>
#include <string_view>
#include <vector>

#include "io/arrow/ipc_file.hpp"
#include "io/arrow/record_batch.hpp"
#include "io/corpus/corpus.hpp"
#include "io/parquet/page_codec.hpp"
#include "io/parquet/parquet_file.hpp"

namespace {

using namespace quern;

std::uint64_t read_documents(const char* path) {
    std::uint64_t bytes = 0;
    const auto reader = io::open_corpus({path}, {}, context::cpu(1));
    while (const auto unit = reader->next()) {
        for (const document& d : unit->parse().documents)
            bytes += d.id.size() + d.title.size() + d.text.size();
    }
    return bytes;
}

std::uint64_t unpack(const char* path) {
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

bool is_arrow(std::string_view path) {
    return path.ends_with(".arrow");
}

}  // namespace

int main(int count, char** arguments) try {
    const std::string_view what = count == 3 ? arguments[1] : "";
    if (what != "read" && what != "unpack") {
        std::fputs("usage: parquet_bench read|unpack FILE\n", stderr);
        return 2;
    }
    const std::clock_t start = std::clock();
    const std::uint64_t bytes = what == "read"           ? read_documents(arguments[2])
                                : is_arrow(arguments[2]) ? unpack_arrow(arguments[2])
                                                         : unpack(arguments[2]);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    std::printf("%.3f %llu\n", seconds, static_cast<unsigned long long>(bytes));
    return 0;
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 3;
}
