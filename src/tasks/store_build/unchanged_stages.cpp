// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_build/unchanged_stages.hpp"

#include <fcntl.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <system_error>
#include <vector>

#include "device/files/descriptor.hpp"
#include "quern/base/error.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/verify/verify_store.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;
using names = std::vector<std::string_view>;

/// The sections that a stage reads; `vectors` also reads the thesaurus.
names read_by(build_stage stage) {
    const store_layout::word_index_names& words = store_layout::all_words;
    switch (stage) {
        case build_stage::ranks:
            return {store_layout::link_ends, store_layout::links};
        case build_stage::thesaurus:
            return {store_layout::texts, store_layout::text_blocks, store_layout::text_ends};
        case build_stage::vectors:
        case build_stage::ngrams:
            return {words.dictionary,         words.document_frequencies,     store_layout::tokens,
                    store_layout::token_ends, store_layout::document_lengths, store_layout::token_words};
        case build_stage::duplicates:
            break;
    }
    return {};
}

/// The sections that it makes.
names made_by(build_stage stage) {
    const store_layout::word_index_names& pairs = store_layout::pairs;
    switch (stage) {
        case build_stage::ranks:
            return {store_layout::link_ranks};
        case build_stage::vectors:
            return {store_layout::document_vectors};
        case build_stage::ngrams:
            return {pairs.dictionary, pairs.document_frequencies, pairs.collection_frequencies,
                    pairs.posting_ends, pairs.postings};
        case build_stage::thesaurus:
        case build_stage::duplicates:
            break;
    }
    return {};
}

bool are_equal(const store_section& a, const store_section& b) {
    return a.bytes == b.bytes && a.checksum == b.checksum;
}

bool reads_the_same(build_stage stage, const store_info& before, const store_info& now) {
    if (before.verbatim != now.verbatim || before.listed != now.listed || before.documents != now.documents)
        return false;
    for (const std::string_view name : read_by(stage)) {
        const store_section *old = manifests::find_section(before.sections, name),
                            *made = manifests::find_section(now.sections, name);
        if (old == nullptr || made == nullptr || !are_equal(*old, *made)) return false;
    }
    if (stage != build_stage::vectors) return true;
    return before.thesaurus && now.thesaurus && are_equal(*before.thesaurus, *now.thesaurus);
}

void copy_synced(const fs::path& from, const fs::path& to) {
    fs::copy_file(from, to, fs::copy_options::overwrite_existing);
    sync_file(open_file(to, O_RDONLY), to);
}

void copy_folder(const fs::path& from, const fs::path& to) {
    fs::remove_all(to);
    fs::create_directory(to);
    for (const auto& entry : fs::directory_iterator(from))
        if (entry.is_regular_file()) copy_synced(entry.path(), to / entry.path().filename());
    sync_folder(to);
}

}  // namespace

std::optional<stage_outcome> unchanged_outcome(build_stage stage, const fs::path& earlier,
                                               const store_info& before, const fs::path& made,
                                               const store_info& now, const context& ctx) {
    if (!before.stages.contains(stage) || !reads_the_same(stage, before, now)) return {};
    stage_outcome outcome;
    for (const std::string_view name : made_by(stage)) {
        const store_section* section = manifests::find_section(before.sections, name);
        if (section == nullptr) return {};
        outcome.sections.push_back(*section);
    }
    if (stage == build_stage::thesaurus) {
        if (!before.thesaurus) return {};
        outcome.thesaurus = before.thesaurus;
    }
    if (stage == build_stage::vectors) outcome.vectors = before.vectors;
    try {
        for (const store_section& section : outcome.sections)
            copy_synced(store_layout::file_of(earlier, section.name),
                        store_layout::file_of(made, section.name));
        if (outcome.thesaurus) copy_folder(earlier / store_layout::thesaurus, made / store_layout::thesaurus);
        store_info copied;
        copied.sections = outcome.sections;
        copied.thesaurus = outcome.thesaurus;
        check_files(made, copied, ctx);
    } catch (const damaged_store&) {
        return {};
    } catch (const fs::filesystem_error&) {  // a file is missing
        return {};
    }
    return outcome;
}

}  // namespace quern
