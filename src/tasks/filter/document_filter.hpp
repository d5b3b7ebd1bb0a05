// SPDX-License-Identifier: Apache-2.0
// The rules, languages, model and masks of a filter, for one document at a time.
#pragma once

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/text_quality/judge.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "quern/tasks/filter.hpp"
#include "tasks/corpus/unit_parser.hpp"
#include "tasks/filter/filter_words.hpp"
#include "tasks/language_model/text_scorer.hpp"

namespace quern {

/// The result of the parallel step for a document.
struct judged {
    std::int32_t reason = -1;  ///< number among the applied rules; -1: kept
    bool is_changed = false;
    std::string value;
    std::string text;  ///< for filter_decision::text
    std::uint32_t emails = 0, ips = 0;
};

/// The parameters that the results depend on, by name, for the manifest of a folder of outputs. Reads the language
/// model, for its checksum. Throws usage_error, io_error, interrupted.
nlohmann::json parameters_of(const filter_options& options, const context& ctx);

/// The options with the limits that their percentiles mean: `below` just above the one, so that it is kept, and `above`. Scores
/// the documents of the reference, 8 bytes each. Throws usage_error if none has words; as perplexity() does.
filter_options with_percentile_limits(const filter_options& options, const context& ctx);

/// The memory for a document: with most rules a few bytes for each of its text, with those of n-grams tens for each word.
work_on_document work_of(const filter_options& options);

class document_filter {
  public:
    /// A rule that applies, in words for a report.
    struct listed_rule {
        std::string name, limit;
        std::string measure, limit_in_words;
    };
    /// Reads the lists of words and the language model, whose memory is taken from `ctx`, and which is held on the device that
    /// `ctx` requests. `options` must outlive it. Throws usage_error, io_error, device_error, out_of_memory.
    document_filter(const filter_options& options, context& ctx);

    /// The device that scores with the language model; the CPU if there is no model.
    const chosen_device& device() const { return device_; }

    /// In the order in which they apply: judged::reason is a number of these.
    const std::vector<listed_rule>& rules() const { return listed_; }
    /// Refuses what is wrong before the work.
    void begin() { workers_.local(); }
    /// Judges documents, and changes the text of one if a rule or a mask does. Texts that pass the rules are scored together.
    /// Any thread.
    std::vector<judged> apply(std::span<document* const> documents, const context& ctx);
    /// What apply() found in another process, where it changed the text to `text`. Any thread. Throws usage_error for a rule that
    /// does not apply.
    judged accept(document& d, judged found, std::string_view text) const;

  private:
    struct worker {
        explicit worker(const document_filter& owner)
            : words(owner.options_.words, owner.bad_), rules(owner.rules_, words) {}
        /// Releases what a text of so many bytes needed, if that was much.
        void forget(std::size_t bytes);
        filter_words words;
        text_quality::judge rules;
        std::string masked, again;
    };

    void add_rule(std::string name, std::string limit, std::string measure, std::string in_words);
    void list_rules();
    bool judge_by_rules(const document& d, worker& mine, judged& made) const;
    bool judge_by_model(const text_score& score, std::uint64_t bytes, judged& made) const;
    void mask(document& d, std::string_view text, worker& mine, judged& made) const;

    const filter_options& options_;
    rule_choice rules_;
    bad_words bad_;
    std::optional<model_mixture> models_;
    std::optional<document_scorer> scorer_;
    chosen_device device_{false, 0, "cpu", "no model scores texts", {}};
    std::int32_t first_of_model_ = 0;  ///< rule
    std::vector<std::string> languages_;
    std::vector<std::int32_t> number_of_;  ///< by rule: among the applied ones
    std::vector<listed_rule> listed_;
    tbb::enumerable_thread_specific<std::unique_ptr<worker>> workers_;
};

}  // namespace quern
