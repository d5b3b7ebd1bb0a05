// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_merge/merged_documents.hpp"

#include <string>
#include <string_view>

#include "io/store/section.hpp"
#include "quern/base/error.hpp"
#include "tasks/corpus/document_id_table.hpp"
#include "tasks/store/field_values.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/listed_section.hpp"
#include "tasks/store_build/field_columns.hpp"
#include "tasks/store_build/link_store.hpp"
#include "tasks/store_build/store_to_update.hpp"
#include "tasks/store_merge/merged_blocks.hpp"

namespace quern {
namespace {

void append(std::vector<store_section>& to, std::vector<store_section> more) {
    for (store_section& section : more) to.push_back(std::move(section));
}

/// Ids, titles and lengths; and the links, as hashes of names, until all names are known.
class document_merge {
  public:
    document_merge(const source_stores& stores, std::span<const excluded_document> excluded,
                   const std::filesystem::path& store, const scratch_folder& scratch, const context& ctx)
        : stores_(stores),
          excluded_(excluded),
          store_(store),
          ctx_(ctx),
          links_(scratch.path()),
          ids_(store_layout::file_of(store, store_layout::ids), scratch.file("id_ends")),
          titles_(store_layout::file_of(store, store_layout::titles), scratch.file("title_ends")),
          lengths_(store_layout::file_of(store, store_layout::document_lengths)) {}

    void make(merged_documents& result) {
        result.lengths.reserve(stores_.documents());
        for (std::size_t store = 0; store < stores_.size(); ++store) {
            stored_links links(stores_[store]);
            for (const store_layout::named_redirect& r : links.redirects()) links_.add_redirect(r);
            const auto documents = static_cast<std::uint32_t>(stores_[store].info().documents);
            for (std::uint32_t d = 0; d < documents; ++d) add(store, d, links.next(), result);
            const document_duplicates& copies = stores_[store].duplicates();
            for (std::uint64_t i = 0; i < copies.size(); ++i)
                numbers_.insert(copies[i].id, stores_.numbers(store)[copies.kept(i)]);
        }
        const auto close = [&](std::string_view name, auto& section) {
            result.sections.push_back(listed_section(name, section.finish()));
        };
        close(store_layout::ids, ids_);
        close(store_layout::titles, titles_);
        close(store_layout::document_lengths, lengths_);
        auto links = links_.resolve(numbers_, store_, ctx_);
        append(result.sections, std::move(links.sections));
        result.links = links.links;
        result.dangling_links = links.dangling;
    }

  private:
    void add(std::size_t store, std::uint32_t d, std::span<const hash128_value> links,
             merged_documents& result) {
        const opened_store& of = stores_[store];
        const std::uint32_t position = stores_.first_position(store) + d;
        if (position % 1024 == 0) {
            ctx_.check_stop();
            ctx_.report({"documents", position, stores_.positions(), "documents"});
            if (numbers_.memory_bytes() > ctx_.memory_limit() / 2)
                throw out_of_memory("the table of document ids", 2 * numbers_.memory_bytes(),
                                    ctx_.memory_limit() / 2);
        }
        const std::uint32_t number = stores_.numbers(store)[d];
        if (number == document_numbers::none) {
            numbers_.insert(of.id(d), excluded_.front().kept);
            excluded_ = excluded_.subspan(1);
            return;
        }
        numbers_.insert(of.id(d), number);
        ids_.append(of.id(d));
        titles_.append(of.title(d));
        const std::uint32_t length = of.collection().document_lengths[d];
        lengths_.append_value(length);
        result.lengths.push_back(length);
        result.words += length;
        links_.add_document(links);
    }

    const source_stores& stores_;
    std::span<const excluded_document> excluded_;  // those ahead
    const std::filesystem::path& store_;
    const context& ctx_;
    id_table numbers_;
    link_collector links_;
    io::string_column_writer ids_, titles_;
    io::section_writer lengths_;
};

}  // namespace

merged_documents merge_documents(const source_stores& stores, std::span<const excluded_document> excluded,
                                 const std::filesystem::path& store, const scratch_folder& scratch,
                                 const context& ctx) {
    merged_documents result;
    document_merge(stores, excluded, store, scratch, ctx).make(result);
    const auto merge = [&](const block_names& names, std::string_view stage, field_census* census) {
        merged_blocks made = merge_blocks(stores, names, stage, census, store, ctx);
        append(result.sections, std::move(made.sections));
        result.frames += made.frames;
        result.copied_frames += made.copied;
    };
    merge(blocks_of_texts, "texts", nullptr);
    const std::vector<std::string>& kept = stores.info().kept_fields;
    if (kept.empty()) return result;
    field_census fields;
    merge(blocks_of_fields, "fields", &fields);
    result.fields = fields.columns(kept);
    append(result.sections,
           make_field_columns(store, result.sections, result.fields, stores.documents(), scratch, ctx));
    return result;
}

}  // namespace quern
