// SPDX-License-Identifier: Apache-2.0
#include "tasks/store/opened_store.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/hash.hpp"
#include "device/paced_checks.hpp"
#include "io/store/section.hpp"
#include "quern/base/error.hpp"
#include "tasks/store/layout.hpp"

namespace quern {

namespace layout = store_layout;
word_index::word_index(const std::filesystem::path& store, const store_info& info,
                       const layout::word_index_names& names)
    : dictionary_(layout::open_section(store, info, names.dictionary)),
      document_frequencies_(layout::open_section(store, info, names.document_frequencies)),
      collection_frequencies_(layout::open_section(store, info, names.collection_frequencies)),
      posting_ends_(layout::open_section(store, info, names.posting_ends)),
      postings_(layout::open_section(store, info, names.postings)),
      words_(text::dictionary_view::open(dictionary_.all())) {
    if (!words_) dictionary_.fail("is not a dictionary");
    if (posting_ends_.size() != words_->size() * sizeof(std::uint64_t)) {
        posting_ends_.fail("does not fit the dictionary");
    }
}

posting_list word_index::postings(std::uint32_t word) const {
    const auto end = posting_ends_.value<std::uint64_t>(std::uint64_t{word} * 8);
    const auto begin = word == 0 ? 0 : posting_ends_.value<std::uint64_t>((std::uint64_t{word} - 1) * 8);
    if (begin > end) posting_ends_.fail("is out of order");
    posting_list list;
    list.bytes = postings_.bytes(begin, end - begin);
    list.document_frequency = document_frequencies_.value<std::uint32_t>(std::uint64_t{word} * 4);
    list.collection_frequency = collection_frequencies_.value<std::uint64_t>(std::uint64_t{word} * 8);
    return list;
}

posting_list word_index::find(std::string_view word) const {
    const auto id = words_->find(word);
    return id ? postings(*id) : posting_list{};
}

/// The words of every document in order, and their coding.
struct opened_store::token_sections {
    token_sections(const std::filesystem::path& store, const store_info& info, std::uint32_t vocabulary)
        : tokens(layout::open_section(store, info, layout::tokens)),
          ends(layout::open_section(store, info, layout::token_ends)),
          words(layout::open_section(store, info, layout::token_words)),
          code(words.values<std::uint32_t>(0, words.size() / sizeof(std::uint32_t)), vocabulary) {}

