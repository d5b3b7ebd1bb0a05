// SPDX-License-Identifier: Apache-2.0
// quern dedup
#include "quern/tasks/dedup.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>

#include "commands.hpp"
#include "quern/base/error.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

struct dedup_request {
    common_options common;
    dedup_options dedup;
    build_options corpus;  ///< --input-format, --max-errors
    text_choice text;
    std::vector<std::string> inputs;
    std::string pairs, groups, kept, report;
    bool stream = false;
};

std::int64_t parse_signed(const std::string& text) {
    std::int64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc{} || end != text.data() + text.size()) {
        throw usage_error(fmt::format("'{}' is not a whole number", text));
    }
    return value;
}

/// The name of a file or folder: an empty one is an unset variable of a script, not a wish to go without.
std::string named(const std::string& value) {
    if (value.empty()) throw usage_error("the name is empty");
    return value;
}

void declare_method(command_line& line, duplicate_options& options) {
    line.section("Method options");
    line.option("--method", "NAME",
                "auto (complete, by proof), exhaustive (all pairs that lengths allow), signature (fuzzy "
                "hashes first; "
                "misses some), shared-memory or global-memory (the same by the thesis's kernels), shingle, "
                "simhash or "
                "i-match (compare words, by measures of their own).",
                "auto", [&](const std::string& value) {
                    options.method = parse_name<duplicate_method>(value, duplicate_method_names);
                });
    line.option(
        "--threshold", "P",
        "Pairs whose edit rate is below P: edits over the two lengths together; above 0, at most 0.5. Equal "
        "texts have 0, texts of one length without anything in common 0.5.",
        to_text(options.threshold),
        [&](const std::string& value) { options.threshold = parse_decimal(value); });
    line.option("--unit", "UNIT", "What an edit changes: byte or char (a code point).", "byte",
                [&](const std::string& value) {
                    options.unit = parse_choice<edit_unit>(
                        value, {{"byte", edit_unit::byte}, {"char", edit_unit::character}});
                });
    const auto whole = [&](const char* name, const char* help, unsigned least, unsigned most,
                           unsigned& target) {
        line.option(name, "N", help, std::to_string(target), [&, least, most](const std::string& value) {
            target = static_cast<unsigned>(parse_integer(value, least, most));
        });
    };
    whole("--signature-length", "signature and the thesis's: letters at most; 1 to 1000.", 1, 1000,
          options.signature_length);
    line.option("--slack", "X", "The same: signatures are candidates below X times the threshold; up to 100.",
                to_text(options.slack),
                [&](const std::string& value) { options.slack = parse_decimal(value); });
    whole("--shingle", "shingle: words of a shingle; 1 to 100.", 1, 100, options.shingle);
    line.option("--similarity", "X",
                "shingle: pairs of at least this Jaccard similarity; above 0, at most 1.",
                to_text(options.similarity),
                [&](const std::string& value) { options.similarity = parse_decimal(value); });
    whole("--hamming", "simhash: bits that may differ; 0 to 16.", 0, 16, options.hamming);
    line.option("--cut", "N", "simhash: a bit is 1 where its sum exceeds N.", std::to_string(options.cut),
                [&](const std::string& value) { options.cut = parse_signed(value); });
}

