// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/store.hpp"

#include "quern/base/error.hpp"
#include "tasks/store/check_files.hpp"
#include "tasks/store/check_words.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

bool is_store(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path / store_layout::manifest, ignored);
}

store_info read_store_info(const std::filesystem::path& store) {
    if (!is_store(store)) {
        std::error_code unseen;
        throw usage_error(store.string() +
                          (std::filesystem::exists(store, unseen) ? ": not a store" : ": no such store"));
    }
    return store_layout::read_manifest(store);
}

std::uint64_t verify_store(const std::filesystem::path& store, const context& ctx) {
    const std::uint64_t bytes = check_files(store, read_store_info(store), ctx);
    const opened_store opened(store);
    check_words(opened, ctx);
    opened.link_ranks();
    opened.document_vectors();
    opened.duplicates().check(opened.info().documents);
    return bytes;
}

}  // namespace quern
