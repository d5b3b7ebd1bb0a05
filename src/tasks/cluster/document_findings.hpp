// SPDX-License-Identifier: Apache-2.0
// The results of a job's tasks for documents, for the run that reads the corpus once more: each task
// (corpus_shards.hpp) had a part of the documents of some inputs, in their order, chosen by the hash of their texts.
//
// A file has for each document the hash, the size of what was found and these bytes; then the number of documents.
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

namespace quern {

/// Which documents of a task's inputs it has; `hash`: XXH3 of the text as it was read.
constexpr std::uint64_t part_of_text(std::uint64_t hash, std::uint64_t parts) {
    return hash % parts;
}

void append_finding(std::string& out, std::uint64_t hash, std::string_view found);
/// The end of a file.
std::string number_of_findings(std::uint64_t documents);

/// The findings of one task, in order.
class finding_reader {
  public:
    /// Throws io_error, damaged_store.
    explicit finding_reader(const std::filesystem::path& file);
    std::uint64_t documents() const { return documents_; }
    bool is_at_end() const { return at_ == end_; }

    struct finding {
        std::uint64_t hash = 0;
        std::string_view found;
    };
    /// The next one; valid as long as the reader. Throws damaged_store.
    finding next();

  private:
    std::string_view take(std::uint64_t bytes);

    io::mapped_file file_;
    std::size_t at_ = 0, end_ = 0;
    std::uint64_t documents_ = 0;
};

/// The findings of all tasks of a job, for the documents of its corpus in their order.
class document_findings {
  public:
    /// `name`: of the tasks' results. Throws as read_plan() and finding_reader do.
    document_findings(const std::filesystem::path& job, std::string_view name);

    /// For documents that follow each other in one input; `parsed` counts those that were refused for their ids, too. `take`
    /// gets what was found for each hash; the bytes stay valid until the next call. Throws usage_error if a task did not have a
    /// document: the corpus is another one.
    void take(std::span<const std::uint64_t> hashes, std::uint64_t parsed,
              const std::function<void(std::size_t, std::string_view)>& take);

  private:
    struct group {
        std::vector<finding_reader> parts;
        std::uint64_t documents = 0;  ///< of all parts
    };
    [[noreturn]] void refuse() const;

    std::filesystem::path job_;
    std::deque<group> groups_;
    std::uint64_t taken_ = 0;    ///< of the first group
    std::uint64_t refused_ = 0;  ///< documents, whose findings were not skipped yet
};

}  // namespace quern
