// SPDX-License-Identifier: Apache-2.0
#include "tasks/language_model/device_scorer.hpp"

#include <fmt/format.h>

#include <memory>
#include <system_error>
#include <utility>

#include "device/place.hpp"
#include "quern/base/error.hpp"
#include "tasks/language_model/text_scorer.hpp"

namespace quern {
namespace {

/// Whether a GPU saves time. A core walks about 50 ns through a model for each byte of text; a GPU takes a third of a second to
/// start, and a model is copied from mapped pages at some gigabytes a second.
bool is_worth_starting(std::uint64_t corpus_bytes, std::uint64_t model_bytes, std::size_t models,
                       unsigned threads) {
    constexpr double walk_of_byte = 50e-9, start = 0.35, copied_a_second = 4e9;
    const double saved =
        walk_of_byte * static_cast<double>(corpus_bytes) * static_cast<double>(models) / threads;
    return saved > 2 * (start + static_cast<double>(model_bytes) / copied_a_second);
}

}  // namespace

std::uint64_t bytes_of_inputs(const std::vector<std::filesystem::path>& inputs) {
    namespace fs = std::filesystem;
    std::uint64_t bytes = 0;
    std::error_code unseen;
    const auto add = [&](const fs::path& file) {
        const std::uintmax_t size = fs::is_regular_file(file, unseen) ? fs::file_size(file, unseen) : 0;
        if (!unseen) bytes += size;
    };
    for (const fs::path& input : inputs) {
        if (!fs::is_directory(input, unseen)) {
            add(input);
            continue;
        }
        constexpr auto options = fs::directory_options::skip_permission_denied;
        for (fs::recursive_directory_iterator at(input, options, unseen), end; !unseen && at != end;
             at.increment(unseen))
            add(at->path());
    }
    return bytes;
}

std::uint64_t bytes_for_choice(const std::vector<std::filesystem::path>& inputs, const context& ctx) {
    return has_cuda && ctx.device.where == device_choice::kind::automatic ? bytes_of_inputs(inputs) : 0;
}

context with_requested_device(const context& ctx, std::string_view operation) {
    context settled = ctx;
    if (ctx.device.where == device_choice::kind::cuda)
        settled.device = choice_of(choose_device(ctx, operation));
    return settled;
}

chosen_device hold_on_device(model_mixture& models, std::uint64_t corpus_bytes, const context& ctx,
                             std::string_view operation) {
    const bool is_automatic = ctx.device.where == device_choice::kind::automatic;
    std::vector<any_ngrams> ngrams;
    std::uint64_t model_bytes = 0;
    for (const word_model& model : models.models) {
        ngrams.push_back(model.file ? any_ngrams(&model.file->ngrams) : any_ngrams(&model.ngrams));
        model_bytes += device_bytes(ngrams.back());
    }
    const auto stays = [&](std::string reason) {
        ctx.log(log_level::info, "device cpu: " + reason);
        return chosen_device{false, 0, "cpu", std::move(reason), {}};
    };
    // A program without CUDA has nothing to choose, and logs nothing.
    if (has_cuda && is_automatic &&
        !is_worth_starting(corpus_bytes, model_bytes, ngrams.size(), ctx.thread_count()))
        return stays(
            fmt::format("scoring {} MB takes less time than starting a GPU", corpus_bytes / 1'000'000));
    chosen_device chosen = choose_device(ctx, operation);
    if (!chosen.cuda) return chosen;
    try {
        models.device = std::make_shared<device_scorer>(ngrams, ctx, chosen);
    } catch (const out_of_memory& e) {
        if (!is_automatic) throw;
        return stays(e.what());
    }
    return chosen;
}

}  // namespace quern
