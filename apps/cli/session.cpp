// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "quern/base/error.hpp"
#include "quern/base/left_out.hpp"
#include "signals.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

device_choice parse_device(const std::string& text) {
    using kind = device_choice::kind;
    if (text == "auto") return {kind::automatic};
    if (text == "cpu") return {kind::cpu};
    if (text == "cuda") return {kind::cuda};
    if (text == "cuda:all") return {kind::cuda, device_choice::all_ordinals};
    if (text.starts_with("cuda:")) {
        try {
            const auto ordinal = parse_integer(std::string_view(text).substr(5), 0, 1023);
            return {kind::cuda, static_cast<int>(ordinal)};
        } catch (const usage_error&) {
        }
    }
    throw usage_error(fmt::format("'{}' is none of auto, cpu, cuda, cuda:N, cuda:all", text));
}

std::filesystem::path parse_folder(const std::string& text) {
    std::error_code failure;
    if (!std::filesystem::is_directory(text, failure))
        throw usage_error(fmt::format("{} is no folder", text));
    return text;
}

/// Whether a regular file lies there that is no record of an earlier run.
bool holds_something_else(const std::filesystem::path& path) {
    std::error_code failure;
    if (!std::filesystem::is_regular_file(path, failure) || std::filesystem::is_empty(path, failure))
        return false;
    constexpr std::size_t most = 1 << 20;  // a record is a few KiB
    std::ifstream file(path, std::ios::binary);
    std::string text(most, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    return !is_statistics(text);
}

}  // namespace

void declare_common(command_line& line, common_options& common, const offers& offered) {
    if (offered.output) {
        line.section("Output options");
        line.option("-o,--output", "FILE",
                    "Write the results to FILE, which appears whole or not at all; - is "
                    "standard output.",
                    "-", [&](const std::string& text) { common.output = text; });
    }
    if (offered.rows) {
        line.option("--format", "FORM",
                    "tsv (no headings; tabs and line ends inside a field become a space), jsonl "
                    "(one JSON object a line) or table (aligned, for people).",
                    "table on a terminal, else tsv", [&](const std::string& text) {
                        common.format = parse_choice<row_format>(text, {{"tsv", row_format::tsv},
                                                                        {"jsonl", row_format::jsonl},
                                                                        {"table", row_format::table}});
                    });
    }
    line.section("Common options");
    line.flag("--force", "Replace existing output.", common.force);
    line.option("--device", "DEVICE",
                "auto, cpu, cuda, cuda:N or cuda:all. The results are the same bits on every "
                "one.",
                "auto", [&](const std::string& text) { common.device = parse_device(text); });
    line.option("--threads", "N", "Threads to use.", "all cores this process may use",
                [&](const std::string& text) {
                    common.threads = text == "all" ? 0 : static_cast<unsigned>(parse_integer(text, 1, 4096));
                });
    line.option("--memory", "SIZE",
                "Memory budget of the process: bytes, or with K M G T (powers of 1,024), KiB, KB "
                "(1,000).",
                "3/4 of the limit seen", [&](const std::string& text) { common.memory = parse_size(text); });
    line.option("--gpu-memory", "SIZE", "Memory budget on each GPU, for commands that run there.",
                "9/10 of what is free",
                [&](const std::string& text) { common.gpu_memory = parse_size(text); });
    line.option("--tmp", "DIR", "Folder for what exceeds the memory budget.", "$TMPDIR, else /tmp",
                [&](const std::string& text) { common.scratch = parse_folder(text); });
    line.option(
        "--seed", "N",
        "Start of the random numbers, where an operation draws any: those that vectors of words begin with.",
        "0", [&](const std::string& text) { common.seed = parse_integer(text, 0, UINT64_MAX); });
    line.flag(
        "--quiet",
        "No progress and no remarks on standard error; warnings, errors and what an option asks for stay.",
        common.quiet);
    line.option("--progress", "MODE",
                "auto (one line on a terminal; elsewhere a line every ten seconds), never, or "
                "json (one JSON object a line), always on standard error.",
                "auto", [&](const std::string& text) {
                    common.progress = parse_choice<progress_mode>(text, {{"auto", progress_mode::automatic},
                                                                         {"never", progress_mode::never},
                                                                         {"json", progress_mode::json}});
                });
    line.option("--stats", "FILE",
                "Write a JSON record of the run to FILE: seconds per stage, bytes, counts, peak "
                "memory, device and why. An older record is replaced, other files only with --force.",
                "", [&](const std::string& text) { common.stats = text; });
    line.option("--config", "FILE",
                "Take options from a TOML or INI file: names without dashes as keys, at the top "
                "for every command or in a section [COMMAND]. The command line wins.",
                "", [&](const std::string& text) { common.config = text; });
    line.remark("-h, --help", "Show this page.");
    for (const std::string_view name : offered.idle) line.unlist(name);
}

