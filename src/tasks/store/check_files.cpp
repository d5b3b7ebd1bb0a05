// SPDX-License-Identifier: Apache-2.0
#include "tasks/store/check_files.hpp"

#include "quern/base/error.hpp"
#include "quern/tasks/words.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/manifest.hpp"
#include "tasks/store/stop_words_file.hpp"
#include "tasks/words/space_layout.hpp"
#include "tasks/words/space_writer.hpp"

namespace quern {
namespace {

/// An undamaged space may still belong to another store.
std::uint64_t verify_thesaurus(const std::filesystem::path& space, const store_section& listed,
                               const context& ctx) {
    if (!is_word_space(space)) throw damaged_store(space.string(), listed.name, "is missing");
    const std::uint64_t bytes = verify_word_space(space, ctx);
    if (checksum_of_file(space / space_layout::manifest, ctx) != listed.checksum) {
        throw damaged_store(space.string(), listed.name, "belongs to another store");
    }
    return bytes;
}

}  // namespace

std::uint64_t check_files(const std::filesystem::path& store, const store_info& info, const context& ctx) {
    std::uint64_t bytes = check_stop_words(info.text, store);
    for (const store_section& listed : info.sections) {
        manifests::check_all(store_layout::open_section(store, info, listed.name), ctx);
        bytes += listed.bytes;
        ctx.report({"verify", bytes, 0, "bytes"});
    }
    if (info.thesaurus) {
        bytes += verify_thesaurus(store / store_layout::thesaurus, *info.thesaurus, ctx);
    }
    return bytes;
}

}  // namespace quern
