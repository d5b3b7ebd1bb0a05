// SPDX-License-Identifier: Apache-2.0
// Many queries on a GPU. Lists are copied on first use, many at a time, and stay; then the queries are ranked together
// (rank_batch.cuh). If the budget is short, a batch is smaller, resident lists are evicted, and the collection is processed
// in ranges of documents, whose rankings are merged.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "device/array.hpp"
#include "ops/search/device_collection.hpp"
#include "ops/search/postings.hpp"
#include "ops/search/rank_batch.cuh"
#include "ops/search/search_impl.hpp"
#include "quern/base/error.hpp"

namespace quern::search_detail {
namespace {

constexpr unsigned block_threads = 256;
constexpr std::size_t max_queries = 1024;  // at once: fills a device, keeps latency low

struct document_range {
    std::uint64_t first = 0, last = 0;
    std::uint64_t size() const { return last - first; }
    friend bool operator==(const document_range&, const document_range&) = default;
};

/// One thread per document: what its length subtracts from its score, once for each word of a query.
template <class LengthModel>
__global__ void length_parts_kernel(LengthModel model, const std::uint32_t* lengths, std::size_t size,
                                    std::int64_t* parts) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < size) parts[i] = model.part(lengths[i]);
}

/// Block (x, y) checks list x. Its warps take every block of postings in turn with those of the other y, and check that the
/// numbers agree with their entry and contain no frequency of 0. Otherwise *wrong becomes the smallest index of such a
/// list.
__global__ void check_lists_kernel(const device_list* lists, unsigned long long* wrong) {
    const device_list list = lists[blockIdx.x];
    const auto* const numbers = reinterpret_cast<const packed_unit*>(list.blocks + list.size);
    const unsigned lane = threadIdx.x % 32, warps = blockDim.x / 32;
    for (std::uint32_t b = blockIdx.y * warps + threadIdx.x / 32; b < list.size; b += gridDim.y * warps) {
        const packed_block block = list.blocks[b];
        const packed_unit* const units = numbers + block.at;
        const packed_unit gaps = packed_row(units, block.gap_width, lane);
        const packed_unit extras = packed_row(units + block.gap_width, block.frequency_width, lane);
        std::uint64_t sum = 0;  // does not wrap: a right end proves that everything before it ascends
        bool zero = false;
        for (unsigned i = 0; i < 4; ++i) {
            if (4 * lane + i >= block.size) continue;
            sum += gaps.lanes[i] + std::uint64_t{1};
            zero |= extras.lanes[i] == ~std::uint32_t{0};
        }
        for (unsigned step = 16; step != 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
        const bool ends_in_block = block.lowest + sum == block.last + std::uint64_t{1};
        if ((__any_sync(~0u, zero) || !ends_in_block) && lane == 0)
            atomicMin(wrong, static_cast<unsigned long long>(blockIdx.x));
    }
}

/// The key of a list.
const char* key_of(const posting_list& list) {
    return list.bytes.data();
}

/// Calls use(list) for every list that a query reads.
template <class Use>
void for_each_list(const search_query& query, const ranking_options& options, Use use) {
    for (const query_term& term : query.terms) {
        if (term.list.document_frequency == 0 || term.count == 0) continue;
        use(term.list);
        if (options.title_weight != 0 && term.titles.document_frequency != 0) use(term.titles);
    }
}

}  // namespace

struct device_collection::state {
    state(cuda_place& at, const collection_view& searched)
        : place(at), collection(searched), budget(at.memory().left()) {
        for (const std::uint32_t length : searched.document_lengths) {
            shortest_document = std::min(shortest_document, length);
            longest_document = std::max(longest_document, length);
        }
    }

    using results_span = std::span<std::vector<scored_document>>;

