// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "cluster.hpp"
#include "quern/base/document_fields_option_table.hpp"
#include "quern/base/error.hpp"
#include "quern/base/excluded.hpp"
#include "quern/base/pdf_program.hpp"
#include "quern/base/resident_memory.hpp"
#include "quern/base/text_option_table.hpp"
#include "quern/base/threads_within.hpp"
#include "quern/tasks/input_names.hpp"
#include "signals.hpp"
#include "source_permissions.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

std::filesystem::path parse_folder(const std::string& text) {
    std::error_code failure;
    if (!std::filesystem::is_directory(text, failure))
        throw usage_error(fmt::format("{} is not a folder", text));
    return text;
}

/// The warning for a file name whose ending suggests another format than the file gets; empty if they agree.
std::string other_rows(const std::string& path, std::optional<row_format> format) {
    const std::string form = form_of_name(path);
    if (form == ".jsonl" || form == ".ndjson" || form == ".json") {
        if (format == row_format::jsonl)
            return form == ".json" ? "contains JSON lines, one object per line" : "";
        return "contains tab-separated rows; --format jsonl writes JSON lines";
    }
    if (form == ".csv") return "contains tab-separated rows, not comma-separated ones";
    if (form == ".tsv" && format == row_format::jsonl) return "contains JSON lines, as --format requests";
    return "";
}

/// Whether the path is a regular file other than the record of an earlier run.
bool holds_something_else(const std::filesystem::path& path) {
    std::error_code failure;
    if (!std::filesystem::is_regular_file(path, failure) || std::filesystem::is_empty(path, failure))
        return false;
    constexpr std::size_t max = 1 << 20;  // a record is a few KiB
    std::ifstream file(path, std::ios::binary);
    std::string text(max, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    return !is_statistics(text);
}

}  // namespace

