// SPDX-License-Identifier: Apache-2.0
// Texts go to disk when they are parsed and are compared in place, mapped; ids and lengths stay in memory. With a
// store, the corpus is processed in batches: each is compared with everything before it and with itself, and is
// committed to the store, with its pairs, before the next one begins.
#include "quern/tasks/dedup.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <utility>

#include "base/grouped.hpp"
#include "base/release.hpp"
#include "device/large_array.hpp"
#include "device/memory_budget.hpp"
#include "ops/near_duplicates/papers/words/shingle_kept.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/dedup_tasks.hpp"
#include "tasks/cluster/job_files.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/dedup/dedup_checks.hpp"
#include "tasks/dedup/dedup_state.hpp"
#include "tasks/dedup/document_reader.hpp"
#include "tasks/dedup/duplicate_store.hpp"
#include "tasks/dedup/earlier_decisions.hpp"
#include "tasks/dedup/kept_request.hpp"
#include "tasks/dedup/old_documents.hpp"
#include "tasks/dedup/preference.hpp"
#include "tasks/dedup/text_blocks.hpp"
#include "tasks/dedup/word_blocks.hpp"
#include "tasks/dedup/word_table.hpp"
#include "tasks/shared/device_ahead.hpp"
#include "tasks/shared/remaining_memory.hpp"
#include "tasks/shared/stage_clock.hpp"

namespace quern {

namespace {

constexpr std::uint64_t everything = std::numeric_limits<std::uint64_t>::max();

/// Whether the system counts memory that is only reserved (ulimit -v or -d, no overcommitment): then none is reserved for what
/// may come.
bool is_reserving_counted() {
    const auto is_limited = [](auto what) {
        rlimit limit{};
        return ::getrlimit(what, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    };
    int overcommitment = 0;
    std::ifstream("/proc/sys/vm/overcommit_memory") >> overcommitment;
    return is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA) || overcommitment == 2;
}

/// The work of one call; the members' names give the order.
class dedup_run {
  public:
    /// `job`: the folder of one whose tasks have compared the texts; empty: they are compared here.
    dedup_run(const dedup_options& options, const std::filesystem::path& job, const context& ctx)
        : options_(options),
          job_(job),
          compares_(job.empty()),
          device_(choose_device_ahead(ctx, options.duplicates.method)),
          ctx_(device_.reading()),
          sources_(options.prefer) {
        request_ = {options, options.keep_records || !options.kept_folder.empty(), work_of(options),
                    options.text};
        if (!options.kept_folder.empty())
            found_->folder = std::make_unique<kept_folder>(
                kept_target{options.kept_folder, options, describe_kept(options), options.resume}, ctx_);
        if (options.keep_records) found_->records.emplace(found_->scratch.file("records"), options.fields);
        if (options.keep_rows) found_->rows.emplace(found_->scratch.file("rows"));
        if (compares_words(options.duplicates.method) && job.empty())
            words_.emplace(options.text, found_->scratch.file("words"), options.duplicates.of_shingles);
    }

    dedup_result run() {
        if (!options_.store.empty()) {
            ctx_ = device_.pinned(statistics_);
            add_to_store();
        } else if (!job_.empty()) {
            read_once();
            take_compared();
        } else {
            read_once();
            if (!take_choice()) {
                compare_once();
                choose();
                keep_choice();
            }
        }
        return result();
    }

    /// Reads the corpus, and writes its texts as blocks.
    void write_blocks(std::uint64_t blocks, task_results& results) {
        compares_ = false;
        read_once();
        if (words_) return write_word_blocks(words_->words(), words_->vocabulary(), blocks, results, ctx_);
        write_text_blocks(found_->table.texts(), options_.duplicates.unit, blocks, results, ctx_);
    }

  private:
    void read_once() {
        read_documents();
        ctx_ = device_.pinned(statistics_);
    }

