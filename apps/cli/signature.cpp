// SPDX-License-Identifier: Apache-2.0
// quern signature
#include "quern/tasks/signature.hpp"

#include "commands.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {

int run_signature(const command& self, const std::vector<std::string>& arguments) {
    common_options common;
    build_options corpus;
    std::vector<std::string> inputs;
    unsigned length = signature_options{}.length;

    command_line line(
        self, "CORPUS... [OPTION]...",
        "Writes the fuzzy-hash signature of every document: id, block size B, the signature at B and the one "
        "at 2B. A hash of the last seven bytes cuts the text; each piece becomes one letter. B is the least "
        "power of two that gives at most --signature-length letters. Alike texts have alike signatures, but "
        "not always the same B, hence the second one; quern dedup needs neither.");
    line.arguments("CORPUS", "Files and folders, as for quern build; - is standard input (JSON lines).",
                   inputs, true);
    line.section("Signature options");
    line.option(
        "--signature-length", "N", "Letters at most; 1 to 1000.", std::to_string(length),
        [&](const std::string& value) { length = static_cast<unsigned>(parse_integer(value, 1, 1000)); });
    declare_corpus(line, corpus);
    declare_common(line, common);
    line.example("quern signature essays/", "A folder, a document a row.");
    line.example("quern signature crawl.jsonl.zst --signature-length 64 -o signatures.tsv",
                 "ssdeep's length, into a file.");
    line.parse(arguments);

    session run(self, common);
    run.choose_device("signature", offered_places::cpu_only);
    signature_options options{{inputs.begin(), inputs.end()}, corpus.input_format, corpus.max_errors, length};
    output to = run.open_output(common.output, options.inputs);
    auto rows = run.rows(to, {"id", "B", "signature", "signature_at_2B"});
    const signature_result result = run.stage("signatures", [&] {
        return signatures(options, run.run, [&](std::string_view id, const fuzzy_signature& s) {
            rows.row({id, s.block_size, std::string_view(s.letters), std::string_view(s.letters_at_double)});
        });
    });
    run.messages.finish();
    run.statistics.stages.back().bytes = result.input_bytes;
    rows.finish();
    to.commit();
    tell_reading(run.messages, result.counts, result.issues, counted(result.counts.documents, "document"));
    run.statistics.counts["documents"] = result.counts.documents;
    run.statistics.counts["rejected"] = result.counts.rejected;
    run.write_statistics();
    return 0;
}

}  // namespace quern::cli