namespace {

constexpr std::string_view row_format_names[] = {"tsv", "jsonl", "table"};
constexpr std::string_view progress_mode_names[] = {"auto", "never", "json"};

constexpr auto format_option =
    option_for<&common_options::format>("format", "FORM", row_format_names,
                                        "tsv (no headings; tabs and line ends inside a field become a "
                                        "space), jsonl (one JSON object per line) or table "
                                        "(aligned, for people).");
constexpr auto force_option = option_for<&common_options::force>("force", "Replace existing output.");
constexpr auto threads_option =
    option_for<&common_options::threads>("threads", "N", {.min = 1, .max = 4096, .all = 0},
                                         "Threads to use; fewer where --memory is less than 8 MiB for each.");
constexpr auto seed_option = option_for<&common_options::seed>(
    "seed", "N", {}, "Seed of the random numbers: of word vectors, of tests by randomization.");
constexpr auto quiet_option = option_for<&common_options::quiet>(
    "quiet",
    "Print no progress and no remarks on standard error; warnings, errors and requested figures stay.");
constexpr auto progress_option =
    option_for<&common_options::progress>("progress", "MODE", progress_mode_names,
                                          "auto (one line on a terminal; elsewhere a line every ten "
                                          "seconds), never, or json (one JSON object a line), "
                                          "always on standard error.");

void declare_results(command_line& line, common_options& common, const offers& offered) {
    if (offered.output || offered.rows) line.section("Output options");
    if (offered.output) {
        line.option("-o,--output", "FILE",
                    "Write the results to FILE, which appears complete or not at all; - is standard output.",
                    "-", [&](const std::string& text) { common.output = output_name(text); });
    }
    if (!offered.rows) {
        line.hint("--format", "the output of this command is not rows and has one fixed format");
        return;
    }
    line.option(format_option, common, "table on a terminal, else tsv");
}

void declare_limits(command_line& line, common_options& common, const offers& offered) {
    line.option(
        "--device", "DEVICE",
        offered.gpu
            ? "auto, cpu, cuda, cuda:N, cuda:N,M or cuda:all. The results are bit-identical on all of them."
            : "auto or cpu: this command runs on the CPU only.",
        "auto", [&](const std::string& text) { common.device = parse_device(text); });
    line.offer("--device", offered.gpu ? std::vector<std::string>{"auto", "cpu", "cuda", "cuda:all"}
                                       : std::vector<std::string>{"auto", "cpu"});
    line.option(threads_option, common, "all cores this process may use");
    line.option(
        "--memory", "SIZE",
        "Memory budget of the process: bytes, or with a suffix K M G T (powers of 1,024), KiB, KB (1,000).",
        "3/4 of the detected limit", [&](const std::string& text) { common.memory = parse_size(text); });
    if (offered.gpu) {
        line.option("--gpu-memory", "SIZE", "Memory budget on each GPU.", "9/10 of the free memory",
                    [&](const std::string& text) { common.gpu_memory = parse_size(text); });
    } else {
        line.hint("--gpu-memory", "this command runs on the CPU only");
    }
    line.option("--tmp", "DIR", "Folder for temporary files beyond the memory budget.", "$TMPDIR, else /tmp",
                [&](const std::string& text) { common.scratch = parse_folder(file_name(text)); });
    if (!offered.scratch) line.unlist("--tmp");
    if (offered.seed) {
        line.option(seed_option, common);
    } else {
        line.hint("--seed", "this command uses no random numbers");
    }
}

void declare_talk(command_line& line, common_options& common) {
    line.option(quiet_option, common);
    line.option(progress_option, common);
    line.option("--stats", "FILE",
                "Write a JSON record of the run to FILE: seconds per stage, bytes, counts, peak memory, the "
                "device and the reason for it. An older record is replaced, other files only with --force.",
                "", [&](const std::string& text) { common.stats = output_name(text); });
    line.option("--config", "FILE",
                "Read options from a TOML or INI file of at most 1 MiB: names without dashes as keys, at the "
                "top for every command or in a section [COMMAND]. The command line takes precedence. An "
                "unknown key is an error; a key without effect is reported.",
                "", [&](const std::string& text) { common.config = file_name(text); });
    line.remark("-h, --help", "Show the options specific to this command.");
    line.remark("    --help-all", "Show this page.");
    line.remark("-V, --version", "Show the version.");
}

}  // namespace

void declare_common(command_line& line, common_options& common, const offers& offered) {
    common.line = &line;
    common.has_rows = offered.rows;
    declare_results(line, common, offered);
    line.common_section("Common options");
    line.option(force_option, common);
    declare_limits(line, common, offered);
    declare_talk(line, common);
    for (const std::string_view name : offered.idle) line.unlist(name);
    const std::string distributed =
        fmt::format("this command is not distributed; those that are: {}", distributed_names());
    for (const char* const name : {"--cluster", "--share", "--shards"}) line.hint(name, distributed);
}

void declare_text(command_line& line, text_choice& choice, std::string_view except) {
    line.section("Text options (recorded in a store and reused to search it)");
    choice.line = &line;
    for (const quern::option<text_options>& row : options_of<text_options>)
        if (row.name != except) line.option(row, choice.values);
}

bool text_choice::any() const {
    return std::ranges::any_of(options_of<text_options>,
                               [this](const auto& row) { return line->given(row); });
}

text_options text_choice::over(text_options base) const {
    for (const quern::option<text_options>& row : options_of<text_options>) {
        if (line->given(row)) row.set(base, row.get(values));
    }
    return base;
}

std::filesystem::path text_choice::stop_word_file() const {
    return is_builtin_stop_list(values.stop_words) ? "" : values.stop_words;
}

