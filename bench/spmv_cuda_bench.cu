// SPDX-License-Identifier: Apache-2.0
// Sparse products on a GPU, in every format, compared with cuSPARSE's on the same matrix and vector.
// spmv_cuda_bench CUSPARSE MATRIX…: the peer's library (loaded when the program runs: "" for none), then names of the
// paper's matrices and of those below, with the suffix :ones for a vector of ones. One line a measurement, tab-separated:
// matrix, type, rows, entries, who, seconds, bytes of the stored matrix, seconds to prepare it (from rows in host memory:
// conversion and transfer; cuSPARSE: its own preprocessing on the device), the relative error Σ|y − μ| / Σ|μ| of exact sums,
// and the share of results that are not the exact sum rounded once. Seconds: the median of 20 measurements, each of enough
// consecutive products to take 200 µs; a matrix smaller than the device's cache stays there.
// With several GPUs also brcp on one and on all (brcp:1, brcp:2, …), each product by the host's clock, and a call with x and y
// in host memory (brcp:1:call, …).
#include <cuda_runtime.h>
#include <cusparse.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/check.cuh"
#include "generator/paper_matrices.hpp"
#include "primitives/sparse/multiply.hpp"
#include "quern/ops/sparse.hpp"

namespace quern {
namespace {

using primitives::csr_view;

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The functions of cuSPARSE that are measured.
struct cusparse_library {
    explicit cusparse_library(const char* path) : handle(dlopen(path, RTLD_NOW)) {
        if (handle == nullptr) throw std::runtime_error(dlerror());
    }
    cusparse_library(const cusparse_library&) = delete;  // owns the handle
    cusparse_library& operator=(const cusparse_library&) = delete;
    ~cusparse_library() { dlclose(handle); }
    template <class Function, class... Arguments>
    void call(Function* /*type*/, const char* name, Arguments... arguments) const {
        auto* const function = reinterpret_cast<Function*>(dlsym(handle, name));
        if (function == nullptr) throw std::runtime_error(std::string("cuSPARSE has no ") + name);
        const cusparseStatus_t status = function(arguments...);
        if (status != CUSPARSE_STATUS_SUCCESS)
            throw std::runtime_error(std::string(name) + " fails: " + std::to_string(status));
    }
    void* handle;
};
#define CUSPARSE(library, function, ...) (library).call(&function, #function, __VA_ARGS__)

/// Median seconds of one product.
double median_seconds(cuda_place& place, const std::function<void()>& product) {
    cudaEvent_t begin, end;
    QUERN_CHECK(cudaEventCreate(&begin));
    QUERN_CHECK(cudaEventCreate(&end));
    const auto timed = [&](int times) {
        QUERN_CHECK(cudaEventRecord(begin, place.stream()));
        for (int i = 0; i < times; ++i) product();
        QUERN_CHECK(cudaEventRecord(end, place.stream()));
        QUERN_CHECK(cudaEventSynchronize(end));
        float ms = 0;
        QUERN_CHECK(cudaEventElapsedTime(&ms, begin, end));
        return ms * 1e-3 / times;
    };
    timed(2);
    const int times = std::clamp(static_cast<int>(200e-6 / timed(1)), 1, 40);
    std::vector<double> seconds;
    for (int round = 0; round < 20; ++round) seconds.push_back(timed(times));
    std::sort(seconds.begin(), seconds.end());
    QUERN_CHECK(cudaEventDestroy(begin));
    QUERN_CHECK(cudaEventDestroy(end));
    return seconds[seconds.size() / 2];
}

/// One matrix, its vector and its exact product.
template <class Value>
class measurement {
  public:
    measurement(cuda_place& place, cpu_place& host, const cusparse_library* peer, std::string_view name,
                const generator::matrix& matrix, bool of_ones)
        : place_(place),
          host_(host),
          peer_(peer),
          name_(name),
          value_(matrix.value.begin(), matrix.value.end()) {
        rows_ = {matrix.rows, matrix.columns, matrix.offsets, matrix.column, value_};
        for (std::uint32_t j = 0; j < matrix.columns; ++j)
            x_.push_back(of_ones ? Value(1) : static_cast<Value>(1 + j * 2654435769u % 4096 / 4096.0));
        const auto csr = primitives::to_csr(host_, rows_);
        rounded_.resize(matrix.rows);
        primitives::multiply(host_, csr, std::span<const Value>(x_), std::span<Value>(rounded_));
        device_x_ = array_from(place_, std::span<const Value>(x_));
        device_y_ = make_array<Value>(place_, matrix.rows);
    }

