// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/store.hpp"

#include "quern/base/error.hpp"
#include "tasks/store/check_words.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/manifest.hpp"
#include "tasks/store/stop_words_file.hpp"

namespace quern {

bool is_store(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path / store_layout::manifest, ignored);
}

store_info read_store_info(const std::filesystem::path& store) {
    if (!is_store(store)) {
        std::error_code unseen;
        throw usage_error(store.string() +
                          (std::filesystem::exists(store, unseen) ? ": is no store" : ": no such store"));
    }
    return store_layout::read_manifest(store);
}

std::uint64_t verify_store(const std::filesystem::path& store, const context& run) {
    const store_info info = read_store_info(store);
    std::uint64_t bytes = check_stop_words(info.text, store);
    for (const store_section& listed : info.sections) {
        manifests::check_all(store_layout::open_section(store, info, listed.name), run);
        bytes += listed.bytes;
        run.report({"verify", bytes, 0, "bytes"});
    }
    check_words(opened_store(store), run);
    return bytes;
}

}  // namespace quern
