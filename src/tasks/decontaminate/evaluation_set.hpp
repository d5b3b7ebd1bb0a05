// SPDX-License-Identifier: Apache-2.0
// The items of all evaluation sets in memory: their words as numbers, and the vocabulary.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/files/scratch_folder.hpp"
#include "device/files/spill_file.hpp"
#include "ops/contamination/item_index.hpp"
#include "quern/base/context.hpp"
#include "quern/tasks/decontaminate.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/dedup/word_table.hpp"

namespace quern {

class evaluation_set {
  public:
    /// Reads the items; on request their texts are kept on disk. Throws as decontaminate() does.
    evaluation_set(const decontaminate_options& options, scratch_folder& scratch, const context& ctx);

    std::uint32_t items() const { return static_cast<std::uint32_t>(sets_.size()); }
    evaluation_item item(std::uint32_t item) const;
    std::string text(std::uint32_t item, std::size_t max_bytes) const;  ///< its beginning; if it was kept
    std::uint64_t text_bytes(std::uint32_t item) const {
        return text_ends_[item + std::size_t{1}] - text_ends_[item];
    }
    /// Of the items' words; none for another word.
    std::uint32_t number_of(std::string_view word) const {
        return vocabulary_.find(word).value_or(contamination_detail::item_index::none);
    }
    contamination_detail::item_words words() const { return {words_, offsets_, hashes_}; }
    std::uint64_t memory_bytes() const;
    std::uint64_t input_bytes() const { return input_bytes_; }
    const reading_record& record() const { return record_; }

  private:
    struct unit_in_work;
    void append(const unit_in_work& unit);
    void refuse_too_much(std::uint64_t needed, const context& ctx) const;

    word_numbers vocabulary_;
    std::vector<std::uint64_t> hashes_;  ///< of the vocabulary
    std::vector<std::uint32_t> words_;   ///< of all items
    std::vector<std::uint64_t> offsets_{0};
    std::string ids_;
    std::vector<std::uint64_t> id_ends_;
    std::vector<std::uint32_t> sets_;
    std::optional<spill_file> texts_;
    std::vector<std::uint64_t> text_ends_{0};
    std::vector<std::uint32_t> number_of_distinct_;  ///< scratch space of append()
    std::uint64_t input_bytes_ = 0;
    reading_record record_;
};

}  // namespace quern
