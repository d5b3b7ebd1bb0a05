// SPDX-License-Identifier: Apache-2.0
// How every task reads a corpus: how much of it at once, which documents are refused, and when there are too many of
// those.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/corpus/corpus.hpp"
#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "quern/tasks/build.hpp"

namespace quern {

/// How many units of a corpus are under way at once, and how they are cut, for a task that holds each of them about
/// eight times over (raw, parsed, worked on): all together take an eighth of the memory budget.
std::size_t units_at_once(const context& run);
/// `input_format` as in build_options. Throws usage_error for an unknown one.
io::corpus_options corpus_options_for(std::string_view input_format, const context& run);

/// Refuses a unit that one document makes too large for the budget: throws out_of_memory.
void refuse_oversized(const io::corpus_unit& unit, const context& run);

/// Throws usage_error where there are no inputs or one of them does not exist, io_error where it cannot be seen.
void require_inputs(const std::vector<std::filesystem::path>& inputs);

/// Throws usage_error where a store and an input lie within each other. Only folders hold other things: an input that
/// is a file or a pipe cannot hold a store.
void refuse_overlap(const std::filesystem::path& store, const std::filesystem::path& input);

/// What a task has read of its inputs so far, in order.
struct reading_record {
    reading_counts counts;
    std::vector<input_issue> issues;        ///< the first 100
    std::vector<input_issue> lost;          ///< the first ten of those rejected or cut
    std::optional<input_issue> incomplete;  ///< the first input that is not whole

    void take(io::parsed_unit& unit);  ///< its counts and issues
    /// A document that was parsed, counted, and is refused now.
    void reject(const document& d, std::string reason);
    /// "the id "x" is repeated"
    void reject_repeated(const document& d);

    /// Throws invalid_input: there are no documents, and why, as far as a rule left something out.
    [[noreturn]] void refuse_empty(const std::vector<std::filesystem::path>& inputs) const;
    /// Throws too_much_lost, naming the first, where more were rejected or cut than `limit` allows, or an input is not
    /// whole and that is not forgiven.
    void refuse_too_many(const error_limit& limit, const std::vector<std::filesystem::path>& inputs) const;
    /// The same while there is more to read: of a share, that is known only at the end.
    void refuse_early(const error_limit& limit, const std::vector<std::filesystem::path>& inputs) const;

  private:
    void note(input_issue issue);
    [[noreturn]] void refuse(const std::vector<std::filesystem::path>& inputs, const std::string& why) const;
};

}  // namespace quern
