// SPDX-License-Identifier: Apache-2.0
// The evaluation sets are read and indexed; then one pipeline over the training corpus:
//   cut (in order) → parse (parallel) → admit: ids (in order) → words, hashes, look-ups (parallel)
//       → pass on or note (in order).
// If tasks of a job have found the items, their matches are read (in order) instead.
// Matches, and what is known of contaminated documents, go to disk: there may be more than memory holds.
#include "quern/tasks/decontaminate.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/hash.hpp"
#include "device/cpu/pipeline.hpp"
#include "device/files/file_writer.hpp"
#include "device/files/scratch_folder.hpp"
#include "device/paced_checks.hpp"
#include "io/files/mapped_file.hpp"
#include "quern/base/error.hpp"
#include "report/contamination_report.hpp"
#include "report/html_page.hpp"
#include "tasks/cluster/document_findings.hpp"
#include "tasks/corpus/admitted_corpus.hpp"
#include "tasks/decontaminate/decontaminate_checks.hpp"
#include "tasks/decontaminate/document_scanner.hpp"
#include "tasks/decontaminate/evaluation_set.hpp"
#include "tasks/decontaminate/found_items.hpp"
#include "tasks/decontaminate/kept_writer.hpp"
#include "tasks/decontaminate/leak_examples.hpp"
#include "tasks/dedup/document_table.hpp"
#include "tasks/dedup/duplicate_store.hpp"
#include "tasks/dedup/kept_folder.hpp"
#include "tasks/dedup/kept_request.hpp"
#include "tasks/dedup/kept_rows.hpp"
#include "tasks/ngrams/scratch_table.hpp"
#include "tasks/shared/pinned_to_device.hpp"
#include "tasks/shared/remaining_memory.hpp"
#include "tasks/shared/stage_clock.hpp"

namespace quern {
namespace {

using contamination_detail::item_index;

/// Of a contaminated document, on disk.
struct document_entry {
    std::uint64_t id_end = 0;
    std::uint64_t position = 0;
};

template <class Value>
std::span<const Value> values_of(const io::mapped_file& file) {
    const auto bytes = file.bytes();
    return {reinterpret_cast<const Value*>(bytes.data()), bytes.size() / sizeof(Value)};
}

std::string listed(const std::vector<std::filesystem::path>& paths) {
    std::string names;
    for (const auto& path : paths) names.append(names.empty() ? "" : ", ").append(path.string());
    return names;
}

}  // namespace

struct decontaminate_result::state {
    explicit state(const context& ctx) : scratch(ctx), share(ctx.memory_limit() / 8) {}

    scratch_folder scratch;
    table_share share;
    std::optional<evaluation_set> items;
    scratch_table<contamination> matches;
    io::mapped_file ids, documents;
    leak_examples examples;
    bool has_examples = false;
    std::unique_ptr<kept_folder> folder;
    std::vector<bool> is_kept;  ///< with a folder or rows
    contamination_options options;
    std::vector<std::pair<std::string, std::string>> origin;
    std::vector<std::string> set_names;
};

namespace {

using state = decontaminate_result::state;

/// The matches, on disk until all are found.
class found_matches {
  public:
    explicit found_matches(scratch_folder& scratch)
        : matches_(scratch.file("found")), ids_(scratch.file("ids")), documents_(scratch.file("documents")) {}

    /// The matches of the next contaminated document.
    void add(const document& d, std::uint64_t position, std::span<contamination> matches) {
        for (contamination& m : matches) m.document = count_;
        matches_.append_values(std::span<const contamination>(matches));
        ids_.append(d.id);
        const document_entry entry{ids_.size(), position};
        documents_.append_values(std::span(&entry, 1));
        ++count_;
    }
    std::uint32_t documents() const { return count_; }

