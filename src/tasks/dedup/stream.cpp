// SPDX-License-Identifier: Apache-2.0
// One document at a time. The filter reads 72 bytes of each earlier text; the operation itself compares the few
// remaining texts, so that the results equal those of a run over all of them. For shingles (stream_words.hpp) the same index
// holds sketches of sets.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "device/files/scratch_folder.hpp"
#include "device/files/spill_file.hpp"
#include "io/corpus/record_reader.hpp"
#include "ops/near_duplicates/filter/pair_bounds.hpp"
#include "ops/near_duplicates/filter/sketch.hpp"
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
#include "tasks/dedup/stream_words.hpp"
#include "tasks/shared/pinned_to_device.hpp"

namespace quern {
namespace {

// Texts that arrive one by one, by length and sketch: finds earlier ones that may make a pair with a new one. The bounds
// are those of the operation, so that none is missed.

using namespace near_duplicates_detail;

/// Of the edit rate (ops/near_duplicates/filter/sketch.hpp).
struct rate_bounds {
    decimal threshold;

    length_window sizes_near(std::uint64_t length) const { return lengths_near(threshold, length); }
    bool may_pair(std::uint64_t length, std::uint64_t other, std::uint32_t norm) const {
        const std::uint64_t apart = other < length ? length - other : other - length;
        const std::uint32_t d = largest_distance(threshold, length + other);
        return apart <= d && norm <= largest_norm(1, d, apart);
    }
};

/// 72 bytes a text. Not thread-safe.
class stream_index {
  public:
    void add(std::uint32_t document, const text_sketch& text);
    /// The documents below `before` that may make a pair with the text, rising.
    template <class Bounds>
    std::vector<std::uint32_t> candidates(const Bounds& bounds, const text_sketch& text,
                                          std::uint32_t before) const;

    std::uint64_t memory_bytes() const;

  private:
    /// Texts of similar length, sixteen classes per doubling: contiguous, as the filter reads them.
    struct shelf {
        std::vector<std::uint32_t> lengths, documents;
        std::vector<std::uint8_t> sketches;
    };
    static std::size_t shelf_of(std::uint64_t length);