void declare_corpus(command_line& line, build_options& build, corpus_forms forms) {
    constexpr std::string_view others[] = {"", "triples", "binary", ""};
    static constexpr std::string_view names[] = {
        "wikipedia",  "folder",          "jsonl",   "tsv",  "csv",   "trec", "wikiextractor", "lines",
        "text-lines", "text-paragraphs", "parquet", "warc", "arrow", "mail", "ciff",          "weights"};
    constexpr std::ptrdiff_t of_indexes = 2;  // the last ones, which other commands refuse with the reason
    const bool triples = forms == corpus_forms::and_triples;
    const std::string_view other = others[static_cast<std::size_t>(forms)];
    line.option(
        "--input-format", "FORM",
        fmt::format(
            "wikipedia, folder, jsonl, tsv, csv, parquet, arrow, trec, wikiextractor, warc or mail; never "
            "detected: text-lines (a document on each line), text-paragraphs (documents between empty "
            "lines), "
            "lines (one word on each line){}",
            triples ? ", triples (word, relation, other word and optionally a count, separated by tabs)."
            : forms == corpus_forms::and_binary  ? ", binary (see --binary)."
            : forms == corpus_forms::and_indexes ? "; of indexes: ciff, or weights (JSON lines with a weight "
                                                   "for each word)."
                                                 : "."),
        "detected from the content", [&build, other](const std::string& text) {
            std::vector<std::string_view> offered(std::begin(names), std::end(names));
            if (!other.empty()) offered.push_back(other);
            build.input_format = offered[parse_name<std::size_t>(text, offered)];
        });
    line.option(
        "--files-from", "FILE",
        "Also read the files and folders that FILE lists, one on each line, after those of the command "
        "line; - is standard input. A name that does not exist is tried as a pattern.",
        "", [&build](const std::string& text) {
            const std::vector<std::filesystem::path> listed = read_input_list(file_name(text));
            build.inputs.insert(build.inputs.end(), listed.begin(), listed.end());
        });
    for (const char* const name : {"--inputs", "--input-list", "--file-list", "--paths-file"})
        line.hint(name, "for a file with the names of inputs use --files-from FILE");
    line.option(
        "--max-errors", "N|P%",
        fmt::format("Maximum number or share of rejected {}; beyond it the run fails with exit code 3.",
                    triples ? "documents or triples" : "documents"),
        "1%", [&](const std::string& text) { build.max_errors = parse_error_limit(text); });
    std::vector<std::string> offered(std::begin(names),
                                     std::end(names) - (forms == corpus_forms::and_indexes ? 0 : of_indexes));
    if (!other.empty()) offered.emplace_back(other);
    line.offer("--input-format", offered);
    line.flag("--follow-links",
              "Follow symbolic links that lead out of a folder. Without it they are counted as skipped.",
              build.follow_links);
    static constexpr std::string_view pdf_choices[] = {"auto", "never"};
    line.option(
        "--pdf", "WHEN",
        "Whether to read PDF files: auto (where the program pdftotext of poppler-utils is on PATH) or never.",
        "auto", [](const std::string& text) {
            if (parse_name<std::size_t>(text, pdf_choices) == 1) use_pdf_program({}, "--pdf never");
        });
    line.offer("--pdf", pdf_choices);
    line.option("--ids", "RULE",
                "How to treat an id that a document of an earlier file already has: scoped (prefix it with "
                "the path of its file, b.jsonl:17), global (an error, as within one file), or generate (make "
                "every record's id from its file's name and line).",
                "scoped",
                [&](const std::string& text) { build.ids = parse_name<id_rule>(text, id_rule_names); });
    line.offer("--ids", id_rule_names);
    line.option("id_field", build.fields, "a known name");
    line.option("text_field", build.fields, "a known name");
    line.option("title_field", build.fields, "a known name");
    line.option("link_field", build.fields, "a known name");
}

std::vector<std::filesystem::path> inputs_of(const std::vector<std::string>& typed,
                                             const build_options& build, std::string_view name) {
    std::vector<std::filesystem::path> inputs =
        expand_inputs(std::vector<std::filesystem::path>(typed.begin(), typed.end()));
    inputs.insert(inputs.end(), build.inputs.begin(), build.inputs.end());
    if (inputs.empty() && !name.empty())
        throw usage_error(
            fmt::format("{} is required (expected files or folders, or --files-from FILE)", name));
    return inputs;
}

