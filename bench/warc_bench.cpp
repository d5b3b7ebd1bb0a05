// SPDX-License-Identifier: Apache-2.0
// Reads a WARC file, for run-warc: warc_bench MODE THREADS FILE
//   records  cuts the file into records and decodes the bodies of pages, without reading them
//   text     the documents, by THREADS threads
//   digest   prints the URI, length and CRC-32 of every page's body without transfer and content codings, as others
//            read it
#include <zlib.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "io/byte_source.hpp"
#include "io/corpus/corpus.hpp"
#include "io/corpus/http_response.hpp"
#include "io/corpus/warc_record.hpp"

namespace {

using namespace quern;

/// Calls take(URI, body) for every page of the unit.
template <class Take>
void each_body(const io::corpus_unit& unit, const Take& take) {
    const auto* const blocks = dynamic_cast<const io::warc_blocks*>(&unit);
    if (blocks == nullptr) return;
    blocks->each_block([&](const io::warc_item& item, std::string_view block) {
        io::http_body body;
        body.bytes = block;
        if (const auto head = io::read_http_head(block))
            io::decode_http_body(block.substr(head->bytes), head->fields, UINT64_MAX / 2, body);
        take(item.header.uri, body.bytes);
    });
}

void print_digest(const std::string& uri, std::string_view body) {
    const auto sum = crc32_z(0, reinterpret_cast<const Bytef*>(body.data()), body.size());
    std::printf("%s\t%zu\t%08lx\n", uri.c_str(), body.size(), sum);
}

int run(std::string_view mode, unsigned threads, const char* file) {
    context ctx;
    ctx.threads = threads;
    const auto reader = io::open_corpus({file}, {}, ctx);
    std::mutex reading;
    std::atomic<std::uint64_t> units{0}, documents{0}, bytes{0};
    const auto work = [&] {
        while (true) {
            std::unique_ptr<io::corpus_unit> unit;
            {
                const std::lock_guard lock(reading);
                unit = reader->next();
            }
            if (!unit) return;
            ++units;
            if (mode == "digest") each_body(*unit, print_digest);
            if (mode == "records") {
                each_body(*unit, [&](const std::string&, std::string_view body) {
                    ++documents;
                    bytes += body.size();
                });
            }
            if (mode != "text") continue;
            const io::parsed_unit parsed = unit->parse();
            documents += parsed.documents.size();
            for (const document& each : parsed.documents) bytes += each.text.size();
        }
    };
    std::vector<std::thread> others;
    for (unsigned i = 1; i < threads; ++i) others.emplace_back(work);
    work();
    for (std::thread& each : others) each.join();
    if (mode != "digest")
        std::printf("%llu units, %llu documents, %llu bytes\n", static_cast<unsigned long long>(units),
                    static_cast<unsigned long long>(documents), static_cast<unsigned long long>(bytes));
    return 0;
}

}  // namespace

int main(int count, char** arguments) try {
    const std::string_view mode = count == 4 ? arguments[1] : "", threads = count == 4 ? arguments[2] : "";
    unsigned number = 0;
    if ((mode != "records" && mode != "text" && mode != "digest") ||
        std::from_chars(threads.data(), threads.data() + threads.size(), number).ec != std::errc()) {
        std::fputs("usage: warc_bench records|text|digest THREADS FILE\n", stderr);
        return 2;
    }
    return run(mode, number, arguments[3]);
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 3;
}
