// SPDX-License-Identifier: Apache-2.0
// Documents as they arrive. On the CPU one at a time: the filter reads 72 bytes of each earlier text, and the operation itself
// compares the few remaining texts; for shingles (stream_words.hpp) the same index holds sketches of sets. On a GPU a batch at
// a time, with texts that stay in its memory (resident_texts.hpp). In all cases the results equal those of a run over all of
// them.
//
// On the CPU a text is compared with one of several equal ones, and with documents that stay alone where the others do not
// matter: so ten thousand copies of a page, edited or not, cost little more than as many other documents.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/cpu/pipeline.hpp"
#include "device/files/scratch_folder.hpp"
#include "device/files/spill_file.hpp"
#include "device/resident.hpp"
#include "io/corpus/record_reader.hpp"
#include "ops/near_duplicates/resident/resident_texts.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/text_sketches.hpp"
#include "quern/tasks/dedup.hpp"
#include "tasks/corpus/document_ids.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/dedup/dedup_checks.hpp"
#include "tasks/dedup/document_table.hpp"
#include "tasks/dedup/duplicate_store.hpp"
#include "tasks/dedup/earlier_decisions.hpp"
#include "tasks/dedup/old_documents.hpp"
#include "tasks/dedup/stream_index.hpp"
#include "tasks/dedup/stream_words.hpp"
#include "tasks/shared/pinned_to_device.hpp"

namespace quern {
namespace {

using namespace near_duplicates_detail;

constexpr std::uint64_t max_document_bytes = 256 << 20;  // as of a corpus
constexpr std::size_t max_batch = 10'000;                // documents; and bytes:
constexpr std::uint64_t max_batch_bytes = 64 << 20;

/// Devices of a stream. Methods that compare signatures need the texts on the host. Without a request it is the CPU: documents
/// often arrive one by one, and a stream would hold the memory of the GPU for as long as it lasts.
context device_of_stream(const context& requested, duplicate_method method, run_statistics& statistics) {
    const bool has_device = method == duplicate_method::automatic || method == duplicate_method::exhaustive;
    context ctx = requested;
    if (ctx.device.where == device_choice::kind::automatic) ctx.device = {device_choice::kind::cpu};
    return pinned_to_device(ctx, "dedup of a stream", statistics,
                            has_device ? offered_places::all : offered_places::cpu_only);
}

/// Documents of some lines, and their texts as a list.
struct parsed_lines {
    std::vector<io::parsed_unit> lines;
    std::vector<std::size_t> line_of;  ///< of each document
    std::string bytes;
    std::vector<std::uint64_t> offsets{0};
    std::vector<text_sketch> sketches;

    std::size_t documents() const { return line_of.size(); }
    document& of(std::size_t i) { return lines[line_of[i]].documents.front(); }
    /// The texts from document `first` on.
    text_list texts_from(std::size_t first, std::vector<std::uint64_t>& scratch) const {
        scratch.assign(offsets.begin() + static_cast<std::ptrdiff_t>(first), offsets.end());
        for (std::uint64_t& at : scratch) at -= offsets[first];
        return {std::string_view(bytes).substr(offsets[first]), scratch};
    }
};

}  // namespace

struct duplicate_stream::state {
    state(const dedup_options& requested, const context& outer)
        : options(requested),
          ctx(device_of_stream(outer, requested.duplicates.method, statistics)),
          scratch(ctx),
          held(ctx, choose_device(ctx, "dedup of a stream"), requested.duplicates),
          resident(texts_of(held)),
          form(io::jsonl_form(requested.fields)),
          ids(requested.ids) {
        options.inputs = {"-"};  // named in messages
        options.source = nullptr;
        if (compares_words(options.duplicates.method)) {
            refuse_lines();
            words.emplace(options.duplicates, options.text, scratch.file("words"));
        }
        open_earlier();
        earlier = table.size();
        seen.resize(earlier);
        index_earlier();
        decide_earlier();
        open_texts();
    }

