// SPDX-License-Identifier: Apache-2.0
// The entry point of counting: checks options and ids, and gathers text in segments for the place to count.
#include "ops/word_similarity/counting/context_counter.hpp"

#include <algorithm>
#include <string>

#include "device/array.hpp"
#include "device/place.hpp"
#include "ops/word_similarity/counting/context_counter_triples.hpp"
#include "ops/word_similarity/counting/pmi.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace word_similarity_detail {

void marginals::add_up(const counting_shape& shape) {
    relations.assign(shape.relations, 0);
    for (std::size_t i = 0; i < rows.size(); ++i) relations[i % shape.relations] += rows[i];
    total = 0;
    for (const std::uint64_t sum : relations) total += sum;
}

void marginals::add_up_mirrored(const counting_shape& shape) {
    add_up(shape);
    columns.resize(rows.size());
    for (std::uint32_t r = 0; r < shape.relations; ++r)
        for (std::size_t w = 0; w < shape.words; ++w)
            columns[std::size_t{r} * shape.words + w] = rows[w * shape.relations + shape.mirrored(r)];
}

context_matrix segment_counter::counts_for(const text_segment& /*last*/, counting_record& /*record*/,
                                           const context_counter::count_sink& /*sink*/) {
    throw usage_error("counts of co-occurrences are made on the CPU only (expected the device cpu)");
}

}  // namespace word_similarity_detail

namespace {

using namespace word_similarity_detail;

void require(bool fine, const std::string& what) {
    if (!fine) throw usage_error(what);
}

counting_shape shape_of(std::uint32_t words, std::uint32_t relations, const counting_options& options) {
    validate(options);
    const bool positional = options.relation == word_relation::position;
    const counting_shape shape{words, relations, options.window, positional, options.count_self};
    const std::uint64_t max = std::max<std::uint64_t>(relations, positional ? 2 * options.window : 1);
    require(words * max < 0xfffffffeU,
            std::to_string(words) + " words in " + std::to_string(max) +
                " relations make 2^32 - 2 contexts or more; use fewer words or relations");
    return shape;
}

/// Words that wait to be counted, with an end mark in front; grows on demand.
class text_buffer {
  public:
    explicit text_buffer(cpu_place& host) : host_(host) {}

    std::size_t size() const { return used_; }
    std::uint32_t* data() const { return memory_.data(); }
    std::span<const std::uint32_t> text() const { return memory_.span().first(used_); }

    /// Space for that many more words; commit() says how many were written.
    std::uint32_t* reserve_more(std::size_t more, std::size_t max) {
        if (used_ + more > memory_.size()) {
            // In large steps: untouched pages take no memory, and a copied buffer would be cleared twice.
            const std::size_t size = std::max(std::min(8 * memory_.size(), max), used_ + more);
            cpu_array<std::uint32_t> larger(host_, size, "text to count");
            std::copy_n(memory_.data(), used_, larger.data());
            memory_ = std::move(larger);
        }
        return memory_.data() + used_;
    }
    void commit(std::size_t more) { used_ += more; }
    /// Keeps only the words from `from` on, which then follow the end mark in front.
    void keep_from(std::size_t from) {
        std::copy(memory_.data() + from, memory_.data() + used_, memory_.data() + 1);
        used_ -= from - 1;
    }

  private:
    cpu_place& host_;
    cpu_array<std::uint32_t> memory_;
    std::size_t used_ = 0;
};

}  // namespace

struct context_counter::state {
    state(std::uint32_t words, std::uint32_t relations, const counting_options& options, const context& ctx)
        : shape(shape_of(words, relations, options)), host(ctx), place(open_place(ctx, "words")), text(host) {
        record.place = place.where();
    }

    enum class stage { empty, words, triples, weighted, failed };

    counting_shape shape;
    cpu_place host;
    any_place place;
    counting_record record;
    stage at = stage::empty;

    std::unique_ptr<segment_counter> segments;
    text_buffer text;
    std::size_t capacity = 0, next = 1;  ///< words in a segment; the first whose window is not counted yet

    std::unique_ptr<triple_counter> triples;

    /// From now on words are pushed, or triples.
    void begin(stage what) {
        require(at != stage::failed, "an earlier call of this context_counter failed");
        require(at != stage::weighted, "this context_counter has already been weighed");
        require(at == stage::empty || at == what, "words and triples cannot be counted together");
        if (at == what) return;
        if (what == stage::words) begin_words();
        if (what == stage::triples) begin_triples();
        at = what;
    }
    void begin_words() {
        shape.relations = shape.positional ? 2 * shape.window : 1;
        segments = place.visit([&](auto& here) { return make_segment_counter(here, host, shape); });
        capacity = std::max<std::size_t>(segments->capacity(), 8 * std::size_t{shape.window});
        *text.reserve_more(1, 1) = shape.end();
        text.commit(1);
    }
    void begin_triples() {
        require(shape.relations != 0 || shape.words == 0, "triples need at least one relation");
        auto sorter =
            place.visit([&](auto& here) { return make_triple_sorter(here, host, host.memory().left() / 2); });
        triples = std::make_unique<triple_counter>(host, shape, std::move(sorter));
    }