    void search(std::span<const search_query* const> queries, results_span results);
    void search_in(document_range range, std::span<const search_query* const> queries, results_span results);
    void enter(document_range range);
    void forget_lists();
    struct fitting_queries {
        std::size_t count;
        std::uint64_t units;  // of the missing lists; for a count of 0, of those of the first query
    };
    fitting_queries fitting(std::span<const search_query* const> queries, std::vector<posting_list>& missing);
    void bring(std::span<const posting_list> missing);
    template <class Scorer>
    void rank(std::span<const search_query* const> queries, results_span results);
    template <class Scorer>
    void make_length_parts();
    template <class Scorer>
    std::int64_t add_word(std::vector<device_word<Scorer>>& words, const posting_list& list,
                          const Scorer& scorer, std::uint32_t count, std::int64_t constant) const;
    template <class Scorer>
    device_query placed(const search_query& query, std::vector<device_word<Scorer>>& words) const;

    cuda_place& place;
    collection_view collection;
    std::uint32_t shortest_document = ~std::uint32_t{0}, longest_document = 0;
    std::uint64_t budget;  // half for lists, a quarter for rows; the rest for lengths and selection
    ranking_options options;
    std::size_t k = 0;

    document_range entered;
    cuda_array<std::uint32_t> lengths;      // of the range
    cuda_array<std::int64_t> length_parts;  // of these lengths, by these options
    std::optional<ranking_options> parts_by;
    std::unordered_map<const char*, device_list> lists;
    std::vector<cuda_array<packed_unit>> memory;  // of the lists
    std::uint64_t held_units = 0;
    std::uint64_t brought_bytes = 0;
};

/// Lengths, their parts and a row of a range take a quarter of the budget.
void device_collection::state::search(std::span<const search_query* const> queries, results_span results) {
    const std::uint64_t documents = collection.document_lengths.size();
    if (documents == 0) return;
    constexpr std::uint64_t extra = sizeof(std::uint32_t) + sizeof(std::int64_t);
    const std::uint64_t each =
        (row_bytes(documents, std::min<std::uint64_t>(k, documents)) + documents - 1) / documents + extra;
    const std::uint64_t max = std::max<std::uint64_t>(budget / 4 / each, 1);
    std::uint64_t size = documents;
    if (max < documents) size = (max + tile_documents - 1) / tile_documents * tile_documents;
    for (std::uint64_t first = 0; first < documents; first += size)
        search_in({first, std::min(documents, first + size)}, queries, results);
    for (auto& found : results) {
        if (!std::is_sorted(found.begin(), found.end(), ranks_before))  // of several ranges
            std::sort(found.begin(), found.end(), ranks_before);
        if (found.size() > k) found.resize(k);
    }
}

void device_collection::state::enter(document_range range) {
    if (entered == range) return;
    forget_lists();
    entered = {};
    lengths = {};
    length_parts = {};
    parts_by.reset();
    lengths = array_from(place,
                         collection.document_lengths.subspan(static_cast<std::size_t>(range.first),
                                                             static_cast<std::size_t>(range.size())),
                         "the lengths of documents");
    entered = range;
}

void device_collection::state::forget_lists() {
    lists.clear();
    memory.clear();
    held_units = 0;
}

/// The number of leading queries that fit together, and the lists that they need. None if the lists of the first one alone
/// are too large for the documents entered.
device_collection::state::fitting_queries device_collection::state::fitting(
    std::span<const search_query* const> queries, std::vector<posting_list>& missing) {
    const std::uint64_t max = budget / 2 / sizeof(packed_unit);
    // Lists are held twice on the host while they are packed.
    const std::uint64_t max_together = place.ctx().memory_limit() / 8 / sizeof(packed_unit);
    const std::size_t max_taken = std::min(max_queries, queries.size());
    for (;;) {
        std::unordered_map<const char*, bool> requested;
        std::uint64_t units = 0;
        std::size_t taken = 0;
        missing.clear();
        for (; taken < max_taken; ++taken) {
            const std::size_t known = missing.size();
            std::uint64_t more = 0;
            for_each_list(*queries[taken], options, [&](const posting_list& list) {
                if (lists.count(key_of(list)) != 0 || !requested.try_emplace(key_of(list), true).second)
                    return;
                missing.push_back(list);
                more += max_units(list, collection.document_lengths, entered.first, entered.last);
            });
            const bool fits = held_units + units + more <= max;
            if (!fits || (taken != 0 && units + more > max_together)) {
                missing.resize(known);
                if (taken == 0 && held_units == 0) return {0, more};
                break;
            }
            units += more;
        }
        if (taken != 0) return {taken, units};
        forget_lists();  // resident lists take the memory
    }
}