    /// The lines of such a store are words, and a stream has texts.
    void refuse_lines() const {
        for (const auto& set : options.against)
            if (is_store(set) && read_store_info(set).verbatim)
                throw usage_error(set.string() +
                                  ": a store of lines cannot be compared with a stream by its words");
    }

    text_sketch sketch_of(std::string_view text) const {
        return words ? words->sketch(text) : sketch_text(text, options.duplicates.unit);
    }

    void open_earlier() {
        if (!options.store.empty()) {
            const auto params = duplicate_store::params_of(options.duplicates, options.text);
            store.emplace(options.store, duplicate_store::access::add, &params, ctx);
            store->load(table, ctx);
        } else if (!options.against.empty()) {
            std::vector<input_issue> ignored;
            read_old_documents(options, scratch, table, nullptr, ignored, ctx);
        }
    }

    /// Sketches of a store are used directly; other texts are read once.
    void index_earlier() {
        const edit_unit unit = options.duplicates.unit;
        text_sketches all = table.sketches(unit);
        std::vector<text_sketch> made;
        if (words) {
            made = words->sketches(table, ctx);
            all.chunks.assign(1, made);
        } else if (all.size() < earlier) {
            for (std::uint32_t d = 0; d < earlier; ++d) table.text(d);  // checked
            made = sketch_texts(table.texts(), 0, unit, ctx);
            all.chunks.assign(1, made);
        }
        std::uint32_t next = 0;
        for (const auto& chunk : all.chunks) {
            for (const text_sketch& sketch : chunk) {
                if (next % 65536 == 0) {
                    ctx.check_stop();
                    ctx.report({"index", next, earlier, "documents"});
                }
                const bool is_copy = sketch.first_equal < next;
                is_repeat.push_back(is_copy);
                if (!resident) is_copy ? add_copy(sketch.first_equal, next) : index.add(next, sketch);
                ++next;
            }
        }
        if (resident) bring_earlier(all);
    }

    /// To the GPU: unlike the CPU it needs the texts themselves.
    void bring_earlier(const text_sketches& all) {
        std::vector<text_sketch> some;
        std::vector<std::uint64_t> offsets{0};
        std::uint32_t first = 0;
        const text_list texts = table.texts();
        const auto bring = [&](std::uint32_t last) {
            ctx.check_stop();
            ctx.report({"copy to the GPU", last, earlier, "documents"});
            const std::span<const char> bytes = texts.bytes.subspan(texts.offsets[first], offsets.back());
            resident->add_all({bytes, offsets}, some, first);
            first = last;
            some.clear();
            offsets.assign(1, 0);
        };
        std::uint32_t next = 0;
        for (const auto& chunk : all.chunks) {
            for (const text_sketch& sketch : chunk) {
                offsets.push_back(offsets.back() + table.text(next++).size());  // checked
                some.push_back(sketch);
                if (some.size() == max_batch || offsets.back() >= max_batch_bytes) bring(next);
            }
        }
        if (!some.empty()) bring(next);
    }

    /// All documents of sets stay.
    void decide_earlier() {
        decisions.assign(earlier, document_decision::stays);
        if (!store) return;
        decisions = store->decisions();
        if (std::ranges::find(decisions, document_decision::none) == decisions.end()) return;
        const auto pairs = pairs_to_decide(store->pairs(),
                                           words ? text_sketches() : table.sketches(options.duplicates.unit));
        complete_decisions(pairs, std::vector<bool>(earlier), decisions, ctx);
    }

    /// The destination of texts that arrive from now on.
    void open_texts() {
        first_arrived = table.size();
        arrived.reset();
        arrived.emplace(scratch.file("arrived"));
        arrived_begin.assign(1, 0);
        if (store) shard = store->new_shard(table, scratch.file("ids"));
    }

    std::uint64_t length_of(std::uint32_t document) const { return table.text_bytes(document); }

