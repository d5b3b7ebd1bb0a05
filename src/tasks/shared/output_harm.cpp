// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/output_harm.hpp"

#include <algorithm>
#include <string>

#include "quern/base/error.hpp"
#include "quern/tasks/dedup.hpp"
#include "quern/tasks/shards.hpp"
#include "quern/tasks/store.hpp"
#include "quern/tasks/words.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

/// Resolves links and dots and removes a trailing slash, as far as the path exists.
fs::path resolved(const fs::path& path) {
    std::error_code failure;
    const fs::path whole = fs::weakly_canonical(fs::absolute(path, failure), failure);
    return failure ? path : whole.has_filename() ? whole : whole.parent_path();
}

/// Whether reading the folder `outer` would read `inner`: hidden files and files in hidden folders are not
/// read.
bool lies_within(const fs::path& inner, const fs::path& outer) {
    const auto [end, rest] = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
    const auto is_hidden = [](const fs::path& name) { return name.native().starts_with('.'); };
    return end == outer.end() && std::none_of(rest, inner.end(), is_hidden);
}

/// Whether writing to the path creates or replaces a regular file: it is one, or it does not exist.
bool becomes_file(const fs::path& path) {
    std::error_code failure;
    const fs::file_status status = fs::status(path, failure);
    return !fs::exists(status) || fs::is_regular_file(status);
}

}  // namespace

bool same_file(const fs::path& a, const fs::path& b) {
    std::error_code failure;
    if (!becomes_file(a) || !becomes_file(b)) return false;
    return resolved(a) == resolved(b) || (fs::equivalent(a, b, failure) && !failure);
}

void refuse_harm(const fs::path& path, std::span<const fs::path> inputs) {
    if (!becomes_file(path)) return;
    // Check both a link and its target.
    const fs::path itself = resolved(path.has_parent_path() ? path.parent_path() : ".") / path.filename();
    const fs::path target = resolved(path);
    for (const fs::path& input : inputs) {
        if (input.empty() || input == "-") continue;
        if (same_file(path, input)) {
            throw usage_error(path.string() + " is an input and would be overwritten; choose another output");
        }
        const fs::path folder = resolved(input);
        if (lies_within(itself, folder) || lies_within(target, folder)) {
            throw usage_error(path.string() + " is inside the input " + input.string() +
                              "; choose another output");
        }
    }
    for (const fs::path& place : {itself, target}) {
        for (fs::path folder = place; folder.has_relative_path();) {
            folder = folder.parent_path();
            if (is_store(folder) || is_duplicate_store(folder) || is_word_space(folder) ||
                is_sharded_store(folder)) {
                throw usage_error(path.string() + " is inside the store " + folder.string() +
                                  "; choose another output");
            }
        }
    }
}

}  // namespace quern