void device_collection::state::bring(std::span<const posting_list> missing) {
    if (missing.empty()) return;
    const packed_lists packed =
        pack_lists(missing, collection.document_lengths, entered.first, entered.last, place.ctx());
    cuda_array<packed_unit> units =
        array_from(place, std::span<const packed_unit>(packed.units), "posting lists");
    std::vector<device_list> device_list_view;
    for (const packed_lists::place& list : packed.lists)
        device_list_view.push_back({reinterpret_cast<const packed_block*>(units.data() + list.at),
                                    list.blocks, list.max_frequency, list.min_length});
    const auto table = array_from(place, std::span<const device_list>(device_list_view), "a table of lists");
    const cuda_array<std::uint64_t> wrong(place, 1);
    place.fill_bytes(wrong.data(), 0xff, sizeof(std::uint64_t));
    constexpr unsigned blocks_a_list = 8;
    QUERN_LAUNCH(place,
                 (cuda::launch_shape{dim3(static_cast<unsigned>(device_list_view.size()), blocks_a_list),
                                     dim3(block_threads)}),
                 check_lists_kernel, table.data(), reinterpret_cast<unsigned long long*>(wrong.data()));
    const std::uint64_t first_wrong = to_host(place, wrong.span())[0];
    if (first_wrong != ~std::uint64_t{0}) {
        const posting_list& list = missing[static_cast<std::size_t>(first_wrong)];
        for (postings_cursor cursor(list, collection.document_lengths); !cursor.done(); cursor.next_block())
            cursor.decode();  // throws the same message as the CPU
        throw damaged_store("the store", "postings", "a list changed while it was read");
    }
    memory.push_back(std::move(units));  // before anything points to it
    held_units += packed.units.size();
    brought_bytes += packed.units.size() * sizeof(packed_unit);
    for (std::size_t i = 0; i < missing.size(); ++i) lists[key_of(missing[i])] = device_list_view[i];
}

void device_collection::state::search_in(document_range range, std::span<const search_query* const> queries,
                                         results_span results) {
    std::vector<posting_list> missing;
    while (!queries.empty()) {
        place.ctx().check_stop();
        enter(range);
        const fitting_queries fit = fitting(queries, missing);
        std::size_t taken = fit.count;
        if (taken != 0) {
            bring(missing);
            with_device_scorer(options.model, [&]<typename Scorer>() {
                rank<Scorer>(queries.first(taken), results.first(taken));
            });
        } else {
            // The lists of one query do not fit: half of the documents have half of them.
            if (range.size() <= tile_documents)
                throw out_of_memory("the posting lists of a query", fit.units * sizeof(packed_unit),
                                    budget / 2);
            taken = 1;
            const std::uint64_t tiles = (range.size() + tile_documents - 1) / tile_documents;
            const std::uint64_t middle = range.first + tiles / 2 * tile_documents;
            search_in({range.first, middle}, queries.first(1), results.first(1));
            search_in({middle, range.last}, queries.first(1), results.first(1));
        }
        queries = queries.subspan(taken);
        results = results.subspan(taken);
    }
}

template <class Scorer>
void device_collection::state::make_length_parts() {
    const bool same = parts_by && parts_by->model == options.model && parts_by->mu == options.mu &&
                      parts_by->lambda == options.lambda;
    if (!Scorer::length_model::used || same) return;
    if (length_parts.size() == 0)
        length_parts = cuda_array<std::int64_t>(place, lengths.size(), "parts of lengths");
    QUERN_LAUNCH(place, (cuda::launch_shape{cuda::blocks_for(lengths.size(), block_threads), block_threads}),
                 length_parts_kernel<typename Scorer::length_model>, typename Scorer::length_model(options),
                 lengths.data(), lengths.size(), length_parts.data());
    parts_by = options;
}