void declare(command_line& line, dedup_request& request) {
    line.arguments(
        "CORPUS",
        "Files and folders, as for quern build, read in this order; - is standard input (JSON lines).",
        request.inputs, false);
    declare_method(line, request.dedup.duplicates);
    line.section("What is compared");
    line.option(
        "--keep", "WHICH",
        "The document of a group that is kept: first, last, longest or shortest (in bytes; of equal ones the "
        "first). A group with earlier documents (--store, --against) keeps one of those.",
        "first", [&](const std::string& value) {
            request.dedup.keep = parse_name<keep_policy>(value, keep_policy_names);
        });
    line.option(
        "--store", "DIR",
        "Compare with the documents that are in DIR as well, and add the new ones; made where it is missing. "
        "What is there with the same id and text is known, so an interrupted run goes on when called again.",
        "", [&](const std::string& value) { request.dedup.store = named(value); });
    line.options(
        "--against", "CORPUS|STORE",
        "Only pairs of a document of this set (a corpus, folders included, a store of quern build or "
        "of --store) and a new one. Given again, of any of these sets.",
        [&](const std::string& value) { request.dedup.against.emplace_back(named(value)); });
    line.flag(
        "--stream",
        "Read JSON lines from standard input and answer each document as it arrives with a row: id, how many "
        "earlier documents are its duplicates, the nearest of them, distance, rate. Memory grows by about "
        "300 "
        "bytes a document and its id; texts are in --tmp.",
        request.stream);
    line.section("Output options");
    line.option("--pairs", "FILE",
                "Rows of id_a, id_b, distance, rate, each pair once, the earlier document first.",
                "standard output, where none of the next two is given either",
                [&](const std::string& value) { request.pairs = named(value); });
    line.option("--groups", "FILE", "Rows of group, id, kept (0 or 1): documents that pairs connect.", "",
                [&](const std::string& value) { request.groups = named(value); });
    line.option(
        "-o,--output", "FILE",
        "The documents that are kept, in their order: lines of JSON lines and TSV byte for byte, others as "
        "JSON lines. - is standard output, for these three.",
        "", [&](const std::string& value) { request.kept = named(value); });
    line.option("--report", "FILE.html",
                "One page for people: counts, rates, the largest groups with their differences side by side.",
                "", [&](const std::string& value) { request.report = named(value); });
    declare_common(line, request.common, {.rows = true, .output = false});
}

void describe(command_line& line, dedup_request& request) {
    declare(line, request);
    declare_corpus(line, request.corpus);
    declare_text(line, request.text);
    line.example("quern dedup crawl.jsonl.zst -o clean.jsonl --groups groups.tsv",
                 "A corpus without near-duplicates, and which documents were taken for the same.");
    line.example("quern dedup essays/ --threshold 0.1 --report essays.html",
                 "Pairs on the screen, and a page about them.");
    line.example("quern dedup today.jsonl --store seen -o new.jsonl",
                 "Every night: what is new, compared with everything before.");
    line.example("quern dedup train.jsonl --against test.jsonl -o train-clean.jsonl",
                 "Training data without near-copies of the test set.");
}

/// Options that the method does not look at. In a file of options they may stand for other calls.
void refuse_idle_options(const command_line& line, duplicate_method chosen) {
    using method = duplicate_method;
    struct scope {
        const char* option;
        std::vector<method> methods;
    };
    const std::vector<method> edits{method::automatic, method::exhaustive, method::signature,
                                    method::shared_memory, method::global_memory},
        signatures{method::signature, method::shared_memory, method::global_memory},
        words{method::shingle, method::simhash, method::i_match};
    const scope scopes[] = {{"--threshold", edits},
                            {"--unit", edits},
                            {"--signature-length", signatures},
                            {"--slack", signatures},
                            {"--shingle", {method::shingle}},
                            {"--similarity", {method::shingle}},
                            {"--hamming", {method::simhash}},
                            {"--cut", {method::simhash}},
                            {"--language", words},
                            {"--tokens", words},
                            {"--min-length", words},
                            {"--stop-words", words},
                            {"--stem", words}};
    const auto name = [](method m) { return duplicate_method_names[static_cast<std::size_t>(m)]; };
    for (const auto& [option, methods] : scopes) {
        if (!line.typed(option) || std::ranges::find(methods, chosen) != methods.end()) continue;
        std::string others;
        for (const method m : methods) others.append(others.empty() ? "" : ", ").append(name(m));
        throw usage_error(
            fmt::format("{} is for --method {}; {} does not look at it", option, others, name(chosen)));
    }
}

/// Standard input can be read once.
void refuse_repeated_input(const dedup_request& request) {
    auto readers = std::ranges::count(request.inputs, "-") + std::ranges::count(request.dedup.against, "-");
    if (request.stream && request.inputs.empty()) ++readers;
    if (readers > 1) throw usage_error("- is given twice; standard input can be read once");
}

/// A result that was asked for, or nothing.
std::optional<output> open_if(const std::string& path, const session& run) {
    if (path.empty()) return {};
    return run.open({path});
}

void write_pair(row_writer& rows, std::string_view a, std::string_view b, const duplicate_pair& p) {
    rows.row({a, b, p.distance, p.rate()});
}

const std::vector<std::string> pair_columns{"id_a", "id_b", "distance", "rate"};