    void read_documents() {
        document_table& table = found_->table;
        if (!options_.against.empty()) {
            read_old_documents(options_, found_->scratch, table, words(), record_.issues, ctx_);
            clock_.end_stage("against", table.texts().bytes.size());
        }
        first_new_ = table.size();
        reading_record earlier;
        if (keeps_batches()) {
            std::uint32_t position = 0;
            const auto place = found_->folder->take_batches(
                table, earlier, [&](const document& d) { take_place(d, position++); }, ctx_);
            if (words_) words_->append_texts(table, 0, table.size(), false, ctx_);
            if (!place) {
                record_ = std::move(earlier);
                return clock_.end_stage("read", 0);
            }
            request_.start = *place;
        }
        document_reader reader(request_, words(), "read", ctx_);
        reader.go_on_from(std::move(earlier));
        if (keeps_batches()) reader.keep_files_whole();
        while (read_batch(reader)) {
        }
        refuse_nothing(reader);
        take_record(reader);
        clock_.end_stage("read", reader.consumed_bytes());
    }

    /// Whether what was read is kept for a later run.
    bool keeps_batches() const {
        const bool is_numbered = options_.input_format == io::name_of(io::corpus_form::lines);
        return found_->folder && options_.store.empty() && options_.against.empty() &&
               !options_.keep_records && !options_.keep_rows && !is_numbered;
    }

    /// Reads everything, or as much as is kept at once; false at the end.
    bool read_batch(document_reader& reader) {
        if (!keeps_batches()) return read_everything(reader);
        constexpr std::uint64_t max_bytes = 64 << 20;
        document_table& table = found_->table;
        shard_writer texts(found_->folder->notes(), found_->folder->batch_number(), table.overlap(),
                           found_->scratch.file("ids"));
        const bool more = reader.read(std::min(options_.shard_bytes, max_bytes), [&](document& d) {
            const document_reader::verdict v = reader.settle(d, table);
            if (v != document_reader::verdict::taken) return v;
            table.add(d.id, d.text.size());
            texts.add(d.id, d.text);
            take(d, table.size() - 1);
            return v;
        });
        if (!more) refuse_nothing(reader);
        table.map_texts(texts.finish_texts());
        const auto next = more ? std::optional(reader.place()) : std::nullopt;
        found_->folder->end_batch(&texts, reader.record(), next);
        return more;
    }

    /// Documents get their positions one by one. Then threads write their texts, and make their sketches while the texts
    /// are at hand, as far as these fit a quarter of the memory.
    bool read_everything(document_reader& reader) {
        document_table& table = found_->table;
        const std::uint32_t before = table.size();
        scratch_texts& texts = found_->texts.emplace(found_->scratch.path(), table.overlap());
        const edit_unit unit = options_.duplicates.unit;
        std::uint64_t sketched = 0;
        const bool automatic = options_.duplicates.method == duplicate_method::automatic;
        if (before == 0 && automatic && compares_ && !is_reserving_counted()) {
            sketches_ = io::large_array<text_sketch>(sketch_memory_, "sketches of texts");
            sketched = std::min(sketch_memory_.limit() / sizeof(text_sketch), sketches_.capacity());
        }
        const auto admit = [&](document& d) {
            const document_reader::verdict v = reader.settle(d, table);
            if (v != document_reader::verdict::taken) return v;
            table.add(d.id, d.text.size());
            if (table.size() <= sketched) sketches_.grow(table.size());
            take(d, table.size() - 1);
            return v;
        };
        const auto work = [&](const document_reader::taken_documents& some) {
            texts.write(some.begin, some.documents);
            for (std::size_t i = 0; i < some.documents.size() && some.first + i < sketched; ++i) {
                ctx_.check_stop();
                sketches_[some.first + i] = sketch_text(some.documents[i].text, unit);
            }
        };
        const bool more = reader.read(everything, admit, {}, work);
        sketches_.settle();
        refuse_nothing(reader);
        table.map_texts(texts.finish());
        if (found_->folder) found_->folder->end_batch(nullptr, reader.record(), {});
        return more;
    }

    /// With the choice of an interrupted run nothing is compared.
    bool take_choice() {
        if (!keeps_batches() || options_.list_pairs) return false;
        std::optional<kept_choice> choice = found_->folder->take_choice();
        if (!choice) return false;
        found_->pair_count = choice->pair_count;
        found_->groups = std::move(choice->groups);
        found_->removed = std::move(choice->removed);
        statistics_.counts.merge(choice->counts);
        found_->is_new.resize(found_->table.size());
        drop();
        clock_.end_stage("groups", 0);
        return true;
    }

    void keep_choice() {
        if (!keeps_batches() || options_.list_pairs) return;
        found_->folder->keep_choice(
            {found_->pair_count, statistics_.counts, found_->groups, found_->removed});
    }