    io::section_view tokens, ends, words;
    search_detail::token_code code;
};

opened_store::opened_store(std::filesystem::path path)
    : path_(std::move(path)),
      info_(read_store_info(path_)),
      analyzers_(info_.text, path_),
      words_(path_, info_, layout::all_words),
      title_words_(path_, info_, layout::title_words) {
    const auto open = [this](std::string_view name) { return layout::open_section(path_, info_, name); };
    if (layout::lists_section(info_, layout::pairs.dictionary)) ngrams_.emplace(path_, info_, layout::pairs);
    ids_ = open(layout::ids);
    titles_ = open(layout::titles);
    lengths_section_ = open(layout::document_lengths);
    texts_ = {open(layout::text_ends), open(layout::text_blocks), open(layout::texts), info_.documents};
    if (layout::lists_section(info_, layout::fields))
        fields_.emplace(path_, info_.sections, info_.documents, info_.fields);
    for (std::size_t i = 0; i < info_.indexed_fields.size(); ++i)
        field_words_.emplace_back(path_, info_, layout::field_words(i));
    lengths_ = lengths_section_.values<std::uint32_t>(0, info_.documents);
    const auto open_listed = [&](std::string_view name) -> std::optional<io::section_view> {
        if (!layout::lists_section(info_, name)) return std::nullopt;
        return open(name);
    };
    link_ranks_ = open_listed(layout::link_ranks);
    document_vectors_ = open_listed(layout::document_vectors);
    user_vectors_ = open_listed(layout::user_vectors);
    tokens_ = std::make_shared<const token_sections>(path_, info_, words_.dictionary().size());
    duplicates_ = document_duplicates(path_, info_.sections);
}

search_detail::token_stream opened_store::tokens() const {
    return {&tokens_->code, [sections = tokens_](std::uint32_t document) {
                const io::section_view& ends = sections->ends;
                const auto end = ends.value<std::uint64_t>(std::uint64_t{document} * 8);
                const auto begin =
                    document == 0 ? 0 : ends.value<std::uint64_t>((std::uint64_t{document} - 1) * 8);
                if (begin > end) ends.fail("is out of order");
                return sections->tokens.bytes(begin, end - begin);
            }};
}

std::string_view opened_store::id(std::uint32_t document) const {
    return io::column_string(ids_, document, info_.documents);
}

std::string_view opened_store::title(std::uint32_t document) const {
    return io::column_string(titles_, document, info_.documents);
}

void opened_store::prefetch(std::uint32_t document) const {
    io::prefetch_string(ids_, document, info_.documents);
    io::prefetch_string(titles_, document, info_.documents);
    __builtin_prefetch(&lengths_[document]);
}

opened_store::link_views opened_store::links() const {
    return {layout::open_section(path_, info_, layout::link_ends),
            layout::open_section(path_, info_, layout::links)};
}

std::optional<std::span<const std::uint64_t>> opened_store::link_ranks() const {
    if (!link_ranks_) return std::nullopt;
    if (link_ranks_->size() != info_.documents * sizeof(std::uint64_t)) {
        link_ranks_->fail("does not fit the documents");
    }
    return link_ranks_->values<std::uint64_t>(0, info_.documents);
}

std::optional<vectors_view> opened_store::document_vectors() const {
    if (!document_vectors_) return std::nullopt;
    vectors_view rows{vector_type::i16, info_.documents, info_.vectors.dimensions, 0, {}};
    rows.stride = rows.row_bytes();
    if (rows.dimensions == 0 || document_vectors_->size() != rows.rows * rows.stride) {
        document_vectors_->fail("does not fit the documents");
    }
    rows.values = std::as_bytes(std::span(document_vectors_->all()));
    return rows;
}

std::optional<vectors_view> opened_store::user_vectors() const {
    if (!user_vectors_) return std::nullopt;
    vectors_view rows{vector_type::f32, info_.documents, 0, 0, {}};
    const std::uint64_t column = info_.documents * sizeof(float);
    if (column == 0 || user_vectors_->size() == 0 || user_vectors_->size() % column != 0)
        user_vectors_->fail("does not fit the documents");
    rows.dimensions = static_cast<std::uint32_t>(user_vectors_->size() / column);
    rows.stride = rows.row_bytes();
    rows.values = std::as_bytes(std::span(user_vectors_->all()));
    return rows;
}

std::optional<std::filesystem::path> opened_store::thesaurus() const {
    if (!info_.thesaurus) return std::nullopt;
    return path_ / layout::thesaurus;
}

void open_as_one(const std::filesystem::path& store, const std::function<void()>& open) {
    const auto manifest_of = [&store] { return layout::manifest_text(read_store_info(store)); };
    for (;;) {
        const std::string before = manifest_of();
        try {
            return open();
        } catch (const error&) {
            if (manifest_of() == before) throw;  // otherwise parts of two stores were opened
        }
    }
}

void require_word_order(const opened_store& store, std::string_view what) {
    if (store.info().listed == word_listing::none) return;
    throw usage_error(store.path().string() +
                      " was made from lists of words, without the order of the words in texts, which " +
                      std::string(what) + " need");
}

opened_store open_store(const std::filesystem::path& path) {
    std::optional<opened_store> opened;
    open_as_one(path, [&] { opened.emplace(path); });
    return std::move(*opened);
}

namespace {

__extension__ using wide_number = unsigned __int128;

}  // namespace

document_finder::document_finder(const opened_store& store, const context& ctx)
    : store_(&store), table_(store.info().documents + store.info().documents / 2 + 1, nobody) {
    paced_checks checks(ctx, neighbouring_values);
    for (std::uint32_t document = 0; document < store.info().documents; ++document) {
        checks.after(1);
        std::size_t slot = slot_of(store.id(document));
        while (table_[slot] != nobody) slot = after(slot);
        table_[slot] = document;
    }
}

/// The high half of hash · slots: every slot is equally likely, without a division.
std::size_t document_finder::slot_of(std::string_view id) const {
    return static_cast<std::size_t>((static_cast<wide_number>(hash64(id)) * table_.size()) >> 64);
}

std::optional<std::uint32_t> document_finder::find(std::string_view id) const {
    for (std::size_t slot = slot_of(id); table_[slot] != nobody; slot = after(slot)) {
        if (store_->id(table_[slot]) == id) return table_[slot];
    }
    return {};
}

}  // namespace quern