void write_results(const dedup_result& result, const session& run, std::optional<output>& pairs,
                   std::optional<output>& groups, std::optional<output>& kept,
                   std::optional<output>& report) {
    if (pairs) {
        auto rows = run.rows(*pairs, pair_columns);
        for (const duplicate_pair& p : result.pairs()) write_pair(rows, result.id(p.a), result.id(p.b), p);
        rows.finish();
    }
    if (groups) {
        auto rows = run.rows(*groups, {"group", "id", "kept"});
        std::uint64_t number = 0;
        for (const duplicate_group& group : result.groups()) {
            for (const std::uint32_t d : group.members) {
                rows.row({number, result.id(d), std::uint64_t{d == group.kept ? 1U : 0U}});
            }
            ++number;
        }
        rows.finish();
    }
    if (kept) result.write_kept([&](std::string_view bytes) { kept->write(bytes); });
    if (report) result.write_report([&](std::string_view bytes) { report->write(bytes); });
    for (std::optional<output>* to : {&pairs, &groups, &kept, &report}) {
        if (*to) (*to)->commit();
    }
}

int dedup_corpus(dedup_request& request, session& run) {
    if (request.inputs.empty()) throw usage_error("CORPUS is required");
    if (request.pairs.empty() && request.groups.empty() && request.kept.empty()) request.pairs = "-";
    if (request.report == "-") throw usage_error("--report needs the name of a file");
    auto pairs = open_if(request.pairs, run), groups = open_if(request.groups, run),
         kept = open_if(request.kept, run), report = open_if(request.report, run);
    request.dedup.keep_records = kept.has_value();
    request.dedup.list_pairs = pairs || report;

    dedup_result result = dedup(request.dedup, run.run);
    run.messages.finish();
    run.statistics = std::move(result.statistics);
    run.stage("write", [&] { write_results(result, run, pairs, groups, kept, report); });
    std::string outcome = counted(result.documents(), "document");
    if (result.earlier() != 0) outcome += fmt::format(" (and {} before)", grouped(result.earlier()));
    outcome += fmt::format(", {}, {}, {} not kept", counted(result.pair_count(), "pair"),
                           counted(result.groups().size(), "group"), grouped(result.dropped()));
    tell_reading(run.messages, result.counts, result.issues, outcome);
    run.write_statistics();
    return 0;
}

/// Lines of standard input as they come. Of a line longer than `most` the first `most` bytes are kept.
class line_input {
  public:
    explicit line_input(std::size_t most) : most_(most) {}

    /// Waits for more, and calls take(line) for every line that has ended; false at the end of the input.
    template <class Take>
    bool read(const context& run, Take take) {
        char piece[1 << 16];
        const ssize_t got = ::read(STDIN_FILENO, piece, sizeof piece);
        run.check_stop();
        if (got < 0 && errno == EINTR) return true;
        if (got < 0) throw io_error("standard input", "cannot read", errno);
        for (std::string_view rest(piece, static_cast<std::size_t>(got)); !rest.empty();) {
            const std::size_t end = rest.find('\n');
            const std::string_view part = rest.substr(0, end);
            line_.append(part.substr(0, most_ - std::min(most_, line_.size())));
            if (end == std::string_view::npos) break;
            take(std::exchange(line_, {}));
            rest.remove_prefix(end + 1);
        }
        if (got == 0 && !line_.empty()) take(std::exchange(line_, {}));
        return got != 0;
    }

  private:
    std::size_t most_;
    std::string line_;
};