    std::vector<shelf> shelves_;
};

std::size_t stream_index::shelf_of(std::uint64_t length) {
    if (length < 16) return length;
    const auto shift = static_cast<unsigned>(std::bit_width(length)) - 5;  // five bits remain
    return 16 + std::size_t{16} * shift + (length >> shift) - 16;
}

void stream_index::add(std::uint32_t document, const text_sketch& text) {
    const std::size_t at = shelf_of(text.length);
    if (at >= shelves_.size()) shelves_.resize(at + 1);
    shelf& s = shelves_[at];
    s.lengths.push_back(text.length);
    s.documents.push_back(document);
    s.sketches.insert(s.sketches.end(), text.counts.begin(), text.counts.end());
}

template <class Bounds>
std::vector<std::uint32_t> stream_index::candidates(const Bounds& bounds, const text_sketch& text,
                                                    std::uint32_t before) const {
    constexpr std::size_t at_once = 256;
    const length_window near_lengths = bounds.sizes_near(text.length);
    std::vector<std::uint32_t> found;
    std::array<std::uint32_t, at_once> norms{};
    for (std::size_t at = shelf_of(near_lengths.shortest);
         at < shelves_.size() && at <= shelf_of(near_lengths.longest); ++at) {
        const shelf& s = shelves_[at];
        for (std::size_t begin = 0; begin < s.documents.size(); begin += at_once) {
            const std::size_t count = std::min(at_once, s.documents.size() - begin);
            unit_norms(text.counts.data(), s.sketches.data() + begin * unit_buckets, count, norms.data());
            for (std::size_t i = 0; i < count; ++i) {
                if (s.documents[begin + i] < before &&
                    bounds.may_pair(text.length, s.lengths[begin + i], norms[i]))
                    found.push_back(s.documents[begin + i]);
            }
        }
    }
    std::ranges::sort(found);
    return found;
}

std::uint64_t stream_index::memory_bytes() const {
    std::uint64_t bytes = shelves_.capacity() * sizeof(shelf);
    for (const shelf& s : shelves_) {
        bytes += 4 * (s.lengths.capacity() + s.documents.capacity()) + s.sketches.capacity();
    }
    return bytes;
}

constexpr std::uint64_t max_document_bytes = 256 << 20;  // as of a corpus

}  // namespace

struct duplicate_stream::state {
    state(const dedup_options& requested, const context& outer)
        : options(requested),
          ctx(pinned_to_device(outer, "dedup of a stream", statistics, offered_places::cpu_only)),
          scratch(ctx),
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
                is_repeat.push_back(sketch.first_equal < next);
                index.add(next++, sketch);
            }
        }
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
                pairs.push_back({candidates[first + p.a], position, p.distance, p.of});
            }
        }
        return pairs;
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
                pairs.push_back({candidate, position, found->distance, found->of});
        }
        return pairs;
    }

    void take(document& d, stream_result& result) {
        const text_sketch sketch = sketch_of(d.text);
        const bool compared_with_arrived = options.against.empty();
        const auto find = [&](std::string_view id) { return table.find(id); };
        const auto same = [&](std::uint32_t at) {
            return store && at < earlier && !seen[at] && table.text(at) == d.text;
        };
        const auto found = ids.settle(d, table.size(), find, same);
        if (found == document_ids::outcome::repeated) {
            record.reject_repeated(d, ids.reason());
            result.why = ids.reason();
            return;
        }
        if (found == document_ids::outcome::known) {
            const std::uint32_t at = *table.find(d.id);
            seen[at] = true;
            result.position = at;
            result.pairs = compare(d.text, sketch, at, at);
        } else {
            const std::uint32_t position = table.size();
            result.pairs = compare(d.text, sketch, position, compared_with_arrived ? position : earlier);
            table.add(d.id, d.text.size());
            result.position = position;
            if (compared_with_arrived) keep_text(d, position, sketch, result.pairs);
        }
        result.id = std::move(d.id);
        finish(result);
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
        arrived->append(d.text);
        arrived->flush();
        arrived_begin.push_back(arrived_begin.back() + d.text.size());
        index.add(position, sketch);
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
    stream_index index;
    std::vector<bool> seen;  ///< earlier documents that arrived again
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
    state& s = *state_;
    s.ctx.check_stop();
    io::parsed_unit parsed = s.parse(line, ++s.lines);
    stream_result result;
    if (!parsed.issues.empty()) result.why = parsed.issues.front().reason;
    s.record.take(parsed);
    if (!parsed.documents.empty()) {
        result.why.clear();
        s.take(parsed.documents.front(), result);
    }
    s.record.refuse_early(s.options);
    return result;
}

duplicate_stream::stream_result duplicate_stream::ask(std::string_view line) const {
    const state& s = *state_;
    s.ctx.check_stop();
    io::parsed_unit parsed = s.parse(line, s.lines + 1);
    stream_result result;
    if (parsed.documents.empty()) {
        if (!parsed.issues.empty()) result.why = parsed.issues.front().reason;
        return result;
    }
    document& d = parsed.documents.front();
    const std::uint32_t position = s.table.size();
    result.pairs =
        s.compare(d.text, s.sketch_of(d.text), position, s.options.against.empty() ? position : s.earlier);
    if (!d.is_numbered) result.id = std::move(d.id);
    s.finish(result);
    return result;
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
    return state_->table.memory_bytes() + state_->index.memory_bytes() +
           8 * state_->arrived_begin.capacity() + sizeof(duplicate_pair) * state_->waiting.capacity() +
           sizeof(text_sketch) * state_->sketches.capacity();
}

}  // namespace quern