    void append_text(std::uint32_t document, std::string& to) const {
        if (document < first_arrived) {
            to += table.text(document);
            return;
        }
        const std::size_t at = to.size();
        to.resize(at + length_of(document));
        arrived->read_at(arrived_begin[document - first_arrived], std::span(to).subspan(at));
    }

    /// The pairs of a text at `position` with earlier ones.
    std::vector<duplicate_pair> compare(std::string_view text, const text_sketch& sketch,
                                        std::uint32_t position, std::uint32_t before) const {
        // As many candidates at once as fit a share of the memory; at least one.
        const std::uint64_t max_bytes = std::max<std::uint64_t>(ctx.memory_limit() / 8, text.size());
        std::vector<duplicate_pair> pairs;
        if (words) return compare_words(text, sketch, position, before);
        const auto candidates = index.candidates(rate_bounds{options.duplicates.threshold}, sketch, before);
        for (std::size_t next = 0; next < candidates.size();) {
            std::string bytes;
            std::vector<std::uint64_t> offsets{0};
            const std::size_t first = next;
            do {
                append_text(candidates[next++], bytes);
                offsets.push_back(bytes.size());
            } while (next < candidates.size() && bytes.size() + length_of(candidates[next]) <= max_bytes);
            bytes += text;
            offsets.push_back(bytes.size());
            const duplicate_scope scope{static_cast<std::uint32_t>(next - first), false};
            for (const duplicate_pair& p :
                 near_duplicates({bytes, offsets}, options.duplicates, scope, ctx).pairs) {
                append_pairs({candidates[first + p.a], position, p.distance, p.of}, before, pairs);
            }
        }
        return pairs;
    }

    /// A pair with a document of the index, and those with its copies before `before`.
    void append_pairs(const duplicate_pair& pair, std::uint32_t before,
                      std::vector<duplicate_pair>& pairs) const {
        pairs.push_back(pair);
        const auto found = copies_of.find(pair.a);
        if (found == copies_of.end()) return;
        for (const std::uint32_t copy : found->second)
            if (copy < before) pairs.push_back({copy, pair.b, pair.distance, pair.of});
    }

    /// Whether later documents are compared with one that does not stay.
    bool finds_all() const {
        return options.list_pairs || !options.store.empty() || options.rule == removal_rule::connected;
    }

    void add_copy(std::uint32_t first, std::uint32_t copy) {
        copies_of[first].push_back(copy);
        ++copies;
    }

    /// To be compared with later documents. `pairs`: those with documents of the index, and with others.
    void add_to_index(std::uint32_t position, const text_sketch& sketch,
                      const std::vector<duplicate_pair>& pairs) {
        std::uint32_t first = position;  // at distance 0: what one of them is near, the other is near
        for (const duplicate_pair& p : pairs)
            if (p.distance == 0) first = std::min(first, p.a);
        first < position ? add_copy(first, position) : index.add(position, sketch);
    }

    std::vector<duplicate_pair> compare_words(std::string_view text, const text_sketch& sketch,
                                              std::uint32_t position, std::uint32_t before) const {
        std::vector<duplicate_pair> pairs;
        stream_words::comparison own(*words, text);
        std::string other;
        for (const std::uint32_t candidate : index.candidates(words->bounds(), sketch, before)) {
            ctx.check_stop();
            other.clear();
            append_text(candidate, other);
            if (const auto found = own.with(other))
                append_pairs({candidate, position, found->distance, found->of}, before, pairs);
        }
        return pairs;
    }