    /// Sorts the matches by item; they are by document.
    void finish(state& into, const context& ctx) {
        matches_.close();
        ids_.close();
        documents_.close();
        into.ids = io::mapped_file(ids_.path());
        into.documents = io::mapped_file(documents_.path());
        const io::mapped_file file(matches_.path(), io::mapped_file::access::sequential);
        const auto all = values_of<contamination>(file);
        std::vector<std::uint64_t> next(into.items->items() + std::size_t{1});
        in_checked_parts(ctx, 0, all.size(), neighbouring_values,
                         [&](std::uint64_t begin, std::uint64_t end) {
                             for (const contamination& m : all.subspan(begin, end - begin))
                                 ++next[m.item + std::size_t{1}];
                         });
        for (std::size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
        into.matches = {into.share, into.scratch, "matches", all.size()};
        in_checked_parts(ctx, 0, all.size(), scattered_values, [&](std::uint64_t begin, std::uint64_t end) {
            for (const contamination& m : all.subspan(begin, end - begin)) into.matches[next[m.item]++] = m;
        });
    }

  private:
    file_writer matches_, ids_, documents_;
    std::uint32_t count_ = 0;
};

/// The record of a document for a run that is resumed; and back.
std::string text_of(std::span<const contamination> matches) {
    std::string text = std::to_string(matches.size());
    for (const contamination& m : matches)
        text += fmt::format(" {} {} {} {} {}", m.item, m.found, m.of, m.begin, m.end);
    return text;
}
std::vector<contamination> matches_of(std::string_view text) {
    std::istringstream in{std::string(text)};
    std::size_t count = 0;
    in >> count;
    std::vector<contamination> matches(count);
    for (contamination& m : matches) in >> m.item >> m.found >> m.of >> m.begin >> m.end;
    return matches;
}

/// The work of one call.
class decontaminate_run {
  public:
    decontaminate_run(const decontaminate_options& options, const context& ctx)
        : options_(options),
          ctx_(pinned_to_device(ctx, "decontaminate", statistics_, offered_places::cpu_only)) {}

    decontaminate_result run() {
        state& s = *state_;
        if (!options_.kept_folder.empty())
            s.folder = std::make_unique<kept_folder>(
                kept_target{options_.kept_folder, options_, describe_kept(options_), options_.resume}, ctx_);
        s.items.emplace(options_, s.scratch, ctx_);
        clock_.end_stage("against", s.items->input_bytes());
        ctx_.report({"index", 0, s.items->words().words.size(), "words"});
        const item_index index(s.items->words(), options_.contamination, ctx_);
        evaluation_bytes_ = s.items->memory_bytes() + index.memory_bytes();
        statistics_.counts["ngrams"] = index.ngrams();
        clock_.end_stage("index", evaluation_bytes_);
        read_corpus(index);
        return result();
    }

  private:
    struct unit_in_work : document_unit {
        std::vector<contamination> matches;  ///< by position in the unit
        std::vector<std::uint64_t> hashes;   ///< with matches of a job

        void add(std::span<const contamination> of_document, std::uint32_t position) {
            for (contamination m : of_document) {
                m.document = position;
                matches.push_back(m);
            }
        }
    };

    void read_corpus(const item_index& index) {
        state& s = *state_;
        const context ctx = with_remaining_memory(ctx_, evaluation_bytes_, "the evaluation data");
        if (options_.kept && options_.keep_rows) {
            rows_.emplace(s.scratch.file("rows"));
        } else if (options_.kept) {
            kept_.emplace(options_.kept, s.scratch.path(), options_.fields);
        }
        if (!options_.matches_of_job.empty()) matches_of_job_.emplace(options_.matches_of_job, "matches");
        std::optional<io::corpus_place> start = io::corpus_place();
        reading_record earlier;
        if (keeps_parts())
            start = s.folder->take_batches(
                earlier_, earlier, [](const document&) {}, ctx);
        std::uint64_t bytes = 0;
        if (start) {
            document_scanner scanner(*s.items, index, options_.text);
            bytes = read_from(*start, std::move(earlier), scanner, ctx);
        } else {
            take_earlier([](std::string_view) {});
            record_ = std::move(earlier);
        }
        if (kept_) kept_->finish();
        if (rows_) rows_->write([&](std::size_t i) { return s.is_kept[i]; }, options_.kept, ctx);
        contaminated_ = found_.documents();
        clock_.end_stage("scan", bytes);
        found_.finish(s, ctx);
        clock_.end_stage("sort", s.matches.size() * sizeof(contamination));
    }

