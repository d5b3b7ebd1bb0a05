// SPDX-License-Identifier: Apache-2.0
// Documents from the caller instead of from files: from memory, a database, a generator.
//
//     const std::vector<std::string> texts = …;
//     range_source documents(texts);
//     dedup_options options;
//     options.source = &documents;
#pragma once

#include <concepts>
#include <iterator>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "quern/base/document.hpp"

namespace quern {

/// A document to read. Views only.
struct source_document {
    std::string_view id;     ///< empty: the name of the source and the number, "documents:17"
    std::string_view title;  ///< may be empty
    std::string_view text;   ///< UTF-8; invalid bytes are repaired, as those of files are
    std::span<const std::string> links = {};  ///< ids of documents that it points to
    std::string_view fields = {};             ///< as document::fields: a JSON object, or empty
};

/// Documents in order, once. Ids are unique within a source, as within a file.
class document_source {
  public:
    document_source() = default;
    document_source(const document_source&) = delete;  // two copies would share the documents
    document_source& operator=(const document_source&) = delete;
    virtual ~document_source() = default;

    /// Sets `document` to the next one; false at the end, and from then on. Its views are used until the next call. Called
    /// by one thread at a time, but not always the same. What it throws ends the run.
    virtual bool next(source_document& document) = 0;
    /// What the texts of all documents are: running text, or word_listing::weights.
    virtual word_listing listed() const { return word_listing::none; }
    /// For messages and for ids of documents without one.
    virtual std::string_view name() const { return "documents"; }
};

/// The documents of a range: of texts, of pairs (id, text), or of source_document. A range that is an lvalue must outlive
/// it; it owns an rvalue. Elements that a range makes as it goes (a generator, a transform view) are kept until the next.
template <std::ranges::view View>
    requires std::ranges::input_range<View>
class range_source final : public document_source {
    using reference = std::ranges::range_reference_t<View>;
    using element = std::remove_cvref_t<reference>;

  public:
    explicit range_source(View range) : range_(std::move(range)) {}

    bool next(source_document& document) override {
        if (ended_) return false;
        if (!at_)
            at_.emplace(std::ranges::begin(range_));
        else
            ++*at_;
        ended_ = *at_ == std::ranges::end(range_);
        if (ended_) return false;
        if constexpr (std::is_reference_v<reference>) {
            set(document, **at_);
        } else {
            kept_.emplace(**at_);
            set(document, *kept_);
        }
        return true;
    }

  private:
    static void set(source_document& document, const element& from) {
        if constexpr (std::same_as<element, source_document>) {
            document = from;
        } else if constexpr (std::convertible_to<const element&, std::string_view>) {
            document = {.id = {}, .title = {}, .text = from};
        } else {
            static_assert(std::tuple_size_v<element> == 2, "texts, pairs (id, text), or source_document");
            document = {.id = std::get<0>(from), .title = {}, .text = std::get<1>(from)};
        }
    }

    View range_;
    std::optional<std::ranges::iterator_t<View>> at_;
    std::optional<element> kept_;
    bool ended_ = false;
};

template <std::ranges::viewable_range Range>
range_source(Range&&) -> range_source<std::views::all_t<Range>>;

}  // namespace quern
