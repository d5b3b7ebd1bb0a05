// SPDX-License-Identifier: Apache-2.0
// quern signature
#include "commands.hpp"
#include "quern/tasks/signature_option_table.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {

int run_signature(const command& self, const std::vector<std::string>& arguments) {
    common_options common;
    build_options corpus;
    std::vector<std::string> inputs;
    signature_options options;
    bool binary = false;

    command_line line(
        self, "CORPUS... [OPTION]...",
        "Writes the fuzzy-hash signature of each document: id, block size B, the signature at B and the one "
        "at 2B. A rolling hash of the last seven bytes splits the text; each piece becomes one letter. B is "
        "the smallest power of two that gives at most --signature-length letters. Similar texts have similar "
        "signatures but not always the same B, hence the second one; quern dedup needs neither.");
    line.arguments("CORPUS", "Files, folders and patterns, as for quern build; - is standard input.", inputs,
                   false);
    line.section("Signature options");
    line.option("signature_length", options);
    line.hint("--unit", "signatures are always of bytes");
    declare_corpus(line, corpus, corpus_forms::and_binary);
    declare_binary(line, binary);
    declare_common(line, common, {.scratch = false});
    line.example("quern signature essays/", "A folder, one row per document.");
    line.example("quern signature crawl.jsonl.zst --signature-length 64 -o signatures.tsv",
                 "With ssdeep's length, into a file.");
    line.example("quern signature --binary /usr/bin", "Programs, as bytes.");
    line.parse(arguments);
    choose_binary(binary, corpus);

    session job(self, common);
    job.follow_links = corpus.follow_links;
    job.choose_device("signature", offered_places::cpu_only);
    options.inputs = inputs_of(inputs, corpus);
    take_reading_rules(corpus, options);
    output to = job.open_output(common.output, options.inputs);
    auto rows = job.rows(to, {"id", "B", "signature", "signature_at_2B"});
    const signature_result result = job.stage("signatures", [&] {
        return signatures(options, job.ctx, [&](std::string_view id, const fuzzy_signature& s) {
            rows.row({id, s.block_size, std::string_view(s.letters), std::string_view(s.letters_at_double)});
        });
    });
    job.messages.finish();
    job.statistics.stages.back().bytes = result.input_bytes;
    rows.finish();
    to.commit();
    report_reading(job.messages, result.counts, result.issues, counted(result.counts.documents, "document"));
    job.statistics.counts["documents"] = result.counts.documents;
    job.statistics.counts["rejected"] = result.counts.rejected;
    job.write_statistics();
    return 0;
}

}  // namespace quern::cli