    void run() {
        ours("csr", [&] { return primitives::to_csr(host_, rows_); });
        ours("coo", [&] { return primitives::to_coo(host_, rows_); });
        try {
            ours("ell", [&] { return primitives::to_ell(host_, rows_, 3); });
        } catch (const usage_error&) {  // mostly padding
        }
        ours("brc", [&] { return primitives::to_brc(host_, rows_); });
        ours("brcp", [&] { return primitives::to_brcp(host_, rows_); });
        ours_as_printed();
        by_several();
        if (peer_ != nullptr && rows_.column.size() < (1u << 31)) measure_peer();
    }

  private:
    void print(const char* who, double seconds, std::uint64_t bytes, double prepared) {
        const std::vector<Value> y = to_host(place_, device_y_.span());
        double error = 0, size = 0;
        std::uint64_t other = 0;
        for (std::size_t i = 0; i < y.size(); ++i) {
            error += std::abs(static_cast<double>(y[i]) - static_cast<double>(rounded_[i]));
            size += std::abs(static_cast<double>(rounded_[i]));
            other += y[i] != rounded_[i] ? 1 : 0;
        }
        std::printf("%s\t%s\t%u\t%zu\t%s\t%.9f\t%llu\t%.6f\t%.3g\t%.3g\n", std::string(name_).c_str(),
                    sizeof(Value) == 4 ? "float" : "double", rows_.rows, rows_.column.size(), who, seconds,
                    static_cast<unsigned long long>(bytes), prepared, size == 0 ? error : error / size,
                    y.empty() ? 0.0 : static_cast<double>(other) / static_cast<double>(y.size()));
        std::fflush(stdout);
    }
    template <class Product>
    void measure(const char* who, std::uint64_t bytes, double prepared, const Product& product) {
        place_.fill_bytes(device_y_.data(), 0x7f, device_y_.size() * sizeof(Value));
        const double seconds = median_seconds(place_, product);
        print(who, seconds, bytes, prepared);
    }
    template <class Make>
    void ours(const char* who, const Make& make) {
        const auto begin = std::chrono::steady_clock::now();
        const auto matrix = to_device(place_, make());
        place_.synchronise();
        const double prepared = seconds_since(begin);
        measure(who, primitives::bytes_of(matrix), prepared, [&] {
            primitives::multiply(place_, matrix, device_span<const Value>(device_x_.span()),
                                 device_y_.span());
        });
    }
    void ours_as_printed() {
        const auto matrix = to_device(place_, primitives::to_brcp(host_, rows_));
        measure("brcp-paper", primitives::bytes_of(matrix), 0, [&] {
            primitives::multiply_as_printed(place_, matrix, device_span<const Value>(device_x_.span()),
                                            device_y_.span());
        });
    }

    void by_several() {
        context all = context::cuda();
        all.device.ordinal = device_choice::all_ordinals;
        const chosen_device gpus = choose_device(all, "spmv_cuda_bench", offered_places::several_gpus);
        if (gpus.more.empty()) return;
        for (const std::size_t count : {std::size_t{1}, 1 + gpus.more.size()}) {
            chosen_device used = gpus;
            used.more.resize(count - 1);
            const auto begin = std::chrono::steady_clock::now();
            resident_matrix<Value> matrix(
                {rows_.rows, rows_.columns, rows_.offsets, rows_.column, rows_.value}, sparse_storage::brcp,
                all, used, 1);
            const double prepared = seconds_since(begin);
            product<Value> found = matrix.multiply(std::span<const Value>(x_), 41);
            copy_in<Value>(place_, found.y, device_y_.span());
            std::sort(found.seconds.begin(), found.seconds.end());
            const std::string who = "brcp:" + std::to_string(count);
            print(who.c_str(), found.seconds[20], matrix.bytes(), prepared);
            std::vector<double> calls;
            for (int i = 0; i < 20; ++i) {
                const auto started = std::chrono::steady_clock::now();
                (void)matrix.multiply(std::span<const Value>(x_));
                calls.push_back(seconds_since(started));
            }
            std::sort(calls.begin(), calls.end());
            print((who + ":call").c_str(), calls[10], matrix.bytes(), prepared);
        }
    }

    static constexpr cudaDataType type = sizeof(Value) == 4 ? CUDA_R_32F : CUDA_R_64F;

