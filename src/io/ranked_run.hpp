// SPDX-License-Identifier: Apache-2.0
// A TREC run as lists by topic, its ids views of the file's own text: nothing is copied, and what only some readers want
// (a line's number, its rank) is looked up in the text when it is asked for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/byte_source.hpp"
#include "io/text_of_file.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

/// A line of a run. 24 bytes, for there are millions.
struct ranked_entry {
    const char* document_begin = nullptr;
    std::uint32_t document_size = 0;
    std::uint32_t hash = 0;  ///< of the document's id: the low half of hash64
    double score = 0;        ///< never a NaN; an infinity where the line says so

    std::string_view document() const { return {document_begin, document_size}; }
};
struct ranked_topic {
    std::string_view id;
    std::span<const ranked_entry> entries;  ///< in the order of the lines
};

/// An open run: ids point into its text. Move-only.
class ranked_run {
  public:
    /// Lines as run_lines takes them; those of a topic need not stand together. Plain or compressed; "-" is standard
    /// input; a byte order mark is passed over. That a document occurs once in a topic is not looked at. One thread:
    /// several runs are read at once. Throws usage_error (no such file, a folder), io_error, out_of_memory, interrupted,
    /// and what run_lines throws.
    ranked_run(const std::filesystem::path& path, const context& run);
    /// One of several runs that share a budget: the text, where it is not mapped, and the entries stay counted there.
    ranked_run(const std::filesystem::path& path, const context& run, memory_budget& memory);
    /// What is left to read of `source`.
    ranked_run(byte_source& source, const context& run);

    const std::string& name() const { return text_.name(); }
    /// In the order in which they occur first.
    std::span<const ranked_topic> topics() const { return topics_; }
    std::uint64_t lines() const { return entries_.size(); }  ///< without the empty ones
    std::uint64_t bytes() const { return text_.text().size(); }
    /// Whether all ids of documents compare as numbers: id_order.hpp.
    bool has_numbers_alone() const { return numbers_alone_; }

    /// The rank as the line of this entry has it; nothing where that is no number below 2^32. Cost: a look at the line.
    std::optional<std::uint32_t> rank_of(const ranked_entry& entry) const;
    /// Throws invalid_input for the line of this entry. Cost: counts the lines before it.
    [[noreturn]] void refuse(const ranked_entry& entry, std::string_view reason) const;
    [[noreturn]] void refuse_repeated(const ranked_topic& topic, const ranked_entry& entry) const;

  private:
    void read(const context& run, memory_budget& memory);
    void reserve(std::size_t entries, memory_budget& memory);
    void gather(std::span<const std::uint32_t> topic_of_stretch,
                std::span<const std::uint64_t> stretch_begins, memory_budget& memory);

    text_of_file text_;
    std::vector<ranked_topic> topics_;
    std::vector<ranked_entry> entries_;  ///< topic by topic
    bool numbers_alone_ = true;
};

}  // namespace quern::io
