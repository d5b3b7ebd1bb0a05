// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/output_file.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/ascii.hpp"
#include "io/compression/gzip_writer.hpp"
#include "io/compression/zstd_writer.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/atomic_folder.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;
using std::string_view_literals::operator""sv;

constexpr std::array compressions_not_written{".bz2"sv, ".xz"sv,  ".lzma"sv, ".lz"sv,  ".lz4"sv, ".lzo"sv,
                                              ".br"sv,  ".z"sv,   ".zip"sv,  ".7z"sv,  ".rar"sv, ".tar"sv,
                                              ".tgz"sv, ".txz"sv, ".tbz2"sv, ".tzst"sv};
/// Extensions of well-known formats: text under such a name would be read wrongly or not at all.
constexpr std::array forms{
    ".npy"sv,   ".npz"sv,  ".fvecs"sv,       ".ivecs"sv,   ".bvecs"sv,   ".fbin"sv,  ".ibin"sv,    ".u8bin"sv,
    ".i8bin"sv, ".mtx"sv,  ".safetensors"sv, ".graphml"sv, ".parquet"sv, ".arrow"sv, ".feather"sv, ".avro"sv,
    ".orc"sv,   ".hdf5"sv, ".h5"sv,          ".pkl"sv,     ".pickle"sv,  ".pt"sv,    ".pth"sv,     ".onnx"sv,
    ".bin"sv,   ".klm"sv,  ".db"sv,          ".sqlite"sv,  ".xls"sv,     ".xlsx"sv,  ".ods"sv,     ".docx"sv,
    ".odt"sv,   ".pdf"sv,  ".png"sv,         ".jpg"sv,     ".jpeg"sv,    ".gif"sv,   ".svg"sv};
/// Extensions of text formats: refused for output in another specific format.
constexpr std::array text_forms{".tsv"sv,    ".csv"sv,  ".json"sv, ".jsonl"sv,
                                ".ndjson"sv, ".html"sv, ".htm"sv,  ".arpa"sv};

template <typename List>
bool holds(const List& list, std::string_view ending) {
    return std::ranges::find(list, ending) != std::ranges::end(list);
}

/// Whether an ending is one of those in a blank-separated list.
bool is_one_of(std::string_view ending, std::string_view endings) {
    for (std::size_t begin = 0; begin <= endings.size();) {
        const std::size_t end = std::min(endings.find(' ', begin), endings.size());
        if (endings.substr(begin, end - begin) == ending) return true;
        begin = end + 1;
    }
    return false;
}

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
    if (holds(compressions_not_written, form)) {
        throw usage_error(path.string() + ": the extension " + form +
                          " is not supported (expected .gz, .zst or no compression)");
    }
    const bool foreign = holds(forms, form) || (!options.form.empty() && holds(text_forms, form));
    if (foreign && !is_one_of(form, options.form)) {
        const std::string_view written = options.written.empty() ? "text, as in FILE.tsv" : options.written;
        throw usage_error(path.string() + ": the extension " + form + " does not fit this output (expected " +
                          std::string(written) + ", plain or compressed as .gz or .zst)");
    }
    io::check_target(path, options.replace ? io::existing::replace : io::existing::refuse);
}

void check_output_folder(const fs::path& path) {
    io::check_folder_target(path);
}

struct output_file::state {
    state(const fs::path& path, const output_options& options, const context& ctx)
        : file(path, options.replace ? io::existing::replace : io::existing::refuse) {
        const std::string ending = ending_of(path);
        const auto to_file = [this](std::string_view bytes) { file.append(bytes); };
        if (ending == ".gz") gzip.emplace(to_file, ctx);
        if (ending == ".zst") zstd.emplace(to_file, ctx);
    }

    io::atomic_file file;
    std::optional<io::gzip_writer> gzip;
    std::optional<io::zstd_writer> zstd;
};

output_file::output_file(const fs::path& path, const output_options& options, const context& ctx) {
    check_output(path, options);
    state_ = std::make_unique<state>(path, options, ctx);
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
    output_file* const alone[] = {this};
    commit_together(alone);
}
void output_file::commit_together(std::span<output_file* const> files) {
    std::vector<io::atomic_file*> targets;
    for (const output_file* const of : files) {
        if (of->state_->gzip) of->state_->gzip->finish();
        if (of->state_->zstd) of->state_->zstd->finish();
        targets.push_back(&of->state_->file);
    }
    io::atomic_file::commit_together(targets);
}

}  // namespace quern
