// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/old_documents.hpp"

#include <limits>

#include "device/cpu/pipeline.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/dedup/document_reader.hpp"
#include "tasks/dedup/duplicate_store.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

/// The texts of a store of `build` are compressed: all threads unpack them, in order.
void read_built_store(const fs::path& path, shard_writer& texts, document_table& table, const context& ctx) {
    constexpr std::uint32_t documents_at_once = 256;
    const opened_store store = open_store(path);
    require_word_order(store, "near-duplicates");
    struct batch {
        std::uint32_t first = 0;
        std::vector<std::string> texts;
    };
    const auto count = static_cast<std::uint32_t>(store.info().documents);
    std::uint32_t next = 0;
    pipeline<batch> line(ctx.thread_count() + std::size_t{2});
    line.from([&](batch& s) {
        ctx.check_stop();
        ctx.report({"against", next, count, "documents"});
        s.first = next;
        s.texts.resize(std::min(documents_at_once, count - next));
        next += static_cast<std::uint32_t>(s.texts.size());
        return !s.texts.empty();
    });
    line.in_parallel([&](batch& s) {
        for (std::size_t i = 0; i < s.texts.size(); ++i) {
            s.texts[i] = store.text(s.first + static_cast<std::uint32_t>(i));
        }
    });
    line.in_order([&](const batch& s) {
        for (std::size_t i = 0; i < s.texts.size(); ++i) {
            const std::string_view id = store.id(s.first + static_cast<std::uint32_t>(i));
            if (!table.add(id, s.texts[i].size()))
                throw damaged_store(path.string(), "ids", "has a duplicate id");
            texts.add(id, s.texts[i]);
        }
    });
    run_parallel(ctx, [&] { line.run(); });
}

/// Only the first shards of a table can be mapped in place, so that the texts of a later store are copied.
void copy_duplicate_store(const fs::path& path, shard_writer& texts, document_table& table,
                          const context& ctx) {
    document_table other;
    const duplicate_store store(path, duplicate_store::access::read, nullptr, ctx);
    store.load(other, ctx);
    for (std::uint32_t d = 0; d < other.size(); ++d) {
        ctx.check_stop();
        const std::string_view text = other.text(d);
        table.add(other.id(d), text.size());
        texts.add(other.id(d), text);
    }
}

/// Adds one set after the documents in the table.
void read_set(const fs::path& against, std::uint32_t number, const dedup_options& options,
              const scratch_folder& scratch, document_table& table, word_table* words,
              std::vector<input_issue>& issues, const context& ctx) {
    const std::uint32_t first = table.size();
    bool verbatim = false;
    if (duplicate_store::is_one(against) && first == 0) {
        duplicate_store(against, duplicate_store::access::read, nullptr, ctx).load(table, ctx);
    } else {
        shard_writer texts(scratch.path(), number, table.overlap(), scratch.file("old_ids"));
        if (duplicate_store::is_one(against)) {
            copy_duplicate_store(against, texts, table, ctx);
        } else if (is_store(against)) {
            verbatim = read_store_info(against).verbatim;
            read_built_store(against, texts, table, ctx);
        } else {
            corpus_request request{options, false, work_of(options), options.text};
            request.input.inputs = {against};
            request.input.source = nullptr;
            document_reader reader(request, words, "against", ctx);
            reader.read(std::numeric_limits<std::uint64_t>::max(), [&](document& d) {
                const document_reader::verdict v = reader.settle(d, table);
                if (v != document_reader::verdict::taken) return v;
                table.add(d.id, d.text.size());
                texts.add(d.id, d.text);
                return v;
            });
            if (table.size() == first) reader.record().refuse_empty(request.input);
            const auto& found = reader.record().issues;
            issues.insert(issues.end(), found.begin(), found.end());
            words = nullptr;  // they have been added already
        }
        table.map_texts(texts.finish_texts());
    }
    if (table.size() == first) throw invalid_input(against.string(), 0, "holds no documents");
    if (words != nullptr) words->append_texts(table, first, table.size(), verbatim, ctx);
    table.begin_another_set();
}

}  // namespace

void read_old_documents(const dedup_options& options, const scratch_folder& scratch, document_table& table,
                        word_table* words, std::vector<input_issue>& issues, const context& ctx) {
    std::uint32_t number = 0;
    for (const fs::path& against : options.against)
        read_set(against, number++, options, scratch, table, words, issues, ctx);
}

}  // namespace quern