void declare_text(command_line& line, text_choice& choice) {
    const text_options defaults;
    line.section("Text options (a store records them, and is searched with the same)");
    line.option("--language", "LANG", "auto, or a code such as en, de, zh, ja.", defaults.language,
                [&](const std::string& value) { choice.language = value; });
    line.option("--tokens", "RULE",
                "unicode (word boundaries of Unicode, dictionaries for Chinese and Japanese, case "
                "folded), ascii (runs of a-z and 0-9 after lower-casing) or letters (runs of a-z).",
                "unicode", [&](const std::string& value) {
                    choice.tokens = parse_name<token_rule>(value, token_rule_names);
                });
    line.option("--min-length", "N", "Drop words of fewer characters.", std::to_string(defaults.min_length),
                [&](const std::string& value) {
                    choice.min_length = static_cast<unsigned>(parse_integer(value, 1, 1000));
                });
    line.option("--stop-words", "LIST",
                "none, a language code with a list of ours, or a file with one word a line.",
                defaults.stop_words, [&](const std::string& value) { choice.stop_words = value; });
    line.option("--stem", "STEMMER", "none or porter.", "none",
                [&](const std::string& value) { choice.stem = parse_name<stemmer>(value, stemmer_names); });
}

bool text_choice::any() const {
    return language || tokens || min_length || stop_words || stem;
}

text_options text_choice::over(text_options base) const {
    base.language = language.value_or(base.language);
    base.tokens = tokens.value_or(base.tokens);
    base.min_length = min_length.value_or(base.min_length);
    base.stop_words = stop_words.value_or(base.stop_words);
    base.stem = stem.value_or(base.stem);
    return base;
}

std::filesystem::path text_choice::stop_word_file() const {
    const std::string list = stop_words.value_or("none");
    return is_builtin_stop_list(list) ? "" : list;
}

void declare_corpus(command_line& line, build_options& build, corpus_forms forms) {
    static constexpr std::string_view names[] = {"wikipedia", "folder",        "jsonl", "tsv",
                                                 "trec",      "wikiextractor", "lines", "triples"};
    const bool triples = forms == corpus_forms::and_triples;
    line.option("--input-format", "FORM",
                triples ? "wikipedia, folder, jsonl, tsv, trec, wikiextractor, lines (one word a line) or "
                          "triples (word, relation, other word and perhaps a count, with tabs between); "
                          "the last two are never guessed."
                        : "wikipedia, folder, jsonl, tsv, trec, wikiextractor or lines; lines is never "
                          "guessed.",
                "told from the content", [&build, triples](const std::string& text) {
                    const auto offered = std::span(names).first(std::size(names) - (triples ? 0 : 1));
                    build.input_format = names[parse_name<std::size_t>(text, offered)];
                });
    line.option(
        "--max-errors", "N|P%",
        fmt::format("How many {}, or which share of them, may be rejected before the run fails with exit "
                    "code 3.",
                    triples ? "documents or triples" : "documents"),
        "1%", [&](const std::string& text) { build.max_errors = parse_error_limit(text); });
}

void declare_titles(command_line& line, bool& titles) {
    line.flag(
        "--titles",
        "A document's words are those of its title, then those of its text, as in a store. Without it those "
        "of the text alone.",
        titles);
}

session::session(const command& self, const common_options& common)
    : messages(std::string("quern ") + self.name, common.quiet, common.progress), common_(common) {
    run.device = common.device;
    run.threads = common.threads;
    run.memory_bytes = common.memory;
    run.gpu_memory_bytes = common.gpu_memory;
    run.scratch = common.scratch;
    // The environment is read by the program, never by the library.
    if (const char* folder = std::getenv("TMPDIR"); run.scratch.empty() && folder != nullptr)
        run.scratch = folder;
    run.seed = common.seed;
    run.stop_signal = &stop_signal();
    run.on_progress = [this](const progress& now) { messages.progress(now); };
    run.on_log = [this](log_level level, std::string_view message) {
        level == log_level::warning ? messages.warning(message) : messages.info(message);
    };
}

