// SPDX-License-Identifier: Apache-2.0
// Writes the sections of a space, and the file with all similarities.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/store/section.hpp"
#include "quern/ops/word_similarity.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/words/word_counts.hpp"

namespace quern {

class space_writer {
  public:
    /// Into `folder`, which exists; `scratch`: a file for intermediate data.
    space_writer(std::filesystem::path folder, std::filesystem::path scratch)
        : folder_(std::move(folder)), scratch_(std::move(scratch)) {}

    void write_words(const chosen_words& words);
    void write_relations(std::span<const std::string> names);
    /// First the entries, as context_counter delivers them; then the rest of the matrix.
    void append_contexts(std::span<const std::uint32_t> columns, std::span<const float> weights);
    void end_contexts(const context_matrix& matrix);
    std::uint64_t entries() const { return entries_; }
    /// First the neighbours, as similar_words delivers them; then where the lists end.
    void append_neighbours(std::span<const std::uint32_t> words, std::span<const double> scores);
    void end_neighbours(std::span<const std::uint64_t> offsets);
    void write_vectors(const word_vectors& vectors);

    /// All N rows of N scores, in order: calls `rows(take)`, which calls take() for each.
    using row_sink = std::function<void(std::span<const double>)>;
    void write_similarities(std::uint32_t words, const std::function<void(const row_sink&)>& rows);

    const std::vector<store_section>& sections() const { return sections_; }
    std::uint64_t bytes() const;  ///< of all files so far
    std::uint64_t matrix_bytes() const { return matrix_bytes_; }
    std::uint64_t matrix_checksum() const { return matrix_checksum_; }

  private:
    template <class Value>
    void write(std::string_view name, std::span<const Value> values);
    template <class Strings>
    void write_strings(std::string_view name, const Strings& strings);

    void end_section(std::string_view name, io::section_writer& section);

    std::filesystem::path folder_, scratch_;
    std::unique_ptr<io::section_writer> contexts_, weights_, neighbours_,
        scores_;  ///< until they are complete
    std::uint64_t entries_ = 0;
    std::vector<store_section> sections_;
    std::uint64_t matrix_bytes_ = 0, matrix_checksum_ = 0;
};

}  // namespace quern
