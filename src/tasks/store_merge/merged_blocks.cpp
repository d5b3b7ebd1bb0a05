// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_merge/merged_blocks.hpp"

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "device/cpu/pipeline.hpp"
#include "device/cpu/threads.hpp"
#include "io/store/section.hpp"
#include "tasks/store/listed_section.hpp"
#include "tasks/store/text_blocks.hpp"

namespace quern {
namespace {

/// The blocks of one store.
struct source_blocks {
    source_blocks(const opened_store& store, const block_names& names)
        : frames(store_layout::open_section(store.path(), store.info(), names.frames)),
          table(store_layout::open_section(store.path(), store.info(), names.blocks)),
          texts(store_layout::open_section(store.path(), store.info(), names.ends),
                store_layout::open_section(store.path(), store.info(), names.blocks),
                store_layout::open_section(store.path(), store.info(), names.frames),
                store.info().documents) {}

    std::string_view frame(std::uint64_t block) const {
        const std::uint64_t begin = block == 0 ? 0 : end_of(block - 1), end = end_of(block);
        if (begin > end) table.fail("is out of order");
        return frames.bytes(begin, end - begin);
    }

    io::section_view frames, table;
    text_blocks texts;

  private:
    std::uint64_t end_of(std::uint64_t block) const {
        return table.value<store_layout::text_block>(block * sizeof(store_layout::text_block)).frame_end;
    }
};

struct planned_block {
    std::uint64_t first_document = 0;  ///< of the result
    std::uint64_t bytes = 0;
    std::vector<source_range> parts;
    std::optional<std::uint64_t> copied;  ///< the block of the store that has the same documents
};

/// Cuts the documents that stay into blocks, in order, and writes where their texts end.
class block_plan {
  public:
    block_plan(const source_stores& stores, const std::vector<source_blocks>& sources,
               std::uint64_t max_documents, io::section_writer& ends)
        : stores_(stores),
          sources_(sources),
          max_documents_(max_documents),
          ends_(ends),
          at_(stores.size()),
          order_(stores.order()) {
        if (!order_.empty()) document_ = order_.front().first;
    }

    /// False at the end.
    bool next(planned_block& block) {
        block = {};
        block.first_document = number_;
        std::uint64_t documents = 0;
        while (!order_.empty() && block.bytes < store_layout::text_block_bytes &&
               documents < max_documents_) {
            const std::size_t store = order_.front().store;
            if (document_ == order_.front().last) {
                order_ = order_.subspan(1);
                if (!order_.empty()) document_ = order_.front().first;
                continue;
            }
            const std::uint32_t d = document_++;
            if (stores_.numbers(store)[d] == document_numbers::none) continue;
            auto& parts = block.parts;
            if (parts.empty() || parts.back().store != store || parts.back().last != d)
                parts.push_back({store, d, d});
            parts.back().last = d + 1;
            const std::uint64_t bytes = sources_[store].texts.text_bytes(d);
            block.bytes += bytes;
            bytes_ += bytes;
            ends_.append_value(bytes_);
            ++documents;
        }
        number_ += documents;
        if (block.parts.size() == 1) block.copied = same_block(block.parts.front());
        return documents != 0;
    }
    std::uint64_t documents() const { return number_; }

  private:
    /// The block of the store with exactly these documents.
    std::optional<std::uint64_t> same_block(const source_range& part) {
        const text_blocks& texts = sources_[part.store].texts;
        std::uint64_t& at = at_[part.store];
        while (at < texts.size() && texts.contents_of(at).last <= part.first) ++at;
        if (at == texts.size()) return {};
        const auto found = texts.contents_of(at);
        if (found.first != part.first || found.last != part.last) return {};
        return at;
    }

    const source_stores& stores_;
    const std::vector<source_blocks>& sources_;
    std::uint64_t max_documents_;
    io::section_writer& ends_;
    std::vector<std::uint64_t> at_;        // of each store, the block at or before the next document
    std::span<const source_range> order_;  // those ahead; the first one from document_ on
    std::uint32_t document_ = 0;
    std::uint64_t number_ = 0, bytes_ = 0;
};

struct blocks_in_work {
    std::vector<planned_block> planned;
    std::uint64_t bytes = 0;
    std::vector<compressed_text_block> made;
    std::uint64_t copied = 0;
    field_census census;
};

/// The texts of a part, in order.
template <class Sink>
void each_text(const text_blocks& texts, const source_range& part, const Sink& sink) {
    std::uint64_t block = texts.block_of(part.first);
    for (std::uint32_t next = 0; next < part.last; ++block) {
        std::uint32_t d = texts.contents_of(block).first;
        next = texts.contents_of(block).last;
        texts.each_text(block, [&](std::string_view text) {
            if (d >= part.first && d < part.last) sink(text);
            ++d;
        });
    }
}

}  // namespace

merged_blocks merge_blocks(const source_stores& stores, const block_names& names, std::string_view stage,
                           field_census* census, const std::filesystem::path& store, const context& ctx) {
    constexpr std::uint64_t bytes_at_once = 1 << 20, blocks_at_once = 256;
    std::vector<source_blocks> sources;
    sources.reserve(stores.size());
    for (const opened_store& source : stores.all()) sources.emplace_back(source, names);
    io::section_writer ends(store_layout::file_of(store, names.ends));
    text_block_writer blocks(store, names.frames, names.blocks);
    block_plan plan(stores, sources, names.max_documents, ends);
    merged_blocks result;

    pipeline<blocks_in_work> line(ctx.thread_count() + std::size_t{2});
    line.from([&](blocks_in_work& work) {
        ctx.check_stop();
        ctx.report({stage, plan.documents(), stores.documents(), "documents"});
        planned_block next;
        while (work.bytes < bytes_at_once && work.planned.size() < blocks_at_once && plan.next(next)) {
            if (!next.copied || census != nullptr) work.bytes += next.bytes;
            work.planned.push_back(std::move(next));
        }
        return !work.planned.empty();
    });
    const std::uint64_t large = std::max<std::uint64_t>(4 * bytes_at_once, ctx.memory_limit() / 32);
    line.alone_when([large](const blocks_in_work& work) { return work.bytes > large; });
    line.in_parallel_or_alone([&](blocks_in_work& work, bool) {
        for (const planned_block& block : work.planned) {
            ctx.check_stop();
            raw_text_block raw{block.first_document, {}};
            if (!block.copied) raw.text.reserve(block.bytes);
            for (const source_range& part : block.parts) {
                if (block.copied && census == nullptr) break;
                each_text(sources[part.store].texts, part, [&](std::string_view text) {
                    if (!block.copied) raw.text += text;
                    if (census != nullptr) work.census.add(text);
                });
            }
            if (block.copied) {
                work.made.push_back({block.first_document,
                                     std::string(sources[block.parts.front().store].frame(*block.copied))});
                ++work.copied;
            } else {
                work.made.push_back(compress(raw));
            }
        }
        return true;
    });
    line.in_order([&](blocks_in_work& work) {
        for (const compressed_text_block& block : work.made) blocks.append(block);
        result.frames += work.made.size();
        result.copied += work.copied;
        if (census != nullptr) census->add(work.census);
    });
    run_parallel(ctx, [&] { line.run(); });

    const auto summary = ends.finish();
    result.sections = blocks.finish();
    result.sections.push_back(listed_section(names.ends, summary));
    return result;
}

}  // namespace quern