    /// A failure in the middle loses counts: afterwards the counter must not be used.
    template <class Work>
    auto or_fail(const Work& work) {
        try {
            return work();
        } catch (...) {
            at = stage::failed;
            segments.reset();
            triples.reset();
            throw;
        }
    }

    void push(std::span<const std::uint32_t> words) {
        while (!words.empty()) {
            if (text.size() == capacity) count_segment();
            const std::size_t size = std::min(words.size(), capacity - text.size());
            std::uint32_t* const to = text.reserve_more(size, capacity + 1);
            const std::uint64_t ends = take_words(words.first(size), to);
            record.words_read += size - ends;
            text.commit(size);
            words = words.subspan(size);
        }
    }
    template <class Work>
    context_matrix finish(const Work& work) {
        if (at == stage::empty) begin(stage::words);
        begin(at);
        return or_fail([&] {
            context_matrix matrix = work(*this);
            at = stage::weighted;
            return matrix;
        });
    }

    /// Converts words to their form in segments; returns the number of ends of passages.
    std::uint64_t take_words(std::span<const std::uint32_t> words, std::uint32_t* to) const {
        std::uint64_t ends = 0;
        for (std::size_t i = 0; i < words.size(); ++i) {
            // The two marks are the only ids from `words` on: the unknown word, odd, becomes `words`.
            const std::uint32_t id = words[i];
            to[i] = id < shape.words ? id : shape.words + (1 - id % 2);
            ends += id == passage_end;
        }
        return ends;
    }

    text_segment segment(std::size_t end) {
        *text.reserve_more(1, capacity + 1) = shape.end();
        return {{text.data(), text.size() + 1}, next, end};
    }
    /// Counts the words whose window is known, and keeps those that the others need.
    void count_segment() {
        const std::size_t end = std::max(next, text.size() - shape.window);
        segments->add(segment(end));
        const std::size_t kept = std::max<std::size_t>(1, end - std::min<std::size_t>(end, shape.window));
        text.keep_from(kept);
        next = 1 + (end - kept);
    }
};

context_counter::context_counter(std::uint32_t words, std::uint32_t relations,
                                 const counting_options& options, const context& ctx)
    : state_(std::make_unique<state>(words, relations, options, ctx)) {}
context_counter::~context_counter() = default;
context_counter::context_counter(context_counter&&) noexcept = default;
context_counter& context_counter::operator=(context_counter&&) noexcept = default;

void context_counter::push(std::span<const std::uint32_t> text) {
    state& s = *state_;
    std::uint64_t unusable = 0;
    for (const std::uint32_t id : text) unusable += (id >= s.shape.words) & (id < passage_end);
    if (unusable != 0) {
        const auto first = std::find_if(text.begin(), text.end(), [&](std::uint32_t id) {
            return id >= s.shape.words && id < passage_end;
        });
        throw usage_error("word " + std::to_string(*first) + " at position " +
                          std::to_string(first - text.begin()) + " is none of the " +
                          std::to_string(s.shape.words) + " words");
    }
    s.begin(state::stage::words);
    s.or_fail([&] { s.push(text); });
}

void context_counter::push(std::span<const word_triple> triples) {
    state& s = *state_;
    for (const word_triple& t : triples) {
        require((t.word < s.shape.words || t.word == unknown_word) &&
                    (t.other < s.shape.words || t.other == unknown_word) && t.relation < s.shape.relations,
                "the triple of word " + std::to_string(t.word) + ", relation " + std::to_string(t.relation) +
                    " and word " + std::to_string(t.other) + " is beyond " + std::to_string(s.shape.words) +
                    " words or " + std::to_string(s.shape.relations) + " relations");
    }
    s.begin(state::stage::triples);
    s.or_fail([&] { s.triples->add(triples); });
}

context_matrix context_counter::pmi(const pmi_options& options) {
    validate(options);
    return state_->finish([&](state& s) {
        return s.at == state::stage::words ? s.segments->pmi(s.segment(s.text.size()), options, s.record)
                                           : s.triples->pmi(options, s.record, nullptr);
    });
}

context_matrix context_counter::pmi(const pmi_options& options, const entry_sink& sink) {
    validate(options);
    return state_->finish([&](state& s) {
        return s.at == state::stage::words
                   ? s.segments->pmi_for(s.segment(s.text.size()), options, s.record, sink)
                   : s.triples->pmi(options, s.record, &sink);
    });
}

context_matrix context_counter::counts(const count_sink& sink) {
    return state_->finish([&](state& s) {
        require(s.at == state::stage::words, "counts are given for words, not for triples");
        return s.segments->counts_for(s.segment(s.text.size()), s.record, sink);
    });
}

const counting_record& context_counter::record() const {
    return state_->record;
}

}  // namespace quern