    /// Whether what was read is kept for a later run.
    bool keeps_parts() const {
        const bool is_numbered = options_.input_format == io::name_of(io::corpus_form::lines);
        return state_->folder && options_.resume && !options_.keep_examples && !is_numbered;
    }

    /// Decides again what an earlier run did.
    void take_earlier(const std::function<void(std::string_view)>& know) {
        document d;
        for (std::uint32_t i = 0; i < earlier_.size(); ++i) {
            d.id = earlier_.id(i);
            know(d.id);
            std::vector<contamination> matches = matches_of(earlier_.text(i));
            decide(d, matches);
        }
    }

    std::uint64_t read_from(const io::corpus_place& start, reading_record earlier, document_scanner& scanner,
                            const context& ctx) {
        admitted_corpus corpus(options_, {.a_byte = 3}, options_.text, ctx,
                               {.stage = "read", .keep_records = kept_ || state_->folder, .start = start});
        corpus.record() = std::move(earlier);
        take_earlier([&](std::string_view id) { corpus.know(id); });
        if (keeps_parts()) corpus.in_parts_of(options_.part_bytes);
        do read_part(corpus, scanner, ctx);
        while (corpus.next_part());
        record_ = std::move(corpus.record());
        return corpus.consumed_bytes();
    }

    /// Everything, or as much as is kept at once.
    void read_part(admitted_corpus& corpus, document_scanner& scanner, const context& ctx) {
        state& s = *state_;
        std::optional<shard_writer> notes;
        if (keeps_parts())
            notes.emplace(s.folder->notes(), s.folder->batch_number(), earlier_.overlap(),
                          s.scratch.file("noted_ids"));
        pipeline<unit_in_work> line(units_at_once(ctx));
        corpus.begin(line);
        if (matches_of_job_) {
            take_matches(line);
        } else {
            line.in_parallel([&](unit_in_work& unit) {
                for (std::uint32_t i = 0; i < unit.parsed.documents.size(); ++i) {
                    ctx.check_stop();
                    unit.add(scanner.scan(unit.parsed.documents[i]), i);
                }
            });
        }
        if (kept_) prepare_kept(line);
        line.in_order([&](unit_in_work& unit) {
            auto next = unit.matches.begin();
            for (std::uint32_t i = 0; i < unit.parsed.documents.size(); ++i) {
                const auto begin = next;
                while (next != unit.matches.end() && next->document == i) ++next;
                take(unit.parsed.documents[i], std::span(begin, next), notes ? &*notes : nullptr);
            }
            unit.matches.clear();
            if (kept_) kept_->flush();
        });
        corpus.run(line);
        if (!corpus.next_part() && documents_ == 0 && options_.source == nullptr)
            corpus.record().refuse_empty(options_);
        if (notes) earlier_.map_texts(notes->finish_texts());
        if (s.folder) s.folder->end_batch(notes ? &*notes : nullptr, corpus.record(), corpus.next_part());
    }

    void take_matches(pipeline<unit_in_work>& line) {
        line.in_parallel([](unit_in_work& unit) {
            for (const document& d : unit.parsed.documents) unit.hashes.push_back(hash64(d.text));
        });
        line.in_order([this](unit_in_work& unit) {
            matches_of_job_->take(
                unit.hashes, unit.parsed.counts.documents, [&](std::size_t i, std::string_view found) {
                    unit.add(matches_of_bytes(found, state_->items->items(), options_.matches_of_job),
                             static_cast<std::uint32_t>(i));
                });
        });
    }

    static void prepare_kept(pipeline<unit_in_work>& line) {
        line.in_parallel([](unit_in_work& unit) {
            auto next = unit.matches.cbegin();
            for (std::uint32_t i = 0; i < unit.parsed.documents.size(); ++i) {
                const auto begin = next;
                while (next != unit.matches.cend() && next->document == i) ++next;
                if (next == begin) kept_writer::prepare(unit.parsed.documents[i]);
            }
        });
    }

