// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_build/build_description.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "io/files/mapped_file.hpp"
#include "quern/base/decimal.hpp"
#include "quern/base/pdf_program.hpp"
#include "quern/ops/near_duplicates.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/corpus/described_corpus.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/manifest.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

/// Version of the stages' output: incremented if the same corpus and options give other bytes than before, so that an
/// older program's partial results are not resumed.
constexpr int version_of_stages = 3;

constexpr const char *member_name = "inputs", *program_member = "made_by";

std::string description_of_program(const context& ctx) {
    // Texts that are taken over were compressed by the library of then.
    return fmt::format("Quern {}, stages {}, zstd {}, seed {}", QUERN_VERSION, version_of_stages,
                       ZSTD_versionString(), ctx.seed);
}

std::string checksum_of(const std::string& description) {
    return manifests::hex(hash64(description));
}

/// A member of the statistics of a store, if it is a text.
std::optional<std::string> noted_in(const fs::path& store, const char* member) {
    const fs::path file = store / store_layout::statistics;
    std::error_code missing;
    if (!fs::exists(file, missing)) return {};
    const auto noted = nlohmann::json::parse(io::mapped_file(file).text(), nullptr, false);
    if (!noted.is_object() || !noted.contains(member) || !noted[member].is_string()) return {};
    return noted[member].get<std::string>();
}

}  // namespace

bool is_repeatable(const build_options& options) {
    return options.source == nullptr && options.vectors.rows.rows == 0 &&
           (options.vectors.file.empty() || lies_still(options.vectors.file)) &&
           std::ranges::all_of(options.inputs, lies_still);
}

described_content describe_build(const build_options& options, const context& ctx) {
    described_content made = describe_content(options);
    std::string& out = made.text;
    out.insert(0, describe_request(options));
    // Colliding ids are prefixed with the paths as the user gave them.
    for (const fs::path& input : options.inputs) out += "given " + input.string() + '\n';
    out += description_of_program(ctx);
    if (options.skip.contains(build_stage::duplicates)) out += " with near-duplicates";
    if (!options.indexed_fields.empty()) out += "\nindexed " + field_list_text(options.indexed_fields);
    if (!options.vectors.file.empty()) {
        out += "\nvectors ";
        describe_file(options.vectors.file, out);
    }
    return made;
}

std::string describe_reading(const build_options& options, const context& ctx) {
    // A document that needs more memory than there is becomes an issue.
    std::string out =
        describe_request(options) +
        fmt::format("Quern {}, stages {}, memory {}\n", QUERN_VERSION, version_of_stages, ctx.memory_limit());
    if (const fs::path pdf = used_pdf_program().path; !pdf.empty()) describe_file(pdf, out);
    return out;
}

std::string describe_duplicates() {
    return fmt::format("near-duplicates below {}, Quern {}, stages {}",
                       to_text(duplicate_options().threshold), QUERN_VERSION, version_of_stages);
}

std::string statistics_of_store(const run_statistics& statistics,
                                const std::optional<std::string>& description, const context& ctx) {
    auto json = nlohmann::ordered_json::parse(to_json(statistics));
    if (description) json[member_name] = checksum_of(*description);
    json[program_member] = description_of_program(ctx);
    return json.dump(2) + '\n';
}

bool is_up_to_date(const fs::path& store, const std::string& description) {
    return is_store(store) && noted_in(store, member_name) == checksum_of(description);
}

bool is_made_alike(const fs::path& store, const context& ctx) {
    return noted_in(store, program_member) == description_of_program(ctx);
}

}  // namespace quern