    /// `pairs_of(position, before)`: the pairs of this text with earlier ones. Returns the position if it was added.
    template <class PairsOf>
    std::optional<std::uint32_t> take(document& d, const text_sketch& sketch, stream_result& result,
                                      const PairsOf& pairs_of) {
        const bool compared_with_arrived = options.against.empty();
        std::optional<std::uint32_t> added;
        const auto find = [&](std::string_view id) { return table.find(id); };
        const auto same = [&](std::uint32_t at) {
            return store && at < earlier && !seen[at] && table.text(at) == d.text;
        };
        const auto found = ids.settle(d, table.size(), find, same);
        if (found == document_ids::outcome::repeated) {
            record.reject_repeated(d, ids.reason());
            result.why = ids.reason();
            return added;
        }
        if (found == document_ids::outcome::known) {
            const std::uint32_t at = *table.find(d.id);
            seen[at] = true;
            result.position = at;
            result.pairs = pairs_of(at, at);
        } else {
            const std::uint32_t position = table.size();
            result.pairs = pairs_of(position, compared_with_arrived ? position : earlier);
            table.add(d.id, d.text.size());
            result.position = position;
            if (compared_with_arrived) keep_text(d, position, sketch, result.pairs), added = position;
        }
        result.id = std::move(d.id);
        finish(result);
        return added;
    }

    /// A line and its document, if it has one, after those before it.
    template <class PairsOf>
    std::optional<std::uint32_t> take_line(io::parsed_unit& parsed, const text_sketch* sketch,
                                           stream_result& result, const PairsOf& pairs_of) {
        ++lines;
        if (!parsed.issues.empty()) result.why = parsed.issues.front().reason;
        record.take(parsed);
        if (parsed.documents.empty()) return std::nullopt;
        result.why.clear();
        return take(parsed.documents.front(), *sketch, result, pairs_of);
    }

    void next_on_cpu(std::string_view line, const take_result& sink) {
        ctx.check_stop();
        io::parsed_unit parsed = parse(line, lines + 1);
        stream_result result;
        text_sketch sketch;
        std::string_view text;
        if (!parsed.documents.empty()) {
            text = parsed.documents.front().text;
            sketch = sketch_of(text);
        }
        take_line(parsed, &sketch, result, [&](std::uint32_t position, std::uint32_t before) {
            return compare(text, sketch, position, before);
        });
        record.refuse_early(options);
        sink(std::move(result));
    }

    parsed_lines parse_all(std::span<const std::string_view> batch) const {
        parsed_lines all;
        all.lines.resize(batch.size());
        for_each_index(ctx, batch.size(),
                       [&](std::uint64_t i) { all.lines[i] = parse(batch[i], lines + 1 + i); });
        for (std::size_t i = 0; i < batch.size(); ++i) {
            if (all.lines[i].documents.empty()) continue;
            all.line_of.push_back(i);
            all.bytes += all.lines[i].documents.front().text;
            all.offsets.push_back(all.bytes.size());
        }
        all.sketches = sketch_texts({all.bytes, all.offsets}, 0, options.duplicates.unit, ctx);
        return all;
    }

    /// The pairs that lie in [first, last) of `pairs`, of the text at `position` with documents before `before`. `positions`: of
    /// the documents of the batch, if they were added.
    static std::vector<duplicate_pair> pairs_below(std::span<const resident_pair> pairs,
                                                   std::uint32_t position, std::uint32_t before,
                                                   std::span<const std::optional<std::uint32_t>> positions) {
        std::vector<duplicate_pair> found;
        for (const resident_pair& p : pairs) {
            const std::optional<std::uint32_t> a = p.is_in_batch ? positions[p.earlier] : p.earlier;
            if (a && *a < before) found.push_back({*a, position, p.distance, p.of});
        }
        return found;
    }

    /// Compares the documents of lines that fit a batch, from the first that is not done on. Calls work(i, pairs of document i)
    /// for each of them; i counts from `first`.
    template <class Work>
    std::size_t compare_on_device(const parsed_lines& all, std::size_t first, bool within,
                                  const Work& work) const {
        std::vector<std::uint64_t> offsets;
        std::vector<resident_pair> pairs;
        const std::size_t count = resident->compare(all.texts_from(first, offsets),
                                                    std::span(all.sketches).subspan(first), within, pairs);
        std::size_t begin = 0;
        for (std::size_t i = 0; i < count; ++i) {
            std::size_t end = begin;
            while (end < pairs.size() && pairs[end].row == i) ++end;
            work(i, std::span<const resident_pair>(pairs).subspan(begin, end - begin));
            begin = end;
        }
        return count;
    }

