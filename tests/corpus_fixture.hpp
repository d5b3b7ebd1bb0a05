// SPDX-License-Identifier: Apache-2.0
// For tests of tasks over a corpus: a folder with a corpus in it, a context that keeps to that folder, numbers to
// generate texts from, and what a task left.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "quern/base/context.hpp"
#include "temporary_folder.hpp"

namespace quern::testing {

/// Numbers that are the same for a seed with every standard library. Knuth's linear congruential generator, without its
/// lower bits, which repeat soon.
class made_numbers {
  public:
    explicit made_numbers(std::uint64_t seed) : state_(seed) {}

    std::uint64_t operator()() { return (state_ = state_ * 6364136223846793005 + 1442695040888963407) >> 33; }
    std::uint64_t operator()(std::uint64_t below) { return operator()() % below; }

  private:
    std::uint64_t state_;
};

/// The bytes of all files by their paths in the folder, without the records of the run, which differ.
inline std::map<std::string, std::string> files_of(const std::filesystem::path& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
        if (entry.is_regular_file() && entry.path().filename() != "stats.json")
            files[entry.path().lexically_relative(folder).string()] = read_file(entry.path());
    return files;
}

class corpus_fixture : public ::testing::Test {
  protected:
    /// Writes the corpus into the test's folder and returns its path.
    std::filesystem::path written(const std::string& corpus, const std::string& name = "corpus.jsonl") const {
        write_file(folder_ / name, corpus);
        return folder_ / name;
    }
    context context_with(unsigned threads = 2, std::uint64_t memory = 0) const {
        context ctx = context::cpu(threads);
        ctx.memory_bytes = memory;
        ctx.scratch = folder_ / "scratch";
        return ctx;
    }

    temporary_folder folder_;
};

}  // namespace quern::testing