int dedup_stream(dedup_request& request, session& run) {
    if (!request.inputs.empty() && request.inputs != std::vector<std::string>{"-"}) {
        throw usage_error(
            "--stream reads standard input; documents from before are given as --against or --store");
    }
    if (!request.groups.empty() || !request.kept.empty() || !request.report.empty()) {
        throw usage_error(
            "--stream answers each document as it comes; --groups, --output and --report need all of them");
    }
    if (request.pairs == "-")
        throw usage_error("the answers of --stream go to standard output; --pairs needs a file");
    if (!request.corpus.input_format.empty() && request.corpus.input_format != "jsonl")
        throw usage_error("--stream reads JSON lines, and no other form");
    if (request.common.format == row_format::table)
        throw usage_error("--stream answers at once, as tsv or jsonl; a table needs all rows");
    request.common.format = request.common.format.value_or(row_format::tsv);  // on a terminal, too
    constexpr std::uint64_t shard_bytes = 64 << 20;
    constexpr std::size_t longest_line = (std::size_t{256} << 20) + 1;  // one more than a document may have
    request.dedup.shard_bytes = shard_bytes;
    auto pairs_file = open_if(request.pairs, run);
    output to;
    auto rows = run.rows(to, {"id", "duplicates", "nearest", "distance", "rate"});
    std::vector<duplicate_pair> pairs;
    std::uint64_t with_duplicates = 0, found = 0, lines = 0;
    const cell nothing = std::monostate{};

    duplicate_stream stream(request.dedup, run.run);
    run.messages.finish();
    const auto answer = [&](std::string_view line) {
        constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
        if (lines++ == 0 && line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
        const auto result = stream.next(line);
        if (!result.is_document) {
            if (result.why.empty()) return;
            run.messages.warning(fmt::format("-:{}: {}", lines, result.why));
            rows.row({nothing, nothing, nothing, nothing, nothing});  // so that there is a row for every line
            return;
        }
        found += result.duplicates.size();
        with_duplicates += result.duplicates.empty() ? 0 : 1;
        if (pairs_file) pairs.insert(pairs.end(), result.duplicates.begin(), result.duplicates.end());
        if (result.duplicates.empty()) {
            rows.row({std::string_view(result.id), std::uint64_t{0}, nothing, nothing, nothing});
            return;
        }
        const duplicate_pair& nearest = result.duplicates.front();
        rows.row({std::string_view(result.id), std::uint64_t{result.duplicates.size()}, stream.id(nearest.a),
                  nearest.distance, nearest.rate()});
    };
    run.stage("stream", [&] {
        line_input input(longest_line);
        try {
            for (bool more = true; more;) {
                more = input.read(run.run, answer);
                rows.finish();
                to.flush();
            }
        } catch (const interrupted&) {
            stream.commit();  // what was answered is known
            throw;
        } catch (const closed_pipe&) {
            stream.commit();
            throw;
        }
        stream.finish();
    });
    if (pairs_file) {
        std::ranges::sort(pairs, {}, [](const duplicate_pair& p) { return std::pair(p.a, p.b); });
        auto pair_rows = run.rows(*pairs_file, pair_columns);
        for (const duplicate_pair& p : pairs) write_pair(pair_rows, stream.id(p.a), stream.id(p.b), p);
        pair_rows.finish();
        pairs_file->commit();
    }
    to.commit();
    run.messages.info(fmt::format("{}, {} with duplicates; {} in memory for them and {} from before",
                                  counted(stream.counts().documents, "document"), grouped(with_duplicates),
                                  in_bytes(static_cast<double>(stream.memory_bytes())),
                                  grouped(stream.earlier())));
    run.statistics.device = stream.statistics().device;
    run.statistics.device_reason = stream.statistics().device_reason;
    auto& counts = run.statistics.counts;
    counts["documents"] = stream.counts().documents;
    counts["earlier"] = stream.earlier();
    counts["pairs"] = found;
    counts["rejected"] = stream.counts().rejected;
    counts["memory_bytes"] = stream.memory_bytes();
    run.write_statistics();
    return 0;
}

}  // namespace

int run_dedup(const command& self, const std::vector<std::string>& arguments) {
    dedup_request request;
    command_line line(self, "CORPUS... [OPTION]...",
                      "Finds the documents that are almost the same: all pairs whose edit rate is below the "
                      "threshold, exactly, "
                      "none missed. Writes the pairs, the groups they form, and the corpus without all but "
                      "one document of each "
                      "group. The results are the same whatever the threads, the memory and the device.\n\n"
                      "A corpus without near-duplicates is a result like any other: exit code 0.");
    describe(line, request);
    line.parse(arguments);
    refuse_idle_options(line, request.dedup.duplicates.method);
    refuse_repeated_input(request);

    session run(self, request.common);
    request.dedup.inputs.assign(request.inputs.begin(), request.inputs.end());
    request.dedup.input_format = request.corpus.input_format;
    request.dedup.max_errors = request.corpus.max_errors;
    request.dedup.text = request.text.over({});
    std::vector<std::filesystem::path> files = request.dedup.inputs;
    files.insert(files.end(), request.dedup.against.begin(), request.dedup.against.end());
    files.insert(files.end(), {request.dedup.store, request.text.stop_word_file()});
    run.check_destinations({{request.pairs}, {request.groups}, {request.kept}, {request.report}},
                           std::move(files));
    check_destination({.path = request.dedup.store, .is_folder = true}, false);
    return request.stream ? dedup_stream(request, run) : dedup_corpus(request, run);
}

}  // namespace quern::cli
