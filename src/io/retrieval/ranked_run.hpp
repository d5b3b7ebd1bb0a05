// SPDX-License-Identifier: Apache-2.0
// A TREC run as lists by topic, with ids as views of the file's text: nothing is copied, and what only some readers
// need (a line's number, its rank) is looked up in the text on request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/memory_budget.hpp"
#include "io/byte_source.hpp"
#include "io/lines/text_blocks.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

/// A line of a run. 24 bytes, because there are millions.
struct ranked_entry {
    const char* document_begin = nullptr;
    std::uint32_t document_size = 0;
    std::uint32_t hash = 0;  ///< of the document's id: the low half of hash64
    double score = 0;        ///< never NaN; may be infinite

    std::string_view document() const { return {document_begin, document_size}; }
};
struct ranked_topic {
    std::string_view id;
    std::span<const ranked_entry> entries;  ///< in line order
};

/// An open run: ids point into its text. Move-only.
class ranked_run {
  public:
    /// Lines as run_lines parses them; those of a topic need not be contiguous. Plain or compressed; "-" is standard
    /// input; a byte-order mark is skipped. Does not check that a document occurs once in a topic. Single-threaded:
    /// several runs are read at once. Throws usage_error (no such file, a folder), io_error, out_of_memory,
    /// interrupted, and what run_lines throws.
    ranked_run(const std::filesystem::path& path, const context& ctx);
    /// One of several runs that share a budget: the text, if it is not mapped, and the entries stay counted there.
    ranked_run(const std::filesystem::path& path, const context& ctx, memory_budget& memory);
    /// The rest of `source`.
    ranked_run(byte_source& source, const context& ctx);

    const std::string& name() const { return text_.name(); }
    /// In order of first occurrence.
    std::span<const ranked_topic> topics() const { return topics_; }
    std::uint64_t lines() const { return entries_.size(); }  ///< without empty ones
    std::uint64_t bytes() const { return text_.text().size(); }
    /// Whether all ids of documents compare as numbers: id_order.hpp.
    bool has_numbers_alone() const { return numbers_alone_; }

    /// The rank in this entry's line; nothing if it is not a number below 2^32. Cost: reads the line.
    std::optional<std::uint32_t> rank_of(const ranked_entry& entry) const;
    /// Throws invalid_input for this entry's line. Cost: counts the lines before it.
    [[noreturn]] void refuse(const ranked_entry& entry, std::string_view reason) const;
    [[noreturn]] void refuse_repeated(const ranked_topic& topic, const ranked_entry& entry) const;

  private:
    void read(const context& ctx, memory_budget& memory);
    void reserve(std::size_t entries, memory_budget& memory);
    void gather(std::span<const std::uint32_t> topic_of_range, std::span<const std::uint64_t> range_begins,
                memory_budget& memory);

    text_of_file text_;
    std::vector<ranked_topic> topics_;
    std::vector<ranked_entry> entries_;  ///< topic by topic
    bool numbers_alone_ = true;
};

// Messages of the readers of retrieval experiments about a line.

inline constexpr std::size_t longest_trec_line = std::size_t{1} << 20;

/// An excerpt of the file, without bytes that would break a line or a terminal.
inline std::string quoted_field(std::string_view text) {
    std::string shown = "\"";
    for (const char c : text.substr(0, 40)) shown += c >= ' ' && c < 0x7f ? c : '?';
    return shown.append(text.size() > 40 ? "…\"" : "\"");
}

inline std::string repeated_document(std::string_view document, std::string_view topic) {
    return "duplicate document " + quoted_field(document) + " in topic " + quoted_field(topic);
}

// A ranked list from a file: lines of `id TAB score`.

/// An open list: the ids point into its text. Line i + 1 of the file is entry i. Move-only.
class ranked_list {
  public:
    /// Lines end with LF or CR LF; anything after a second tab is ignored. Throws usage_error (no such file), io_error,
    /// invalid_input with the line: no tab, an empty id, an invalid score; out_of_memory: text and entries stay counted
    /// in `memory`. Single-threaded: several lists are read at once.
    ranked_list(const std::filesystem::path& path, const context& ctx, memory_budget& memory);

    const std::string& name() const { return text_.name(); }
    const std::vector<std::string_view>& ids() const { return ids_; }
    const std::vector<double>& scores() const { return scores_; }  ///< unchanged, including NaN
    std::size_t bytes() const { return text_.text().size(); }

  private:
    void reserve(std::size_t entries, memory_budget& memory);

    text_of_file text_;
    std::vector<std::string_view> ids_;
    std::vector<double> scores_;
};

}  // namespace quern::io