    void measure_peer() {
        cusparseHandle_t handle;
        CUSPARSE(*peer_, cusparseCreate, &handle);
        CUSPARSE(*peer_, cusparseSetStream, handle, place_.stream());
        const std::vector<std::uint32_t> offsets(rows_.offsets.begin(), rows_.offsets.end());
        const auto device_offsets = array_from(place_, std::span<const std::uint32_t>(offsets));
        const auto device_column = array_from(place_, rows_.column);
        const auto device_value = array_from(place_, rows_.value);
        const auto entries = static_cast<std::int64_t>(rows_.column.size());
        const std::uint64_t csr_bytes = offsets.size() * 4 + rows_.column.size() * (4 + sizeof(Value));
        cusparseSpMatDescr_t matrix;
        CUSPARSE(*peer_, cusparseCreateCsr, &matrix, std::int64_t{rows_.rows}, std::int64_t{rows_.columns},
                 entries, static_cast<void*>(device_offsets.data()), static_cast<void*>(device_column.data()),
                 static_cast<void*>(device_value.data()), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                 CUSPARSE_INDEX_BASE_ZERO, type);
        measure_algorithm(handle, "cuSPARSE CSR ALG1", matrix, CUSPARSE_SPMV_CSR_ALG1, csr_bytes);
        measure_algorithm(handle, "cuSPARSE CSR ALG2", matrix, CUSPARSE_SPMV_CSR_ALG2, csr_bytes);
        CUSPARSE(*peer_, cusparseDestroySpMat, matrix);
        {
            const auto coo = to_device(place_, primitives::to_coo(host_, rows_));
            CUSPARSE(*peer_, cusparseCreateCoo, &matrix, std::int64_t{rows_.rows},
                     std::int64_t{rows_.columns}, entries, static_cast<void*>(coo.row.data()),
                     static_cast<void*>(coo.column.data()), static_cast<void*>(coo.value.data()),
                     CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type);
            measure_algorithm(handle, "cuSPARSE COO ALG1", matrix, CUSPARSE_SPMV_COO_ALG1,
                              primitives::bytes_of(coo));
            measure_algorithm(handle, "cuSPARSE COO ALG2", matrix, CUSPARSE_SPMV_COO_ALG2,
                              primitives::bytes_of(coo));
            CUSPARSE(*peer_, cusparseDestroySpMat, matrix);
        }
        measure_sell(handle);
        CUSPARSE(*peer_, cusparseDestroy, handle);
    }

    /// Slices of 32 rows, padded to the longest of them with columns of −1.
    void measure_sell(cusparseHandle_t handle) {
        std::vector<std::int32_t> slices{0};
        std::uint64_t slots = 0;
        for (std::uint32_t first = 0; first < rows_.rows; first += 32) {
            std::uint64_t longest = 0;
            for (std::uint32_t i = first; i < std::min(rows_.rows, first + 32); ++i)
                longest = std::max(longest, rows_.offsets[i + 1] - rows_.offsets[i]);
            slots += 32 * longest;
            slices.push_back(static_cast<std::int32_t>(slots));
        }
        if (slots > 4 * rows_.column.size()) return;  // mostly padding
        std::vector<std::int32_t> column(slots, -1);
        std::vector<Value> value(slots);
        for (std::uint32_t i = 0; i < rows_.rows; ++i) {
            const auto at = static_cast<std::uint64_t>(slices[i / 32]) + i % 32;
            for (std::uint64_t e = rows_.offsets[i]; e < rows_.offsets[i + 1]; ++e) {
                column[at + (e - rows_.offsets[i]) * 32] = static_cast<std::int32_t>(rows_.column[e]);
                value[at + (e - rows_.offsets[i]) * 32] = rows_.value[e];
            }
        }
        const auto device_slices = array_from(place_, std::span<const std::int32_t>(slices));
        const auto device_column = array_from(place_, std::span<const std::int32_t>(column));
        const auto device_value = array_from(place_, std::span<const Value>(value));
        cusparseSpMatDescr_t matrix;
        CUSPARSE(*peer_, cusparseCreateSlicedEll, &matrix, std::int64_t{rows_.rows},
                 std::int64_t{rows_.columns}, static_cast<std::int64_t>(rows_.column.size()),
                 static_cast<std::int64_t>(slots), std::int64_t{32}, static_cast<void*>(device_slices.data()),
                 static_cast<void*>(device_column.data()), static_cast<void*>(device_value.data()),
                 CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type);
        measure_algorithm(handle, "cuSPARSE SELL", matrix, CUSPARSE_SPMV_SELL_ALG1,
                          slices.size() * 4 + slots * (4 + sizeof(Value)));
        CUSPARSE(*peer_, cusparseDestroySpMat, matrix);
    }

