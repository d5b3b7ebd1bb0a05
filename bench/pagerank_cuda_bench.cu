// SPDX-License-Identifier: Apache-2.0
// pagerank_cuda_bench SCALE LINKS ROUNDS [layouts] [formats] [CUSPARSE]: PageRank on a GPU, of a Kronecker graph with
// 2^SCALE nodes and LINKS links; prints rows of a Markdown table: a sum over all links, and a whole iteration, compared with
// cuSPARSE's product of the same matrix in float (CUSPARSE: the library's file; it is loaded when the program runs).
// layouts: sums in several arrangements of the links. formats: iterations in doubles over matrices in the literature's
// formats. With several GPUs: iterations of a graph that stays on one and on all of them (their ranks are compared), and a
// whole call from host memory, to convergence. Times of sums are between CUDA events, medians; an iteration's is the time of 66 (in doubles 402) minus that of the
// first two, which send 64 bits; the best of three.
#include <cusparse.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "device/array.hpp"
#include "device/cuda/check.cuh"
#include "generator/graphs.hpp"
#include "ops/link_rank/link_tiles.cuh"
#include "ops/link_rank/sliced_ell.cuh"
#include "ops/link_rank/sliced_ell_layout.hpp"

namespace quern {
namespace {

using namespace link_rank_detail;

constexpr double copy_rate = 4.27e12;  // bytes a second, read and written, of an H200

double seconds_of(const std::function<void()>& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

class stopwatch {
  public:
    stopwatch(cuda_place& place, int rounds) : place_(place), rounds_(rounds) {
        QUERN_CHECK(cudaEventCreate(&begin_));
        QUERN_CHECK(cudaEventCreate(&end_));
    }
    ~stopwatch() {
        cudaEventDestroy(begin_);
        cudaEventDestroy(end_);
    }
    stopwatch(const stopwatch&) = delete;  // owns events
    stopwatch& operator=(const stopwatch&) = delete;

    /// Median milliseconds, after two rounds of warming up.
    float median(const std::function<void()>& work) {
        std::vector<float> times;
        for (int round = -2; round < rounds_; ++round) {
            QUERN_CHECK(cudaEventRecord(begin_, place_.stream()));
            work();
            QUERN_CHECK(cudaEventRecord(end_, place_.stream()));
            QUERN_CHECK(cudaEventSynchronize(end_));
            float ms = 0;
            QUERN_CHECK(cudaEventElapsedTime(&ms, begin_, end_));
            if (round >= 0) times.push_back(ms);
        }
        std::sort(times.begin(), times.end());
        return times[times.size() / 2];
    }

  private:
    cuda_place& place_;
    int rounds_;
    cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

struct bench {
    cuda_place& place;
    stopwatch& clock;
    const link_graph& graph;

    std::uint64_t links() const { return graph.sources.size(); }
    void row(const std::string& what, double prepared, double ms, double min_bytes) const {
        std::printf("| %s | %.0f | %.4f | %.0f | %.2f |\n", what.c_str(), prepared * 1e3, ms,
                    static_cast<double>(links()) / ms / 1e6, min_bytes / copy_rate / (ms * 1e-3));
        std::fflush(stdout);
    }

    void sums_by_slices(int hot_groups, std::uint32_t table_slots = 0) const {
        std::optional<sliced_ell> slices;
        const double prepared = seconds_of([&] {
            slices.emplace(place, graph.view(), sliced_ell_layout{table_slots, hot_groups});
            place.synchronise();
        });
        const std::uint32_t slots = slices->slots().slots;
        std::vector<std::int32_t> values(slots + 4);
        for (std::uint32_t i = 0; i < slots; ++i) values[i] = static_cast<std::int32_t>(i * 2654435761u);
        for (std::uint32_t g = 0; g < std::max(1u, slices->view().hot_groups); ++g)
            values[std::size_t{g} * slices->view().table_slots] = 0;
        const auto table = array_from(place, std::span<const std::int32_t>(values));
        const cuda_array<std::uint64_t> sums(place, slots);
        const cuda_array<std::uint32_t> halted(place, 1);
        place.fill_bytes(halted.data(), 0, 4);
        const float ms = clock.median([&] { slices->add(place, table.data(), sums.data(), halted.data()); });
        const std::string groups =
            std::to_string(slices->view().hot_groups) + " of " + std::to_string(slices->view().table_slots);
        row("sums, slices, " +
                (hot_groups < 0 ? "default number of hot groups: " + groups : groups + " hot groups"),
            prepared, ms, static_cast<double>(slices->bytes()));
        const cuda_array<std::int64_t> wide(place, slots + 4);
        place.fill_bytes(wide.data(), 0, wide.span().size_bytes());
        if (hot_groups < 0) {
            const float wide_ms =
                clock.median([&] { slices->add(place, wide.data(), sums.data(), halted.data()); });
            row("sums, slices, 64-bit contributions", prepared, wide_ms,
                static_cast<double>(slices->bytes()));
        }
    }

    void sums_as_they_stand() const {
        std::optional<link_tiles> tiles;
        const double prepared = seconds_of([&] {
            tiles.emplace(place, graph.view(), std::span<const std::uint64_t>());
            place.synchronise();
        });
        std::vector<std::int32_t> values(graph.nodes);
        for (std::uint32_t i = 0; i < graph.nodes; ++i)
            values[i] = static_cast<std::int32_t>(i * 2654435761u);
        const auto table = array_from(place, std::span<const std::int32_t>(values));
        const cuda_array<std::uint64_t> sums(place, graph.nodes);
        const cuda_array<std::uint32_t> halted(place, 1);
        place.fill_bytes(halted.data(), 0, 4);
        const float ms = clock.median([&] { tiles->add(place, table.data(), sums.data(), halted.data()); });
        row("sums, links in original order", prepared, ms, 4.0 * static_cast<double>(links()));
    }

    void iterations(int hot_groups) const {
        fixed_page_rank_params params;
        params.alpha = static_cast<std::uint64_t>(0.85 * 0x1p64);
        params.tolerance = 0;
        params.start_each = (std::int64_t{1} << 62) / graph.nodes;
        params.teleport_each = static_cast<std::int64_t>(0.15 * 0x1p62) / graph.nodes;
        const auto timed = [&](std::uint32_t steps) {
            params.max_iterations = steps;
            std::vector<double> times;
            for (int i = 0; i < 3; ++i)
                times.push_back(seconds_of([&] {
                    const auto found = fixed_page_rank(place, graph.view(), params, {0, hot_groups});
                    if (found.iterations != steps || found.wide_steps != 2)
                        throw std::runtime_error("ended early");
                }));
            std::sort(times.begin(), times.end());
            return times[0];
        };
        const double once = timed(2), often = timed(66);  // the first two send 64 bits
        row("PageRank, an iteration" +
                (hot_groups < 0 ? std::string() : ", " + std::to_string(hot_groups) + " hot groups"),
            once, (often - once) / 64 * 1e3,
            4.0 * static_cast<double>(links()) + 60.0 * static_cast<double>(graph.nodes));
    }

    /// By one GPU and by all, if there are several: iterations of a graph that stays, and whole calls. False if ranks differ.
    bool by_several() const {
        context ctx = context::cuda();
        ctx.device.ordinal = device_choice::all_ordinals;
        const chosen_device gpus = choose_device(ctx, "pagerank_cuda_bench", offered_places::several_gpus);
        if (gpus.more.empty()) return true;
        std::vector<double> expected;
        bool right = true;
        for (const std::size_t count : {std::size_t{1}, 1 + gpus.more.size()}) {
            chosen_device used = gpus;
            used.more.resize(count - 1);
            const std::string who = std::to_string(count) + (count == 1 ? " GPU" : " GPUs");
            std::optional<resident_graph> held;
            link_ranks found;
            const auto call = [&](std::uint32_t steps) {
                return seconds_of([&] {
                    found = held->page_rank({.tolerance = 1e-300, .max_iterations = steps});
                    if (found.iterations != steps) throw std::runtime_error("ended early");
                });
            };
            const double prepared = seconds_of([&] {
                held.emplace(graph.view(), ctx, used, 1);
                call(2);
            });
            const auto best = [&](std::uint32_t steps) {
                return std::min({call(steps), call(steps), call(steps)});
            };
            const double few = best(2), many = best(66);
            row("PageRank, an iteration, " + who, prepared, (many - few) / 64 * 1e3,
                4.0 * static_cast<double>(links()) + 60.0 * static_cast<double>(graph.nodes));
            held.reset();
            const double whole = seconds_of([&] {
                held.emplace(graph.view(), ctx, used, 1);
                found = held->page_rank({.tolerance = 1e-12});
            });
            row("PageRank, a call from host memory, " + std::to_string(found.iterations) + " iterations, " +
                    who,
                0, whole * 1e3, 0);
            if (expected.empty()) expected = found.ranks;
            right &= found.ranks == expected;
        }
        if (!right) std::fprintf(stderr, "pagerank_cuda_bench: the ranks of several GPUs differ\n");
        return right;
    }

    /// The power iteration in doubles, by the public function; `prepared` is a whole call of two steps, on the host too. Damping
    /// is near 1, so that the steps do not converge; there are so many that the host's time is negligible.
    void format(rank_storage storage) const {
        constexpr std::uint32_t more = 400;
        const auto timed = [&](std::uint32_t steps) {
            return seconds_of([&] {
                const page_rank_options options{
                    .damping = 0.99, .tolerance = 1e-300, .max_iterations = steps, .storage = storage};
                if (page_rank(graph.view(), options, context::cuda()).iterations != steps)
                    throw std::runtime_error("fewer steps than requested");
            });
        };
        const auto best = [&](std::uint32_t steps) {
            return std::min({timed(steps), timed(steps), timed(steps)});
        };
        timed(1);
        const double few = best(2), many = best(2 + more);
        row("PageRank in doubles, " + std::string(rank_storage_names[static_cast<std::size_t>(storage)]) +
                ", an iteration",
            few, (many - few) / more * 1e3,
            12.0 * static_cast<double>(links()) + 49.0 * static_cast<double>(graph.nodes));
    }

    void cusparse(const char* path) const {
        void* const library = dlopen(path, RTLD_NOW);
        if (library == nullptr) throw std::runtime_error(dlerror());
        const auto call = [&](auto* type, const char* name, auto... arguments) {
            const auto function = reinterpret_cast<decltype(type)>(dlsym(library, name));
            if (function == nullptr || function(arguments...) != CUSPARSE_STATUS_SUCCESS)
                throw std::runtime_error(name);
        };
#define CUSPARSE(function, ...) call(&function, #function, __VA_ARGS__)
        std::vector<float> shares(graph.sources.size());
        for (std::size_t e = 0; e < shares.size(); ++e)
            shares[e] = 1 / static_cast<float>(graph.out_degrees[graph.sources[e]]);
        std::vector<int> narrow_offsets(graph.offsets.begin(), graph.offsets.end());
        const auto offsets = array_from(place, std::span<const int>(narrow_offsets));
        const auto columns = array_from(place, std::span<const std::uint32_t>(graph.sources));
        const auto values = array_from(place, std::span<const float>(shares));
        const std::vector<float> ones(graph.nodes, 1.0f);
        const auto x = array_from(place, std::span<const float>(ones));
        const cuda_array<float> y(place, graph.nodes);
        cusparseHandle_t handle;
        cusparseSpMatDescr_t matrix;
        cusparseDnVecDescr_t in, out;
        CUSPARSE(cusparseCreate, &handle);
        CUSPARSE(cusparseSetStream, handle, place.stream());
        const std::int64_t n = graph.nodes, m = static_cast<std::int64_t>(links());
        CUSPARSE(cusparseCreateCsr, &matrix, n, n, m, offsets.data(), columns.data(), values.data(),
                 CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
        CUSPARSE(cusparseCreateDnVec, &in, n, static_cast<void*>(x.data()), CUDA_R_32F);
        CUSPARSE(cusparseCreateDnVec, &out, n, static_cast<void*>(y.data()), CUDA_R_32F);
        const float one = 1, zero = 0;
        for (const auto& [name, algorithm] :
             {std::pair{"cuSPARSE, CSR ALG1, float", CUSPARSE_SPMV_CSR_ALG1},
              std::pair{"cuSPARSE, CSR ALG2, float", CUSPARSE_SPMV_CSR_ALG2}}) {
            std::size_t bytes = 0;
            CUSPARSE(cusparseSpMV_bufferSize, handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, in,
                     &zero, out, CUDA_R_32F, algorithm, &bytes);
            const cuda_array<char> buffer(place, bytes);
            const double prepared = seconds_of([&] {
                CUSPARSE(cusparseSpMV_preprocess, handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, in,
                         &zero, out, CUDA_R_32F, algorithm, static_cast<void*>(buffer.data()));
                place.synchronise();
            });
            const float ms = clock.median([&] {
                CUSPARSE(cusparseSpMV, handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, in, &zero, out,
                         CUDA_R_32F, algorithm, static_cast<void*>(buffer.data()));
            });
            row(name, prepared, ms, 8.0 * static_cast<double>(links()));
        }
#undef CUSPARSE
    }
};

int run(int count, char** arguments) {
    if (count < 4) {
        std::fputs("usage: pagerank_cuda_bench SCALE LINKS ROUNDS [layouts] [formats] [CUSPARSE]\n", stderr);
        return 2;
    }
    std::set<std::string> also(arguments + 4, arguments + count);
    const bool layouts = also.erase("layouts") != 0, formats = also.erase("formats") != 0;
    generator::kronecker_options wanted;
    wanted.scale = static_cast<unsigned>(std::atoi(arguments[1]));
    wanted.links = std::strtoull(arguments[2], nullptr, 10);
    link_graph graph;
    const double made = seconds_of([&] {
        const auto drawn = generator::make_kronecker(wanted);
        graph = make_link_graph(drawn.nodes, drawn.links, {}, context::cpu());
    });
    std::uint64_t linked = 0;
    for (const std::uint64_t degree : graph.out_degrees) linked += degree != 0 ? 1 : 0;
    std::printf("Kronecker graph, %u nodes (%llu with links out), %llu links; made in %.1f s\n\n",
                graph.nodes, static_cast<unsigned long long>(linked),
                static_cast<unsigned long long>(graph.sources.size()), made);
    std::puts(
        "| what | prepared in (ms) | time (ms) | links (G/s) | of the copy rate |\n| --- | ---: | ---: | "
        "---: | ---: |");
    cuda_place place(context::cuda(), choose_device(context::cuda(), "a benchmark").ordinal);
    stopwatch clock(place, std::atoi(arguments[3]));
    const bench all{place, clock, graph};
    for (const std::string& library : also) all.cusparse(library.c_str());
    all.sums_as_they_stand();
    all.sums_by_slices(-1);
    if (layouts) {
        for (const std::uint32_t table : {32768u, 49152u, max_table_slots})
            for (const int hot : {0, 1, 2, 3, 4, 6, 8}) all.sums_by_slices(hot, table);
    }
    all.iterations(-1);
    if (formats)
        for (const rank_storage storage :
             {rank_storage::csr, rank_storage::brc, rank_storage::brcp, rank_storage::brcp_paper})
            all.format(storage);
    return all.by_several() ? 0 : 1;
}

}  // namespace
}  // namespace quern

int main(int count, char** arguments) {
    try {
        return quern::run(count, arguments);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "pagerank_cuda_bench: %s\n", e.what());
        return 1;
    }
}
