// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes after a first one that selects the file name. Accepted input satisfies its invariants and is the same
// for any number of threads. If it is dense and of floats or bytes, it survives writing to a file and reading back.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "io/vectors/vector_file.hpp"
#include "quern/base/error.hpp"

namespace {

using namespace quern;
namespace fs = std::filesystem;

void require(bool holds) {
    if (!holds) std::abort();
}

constexpr std::string_view endings[] = {".npy",   ".fvecs", ".bvecs",       ".ivecs", ".fbin", ".f16bin",
                                        ".u8bin", ".i8bin", ".ibin",        ".idx",   ".txt",  ".csv",
                                        ".bin",   ".mtx",   ".safetensors", ".csr",   "",      ".jsonl"};

context context_of(unsigned threads) {
    context ctx = context::cpu(threads);
    ctx.memory_bytes = std::uint64_t{1} << 24;  // wrong sizes would request more
    return ctx;
}

/// A folder of this process; removed at its end.
struct scratch {
    fs::path folder = fs::temp_directory_path() / ("quern-fuzz-vectors-" + std::to_string(::getpid()));
    scratch() { fs::create_directories(folder); }
    ~scratch() {
        std::error_code ignored;
        fs::remove_all(folder, ignored);
    }
};

fs::path written(std::string_view name, std::string_view bytes) {
    static const scratch place;
    fs::path path = place.folder / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
}

template <class Read>
auto read_or_nothing(const Read& read) -> std::optional<decltype(read())> {
    try {
        return read();
    } catch (const invalid_input& refused) {
        require(!refused.reason().empty());
    } catch (const usage_error&) {
    } catch (const out_of_memory&) {
    }
    return std::nullopt;
}

/// The complete content of the views.
std::string shown(const io::vector_file& file) {
    std::string all;
    const auto add = [&](const void* data, std::size_t bytes) {
        all.append(static_cast<const char*>(data), bytes);
    };
    require(file.dimensions() >= 1);
    require(file.names().empty() || file.names().size() == file.rows());
    for (const std::string_view name : file.names()) add(name.data(), name.size());
    if (file.sparse()) {
        const sparse_vectors_view& view = file.sparse_rows();
        require(view.offsets.size() == view.rows + 1 && view.offsets[0] == 0);
        require(view.offsets[view.rows] == view.columns.size() && view.columns.size() == view.values.size());
        for (std::uint64_t i = 0; i < view.rows; ++i) {
            require(view.offsets[i] <= view.offsets[i + 1]);
            for (std::uint64_t e = view.offsets[i]; e < view.offsets[i + 1]; ++e) {
                require(view.columns[e] < view.dimensions);
                require(e == view.offsets[i] || view.columns[e - 1] < view.columns[e]);
            }
        }
        add(view.columns.data(), view.columns.size_bytes());
        add(view.values.data(), view.values.size_bytes());
        return all;
    }
    const vectors_view& view = file.dense();
    require(view.stride >= view.row_bytes());
    require(view.values.size() >= (view.rows == 0 ? 0 : (view.rows - 1) * view.stride + view.row_bytes()));
    const std::size_t aligned = view.type == vector_type::f32 ? 4 : bytes_of_row(view.type, 2) / 2;
    require(reinterpret_cast<std::uintptr_t>(view.values.data()) % std::max<std::size_t>(aligned, 1) == 0);
    for (std::uint64_t i = 0; i < view.rows; ++i) add(view.values.data() + i * view.stride, view.row_bytes());
    return all;
}

void write_and_read(const io::vector_file& file, std::string rows) {
    const vectors_view& view = file.dense();
    for (const std::string_view name : file.names()) rows.erase(0, name.size());
    const std::string_view ending = view.type == vector_type::f32 ? ".fbin" : ".u8bin";
    const auto count = static_cast<std::uint32_t>(view.rows);
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &count, 4);
    std::memcpy(bytes.data() + 4, &view.dimensions, 4);
    const auto again =
        io::open_vectors(written("again" + std::string(ending), bytes + rows), {}, context_of(1));
    require(again.rows() == view.rows && again.dimensions() == view.dimensions && shown(again) == rows);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view ending = endings[data[0] % std::size(endings)];
    const fs::path path =
        written("input" + std::string(ending), {reinterpret_cast<const char*>(data) + 1, size - 1});
    std::optional<std::string> rows;
    for (const unsigned threads : {1u, 3u}) {
        for (const bool as_bits : {false, true}) {
            const auto file = read_or_nothing(
                [&] { return io::open_vectors(path, {.as_bits = as_bits}, context_of(threads)); });
            if (!file) {
                require(as_bits || threads == 1 || !rows);
                continue;
            }
            const std::string now = shown(*file);
            if (as_bits) continue;
            require(threads == 1 || (rows && *rows == now));
            rows = now;
            const bool plain = !file->sparse() && (file->dense().type == vector_type::f32 ||
                                                   file->dense().type == vector_type::u8);
            if (plain) write_and_read(*file, now);
        }
    }
    constexpr std::uint64_t known = 1000;
    const auto truth = read_or_nothing([&] { return io::read_truth(path, known, context_of(1)); });
    if (truth) {
        require(truth->ids.size() == truth->queries * truth->k);
        require(truth->distances.empty() || truth->distances.size() == truth->ids.size());
        for (const std::uint32_t id : truth->ids) require(id < known);
    }
    const auto allowed = read_or_nothing([&] { return io::read_allowed(path, known, context_of(1)); });
    if (allowed) {
        require(allowed->size() == (known + 63) / 64);
        require(allowed->back() >> known % 64 == 0);
    }
    return 0;
}