void take_reading_rules(const build_options& build, corpus_input& into) {
    into.input_format = build.input_format;
    into.follow_links = build.follow_links;
    into.max_errors = build.max_errors;
    into.fields = build.fields;
    into.ids = build.ids;
}

void declare_binary(command_line& line, bool& binary) {
    line.flag("--binary",
              "Read files as bytes, whatever they hold (images, programs, archives): in a folder every file "
              "that is not hidden, none decompressed or decoded. The same as --input-format binary.",
              binary);
}

void choose_binary(bool binary, build_options& build) {
    if (!binary) return;
    if (!build.input_format.empty() && build.input_format != "binary")
        throw usage_error(
            fmt::format("--binary and --input-format {} cannot be combined", build.input_format));
    build.input_format = "binary";
}

session::session(const command& self, const common_options& common)
    : messages(std::string("quern ") + self.name, common.quiet, common.progress), common_(common) {
    ctx.device = common.device;
    ctx.threads = common.threads;
    ctx.memory_bytes = common.memory;
    ctx = with_threads_within_memory(ctx);
    keep_resident_memory_below(ctx.memory_limit());
    ctx.gpu_memory_bytes = common.gpu_memory;
    ctx.scratch = common.scratch;
    // The environment is read by the program, never by the library.
    if (const char* folder = std::getenv("TMPDIR"); ctx.scratch.empty() && folder != nullptr)
        ctx.scratch = folder;
    ctx.seed = common.seed;
    ctx.stop_signal = &stop_signal();
    ctx.on_progress = [this](const progress& now) { messages.progress(now); };
    ctx.on_log = [this](log_level level, std::string_view message) {
        level == log_level::warning ? messages.warning(message) : messages.info(message);
    };
    if (common.line == nullptr) return;
    for (const auto& [is_warning, text] : common.line->notes())
        is_warning ? messages.warning(text) : messages.info(text);
}

void session::choose_device(std::string_view operation, offered_places offered) {
    const chosen_device chosen = quern::choose_device(ctx, operation, offered);
    // Settled: a later choice does not log again which GPUs are used.
    if (chosen.cuda && ctx.device.where == device_choice::kind::cuda) ctx.device = choice_of(chosen);
    statistics.device = chosen.name;
    statistics.device_reason = chosen.reason;
}

void session::pin_device(const chosen_device& chosen) {
    statistics.device = chosen.name;
    statistics.device_reason = chosen.reason;
    ctx.device = choice_of(chosen);
}

void session::check_destinations(const std::vector<destination>& destinations,
                                 std::vector<std::filesystem::path> inputs) {
    if (std::ranges::count(inputs, "-") > 1) throw usage_error("standard input (-) can be given only once");
    keep_private(inputs, follow_links);
    inputs.emplace_back(common_.config);
    for (const std::string& list : common_.line->values_of("--files-from"))
        if (list != "-") inputs.emplace_back(list);
    std::vector<std::filesystem::path> files;
    for (const destination& to : destinations) {
        if (to.path.empty()) continue;
        const bool is_file = to.path != "-";
        if (is_file) refuse_harm(to.path, inputs);
        for (const auto& other : files) {
            if (is_file ? other != "-" && same_file(to.path, other) : other == "-") {
                throw usage_error(
                    fmt::format("two kinds of results cannot both go to {}; give each its own file",
                                is_file ? to.path.string() : "standard output"));
            }
        }
        check_destination(to, common_.force);
        files.push_back(to.path);
    }
    if (common_.stats.empty()) return;
    for (const auto& file : files) {
        if (file != "-" && same_file(common_.stats, file))
            throw usage_error(fmt::format(
                "--stats and the results cannot both go to {}; give each its own file", common_.stats));
    }
    if (common_.stats != "-") {
        inputs.insert(inputs.end(), files.begin(), files.end());  // one may be a store
        refuse_harm(common_.stats, inputs);
        if (!common_.force && holds_something_else(common_.stats)) {
            throw usage_error(
                fmt::format("{} exists and is not a record of a run; --force replaces it", common_.stats));
        }
    }
    record_.emplace(destination{common_.stats}, true, ctx);
}