    void compare_once() {
        if (decides_by_sets()) return;  // with the comparison
        const bool links = !options_.list_pairs;
        const std::uint64_t pairs = compare({first_new_, options_.against.empty(), links});
        const bool are_counted =
            !links || (options_.duplicates.method != duplicate_method::automatic && !omits_pairs());
        if (are_counted) found_->pair_count = pairs;
    }

    /// Whether not all pairs of sets of shingles are needed. On a GPU they are found, but not counted: results are the same.
    bool omits_pairs() const {
        return options_.duplicates.method == duplicate_method::shingle && !options_.list_pairs &&
               options_.rule == removal_rule::near_kept && options_.store.empty() && job_.empty();
    }
    /// Whether sets are compared with those that stay alone.
    bool decides_by_sets() const { return omits_pairs() && ctx_.device.where == device_choice::kind::cpu; }

    /// False if the index of what stays needs too much memory.
    bool decide_by_sets(const kept_order& order) {
        const word_list words = words_->words();
        warn_of_texts_without_words(words);
        duplicate_counts counts;
        const duplicate_scope scope{first_new_, options_.against.empty()};
        const auto removed = near_duplicates_detail::near_kept_by_shingles(
            words, {options_.duplicates.shingle}, options_.duplicates.similarity, scope, order,
            after_documents(), counts);
        if (!removed) {
            compare({first_new_, options_.against.empty(), true});
            return false;
        }
        found_->removed = *removed;
        statistics_.counts["compared"] += counts.compared;
        statistics_.counts["candidates"] += counts.candidates;
        clock_.end_stage("compare", found_->table.texts().bytes.size());
        return true;
    }

    /// The pairs of the tasks of a job: of words all, of texts those that are the first of their equals, as those of a store.
    void take_compared() {
        compared_texts of_job = read_compared(job_);
        if (of_job.sketches.size() != found_->table.size())
            throw usage_error(
                fmt::format("{}: the tasks compared {} documents, but the corpus has {} (a folder was "
                            "changed, or --memory of a worker was "
                            "too small for a document); make a plan in another folder",
                            job_.string(), of_job.sketches.size(), found_->table.size()));
        if (compares_words(options_.duplicates.method)) {
            found_->pairs = std::move(of_job.pairs);
            found_->pair_count = found_->pairs.size();
            clock_.end_stage("compare", found_->table.texts().bytes.size());
            return choose(found_->pairs);
        }
        text_sketches sketches;
        sketches.chunks.emplace_back(of_job.sketches);
        found_->is_new.resize(found_->table.size());
        std::uint64_t count = 0;
        found_->pairs =
            pairs_of_equals(sketches, of_job.pairs, found_->is_new, !options_.list_pairs, count, ctx_);
        found_->pair_count = count;
        clock_.end_stage("compare", found_->table.texts().bytes.size());
        choose(pairs_to_decide(std::move(of_job.pairs), sketches));
    }

    void add_to_store() {
        document_table& table = found_->table;
        const auto requested = duplicate_store::params_of(options_.duplicates, options_.text);
        duplicate_store store(options_.store, duplicate_store::access::add, &requested, ctx_);
        store.load(table, ctx_);
        if (words_) words_->append_texts(table, 0, table.size(), false, ctx_);
        clock_.end_stage("store", table.texts().bytes.size());

        const std::uint32_t known = table.size();
        found_->is_new.resize(known);
        document_reader reader(request_, words(), "read", ctx_);
        std::uint64_t consumed = 0;
        for (bool more = true; more;) {
            const std::uint32_t first = table.size();
            const auto shard = store.new_shard(table, found_->scratch.file("ids"));
            more = reader.read(options_.shard_bytes,
                               [&](document& d) { return admit(d, known, reader.ids(), *shard); });
            clock_.end_stage("read", reader.consumed_bytes() - consumed);
            consumed = reader.consumed_bytes();
            if (!more) refuse_nothing(reader);
            if (shard->documents() == 0) continue;
            table.map_texts(shard->finish_texts());
            std::span<text_sketch> sketches;
            if (!words_) {
                table.add_sketches(sketch_texts(table.texts(), first, options_.duplicates.unit, ctx_));
                sketches = table.last_sketches();
            }
            compare({first, true, !words_, true});
            ctx_.check_stop();
            ctx_.report({"commit", 0, 0, "bytes"});
            if (!words_) {
                link_equal_texts(sketches, first, found_->pairs);
                keep_first_equals(table.sketches(options_.duplicates.unit), found_->pairs);
            }
            store.commit(*shard, found_->pairs, sketches);
            clock_.end_stage("commit", 0);
        }
        take_record(reader);
        if (found_->folder) found_->folder->end_batch(nullptr, reader.record(), {});
        store.finish();
        std::vector<duplicate_pair> stored = store.pairs();
        take_pairs(store, stored);
        const text_sketches sketches = words_ ? text_sketches() : table.sketches(options_.duplicates.unit);
        stored = pairs_to_decide(std::move(stored), sketches);
        std::vector<document_decision> decisions = store.decisions();
        complete_decisions(stored, found_->is_new, decisions, ctx_);
        choose(stored, decisions);
        for (const std::uint32_t d : found_->positions)
            decisions[d] = found_->dropped[d] ? document_decision::removed : document_decision::stays;
        ctx_.check_stop();
        store.decide(decisions);
    }

