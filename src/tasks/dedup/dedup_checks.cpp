// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/dedup_checks.hpp"

#include <fmt/format.h>

#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "io/corpus/corpus.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/dedup_option_table.hpp"
#include "quern/tasks/store.hpp"
#include "report/html_page.hpp"
#include "tasks/corpus/own_output.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/dedup/duplicate_store.hpp"
#include "tasks/dedup/preference.hpp"

namespace quern {

namespace fs = std::filesystem;

bool compares_words(duplicate_method method) {
    return method == duplicate_method::shingle || method == duplicate_method::simhash ||
           method == duplicate_method::i_match;
}

bool is_duplicate_store(const fs::path& path) {
    return duplicate_store::is_one(path);
}

duplicate_store_info read_duplicate_store_info(const fs::path& store) {
    return duplicate_store(store, duplicate_store::access::read, nullptr, context()).info();
}

std::uint64_t verify_duplicate_store(const fs::path& store, const context& ctx) {
    return duplicate_store(store, duplicate_store::access::read, nullptr, ctx).verify(ctx);
}

namespace {

void refuse_text_of_bytes(const duplicate_options& options) {
    if (compares_words(options.method)) {
        const auto name = duplicate_method_names[static_cast<std::size_t>(options.method)];
        throw usage_error(
            fmt::format("method {} compares words, and binary files have none (expected auto, "
                        "exhaustive or signature)",
                        name));
    }
    if (options.unit != edit_unit::byte)
        throw usage_error("binary files are compared by bytes, not by characters (expected unit byte)");
}

}  // namespace

void check_request(const dedup_options& options) {
    validate(options.duplicates);
    check_ranges(options);
    if (options.input_format == io::name_of(io::corpus_form::binary))
        refuse_text_of_bytes(options.duplicates);
    if (!options.store.empty()) {
        if (!options.against.empty()) {
            throw usage_error("a store to add to and a set to compare with cannot be combined");
        }
        duplicate_store::params_of(options.duplicates, options.text);
        if (options.resume && !options.kept_folder.empty())
            throw usage_error(
                "resume and store cannot be combined (expected one of them: with store, the same call goes "
                "on "
                "from the documents that are in the store)");
        if (options.shard_bytes == 0) throw usage_error("a shard of the store needs at least one byte");
    }
    for (const fs::path& input : options.inputs) {
        if (input == "-") continue;
        if (!options.store.empty()) refuse_overlap(options.store, input);
        if (is_duplicate_store(input)) {
            throw usage_error(input.string() +
                              " is a store of quern dedup, not a corpus; pass it as --store or --against");
        }
        if (is_store(input)) {
            throw usage_error(input.string() + " is a store, not a corpus; pass it as --against");
        }
        refuse_own_output(input);
    }
    check_preferred(options);
    std::error_code failed;
    for (const fs::path& set : options.against) {
        if (set == "-") continue;
        if (!fs::exists(set, failed)) throw usage_error(set.string() + ": no such file or folder");
        if (!is_store(set) && !is_duplicate_store(set)) refuse_own_output(set);
    }
}

device_ahead choose_device_ahead(const context& ctx, duplicate_method method) {
    if (method == duplicate_method::automatic || method == duplicate_method::signature)
        return {ctx, "dedup", offered_places::several_gpus};
    if (!compares_words(method)) return {ctx, "dedup"};
    const auto name = duplicate_method_names[static_cast<std::size_t>(method)];
    return {ctx, fmt::format("method {}", name),
            method == duplicate_method::shingle ? offered_places::all : offered_places::cpu_only};
}

namespace {

std::string listed(const std::vector<fs::path>& paths) {
    std::string names;
    for (const fs::path& path : paths) names.append(names.empty() ? "" : ", ").append(path.string());
    return names;
}

}  // namespace

report::duplicate_summary summary_of(const dedup_options& options, const reading_counts& counts,
                                     const run_statistics& statistics) {
    using method = duplicate_method;
    const duplicate_options& requested = options.duplicates;
    report::duplicate_summary summary;
    summary.method = duplicate_method_names[static_cast<std::size_t>(requested.method)];
    summary.rule = removal_rule_names[static_cast<std::size_t>(options.rule)];
    summary.keep = keep_policy_names[static_cast<std::size_t>(options.keep)];
    summary.device = statistics.device;
    switch (requested.method) {
        case method::shingle:
            summary.params =
                fmt::format("Jaccard similarity of {}-{} shingles of at least {}", requested.shingle,
                            requested.of_shingles == shingle_unit::word ? "word" : "character",
                            to_text(requested.similarity));
            summary.largest_rate = 1 - requested.similarity.value();
            break;
        case method::simhash:
            summary.params =
                fmt::format("64-bit fingerprints that differ in at most {} bits", requested.hamming);
            summary.largest_rate = requested.hamming / 64.0;
            break;
        case method::i_match:
            summary.params = "the same words of medium frequency";
            summary.largest_rate = 0;
            break;
        default:
            summary.params = fmt::format("edit rate below {}, in {}", to_text(requested.threshold),
                                         requested.unit == edit_unit::byte ? "bytes" : "characters");
            summary.largest_rate = requested.threshold.value();
    }
    const auto add = [&](std::string_view name, std::string value) {
        if (!value.empty()) summary.origin.emplace_back(name, std::move(value));
    };
    const auto number = [](std::uint64_t n) { return n == 0 ? std::string() : report::grouped(n); };
    add("corpus", listed(names_of(options)));
    add("compared with", listed(options.against));
    add("store", options.store.string());
    add("preferred", listed(options.prefer));
    add("rejected documents", report::grouped(counts.rejected));
    add("kept in part: the rest is lost", number(counts.truncated));
    add("repaired", number(counts.damaged - counts.truncated));
    for (const auto& [reason, count] : counts.skipped) add("left out: " + reason, number(count));
    add("made by", "Quern " QUERN_VERSION);
    return summary;
}

}  // namespace quern