    void next_on_device(std::span<const std::string_view> batch, const take_result& sink) {
        ctx.check_stop();
        parsed_lines all = parse_all(batch);
        std::size_t line = 0;
        const auto no_pairs = [](std::uint32_t, std::uint32_t) { return std::vector<duplicate_pair>(); };
        const auto pass_on = [&](stream_result& result) {
            record.refuse_early(options);
            sink(std::move(result));
        };
        const auto take_others = [&](std::size_t last) {
            for (; line < last; ++line) {
                stream_result result;
                take_line(all.lines[line], nullptr, result, no_pairs);
                pass_on(result);
            }
        };
        for (std::size_t first = 0; first < all.documents();) {
            std::vector<std::optional<std::uint32_t>> positions;
            first += compare_on_device(
                all, first, options.against.empty(),
                [&](std::size_t i, std::span<const resident_pair> pairs) {
                    take_others(all.line_of[first + i]);
                    stream_result result;
                    positions.push_back(take_line(all.lines[line++], &all.sketches[first + i], result,
                                                  [&](std::uint32_t position, std::uint32_t before) {
                                                      return pairs_below(pairs, position, before, positions);
                                                  }));
                    if (positions.back()) resident->add(static_cast<std::uint32_t>(i), *positions.back());
                    pass_on(result);
                });
        }
        take_others(batch.size());
    }

    /// The result of a line without a document, or of one whose pairs are not yet known.
    stream_result parsed_only(io::parsed_unit& parsed) const {
        stream_result result;
        if (parsed.documents.empty()) {
            if (!parsed.issues.empty()) result.why = parsed.issues.front().reason;
        } else if (document& d = parsed.documents.front(); !d.is_numbered) {
            result.id = std::move(d.id);
        }
        return result;
    }
    std::uint32_t end_of_compared() const { return options.against.empty() ? table.size() : earlier; }

    stream_result ask_on_cpu(std::string_view line) const {
        ctx.check_stop();
        io::parsed_unit parsed = parse(line, lines + 1);
        stream_result result = parsed_only(parsed);
        if (parsed.documents.empty()) return result;
        const std::string& text = parsed.documents.front().text;
        result.pairs = compare(text, sketch_of(text), table.size(), end_of_compared());
        finish(result);
        return result;
    }

    void ask_on_device(std::span<const std::string_view> batch, const take_result& sink) const {
        ctx.check_stop();
        parsed_lines all = parse_all(batch);
        std::vector<stream_result> results(batch.size());
        for (std::size_t i = 0; i < batch.size(); ++i) results[i] = parsed_only(all.lines[i]);
        for (std::size_t first = 0; first < all.documents();) {
            const std::lock_guard alone(device);
            first += compare_on_device(
                all, first, false, [&](std::size_t i, std::span<const resident_pair> pairs) {
                    stream_result& result = results[all.line_of[first + i]];
                    result.pairs = pairs_below(pairs, table.size(), end_of_compared(), {});
                    finish(result);
                });
        }
        for (stream_result& result : results) sink(std::move(result));
    }

    /// Sorts the pairs, and chooses those that remove the document.
    void finish(stream_result& result) const {
        result.is_document = true;
        std::ranges::sort(result.pairs, [](const duplicate_pair& x, const duplicate_pair& y) {
            const double left = x.rate(), right = y.rate();
            return left != right ? left < right : x.a < y.a;
        });
        std::ranges::copy_if(result.pairs, std::back_inserter(result.duplicates),
                             [this](const duplicate_pair& p) { return removes(p); });
        if (!options.list_pairs) result.pairs.clear();
    }

