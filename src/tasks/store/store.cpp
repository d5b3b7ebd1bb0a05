// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/store.hpp"

#include "quern/base/error.hpp"
#include "quern/tasks/words.hpp"
#include "tasks/store/check_words.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/manifest.hpp"
#include "tasks/store/opened_store.hpp"
#include "tasks/store/stop_words_file.hpp"
#include "tasks/words/space_layout.hpp"
#include "tasks/words/space_writer.hpp"

namespace quern {

namespace {

/// A space that is whole in itself may still be another store's.
std::uint64_t verify_thesaurus(const std::filesystem::path& space, const store_section& listed,
                               const context& run) {
    if (!is_word_space(space)) throw damaged_store(space.string(), listed.name, "is missing");
    const std::uint64_t bytes = verify_word_space(space, run);
    if (bytes != listed.bytes || checksum_of_file(space / space_layout::manifest, run) != listed.checksum) {
        throw damaged_store(space.string(), listed.name, "is not the one of this store");
    }
    return bytes;
}

}  // namespace

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
    const opened_store opened(store);
    check_words(opened, run);
    opened.link_ranks();
    opened.document_vectors();
    if (const auto thesaurus = opened.thesaurus())
        bytes += verify_thesaurus(*thesaurus, *info.thesaurus, run);
    return bytes;
}

}  // namespace quern
