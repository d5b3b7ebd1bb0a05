// SPDX-License-Identifier: Apache-2.0
// The metadata of a space, and the verification of its files.
#include "device/cpu/pipeline.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/similar.hpp"
#include "quern/tasks/store.hpp"
#include "quern/tasks/words.hpp"
#include "tasks/shared/file_checksum.hpp"
#include "tasks/store/has_file.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/manifest.hpp"
#include "tasks/store/stop_words_file.hpp"
#include "tasks/words/space_layout.hpp"

namespace quern {

bool is_word_space(const std::filesystem::path& path) {
    return has_file(path, space_layout::manifest);
}

word_space_info read_word_space_info(const std::filesystem::path& space) {
    return space_layout::read_manifest(space).info;
}

std::filesystem::path space_of(const std::filesystem::path& path) {
    if (is_word_space(path) || !is_store(path)) return path;
    if (!read_store_info(path).thesaurus) {
        throw usage_error(path.string() + " is a store without a thesaurus; quern words " + path.string() +
                          " -o SPACE makes a space of its texts");
    }
    std::filesystem::path space = path / store_layout::thesaurus;
    if (!is_word_space(space)) throw damaged_store(space.string(), store_layout::thesaurus, "is missing");
    return space;
}

std::uint64_t verify_word_space(const std::filesystem::path& space, const context& ctx) {
    const auto [info, matrix_checksum] = space_layout::read_manifest(space);
    std::uint64_t bytes = 0;
    try {
        bytes += check_stop_words(space_layout::text_of(info.requested), space);
    } catch (const error&) {
        throw;
    } catch (const std::runtime_error& e) {
        throw damaged_store(space.string(), "manifest", e.what());
    }
    for (const store_section& listed : info.sections) {
        manifests::check_all(space_layout::open_section(space, info, listed.name), ctx);
        bytes += listed.bytes;
        ctx.report({"verify", bytes, 0, "bytes"});
    }
    if (info.matrix_bytes == 0) return bytes;
    const std::filesystem::path matrix = space / space_layout::matrix_file;
    std::error_code failed;
    if (!std::filesystem::is_regular_file(matrix, failed)) {
        throw damaged_store(space.string(), "similarities", "is missing");
    }
    if (std::filesystem::file_size(matrix) != info.matrix_bytes ||
        checksum_of_file(matrix, ctx) != matrix_checksum) {
        throw damaged_store(space.string(), "similarities", "does not match its checksum");
    }
    return bytes + info.matrix_bytes;
}

}  // namespace quern