    void take(const document& d, std::span<contamination> matches, shard_writer* notes) {
        if (state_->folder) state_->folder->append(d);
        if (notes != nullptr) {
            const std::string text = text_of(matches);
            earlier_.add(d.id, text.size());
            notes->add(d.id, text);
        }
        if (kept_ && matches.empty()) kept_->take(d);
        if (rows_) rows_->append(d, ctx_);
        decide(d, matches);
    }

    void decide(const document& d, std::span<contamination> matches) {
        if (state_->folder || rows_) state_->is_kept.push_back(matches.empty());
        const std::uint64_t position = documents_++;
        if (matches.empty()) return;
        found_.add(d, position, matches);
        if (!options_.keep_examples) return;
        for (const contamination& m : matches) state_->examples.consider(m, d.text);
    }

    decontaminate_result result() {
        state& s = *state_;
        contamination_counts found;
        found.documents = static_cast<std::uint32_t>(documents_);
        found.contaminated = contaminated_;
        found.items = s.items->items();
        found.evaluation_bytes = evaluation_bytes_;
        for (std::uint32_t item = 0; item < s.items->items(); ++item) {
            const std::uint64_t words = s.items->item(item).words;
            found.empty_items += words == 0 ? 1 : 0;
            found.short_items += words != 0 && words < options_.contamination.ngram ? 1 : 0;
        }
        const std::span<const contamination> matches = s.matches.span();
        for (std::size_t i = 0; i < matches.size(); ++i)
            found.found_items += i == 0 || matches[i].item != matches[i - 1].item ? 1 : 0;
        take_statistics(found);
        take_origin(found);
        const reading_record of_items = s.items->record();
        decontaminate_result made(std::move(state_));
        made.found = found;
        made.counts = record_.counts;
        made.against_counts = of_items.counts;
        made.issues = of_items.issues;
        made.issues.insert(made.issues.end(), record_.issues.begin(), record_.issues.end());
        constexpr std::size_t issues_kept = 100;
        if (made.issues.size() > issues_kept) made.issues.resize(issues_kept);
        made.statistics = std::move(statistics_);
        return made;
    }

    void take_statistics(const contamination_counts& found) {
        auto& counts = statistics_.counts;
        counts["documents"] = found.documents;
        counts["contaminated"] = found.contaminated;
        counts["items"] = found.items;
        counts["empty_items"] = found.empty_items;
        counts["short_items"] = found.short_items;
        counts["found_items"] = found.found_items;
        counts["matches"] = state_->matches.size();
        counts["evaluation_words"] = state_->items->words().words.size();
        counts["evaluation_bytes"] = found.evaluation_bytes;
        const reading_counts& of_items = state_->items->record().counts;
        counts["rejected"] = record_.counts.rejected + of_items.rejected;
        counts["damaged"] = record_.counts.damaged + of_items.damaged;
        counts["cut"] = record_.counts.truncated + of_items.truncated;
        for (const auto& [reason, count] : record_.counts.skipped) counts["skipped: " + reason] = count;
        statistics_.threads = ctx_.thread_count();
        statistics_.peak_memory_bytes = peak_memory_bytes();
    }

    void take_origin(const contamination_counts& found) {
        state& s = *state_;
        s.has_examples = options_.keep_examples;
        s.options = options_.contamination;
        for (const auto& name : names_of(options_.against)) s.set_names.push_back(name.string());
        const auto add = [&](std::string_view name, std::string value) {
            s.origin.emplace_back(name, std::move(value));
        };
        const auto share = [](std::uint64_t part, std::uint64_t all) {
            const double percent = all == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(all);
            return fmt::format("{} ({:.2f}%)", report::grouped(part), percent);
        };
        add("training documents", report::grouped(found.documents));
        add("contaminated", share(found.contaminated, found.documents));
        add("items", report::grouped(found.items));
        add("items found", share(found.found_items, found.items));
        add("pairs of an item and a document", report::grouped(s.matches.size()));
        add("words of an n-gram", fmt::format("{}", options_.contamination.ngram));
        add("least share", to_text(s.options.overlap));
        add("training data", listed(names_of(options_)));
        add("rejected documents", report::grouped(record_.counts.rejected));
        add("made by", "Quern " QUERN_VERSION);
    }