    /// One JSON line, as a file's line of this number.
    io::parsed_unit parse(std::string_view line, std::uint64_t number) const {
        std::string padded(line);
        padded.resize(line.size() + io::unit_padding);
        io::unit_position position;
        position.path = "-";
        position.name.scope = 1;
        position.first_line = number;
        io::corpus_options of_corpus;
        of_corpus.max_document_bytes = max_document_bytes;
        position.budget.bytes = ctx.memory_limit() / 2;
        position.limit = io::limit_of(of_corpus, position.budget.bytes);
        io::parsed_unit parsed;
        form->parse(std::string_view(padded).substr(0, line.size()), position, parsed);
        parsed.counts.documents = parsed.documents.size();
        position.name.give(parsed.documents);
        return parsed;
    }

    /// Whether the earlier document of a pair removes the later one.
    bool removes(const duplicate_pair& p) const {
        return options.rule == removal_rule::connected || decisions[p.a] == document_decision::stays;
    }

    void keep_text(const document& d, std::uint32_t position, const text_sketch& sketch,
                   const std::vector<duplicate_pair>& pairs) {
        const bool is_removed = std::ranges::any_of(pairs, [this](const auto& p) { return removes(p); });
        decisions.push_back(is_removed ? document_decision::removed : document_decision::stays);
        const bool is_read_again = !is_removed || finds_all();
        arrived_begin.push_back(arrived_begin.back() + (is_read_again ? d.text.size() : 0));
        if (!resident && is_read_again) {
            arrived->append(d.text);
            arrived->flush();
            add_to_index(position, sketch, pairs);
        }
        if (!shard) return;
        shard->add(d.id, d.text);
        keep_pairs(position, sketch, pairs);
        if (arrived_begin.back() >= options.shard_bytes) commit();
    }

    /// As keep_first_equals(), without holding the others.
    void keep_pairs(std::uint32_t position, const text_sketch& sketch,
                    const std::vector<duplicate_pair>& pairs) {
        if (words) {  // a store of words has no sketches, and keeps all pairs
            waiting.insert(waiting.end(), pairs.begin(), pairs.end());
            return;
        }
        sketches.push_back(sketch);
        std::uint32_t& first_equal = sketches.back().first_equal = position;
        for (const duplicate_pair& p : pairs)
            if (p.distance == 0) first_equal = std::min(first_equal, p.a);
        is_repeat.push_back(first_equal < position);
        if (first_equal < position) return;
        for (const duplicate_pair& p : pairs)
            if (!is_repeat[p.a]) waiting.push_back(p);
    }

    void commit() {
        if (!shard || shard->documents() == 0) return;
        table.map_texts(shard->finish_texts());
        std::ranges::sort(waiting, {}, [](const duplicate_pair& p) { return std::pair(p.a, p.b); });
        store->commit(*shard, waiting, sketches);
        store->decide(decisions);
        waiting.clear();
        sketches.clear();
        open_texts();
    }

