// SPDX-License-Identifier: Apache-2.0
// What tasks of a job found out about documents, for the run that filters them: each task judges a part of the documents of some
// inputs, in their order, chosen by the hash of their texts.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/files/mapped_file.hpp"
#include "quern/base/context.hpp"
#include "tasks/filter/document_filter.hpp"

namespace quern {

/// A judged document with its text, if that is changed.
struct verdict_of_text {
    std::uint64_t hash = 0;  ///< XXH3 of the text before any change
    judged found;
    std::string text;
};

void append_verdict(std::string& out, const verdict_of_text& verdict);

/// The verdicts of one task, in order. Their number follows the last of them.
class verdict_reader {
  public:
    /// Throws io_error, damaged_store.
    explicit verdict_reader(const std::filesystem::path& file);
    std::uint64_t documents() const { return documents_; }
    bool is_at_end() const { return at_ == end_; }
    /// The next one. Throws damaged_store.
    verdict_of_text next();

  private:
    std::string_view take(std::uint64_t bytes);
    std::uint64_t number();

    io::mapped_file file_;
    std::size_t at_ = 0, end_ = 0;
    std::uint64_t documents_ = 0;
};

/// The verdicts of a job, for the documents of its corpus in their order.
class job_verdicts {
  public:
    explicit job_verdicts(const std::filesystem::path& job);

    /// For documents that follow each other in one input; `parsed` counts those that were refused for their ids, too. `take`
    /// gets one verdict for each hash. Throws usage_error if a document was not judged: the corpus is another one.
    void take(std::span<const std::uint64_t> hashes, std::uint64_t parsed,
              const std::function<void(std::size_t, verdict_of_text&&)>& take);

  private:
    struct group {
        std::vector<verdict_reader> parts;
        std::uint64_t documents = 0;  ///< of all parts
    };
    [[noreturn]] void refuse() const;

    std::filesystem::path job_;
    std::deque<group> groups_;
    std::uint64_t taken_ = 0;    ///< of the first group
    std::uint64_t refused_ = 0;  ///< documents, whose verdicts were not skipped yet
};

/// Which documents of a task's inputs it judges.
constexpr std::uint64_t part_of(std::uint64_t hash, std::uint64_t parts) {
    return hash % parts;
}

}  // namespace quern
