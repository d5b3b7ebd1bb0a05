// SPDX-License-Identifier: Apache-2.0
// Compact language models of any bytes are refused, or score texts without reads past their end: those that begin like a file
// as a whole file, with the checksums of the bytes, or nothing but these would be tested; others as n-grams.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "io/store/section.hpp"
#include "ops/language_model/compact_model.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/language_model.hpp"

namespace {

using namespace quern;
namespace fs = std::filesystem;

void require(bool holds) {
    if (!holds) std::abort();
}

/// A folder of this process; removed at its end.
struct scratch {
    fs::path folder = fs::temp_directory_path() / ("quern-fuzz-model-" + std::to_string(::getpid()));
    scratch() { fs::create_directories(folder); }
    ~scratch() {
        std::error_code ignored;
        fs::remove_all(folder, ignored);
    }
};

fs::path written(std::string_view payload) {
    static const scratch place;
    fs::path path = place.folder / "model";
    fs::remove(path);
    io::section_writer section(path);
    section.append(payload);
    section.finish();
    return path;
}

void use_file(std::string_view bytes) {
    perplexity_options options;
    options.model = written(bytes);
    options.tokenized = true;
    const context ctx = context::cpu(1);
    try {
        const language_model_info info = read_compact_model_info(options.model);
        const language_model model = language_model::open(options, ctx);
        require(model.order() == info.ngrams.size() && model.ngrams(1) == info.words);
        for (const std::string_view text : {std::string_view("the cat sat\na dog\n"), bytes.substr(0, 400)})
            for (const perplexity_row& row : model.score(text, true)) require(row.unknown <= row.words);
    } catch (const damaged_store&) {
    } catch (const usage_error&) {  // it has no marks
    }
}

void use_ngrams(std::string_view bytes) {
    // Of exact size on the heap, so that the address sanitizer sees a read past the end.
    const std::vector<char> copy(bytes.begin(), bytes.end());
    try {
        const compact_model model({copy.data(), copy.size()});
        const std::uint64_t words = model.order() == 0 ? 0 : model.size(1);
        if (words == 0) return;
        compact_model::history before{};
        for (std::uint64_t i = 0; i < 256; ++i)
            static_cast<void>(model.score(static_cast<std::uint32_t>(i * i % words), before));
    } catch (const invalid_value&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    if (bytes.starts_with("QUERNLM\n"))
        use_file(bytes);
    else
        use_ngrams(bytes);
    return 0;
}