    void measure_algorithm(cusparseHandle_t handle, const char* who, cusparseSpMatDescr_t matrix,
                           cusparseSpMVAlg_t algorithm, std::uint64_t bytes) {
        cusparseDnVecDescr_t x, y;
        CUSPARSE(*peer_, cusparseCreateDnVec, &x, std::int64_t{rows_.columns},
                 static_cast<void*>(device_x_.data()), type);
        CUSPARSE(*peer_, cusparseCreateDnVec, &y, std::int64_t{rows_.rows},
                 static_cast<void*>(device_y_.data()), type);
        const Value one = 1, zero = 0;
        const auto common = [&](auto function) {
            function(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, static_cast<const void*>(&one), matrix, x,
                     static_cast<const void*>(&zero), y, type, algorithm);
        };
        std::size_t needed = 0;
        common([&](auto... arguments) { CUSPARSE(*peer_, cusparseSpMV_bufferSize, arguments..., &needed); });
        const auto buffer = make_array<std::uint8_t>(place_, std::max<std::size_t>(needed, 1));
        place_.synchronise();
        const auto begin = std::chrono::steady_clock::now();
        common([&](auto... arguments) {
            CUSPARSE(*peer_, cusparseSpMV_preprocess, arguments..., static_cast<void*>(buffer.data()));
        });
        place_.synchronise();
        const double prepared = seconds_since(begin);
        auto* const function =
            reinterpret_cast<decltype(&cusparseSpMV)>(dlsym(peer_->handle, "cusparseSpMV"));
        measure(who, bytes + needed, prepared, [&] {
            common([&](auto... arguments) { function(arguments..., static_cast<void*>(buffer.data())); });
        });
        CUSPARSE(*peer_, cusparseDestroyDnVec, x);
        CUSPARSE(*peer_, cusparseDestroyDnVec, y);
    }

    cuda_place& place_;
    cpu_place& host_;
    const cusparse_library* peer_;
    std::string_view name_;
    std::vector<Value> value_, x_, rounded_;
    csr_view<Value> rows_;
    cuda_array<Value> device_x_, device_y_;
};

/// The suffix of a matrix's name: times a vector of ones, as in the paper. Sums of numbers of 24 binary digits are often
/// midpoints of two floats.
constexpr std::string_view ones = ":ones";

/// Second differences on a square: with a vector of ones, all sums except those at the border are exactly zero.
generator::matrix differences(std::uint32_t side) {
    generator::matrix made{side * side, side * side, {0}, {}, {}};
    const auto entry = [&made](std::uint32_t column, double value) {
        made.column.push_back(column);
        made.value.push_back(value);
    };
    for (std::uint32_t i = 0; i < side; ++i) {
        for (std::uint32_t j = 0; j < side; ++j) {
            const std::uint32_t row = i * side + j;
            if (i > 0) entry(row - side, -1);
            if (j > 0) entry(row - 1, -1);
            entry(row, 4);
            if (j + 1 < side) entry(row + 1, -1);
            if (i + 1 < side) entry(row + side, -1);
            made.offsets.push_back(made.column.size());
        }
    }
    return made;
}

generator::matrix named(std::string_view name) {
    using namespace generator;
    if (name == "kronecker")
        return make_transition_matrix(make_kronecker({.scale = 21, .links = 63'500'000}));
    if (name == "small-kronecker")
        return make_transition_matrix(make_kronecker({.scale = 18, .links = 4'000'000}));
    if (name == "web") return make_transition_matrix(make_web({.nodes = 2'000'000}));
    if (name == "banded") return make_banded(1'000'000, 16, 1);
    if (name == "uniform") return make_uniform_matrix(1'000'000, 32, 1);
    if (name == "mesh") return make_mesh({.side = 100, .points = 27});
    if (name == "differences") return differences(1'000);
    return make_paper_matrix(name);
}

void run(int count, char** arguments) {
    cuda_place place(context::cuda());
    cpu_place host(context::cpu());
    std::optional<cusparse_library> peer;
    if (count > 1 && arguments[1][0] != '\0') peer.emplace(arguments[1]);
    for (int i = 2; i < count; ++i) {
        const std::string_view name = arguments[i];
        const bool of_ones = name.ends_with(ones);
        const generator::matrix matrix = named(of_ones ? name.substr(0, name.size() - ones.size()) : name);
        measurement<float>(place, host, peer ? &*peer : nullptr, name, matrix, of_ones).run();
        measurement<double>(place, host, peer ? &*peer : nullptr, name, matrix, of_ones).run();
    }
}

}  // namespace
}  // namespace quern

int main(int count, char** arguments) {
    try {
        quern::run(count, arguments);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "spmv_cuda_bench: %s\n", e.what());
        return 1;
    }
    return 0;
}