    /// Takes the pairs of the corpus's documents, whenever these were added.
    void take_pairs(const duplicate_store& store, std::span<const duplicate_pair> stored) {
        const document_table& table = found_->table;
        found_->is_new.resize(table.size());
        if (words_) {
            found_->pairs = store.pairs_with(found_->is_new);
            found_->pair_count = found_->pairs.size();
            return;
        }
        std::uint64_t count = 0;
        found_->pairs = pairs_of_equals(table.sketches(options_.duplicates.unit), stored, found_->is_new,
                                        !options_.list_pairs, count, ctx_);
        found_->pair_count = count;
    }

    /// With a store: a document that exists with the same text is known, but still belongs to the corpus.
    document_reader::verdict admit(document& d, std::uint32_t known, document_ids& ids, shard_writer& shard) {
        using verdict = document_reader::verdict;
        document_table& table = found_->table;
        if (words_ && d.verbatim) throw usage_error("a store of words does not take the corpus form lines");
        const auto find = [&](std::string_view id) { return table.find(id); };
        const auto same = [&](std::uint32_t at) {
            return at < known && !found_->is_new[at] && table.text(at) == d.text;
        };
        switch (ids.settle(d, table.size(), find, same)) {
            case document_ids::outcome::repeated:
                return verdict::repeated;
            case document_ids::outcome::known:
                take(d, *table.find(d.id));
                return verdict::passed_over;
            case document_ids::outcome::fresh:
                break;
        }
        table.add(d.id, d.text.size());
        shard.add(d.id, d.text);
        take(d, table.size() - 1);
        return verdict::taken;
    }

    void take_place(const document& d, std::uint32_t position) {
        if (found_->is_new.size() <= position) found_->is_new.resize(position + std::size_t{1});
        found_->is_new[position] = true;
        found_->positions.push_back(position);
        if (sources_.any()) {
            ranks_.resize(std::max(ranks_.size(), position + std::size_t{1}), source_ranks::none);
            ranks_[position] = sources_.rank_of(d);
        }
    }

    void take(const document& d, std::uint32_t position) {
        take_place(d, position);
        if (found_->records) found_->records->append(d);
        if (found_->rows) found_->rows->append(d, ctx_);
        if (found_->folder) found_->folder->append(d);
        if (const std::uint64_t held = held_bytes(); held / 3 * 4 > ctx_.memory_limit())
            throw out_of_memory("the table of documents", held / 3 * 4, ctx_.memory_limit());
    }

    /// What the run keeps of the documents, and of their words.
    std::uint64_t held_bytes() const {
        return found_->table.memory_bytes() + found_->positions.capacity() * sizeof(std::uint32_t) +
               ranks_.capacity() * sizeof(std::uint32_t) + (words_ ? words_->memory_bytes() : 0);
    }
    /// For what compares and groups them.
    context after_documents() const {
        return with_remaining_memory(ctx_, held_bytes() + sketches_.size() * sizeof(text_sketch),
                                     "the table of documents");
    }

    /// Called at the end of the corpus. A list of a program may be empty; files without documents are a mistake.
    void refuse_nothing(const document_reader& reader) const {
        if (found_->positions.empty() && options_.source == nullptr) reader.record().refuse_empty(options_);
    }

