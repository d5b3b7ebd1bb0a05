// SPDX-License-Identifier: Apache-2.0
#include "ops/ngram_likelihood/text_counters.hpp"

#include <utility>

#include "ops/ngram_likelihood/count_on_all.hpp"
#include "ops/ngram_likelihood/text_counting.hpp"

namespace quern::ngram_detail {
namespace {

template <class Place>
class text_part_on : public text_part {
  public:
    text_part_on(Place& place, cpu_place& host, std::span<const std::string_view> words)
        : counting_(place, host, words) {}
    void check(const ngram_text& text, const ngram_options& options) override {
        counting_.check(text, options);
    }
    ngram_record count(const ngram_text& text, const ngram_options& options, const row_sink& sink) override {
        return counting_.count(text, options, sink);
    }
    bool count_part(const ngram_text& text, const ngram_options& options, const place_share& share,
                    ngram_record& record) override {
        return counting_.count_part(text, options, share, record);
    }
    std::uint64_t dictionary_bytes() const override { return counting_.dictionary_bytes(); }

  private:
    text_counting<Place> counting_;
};

}  // namespace

text_counters::text_counters(const context& ctx, const chosen_device& chosen,
                             std::span<const std::string_view> words, std::uint64_t bytes_a_word)
    : ctx_(ctx), chosen_(chosen), bytes_a_word_(bytes_a_word), places_(ctx, chosen), parts_(places_.size()) {
    places_.on_each([&]<class Place>(Place& place, cpu_place& host, std::size_t index) {
        parts_[index] = std::make_unique<text_part_on<Place>>(place, host, words);
    });
}

ngram_record text_counters::count(const ngram_text& text, const ngram_options& options,
                                  const row_sink& sink) {
    parts_[0]->check(text, options);
    if (parts_.size() > 1 && options.method == ngram_method::automatic &&
        text.text.size() >= words_for_several(options) * bytes_a_word_) {
        auto record = count_on_all(places_, options, sink, [&](auto&, const place_share& share, auto& part) {
            return parts_[share.index]->count_part(text, options, share, part);
        });
        if (record) return std::move(*record);
        log_that_one_counts(chosen_, ctx_);
    }
    ngram_record record = parts_[0]->count(text, options, sink);
    record.place = name_and_reason(first_devices(chosen_, 1));
    return record;
}

}  // namespace quern::ngram_detail
