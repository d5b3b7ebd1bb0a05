// SPDX-License-Identifier: Apache-2.0
// The work of ngram_text_counter, on one place or several.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "device/place_set.hpp"
#include "ops/ngram_likelihood/ngram_methods.hpp"

namespace quern::ngram_detail {

/// text_counting of one of several places.
class text_part {
  public:
    text_part() = default;
    text_part(const text_part&) = delete;  // points to its place
    text_part& operator=(const text_part&) = delete;
    virtual ~text_part() = default;
    virtual void check(const ngram_text& text, const ngram_options& options) = 0;
    virtual ngram_record count(const ngram_text& text, const ngram_options& options,
                               const row_sink& sink) = 0;
    virtual bool count_part(const ngram_text& text, const ngram_options& options, const place_share& share,
                            ngram_record& record) = 0;
    virtual std::uint64_t dictionary_bytes() const = 0;
};
/// The dictionary stays on every place. Texts of few words (words_for_several()), of `bytes_a_word` bytes each, are counted by the
/// first one alone.
class text_counters {
  public:
    text_counters(const context& ctx, const chosen_device& chosen, std::span<const std::string_view> words,
                  std::uint64_t bytes_a_word);
    /// As ngram_text_counter::count(); the options are checked.
    ngram_record count(const ngram_text& text, const ngram_options& options, const row_sink& sink);
    std::uint64_t dictionary_bytes() const { return parts_[0]->dictionary_bytes(); }

  private:
    context ctx_;
    chosen_device chosen_;
    std::uint64_t bytes_a_word_;
    place_set places_;
    std::vector<std::unique_ptr<text_part>> parts_;
};

}  // namespace quern::ngram_detail