    void take_record(const document_reader& reader) {
        record_.counts = reader.record().counts;
        const auto& issues = reader.record().issues;
        record_.issues.insert(record_.issues.end(), issues.begin(), issues.end());
    }

    /// Texts of other scripts, of signs or pictures alone: to these methods they are equal.
    void warn_of_texts_without_words(const word_list& words) const {
        const duplicate_method method = options_.duplicates.method;
        if (method != duplicate_method::shingle && method != duplicate_method::simhash) return;
        std::uint64_t wordless = 0;
        for (std::uint32_t i = 0; i < words.size(); ++i)
            wordless += words[i].empty() && !found_->table.text(i).empty() ? 1 : 0;
        if (wordless > 1)
            ctx_.log(log_level::warning,
                     fmt::format(
                         "{} texts have no words by these options for texts (--tokens …), and count as equal",
                         grouped(wordless)));
    }

    /// Returns the number of pairs.
    std::uint64_t compare(const duplicate_scope& scope) {
        ctx_.check_stop();
        duplicate_result found;
        if (words_) {
            const word_list words = words_->words();
            warn_of_texts_without_words(words);
            found =
                near_duplicates(words, words_->vocabulary(), options_.duplicates, scope, after_documents());
        } else {
            const document_table& table = found_->table;
            text_sketches known = table.sketches(options_.duplicates.unit);
            if (!sketches_.empty()) known.chunks = {sketches_.span()};
            found = near_duplicates(table.texts(), known, options_.duplicates, scope, after_documents());
            sketches_ = {};
        }
        statistics_.counts["compared"] += found.counts.compared;
        statistics_.counts["candidates"] += found.counts.candidates;
        statistics_.counts["verified"] += found.counts.verified;
        found_->pairs = std::move(found.pairs);
        clock_.end_stage("compare", found_->table.texts().bytes.size());
        for (const auto& [step, seconds] : found.counts.steps)
            statistics_.stages.push_back({"compare/" + step, seconds, 0, 0});
        return found.counts.pairs;
    }

    /// Which documents stay. With a store, from its pairs and the decisions about earlier documents.
    void choose(std::span<const duplicate_pair> stored = {},
                std::span<const document_decision> earlier = {}) {
        const document_table& table = found_->table;
        ctx_.report({"groups", 0, 0, "documents"});
        found_->is_new.resize(table.size());
        found_->pairs_are_listed = options_.list_pairs;
        std::vector<std::uint64_t> lengths(table.size());
        for (std::uint32_t d = 0; d < table.size(); ++d) lengths[d] = table.text_bytes(d);
        if (sources_.any()) ranks_.resize(table.size(), source_ranks::none);
        const preference preferred{options_.keep, lengths, ranks_};
        if (options_.rule == removal_rule::near_kept) {
            remove_near_kept(preferred, stored, earlier);
        } else {
            found_->groups = duplicate_groups(found_->pairs, lengths, options_.keep);
            choose_kept(preferred, found_->is_new, found_->groups);
        }
        drop();
        clock_.end_stage("groups", 0);
    }

    /// All of a group but the one that stays.
    void drop() {
        found_->dropped.resize(found_->table.size());
        for (const duplicate_group& group : found_->groups) {
            for (const std::uint32_t d : group.members) {
                if (d == group.kept || !found_->is_new[d]) continue;
                found_->dropped[d] = true;
                ++found_->dropped_count;
            }
        }
    }

    void remove_near_kept(const preference& preferred, std::span<const duplicate_pair> stored,
                          std::span<const document_decision> earlier) {
        const document_table& table = found_->table;
        std::vector<std::uint32_t> order, by_preference;
        for (std::uint32_t d = 0; d < table.size(); ++d) {
            if (found_->is_new[d]) {
                by_preference.push_back(d);
            } else if (earlier.empty() || earlier[d] == document_decision::stays) {
                order.push_back(d);
            }
        }
        const std::size_t staying = order.size();
        if (!std::ranges::is_sorted(by_preference, preferred)) std::ranges::sort(by_preference, preferred);
        order.insert(order.end(), by_preference.begin(), by_preference.end());
        release(by_preference);
        const kept_order preferred_order{order, staying};
        if (decides_by_sets() && decide_by_sets(preferred_order)) {
            found_->groups = groups_of(found_->removed);
            return;
        }
        const context left = after_documents();
        const bool are_links =
            options_.duplicates.method == duplicate_method::automatic && !options_.list_pairs;
        if (!options_.store.empty() || !job_.empty()) {
            found_->removed = near_kept(stored, table.size(), preferred_order, left);
        } else if (are_links) {
            const auto check = table.sketches(options_.duplicates.unit).before_reading;
            found_->removed =
                near_kept(table.texts(), options_.duplicates, found_->pairs, preferred_order, check, left);
        } else {
            found_->removed = near_kept(found_->pairs, table.size(), preferred_order, left);
        }
        found_->groups = groups_of(found_->removed);
    }

