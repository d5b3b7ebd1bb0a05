// SPDX-License-Identifier: Apache-2.0
// quern info, quern verify
#include "quern/tasks/store.hpp"

#include <fmt/format.h>

#include <variant>

#include "commands.hpp"
#include "quern/tasks/dedup.hpp"
#include "quern/tasks/dictionary.hpp"
#include "quern/tasks/language_model.hpp"
#include "quern/tasks/shards.hpp"
#include "quern/tasks/words.hpp"
#include "session.hpp"

namespace quern::cli {
namespace {

struct store_request {
    common_options common;
    std::string path;
};

void declare(command_line& line, store_request& request) {
    line.argument(
        "STORE", "A folder or file written by quern build, merge, words, dictionary, model or dedup --store.",
        request.path);
    declare_common(line, request.common, {.scratch = false});
}

void write_sections(row_writer& rows, const std::vector<store_section>& sections) {
    for (const store_section& section : sections) {
        rows.row({std::string_view(fmt::format("section.{}.bytes", section.name)), section.bytes});
        rows.row({std::string_view(fmt::format("section.{}.checksum", section.name)),
                  std::string_view(fmt::format("{:016x}", section.checksum))});
    }
}

void write_text_options(row_writer& rows, const text_options& text) {
    const auto row = [&](std::string_view property, cell value) { rows.row({property, value}); };
    row("language", text.language);
    row("tokens", token_rule_names[static_cast<std::size_t>(text.tokens)]);
    row("min_length", static_cast<std::uint64_t>(text.min_length));
    row("stop_words", text.stop_words);
    row("stem", stemmer_names[static_cast<std::size_t>(text.stem)]);
    if (text.fold != folding::none) row("fold", folding_names[static_cast<std::size_t>(text.fold)]);
}

void write_info(row_writer& rows, const duplicate_store_info& info) {
    const auto row = [&](std::string_view property, cell value) { rows.row({property, value}); };
    row("kind", "duplicates");
    row("format_version", static_cast<std::uint64_t>(info.format_version));
    for (const auto& [name, value] : info.requested) row(name, std::string_view(value));
    row("documents", info.documents);
    row("text_bytes", info.text_bytes);
    row("pairs", info.pairs);
    row("shards", info.shards);
    write_sections(rows, info.sections);
}

void write_info(row_writer& rows, const word_space_info& info) {
    const auto row = [&](std::string_view property, cell value) { rows.row({property, value}); };
    row("kind", "words");
    row("format_version", static_cast<std::uint64_t>(info.format_version));
    row("unicode_version", info.unicode_version);
    for (const auto& [name, value] : info.requested) row(name, std::string_view(value));
    row("documents", info.documents);
    row("words", info.occurrences);
    row("distinct", info.distinct);
    row("words_of_the_space", std::uint64_t{info.vocabulary});
    row("relations", std::uint64_t{info.relations});
    row("dimensions", std::uint64_t{info.dimensions});
    row("meetings", info.cooccurrences);
    row("triples", info.triples);
    row("entries", info.entries);
    row("neighbours", info.neighbours);
    row("similarities.bytes", info.matrix_bytes);
    write_sections(rows, info.sections);
}

void write_info(row_writer& rows, const dictionary_info& info) {
    const auto row = [&](std::string_view property, cell value) { rows.row({property, value}); };
    row("kind", "dictionary");
    row("format_version", static_cast<std::uint64_t>(info.format_version));
    row("unicode_version", info.unicode_version);
    write_text_options(rows, info.text);
    row("verbatim", static_cast<std::uint64_t>(info.verbatim ? 1 : 0));
    row("titles", static_cast<std::uint64_t>(info.titles ? 1 : 0));
    row("min_count", info.min_count);
    row("documents", info.documents);
    row("occurrences", info.occurrences);
    row("distinct", info.distinct);
    row("words", std::uint64_t{info.words});
    row("occurrences_of_words", info.kept);
    row("words.bytes", info.word_bytes);
    row("file.bytes", info.file_bytes);
    row("file.checksum", std::string_view(fmt::format("{:016x}", info.checksum)));
}

void write_info(row_writer& rows, const language_model_info& info) {
    const auto row = [&](std::string_view property, cell value) { rows.row({property, value}); };
    row("kind", "language model");
    row("format_version", static_cast<std::uint64_t>(info.format_version));
    row("order", static_cast<std::uint64_t>(info.ngrams.size()));
    row("words", std::uint64_t{info.words});
    for (std::size_t i = 0; i < info.ngrams.size(); ++i) row(fmt::format("ngrams.{}", i + 1), info.ngrams[i]);
    row("quantized_bits", static_cast<std::uint64_t>(info.quantized_bits));
    row("ends_sentences", static_cast<std::uint64_t>(info.ends_sentences ? 1 : 0));
    row("ngrams.bytes", info.ngram_bytes);
    row("file.bytes", info.file_bytes);
    row("file.checksum", std::string_view(fmt::format("{:016x}", info.checksum)));
}

void write_info(row_writer& rows, const shards_info& info) {
    const auto row = [&](std::string_view property, cell value) { rows.row({property, value}); };
    row("kind", "shards");
    row("documents", info.documents);
    row("words", info.words);
    row("vocabulary", info.vocabulary);
    row("shards", static_cast<std::uint64_t>(info.shards.size()));
    for (std::size_t i = 0; i < info.shards.size(); ++i) {
        const shard_info& shard = info.shards[i];
        if (shard.url.empty())
            row(fmt::format("shard.{}.store", i), std::string_view(shard.store.string()));
        else
            row(fmt::format("shard.{}.url", i), std::string_view(shard.url));
        row(fmt::format("shard.{}.documents", i), shard.documents);
        row(fmt::format("shard.{}.words", i), shard.words);
        row(fmt::format("shard.{}.checksum", i), std::string_view(fmt::format("{:016x}", shard.checksum)));
    }
}

void write_info(row_writer& rows, const store_info& info) {
    for (const auto& [name, value] : properties_of(info)) {
        if (const auto* const text = std::get_if<std::string>(&value))
            rows.row({std::string_view(name), std::string_view(*text)});
        else
            rows.row({std::string_view(name), std::get<std::uint64_t>(value)});
    }
}

}  // namespace

int run_info(const command& self, const std::vector<std::string>& arguments) {
    store_request request;
    command_line line(
        self, "STORE [OPTION]...",
        "Shows the metadata of a store: format, text options, counts, and the size and checksum of each "
        "section. Writes property and value. Two stores with the same rows contain the same bytes.");
    declare(line, request);
    line.example("quern info wiki", "A table of its properties.");
    line.example("quern info wiki --format jsonl", "The same as JSON lines, for a program.");
    line.parse(arguments);

    session job(self, request.common);
    job.choose_device("info", offered_places::cpu_only);
    output to = job.open_output(request.common.output, {request.path});
    using any_info = std::variant<store_info, shards_info, duplicate_store_info, word_space_info,
                                  dictionary_info, language_model_info>;
    const any_info info = job.stage("read", [&]() -> any_info {
        if (is_sharded_store(request.path)) return read_shards(request.path);
        if (is_duplicate_store(request.path)) return read_duplicate_store_info(request.path);
        if (is_word_space(request.path)) return read_word_space_info(request.path);
        if (is_dictionary(request.path)) return read_dictionary_info(request.path);
        if (is_compact_model(request.path)) return read_compact_model_info(request.path);
        return read_store_info(request.path);
    });
    auto rows = job.rows(to, {"property", "value"});
    std::visit([&rows](const auto& of_its_kind) { write_info(rows, of_its_kind); }, info);
    rows.finish();
    to.commit();
    job.write_statistics();
    return 0;
}

int run_verify(const command& self, const std::vector<std::string>& arguments) {
    store_request request;
    command_line line(self, "STORE [OPTION]...",
                      "Reads every byte of a store and checks every checksum. Writes path, verdict and bytes "
                      "read; for a damaged store it exits with code 5 and the name of the damaged section.");
    declare(line, request);
    line.example("quern verify wiki", "Checks whether the store is intact.");
    line.example("quern verify wiki --quiet || restore-from-backup wiki", "In a script, by the exit code.");
    line.parse(arguments);

    session job(self, request.common);
    job.choose_device("verify", offered_places::cpu_only);
    output to = job.open_output(request.common.output, {request.path});
    const std::uint64_t bytes = job.stage("verify", [&] {
        if (is_sharded_store(request.path)) return verify_shards(request.path, job.ctx);
        if (is_duplicate_store(request.path)) return verify_duplicate_store(request.path, job.ctx);
        if (is_word_space(request.path)) return verify_word_space(request.path, job.ctx);
        if (is_dictionary(request.path)) return verify_dictionary(request.path, job.ctx);
        if (is_compact_model(request.path)) return verify_compact_model(request.path, job.ctx);
        return verify_store(request.path, job.ctx);
    });
    job.messages.finish();
    job.statistics.stages.back().bytes = bytes;
    auto rows = job.rows(to, {"path", "verdict", "bytes"});
    rows.row({std::string_view(request.path), std::string_view("whole"), bytes});
    rows.finish();
    to.commit();
    job.write_statistics();
    return 0;
}

}  // namespace quern::cli
