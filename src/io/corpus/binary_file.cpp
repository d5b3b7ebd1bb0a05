// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/binary_file.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/failure_kinds.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/file_document.hpp"
#include "io/corpus/record_reader.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

/// A copy for the task that processes it.
constexpr std::uint64_t known_size_factor = 2;

/// Reads up to one byte more than `limit`. `expected`: the size, 0 if unknown.
std::string read_bytes(byte_source& source, std::uint64_t expected, std::uint64_t limit) {
    constexpr std::uint64_t first_read = 64 << 10;
    std::string bytes;
    std::size_t filled = 0;
    for (std::uint64_t target = std::min(expected == 0 ? first_read : expected, limit) + 1;;
         target = std::min(2 * target, limit + 1)) {
        bytes.resize(target);
        filled += source.read(std::span(bytes).subspan(filled));
        if (filled < target || filled > limit) break;
    }
    bytes.resize(filled);
    return bytes;
}

}  // namespace

void parse_binary_file(const folder_file& file, const corpus_options& options, const reading_budget& budget,
                       const context& ctx, parsed_unit& out, byte_source* opened) {
    const std::string& shown = file.path.native();
    const std::uint64_t factor = opened == nullptr ? known_size_factor : reading_factor;
    const document_limit limit = limit_of(options, std::min(budget.bytes, options.document_memory), factor);
    const auto refuse = [&](std::uint64_t bytes) {
        if (limit.is_of_memory && !budget.is_last) throw out_of_memory("a document", bytes, budget.bytes);
        reject(out, shown, 0, limit.reason(bytes / factor));
    };
    if (file.bytes > limit.bytes) return refuse(factor * file.bytes);
    document made;
    try {
        std::unique_ptr<byte_source> source;
        if (opened == nullptr) source = open_raw_bytes(file.path, ctx);
        made.text = read_bytes(opened == nullptr ? *source : *opened, file.bytes, limit.bytes);
    } catch (const io_error& failed) {
        if (says_exhausted(failed.code())) throw;  // a failure of the run, not of the file
        return reject(out, shown, 0, unreadable(failed));
    } catch (const usage_error&) {
        return reject(out, shown, 0, "disappeared while the folder was read");
    }
    if (made.text.size() > limit.bytes) return refuse(factor * made.text.size());
    made.path = shown;
    made.id = file.relative;
    if (std::string repaired = repair_utf8(made.id); !repaired.empty())
        repair(out, shown, 0, repaired + " (the path)");
    if (options.keep_records) {
        made.record_kind = document::record_form::path;
        made.record = shown + '\n';
    }
    keep(out, std::move(made), shown, 0);
}

}  // namespace quern::io