    dedup_result result() {
        found_->summary = summary_of(options_, record_.counts, statistics_);
        auto& counts = statistics_.counts;
        counts["documents"] = found_->positions.size();
        counts["earlier"] = found_->table.size() - found_->positions.size();
        counts["text_bytes"] = found_->table.texts().bytes.size();
        if (found_->pair_count) counts["pairs"] = *found_->pair_count;
        counts["groups"] = found_->groups.size();
        counts["dropped"] = found_->dropped_count;
        counts["rejected"] = record_.counts.rejected;
        counts["damaged"] = record_.counts.damaged;
        counts["cut"] = record_.counts.truncated;
        for (const auto& [reason, count] : record_.counts.skipped) counts["skipped: " + reason] = count;
        statistics_.threads = ctx_.thread_count();
        statistics_.peak_memory_bytes = peak_memory_bytes();
        dedup_result result(std::move(found_));
        result.counts = record_.counts;
        result.issues = std::move(record_.issues);
        result.statistics = std::move(statistics_);
        return result;
    }

    word_table* words() { return words_ ? &*words_ : nullptr; }

    const dedup_options& options_;
    const std::filesystem::path& job_;
    bool compares_;  ///< its own texts
    run_statistics statistics_;
    device_ahead device_;
    context ctx_;  ///< that of `device_`
    stage_clock clock_{statistics_};
    std::unique_ptr<dedup_result::state> found_ = std::make_unique<dedup_result::state>(ctx_);
    corpus_request request_;
    std::uint32_t first_new_ = 0;  ///< document of the corpus, after those of `against`
    memory_budget sketch_memory_{ctx_.memory_limit() / 4};
    io::large_array<text_sketch>
        sketches_;  ///< of the first documents, made while they were read, until they are compared
    std::optional<word_table> words_;
    reading_record record_;
    source_ranks sources_;
    std::vector<std::uint32_t> ranks_;  ///< by position, if sources are preferred
};

}  // namespace

dedup_result dedup(const dedup_options& options, const context& ctx) {
    require_documents(options);
    check_request(options);
    return dedup_run(options, {}, ctx).run();
}

dedup_result dedup_of_job(const dedup_options& options, const std::filesystem::path& job,
                          const context& ctx) {
    require_documents(options);
    check_request(options);
    return dedup_run(options, job, ctx).run();
}

void run_dedup_task(const dedup_options& options, const task_file& file, task_results& results,
                    const context& ctx) {
    dedup_options mine = options;
    mine.kept_folder.clear();
    mine.keep_records = mine.keep_rows = false;
    mine.list_pairs = true;
    mine.max_errors.is_share = false;  // the run that makes the results refuses what is too much
    mine.max_errors.count = std::numeric_limits<std::uint64_t>::max();
    mine.max_errors.forgives_incomplete = true;
    if (file.task.kind == "read")
        return dedup_run(mine, {}, ctx).write_blocks(file.task.number("blocks"), results);
    run_statistics statistics;
    const context placed = choose_device_ahead(ctx, options.duplicates.method).pinned(statistics);
    results.ran_on(statistics.device);
    const auto block = [&](const char* name) {
        return file_of_result(file.job, 0, file.task.parameters.at(name));
    };
    const auto compare = compares_words(options.duplicates.method) ? compare_word_blocks : compare_blocks;
    const std::vector<duplicate_pair> pairs =
        compare(block("first"), block("second"), options.duplicates, placed);
    results.begin("pairs");
    results.append({reinterpret_cast<const char*>(pairs.data()), pairs.size() * sizeof(duplicate_pair)});
}

}  // namespace quern