void session::choose_device(std::string_view operation, offered_places offered) {
    const chosen_device chosen = quern::choose_device(run, operation, offered);
    statistics.device = chosen.name;
    statistics.device_reason = chosen.reason;
}

void session::pin_device(const chosen_device& chosen) {
    statistics.device = chosen.name;
    statistics.device_reason = chosen.reason;
    run.device = chosen.cuda ? device_choice{device_choice::kind::cuda, chosen.ordinal}
                             : device_choice{device_choice::kind::cpu};
}

void session::check_destinations(const std::vector<destination>& destinations,
                                 std::vector<std::filesystem::path> inputs) {
    if (std::ranges::count(inputs, "-") > 1)
        throw usage_error("- is given twice; standard input can be read once");
    inputs.emplace_back(common_.config);
    std::vector<std::filesystem::path> files;
    for (const destination& to : destinations) {
        if (to.path.empty()) continue;
        const bool is_file = to.path != "-";
        if (is_file) refuse_harm(to.path, inputs);
        for (const auto& other : files) {
            if (is_file ? other != "-" && same_file(to.path, other) : other == "-") {
                throw usage_error(fmt::format("two kinds of results both go to {}",
                                              is_file ? to.path.string() : "standard output"));
            }
        }
        check_destination(to, common_.force);
        files.push_back(to.path);
    }
    if (common_.stats.empty()) return;
    for (const auto& file : files) {
        if (file != "-" && same_file(common_.stats, file))
            throw usage_error(fmt::format("--stats and the results both go to {}", common_.stats));
    }
    if (common_.stats != "-") {
        inputs.insert(inputs.end(), files.begin(), files.end());  // one may be a store
        refuse_harm(common_.stats, inputs);
        if (!common_.force && holds_something_else(common_.stats)) {
            throw usage_error(
                fmt::format("{} exists and is no record of a run; --force replaces it", common_.stats));
        }
    }
    record_.emplace(destination{common_.stats}, true, run);
}

output session::open_output(const std::string& path, std::vector<std::filesystem::path> inputs) {
    check_destinations({{path}}, std::move(inputs));
    return open({path});
}

row_format session::format_for(const output& to) const {
    const bool terminal = to.to_standard_output() && isatty(STDOUT_FILENO) != 0;
    return common_.format.value_or(terminal ? row_format::table : row_format::tsv);
}

row_writer session::rows(output& to, std::vector<std::string> columns) const {
    const unsigned width = to.to_standard_output() ? terminal_width(STDOUT_FILENO) : 0;
    return {format_for(to), std::move(columns), [&to](std::string_view text) { to.write(text); }, width};
}

void session::write_statistics() {
    if (!record_) return;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start_;
    statistics.seconds = taken.count();
    statistics.peak_memory_bytes = peak_memory_bytes();
    statistics.threads = run.thread_count();
    record_->write(to_json(statistics));
    record_->commit();
}

std::string in_words(const input_issue& issue) {
    const std::string place = issue.line == 0 ? issue.path : fmt::format("{}:{}", issue.path, issue.line);
    const char* const fate = issue.rejected || issue.incomplete ? ""
                             : issue.cut                        ? " (kept in part)"
                                                                : " (mended)";
    return fmt::format("{}: {}{}", place, issue.reason, fate);
}

void tell_reading(console& messages, const reading_counts& counts, const std::vector<input_issue>& issues,
                  const std::string& outcome) {
    constexpr std::size_t shown = 10;
    for (std::size_t i = 0; i < std::min(shown, issues.size()); ++i) {
        messages.warning(in_words(issues[i]));
    }
    const std::uint64_t all = counts.rejected + counts.damaged;
    if (all > shown) messages.warning(fmt::format("… and {} more", grouped(all - shown)));

    messages.info(outcome);
    const std::string left_out = left_out_in_words(counts.skipped);
    if (!left_out.empty()) messages.info("skipped by rule: " + left_out);
    if (all != 0) {
        messages.warning(fmt::format("{} rejected, {} kept in part, {} mended", grouped(counts.rejected),
                                     grouped(counts.cut), grouped(counts.damaged - counts.cut)));
    }
}

}  // namespace quern::cli