    const decontaminate_options& options_;
    run_statistics statistics_;
    context ctx_;
    stage_clock clock_{statistics_};
    std::unique_ptr<state> state_ = std::make_unique<state>(ctx_);
    std::optional<kept_writer> kept_;
    std::optional<row_file> rows_;
    std::optional<document_findings> matches_of_job_;
    found_matches found_{state_->scratch};
    document_table earlier_;  ///< what was found, for a run that is resumed
    std::uint64_t evaluation_bytes_ = 0, documents_ = 0;
    std::uint32_t contaminated_ = 0;
    reading_record record_;
};

}  // namespace

decontaminate_result decontaminate(const decontaminate_options& options, const context& ctx) {
    check_request(options);
    return decontaminate_run(options, ctx).run();
}

decontaminate_result::decontaminate_result(std::unique_ptr<state> made) : state_(std::move(made)) {}
decontaminate_result::decontaminate_result(decontaminate_result&&) noexcept = default;
decontaminate_result& decontaminate_result::operator=(decontaminate_result&&) noexcept = default;
decontaminate_result::~decontaminate_result() = default;

std::span<const contamination> decontaminate_result::matches() const {
    return state_->matches.span();
}

evaluation_item decontaminate_result::item(std::uint32_t item) const {
    return state_->items->item(item);
}

contaminated_document decontaminate_result::contaminated(std::uint32_t document) const {
    const auto entries = values_of<document_entry>(state_->documents);
    const std::uint64_t begin = document == 0 ? 0 : entries[document - std::size_t{1}].id_end;
    return {state_->ids.text().substr(begin, entries[document].id_end - begin),
            static_cast<std::uint32_t>(entries[document].position)};
}

void decontaminate_result::write_kept_folder(const context& ctx, const std::function<void()>& before) const {
    if (!state_->folder) throw usage_error("no folder for the documents to keep was given");
    state_->folder->publish([this](std::size_t i) { return state_->is_kept[i]; }, before, ctx);
}

bool is_kept_folder_complete(const decontaminate_options& options) {
    return kept_folder::is_complete(options.kept_folder, describe_kept(options));
}

void decontaminate_result::write_report(const sink& out) const {
    const state& s = *state_;
    if (!s.has_examples) throw usage_error("the examples to report were not kept");
    constexpr std::size_t bins = 11;
    report::contamination_report page;
    page.summary = s.origin;
    page.overlap = s.options.overlap;
    page.shares.resize(bins);
    for (const std::string& name : s.set_names) page.sets.push_back({.name = name});
    for (std::uint32_t item = 0; item < s.items->items(); ++item) {
        const evaluation_item i = s.items->item(item);
        auto& set = page.sets[i.set];
        ++set.items;
        set.empty_items += i.words == 0 ? 1 : 0;
        set.short_items += i.words != 0 && i.words < s.options.ngram ? 1 : 0;
    }
    const auto all = matches();
    for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
        contamination largest = all[begin];
        for (; end < all.size() && all[end].item == all[begin].item; ++end)
            if (all[end].found > largest.found) largest = all[end];
        auto& set = page.sets[s.items->item(largest.item).set];
        ++set.found_items;
        set.matches += end - begin;
        ++page.shares[report::bin_of_share(largest, s.options.overlap, bins)];
    }
    for (const leak_example& e : s.examples.examples()) {
        const evaluation_item item = s.items->item(e.leak.item);
        page.examples.push_back({e.leak, std::string(item.id), std::string(contaminated(e.leak.document).id),
                                 s.set_names[item.set], s.items->text(e.leak.item, leak_examples::text_bytes),
                                 s.items->text_bytes(e.leak.item) > leak_examples::text_bytes, e.before,
                                 e.leaked, e.after, e.cut});
    }
    report::write_contamination_report(page, out);
}

}  // namespace quern
