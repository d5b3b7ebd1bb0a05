// SPDX-License-Identifier: Apache-2.0
#include "tasks/corpus/own_output.hpp"

#include "quern/base/error.hpp"
#include "quern/tasks/dedup.hpp"
#include "quern/tasks/dictionary.hpp"
#include "quern/tasks/language_model.hpp"
#include "quern/tasks/shards.hpp"
#include "quern/tasks/store.hpp"
#include "quern/tasks/words.hpp"
#include "tasks/store/manifest.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

/// Without a section it is a user's folder with a file that happens to have a manifest's name.
bool holds_sections(const fs::path& folder) {
    std::error_code ignored;
    for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end;
         entry.increment(ignored)) {
        if (entry->path().extension() == manifests::section_extension) return true;
    }
    return false;
}

}  // namespace

void refuse_own_output(const fs::path& input) {
    const bool is_folder = is_store(input) || is_duplicate_store(input) || is_word_space(input);
    if ((is_folder && holds_sections(input)) || is_dictionary(input) || is_compact_model(input) ||
        is_sharded_store(input)) {
        throw usage_error(input.string() + " was made by quern and is not a corpus");
    }
}

}  // namespace quern
