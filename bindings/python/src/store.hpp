// SPDX-License-Identifier: Apache-2.0
// quern.Store: an opened store.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "quern/tasks/count.hpp"
#include "quern/tasks/search.hpp"
#include "run.hpp"

namespace quern::python {

/// Thread-safe. Results share it.
class opened_folder {
  public:
    opened_folder(const std::filesystem::path& path, const context& ctx);

    const search_engine& engine() const { return engine_; }
    const std::filesystem::path& path() const { return path_; }  ///< absolute
    /// Of the rows that `quern info` writes: equal for equal stores. Of a sharded store: of the checksums of its shards.
    const std::string& fingerprint() const { return fingerprint_; }
    /// Opened at the first call. Throws usage_error if another store is at the path by now.
    const ngram_counter& counter(const context& ctx) const;
    /// Throws usage_error if the path's store is not this one.
    void check_unchanged() const;

  private:
    search_engine engine_;
    std::filesystem::path path_;
    std::string fingerprint_;
    mutable std::mutex lock_;
    mutable std::optional<ngram_counter> counter_;
};

/// The object of Python.
class store {
  public:
    explicit store(std::shared_ptr<const opened_folder> opened) : held_(std::move(opened)) {}
    const opened_folder& operator*() const { return *held_; }
    const opened_folder* operator->() const { return held_.get(); }

  private:
    std::shared_ptr<const opened_folder> held_;
};

store open_store(const std::filesystem::path& path, const run_options& options);

}  // namespace quern::python
