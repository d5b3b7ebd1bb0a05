// SPDX-License-Identifier: Apache-2.0
// quern merge
#include "quern/tasks/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/shards.hpp"
#include "server/http_client.hpp"
#include "session.hpp"
#include "skipped_stages.hpp"
#include "source_permissions.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

int write_sharded(const merge_options& options, const std::vector<std::string>& urls, session& job) {
    const shards_info made = job.stage("shards", [&] {
        return write_shards(
            {.stores = options.stores, .store = options.store, .urls = urls, .force = options.force},
            job.ctx);
    });
    job.messages.finish();
    job.messages.info(fmt::format("{} in {}, {}, {} distinct", counted(made.documents, "document"),
                                  counted(made.shards.size(), "shard"), counted(made.words, "word"),
                                  grouped(made.vocabulary)));
    job.statistics.counts["documents"] = made.documents;
    job.statistics.counts["shards"] = made.shards.size();
    job.statistics.counts["words"] = made.words;
    job.statistics.counts["vocabulary"] = made.vocabulary;
    job.write_statistics();
    return 0;
}

}  // namespace

int run_merge(const command& self, const std::vector<std::string>& arguments) {
    merge_options options;
    bool sharded = false;
    std::vector<std::string> urls;
    common_options common;
    std::vector<std::string> stores;

    command_line line(
        self, "STORE... -o STORE [OPTION]...",
        "Merges stores into one: the store that quern build makes from their corpora in this order, byte for "
        "byte, without reading the corpora or finding words again. Dictionaries, postings, words in order, "
        "texts, fields, titles and links come from the stores; stages that need the whole collection run "
        "afterwards. The stores must have the same text options and kept fields, and no id twice. Only the "
        "first one may have excluded near-duplicates: build the others with --skip duplicates.\n\n"
        "The store appears complete or not at all: an interrupted merge or a full disk leaves nothing "
        "half-written and keeps what was there before.");
    line.arguments("STORE", "Folders written by quern build, in the order of their documents.", stores, true);
    line.section("Merge options");
    line.option(
        "-o,--output", "STORE",
        "The folder to write. Replaces an existing one, which may be among those merged, only with --force.",
        "",
        [&](const std::string& value) {
            if (value == "-")
                throw usage_error("a store cannot go to standard output (expected the name of a folder)");
            options.store = file_name(value);
        },
        true);
    declare_skip(line, options.skip);
    line.flag("--ngrams",
              "Also make the stage ngrams: posting lists of the pairs of frequent words, for quern search "
              "--order.",
              options.ngrams);
    line.flag(
        "--sharded",
        "Write a sharded store instead: a small folder that names the stores, which stay where they are "
        "and must not change. quern search, serve, mcp and count give the results of the merged store, "
        "with the same scores.",
        sharded);
    line.option("--at", "URL,...",
                "With --sharded: for each store the address of the quern serve that searches it, as in "
                "http://host:7700, or - for a store on this machine, of which there must be one. The other "
                "stores are read only while this command runs. Their servers must have the same stores; each "
                "query checks that.",
                "", [&](const std::string& value) {
                    for (std::string& url : parse_list(value)) {
                        if (url == "-")
                            url.clear();
                        else
                            server::check_address(url);
                        urls.push_back(std::move(url));
                    }
                });
    declare_common(line, common, {.rows = false, .output = false, .gpu = true, .seed = true});
    line.example("quern merge monday tuesday -o week", "Two stores as one, with all stages.");
    line.example("quern build today.jsonl -o today --skip all && quern merge all today -o all --force",
                 "Every night: the documents of the day join a store.");
    line.example("quern merge part-* -o whole --skip all",
                 "Parts that were built on several machines: only the index.");
    line.example("quern merge part-* -o whole --sharded && quern search whole mill",
                 "Parts that stay apart, searched as one.");
    line.example("quern merge part-1 part-2 -o whole --sharded --at -,http://two:7700",
                 "The same, with part-2 served by the machine two.");
    line.parse(arguments);
    line.require_used("--at", sharded, "requires --sharded");
    for (const char* name : {"--skip", "--ngrams"})
        line.require_used(name, !sharded, "has no effect with --sharded, which runs no stage");

    session job(self, common);
    for (const std::string& store : stores) options.stores.push_back(file_name(store));
    options.force = common.force;
    job.check_destinations({{.path = options.store, .is_folder = true}}, {});
    keep_private(options.stores, false);
    if (sharded) return write_sharded(options, urls, job);
    merge_result result = merge(options, job.ctx);
    job.messages.finish();
    std::string outcome = fmt::format("{} from {}, {}, {} distinct", counted(result.documents, "document"),
                                      counted(options.stores.size(), "store"), counted(result.words, "word"),
                                      grouped(result.vocabulary));
    if (result.duplicates != 0) outcome += ", " + counted(result.duplicates, "near-duplicate") + " excluded";
    if (result.links + result.dangling_links != 0)
        outcome += fmt::format(", {} (and {} to missing documents)", counted(result.links, "link"),
                               grouped(result.dangling_links));
    job.messages.info(outcome);
    job.statistics.stages = std::move(result.statistics.stages);
    job.statistics.counts = std::move(result.statistics.counts);
    job.statistics.device = std::move(result.statistics.device);
    job.statistics.device_reason = std::move(result.statistics.device_reason);
    job.write_statistics();
    return 0;
}

}  // namespace quern::cli
