// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/resident/resident_texts.hpp"

#include "device/place.hpp"

namespace quern::near_duplicates_detail {

std::unique_ptr<resident_texts> open_resident_texts(const duplicate_options& options, const context& ctx) {
    const chosen_device chosen = choose_device(ctx, "dedup of a stream");
    if constexpr (has_cuda) {
        if (chosen.cuda) return open_resident_texts_on_device(options, ctx, chosen.ordinal);
    }
    return nullptr;
}

}  // namespace quern::near_duplicates_detail