    dedup_options options;
    run_statistics statistics;
    context ctx;
    scratch_folder scratch;
    document_table table;
    std::optional<duplicate_store> store;
    std::unique_ptr<shard_writer> shard;
    std::optional<stream_words> words;  ///< with method shingle
    stream_index index;                 ///< empty on a GPU
    quern::resident<held_texts> held;
    resident_texts* resident;   ///< of `held`; null on the CPU
    mutable std::mutex device;  ///< of those that only ask
    std::vector<bool> seen;     ///< earlier documents that arrived again
    std::vector<document_decision> decisions;
    std::shared_ptr<const io::record_form> form;
    document_ids ids;
    reading_record record;
    std::uint64_t lines = 0;
    std::uint32_t earlier = 0, first_arrived = 0;
    std::optional<spill_file> arrived;         ///< texts from `first_arrived` on
    std::vector<std::uint64_t> arrived_begin;  ///< of each, and the end
    std::vector<duplicate_pair> waiting;       ///< for the shard
    std::vector<text_sketch> sketches;         ///< for the shard
    std::vector<bool> is_repeat;               ///< with a store: documents whose text equals an earlier one
    /// By document of the index: the later ones at distance 0, ascending.
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> copies_of;
    std::uint64_t copies = 0;
};

duplicate_stream::duplicate_stream(const dedup_options& options, const context& ctx) {
    check_request(options);
    const duplicate_method method = options.duplicates.method;
    if (compares_words(method) && method != duplicate_method::shingle) {
        throw usage_error(
            fmt::format("method {} weighs words by the whole collection, and cannot compare a stream "
                        "(expected a method of the edit rate or shingle)",
                        duplicate_method_names[static_cast<std::size_t>(method)]));
    }
    state_ = std::make_unique<state>(options, ctx);
}
duplicate_stream::~duplicate_stream() = default;
duplicate_stream::duplicate_stream(duplicate_stream&&) noexcept = default;
duplicate_stream& duplicate_stream::operator=(duplicate_stream&&) noexcept = default;

duplicate_stream::stream_result duplicate_stream::next(std::string_view line) {
    stream_result result;
    next(std::span(&line, 1), [&](stream_result&& one) { result = std::move(one); });
    return result;
}

namespace {

/// Calls work(lines) for as many lines at a time as a batch has.
template <class Work>
void for_each_batch(std::span<const std::string_view> lines, const Work& work) {
    while (!lines.empty()) {
        std::size_t count = 0;
        std::uint64_t bytes = 0;
        while (count < std::min(lines.size(), max_batch) && (count == 0 || bytes < max_batch_bytes))
            bytes += lines[count++].size();
        work(lines.first(count));
        lines = lines.subspan(count);
    }
}

}  // namespace

void duplicate_stream::next(std::span<const std::string_view> lines, const take_result& take) {
    state& s = *state_;
    if (s.resident) return for_each_batch(lines, [&](auto batch) { s.next_on_device(batch, take); });
    for (const std::string_view line : lines) s.next_on_cpu(line, take);
}

duplicate_stream::stream_result duplicate_stream::ask(std::string_view line) const {
    stream_result result;
    ask(std::span(&line, 1), [&](stream_result&& one) { result = std::move(one); });
    return result;
}

void duplicate_stream::ask(std::span<const std::string_view> lines, const take_result& take) const {
    const state& s = *state_;
    if (s.resident) return for_each_batch(lines, [&](auto batch) { s.ask_on_device(batch, take); });
    for (const std::string_view line : lines) take(s.ask_on_cpu(line));
}

std::size_t duplicate_stream::batch() const {
    return state_->resident ? max_batch : 1;
}

void duplicate_stream::commit() {
    state_->commit();
}

void duplicate_stream::finish() {
    state_->commit();
    if (state_->store) state_->store->finish();
    state_->record.refuse_too_many(state_->options);
}

std::string_view duplicate_stream::id(std::uint32_t position) const {
    return state_->table.id(position);
}
const reading_counts& duplicate_stream::counts() const {
    return state_->record.counts;
}
const run_statistics& duplicate_stream::statistics() const {
    return state_->statistics;
}
std::uint32_t duplicate_stream::earlier() const {
    return state_->earlier;
}
std::uint32_t duplicate_stream::documents() const {
    return state_->table.size();
}
std::uint32_t duplicate_stream::uncommitted() const {
    return state_->shard ? static_cast<std::uint32_t>(state_->shard->documents()) : 0;
}
std::uint64_t duplicate_stream::memory_bytes() const {
    constexpr std::uint64_t bytes_of_a_first = 96;
    return state_->table.memory_bytes() + state_->index.memory_bytes() +
           bytes_of_a_first * state_->copies_of.size() + 2 * sizeof(std::uint32_t) * state_->copies +
           (state_->resident ? state_->resident->host_bytes() : 0) + 8 * state_->arrived_begin.capacity() +
           sizeof(duplicate_pair) * state_->waiting.capacity() +
           sizeof(text_sketch) * state_->sketches.capacity();
}
std::uint64_t duplicate_stream::device_bytes() const {
    return state_->resident ? state_->resident->device_bytes() : 0;
}

}  // namespace quern