output session::open(const destination& to) const {
    output result(to, common_.force, ctx);
    result.before_terminal([this] { messages.give_way(); });
    return result;
}

output session::open_output(const std::string& path, std::vector<std::filesystem::path> inputs) {
    check_destinations({{path}}, std::move(inputs));
    const bool has_rows = common_.has_rows && path == common_.output;
    if (const std::string other = has_rows ? other_rows(path, common_.format) : ""; !other.empty())
        messages.warning(fmt::format("{}: {}", path, other));
    return open({path});
}

row_format session::format_for(const output& to) const {
    const bool terminal = to.to_standard_output() && isatty(STDOUT_FILENO) != 0;
    return common_.format.value_or(terminal ? row_format::table : row_format::tsv);
}

std::function<void(std::string_view)> session::documents(output& to) const {
    return [this, &to, written = std::uint64_t{0}](std::string_view bytes) mutable {
        ctx.check_stop();
        ctx.report({"write documents", written, 0, "bytes"});
        written += bytes.size();
        to.write(bytes);
    };
}

row_writer session::rows(output& to, std::vector<std::string> columns) const {
    const unsigned width = to.to_standard_output() ? terminal_width(STDOUT_FILENO) : 0;
    const bool shown = format_for(to) == row_format::table;  // its cells are cleaned before they are measured
    const auto write = [&to, shown](std::string_view text) { shown ? to.write_shown(text) : to.write(text); };
    row_writer rows{format_for(to), std::move(columns), write, width};
    // https://no-color.org: if it is set and not empty, print text without emphasis.
    const char* plain = std::getenv("NO_COLOR");
    if (width != 0 && (plain == nullptr || *plain == 0)) rows.emphasise();
    return rows;
}

void session::write_statistics() {
    if (!record_) return;
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    statistics.seconds = elapsed.count();
    statistics.peak_memory_bytes = peak_memory_bytes();
    statistics.threads = ctx.thread_count();
    record_->write(to_json(statistics));
    record_->commit();
}

destination report_page(const std::string& path) {
    if (path == "-") throw usage_error("--report cannot go to standard output (expected the name of a file)");
    return {.path = path, .form = ".html .htm", .written = "a page, such as FILE.html"};
}

std::string in_words(const input_issue& issue) {
    const std::string place = issue.line == 0 ? issue.path : fmt::format("{}:{}", issue.path, issue.line);
    const char* const fate = issue.rejected || issue.incomplete ? ""
                             : issue.truncated                  ? " (kept in part)"
                                                                : " (repaired)";
    return fmt::format("{}: {}{}", place, with_memory_of_workers(issue.reason), fate);
}

void report_reading(console& messages, const reading_counts& counts, const std::vector<input_issue>& issues,
                    const std::string& outcome) {
    constexpr std::size_t shown = 10;
    for (std::size_t i = 0; i < std::min(shown, issues.size()); ++i) {
        messages.warning(in_words(issues[i]));
    }
    const std::uint64_t all = counts.rejected + counts.damaged;
    if (all > shown) messages.warning(fmt::format("… and {} more", grouped(all - shown)));

    messages.info(outcome);
    const std::string excluded = excluded_in_words(counts.skipped);
    if (!excluded.empty()) messages.info("skipped " + excluded);
    if (all != 0) {
        messages.warning(fmt::format("{} rejected, {} kept in part, {} repaired", grouped(counts.rejected),
                                     grouped(counts.truncated), grouped(counts.damaged - counts.truncated)));
    }
}

}  // namespace quern::cli
