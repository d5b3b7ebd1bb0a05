// SPDX-License-Identifier: Apache-2.0
// quern.Hits and quern.Hit: the result of a search, of which Python objects are made when they are read.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "quern/tasks/search.hpp"
#include "store.hpp"

namespace quern::python {

/// A result with what its attributes need later. Shared by its hits; not changed once shared.
struct found {
    search_result result;
    std::optional<store> opened;
    std::string query;                     ///< that was run
    std::optional<std::string> corrected;  ///< the same, if it is not the one given
    bool explained = false;

    // Of the call, for pickles.
    nanobind::object given_query, given_id, arguments;

    /// The words to mark, in byte order. Thread-safe.
    const std::vector<std::string>& marked_words() const;

  private:
    mutable std::once_flag once_;
    mutable std::vector<std::string> words_;
};

struct hits {
    std::shared_ptr<const found> of;
};
struct hit {
    std::shared_ptr<const found> of;
    std::size_t at = 0;

    const search_hit& operator*() const { return of->result.hits[at]; }
    const search_hit* operator->() const { return &of->result.hits[at]; }
};

void declare_hits(nanobind::module_& module);

}  // namespace quern::python