/// Returns the maximum that the word can add to a score.
template <class Scorer>
std::int64_t device_collection::state::add_word(std::vector<device_word<Scorer>>& words,
                                                const posting_list& list, const Scorer& scorer,
                                                std::uint32_t count, std::int64_t constant) const {
    const device_list& device_list_view = lists.at(key_of(list));
    if (device_list_view.size == 0) return 0;
    const device_word<Scorer>& added = words.emplace_back(
        device_word<Scorer>{scorer, count, constant, device_list_view.blocks, device_list_view.size});
    return added.part(device_list_view.max_frequency, device_list_view.min_length) +
           count;  // rounding may break the order by a unit
}

/// A query of the batch; adds its words to those of the batch.
template <class Scorer>
device_query device_collection::state::placed(const search_query& query,
                                              std::vector<device_word<Scorer>>& words) const {
    device_query made{};
    made.first_word = static_cast<std::uint32_t>(words.size());
    std::int64_t max = 0;  // of the sum
    for (const query_term& term : query.terms) {
        if (term.list.document_frequency == 0 || term.count == 0) continue;
        const Scorer scorer(collection, term.list, options);
        made.background += term.count * scorer.background();
        made.query_words += term.count;
        max += add_word(words, term.list, scorer, term.count, 0);
        if (options.title_weight != 0 && term.titles.document_frequency != 0)
            max += add_word(words, term.titles, scorer, term.count,
                            title_part(collection, term.list, options.title_weight));
    }
    made.words = static_cast<std::uint32_t>(words.size()) - made.first_word;
    // As many buckets as exist, over all possible scores.
    const typename Scorer::length_model model(options);
    made.lowest = made.background - made.query_words * (model.part(longest_document) + 1);
    const std::int64_t highest =
        made.background + max - made.query_words * (model.part(shortest_document) - 1);
    const auto width = static_cast<std::uint64_t>(std::max<std::int64_t>(highest - made.lowest, 0));
    while (width >> made.shift >= score_buckets) ++made.shift;
    return made;
}

template <class Scorer>
void device_collection::state::rank(std::span<const search_query* const> queries, results_span results) {
    make_length_parts<Scorer>();
    std::vector<device_word<Scorer>> words;
    std::vector<device_query> requested;
    std::size_t longest = 0;
    for (const search_query* query : queries) {
        requested.push_back(placed(*query, words));
        longest = std::max<std::size_t>(longest, requested.back().words);
    }
    const auto words_array =
        array_from(place, std::span<const device_word<Scorer>>(words), "the words of queries");
    const device_batch<Scorer> batch{.words = words_array.data(),
                                     .queries = nullptr,
                                     .lengths = lengths.data(),
                                     .length_parts = length_parts.data(),
                                     .first = entered.first,
                                     .last = entered.last,
                                     .pieces = 0,
                                     .tiles = 0};
    std::vector<ranking_of*> rankings;
    for (ranking_of& ranking : results) rankings.push_back(&ranking);
    batch_ranking<Scorer>(place, batch, longest, k, budget / 4).run(requested, rankings);
}

device_collection::device_collection(cuda_place& place, const collection_view& collection)
    : state_(std::make_unique<state>(place, collection)) {}
device_collection::~device_collection() = default;

void device_collection::search(std::span<const search_query* const> queries, const ranking_options& options,
                               std::size_t k, std::span<std::vector<scored_document>> results) {
    state_->options = options;
    state_->k = k;
    state_->search(queries, results);
}

std::uint64_t device_collection::bytes_brought() const {
    return state_->brought_bytes;
}

}  // namespace quern::search_detail
