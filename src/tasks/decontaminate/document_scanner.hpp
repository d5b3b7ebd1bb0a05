// SPDX-License-Identifier: Apache-2.0
// Which evaluation items a training document contains.
#pragma once

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "ops/contamination/document_scan.hpp"
#include "ops/contamination/item_index.hpp"
#include "quern/base/document.hpp"
#include "quern/base/text_options.hpp"
#include "quern/ops/contamination.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/corpus/document_words.hpp"
#include "tasks/decontaminate/evaluation_set.hpp"

namespace quern {

/// Thread-safe.
class document_scanner {
  public:
    /// All must outlive it.
    document_scanner(const evaluation_set& items, const contamination_detail::item_index& index,
                     const text_options& text);

    /// Valid until this thread's next call.
    std::span<const contamination> scan(const document& d);

  private:
    struct worker {
        explicit worker(const contamination_detail::item_index& index) : scan(index) {}
        contamination_detail::document_scan scan;
        std::vector<std::uint64_t> hashes;
        text::token_list lines;
    };

    void add(worker& mine, const text::token_list& words, std::uint32_t begin, bool is_last) const;

    const evaluation_set& items_;
    document_words words_;
    tbb::enumerable_thread_specific<worker> workers_;
};

}  // namespace quern
