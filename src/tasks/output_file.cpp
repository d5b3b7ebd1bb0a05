// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/output_file.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/ascii.hpp"
#include "io/compression/gzip_writer.hpp"
#include "io/compression/zstd_writer.hpp"
#include "io/files/atomic_file.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;
using std::string_view_literals::operator""sv;

constexpr std::array compressions_not_written{".bz2"sv, ".xz"sv,  ".lzma"sv, ".lz"sv,  ".lz4"sv, ".lzo"sv,
                                              ".br"sv,  ".z"sv,   ".zip"sv,  ".7z"sv,  ".rar"sv, ".tar"sv,
                                              ".tgz"sv, ".txz"sv, ".tbz2"sv, ".tzst"sv};
/// Forms that users know by their names, and would read wrongly or not at all where they got text.
constexpr std::array forms{".npy"sv,     ".npz"sv,   ".fvecs"sv,   ".ivecs"sv, ".bvecs"sv,       ".fbin"sv,
                           ".ibin"sv,    ".u8bin"sv, ".i8bin"sv,   ".mtx"sv,   ".safetensors"sv, ".graphml"sv,
                           ".parquet"sv, ".arrow"sv, ".feather"sv, ".hdf5"sv,  ".xlsx"sv};

std::string ending_of(const fs::path& name) {
    return lower(name.extension().string());
}

}  // namespace

bool is_compressed_name(const fs::path& path) {
    const std::string ending = ending_of(path);
    return ending == ".gz" || ending == ".zst";
}

std::string form_of_name(const fs::path& path) {
    return ending_of(is_compressed_name(path) ? path.stem() : path);
}

void check_output(const fs::path& path, const output_options& options) {
    const std::string form = form_of_name(path);
    if (std::ranges::find(compressions_not_written, form) != compressions_not_written.end()) {
        throw usage_error(path.string() + ": a file is written plain, or compressed as .gz or .zst; " + form +
                          " is neither");
    }
    if (form != options.form && std::ranges::find(forms, form) != forms.end())
        throw usage_error(path.string() + ": what is written here is no " + form + "; give another name");
    io::check_target(path, options.replace ? io::existing::replace : io::existing::refuse);
}

struct output_file::state {
    state(const fs::path& path, const output_options& options, const context& run)
        : file(path, options.replace ? io::existing::replace : io::existing::refuse) {
        const std::string ending = ending_of(path);
        const auto to_file = [this](std::string_view bytes) { file.append(bytes); };
        if (ending == ".gz") gzip.emplace(to_file, run);
        if (ending == ".zst") zstd.emplace(to_file, run);
    }

    io::atomic_file file;
    std::optional<io::gzip_writer> gzip;
    std::optional<io::zstd_writer> zstd;
};

output_file::output_file(const fs::path& path, const output_options& options, const context& run) {
    check_output(path, options);
    state_ = std::make_unique<state>(path, options, run);
}
output_file::~output_file() = default;
output_file::output_file(output_file&&) noexcept = default;
output_file& output_file::operator=(output_file&&) noexcept = default;

void output_file::write(std::string_view bytes) {
    if (state_->gzip) {
        state_->gzip->append(bytes);
    } else if (state_->zstd) {
        state_->zstd->append(bytes);
    } else {
        state_->file.append(bytes);
    }
}
void output_file::flush() {
    state_->file.writer().flush();
}
void output_file::commit() {
    if (state_->gzip) state_->gzip->finish();
    if (state_->zstd) state_->zstd->finish();
    state_->file.commit();
}

}  // namespace quern
