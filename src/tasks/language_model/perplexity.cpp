// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/perplexity.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/canonical_math.hpp"
#include "base/release.hpp"
#include "device/cpu/pipeline.hpp"
#include "device/files/scratch_folder.hpp"
#include "quern/base/error.hpp"
#include "quern/base/resident_memory.hpp"
#include "quern/tasks/perplexity_option_table.hpp"
#include "tasks/corpus/admitted_corpus.hpp"
#include "tasks/corpus/own_output.hpp"
#include "tasks/language_model/device_scorer.hpp"
#include "tasks/language_model/long_text.hpp"
#include "tasks/language_model/model_weights.hpp"
#include "tasks/language_model/text_scorer.hpp"
#include "tasks/shared/remaining_memory.hpp"
#include "tasks/shared/stage_clock.hpp"

namespace quern {
namespace {

constexpr std::string_view operation = "perplexity";

class perplexity_run {
  public:
    perplexity_run(const perplexity_options& options, const context& ctx,
                   const std::function<void(const perplexity_row&)>& sink)
        : options_(options),
          ctx_(with_requested_device(ctx, operation)),
          sink_(sink),
          models_(read_mixture(options, ctx_)),
          reading_(with_remaining_memory(ctx_, models_.memory_bytes(), "the language model")),
          scorer_(models_, options.text, options.tokenized, options.sentences),
          long_bytes_(document_scorer::long_text::long_bytes(reading_)) {
        if (options.tune) {
            scratch_.emplace(reading_);
            probabilities_.emplace(*scratch_, "probabilities", reading_.memory_limit() / 4);
        }
        const chosen_device chosen =
            hold_on_device(models_, bytes_for_choice(options.inputs, reading_), reading_, operation);
        result_.statistics.device = chosen.name;
        result_.statistics.device_reason = chosen.reason;
        clock_.end_stage("model", 0);
    }

    perplexity_result run() {
        struct unit_in_work : document_unit {
            std::vector<std::vector<text_score>>
                scores;  ///< of each document that is not long: its sentences, or the whole
            std::vector<std::uint64_t> bytes;   ///< of each document
            std::vector<double> probabilities;  ///< for weights to be tuned
        };
        admitted_corpus corpus(options_, {}, options_.text, reading_);
        pipeline<unit_in_work> line(units_at_once(reading_));
        corpus.begin(line);
        line.in_parallel([&](unit_in_work& unit) {
            document_scorer::series series(scorer_, probability_sink(unit.probabilities));
            for (document& d : unit.parsed.documents) {
                reading_.check_stop();
                unit.bytes.push_back(d.text.size());
                if (d.text.size() > long_bytes_) continue;
                series.add(d);
                release(d.text);
            }
            unit.scores = series.finish();
        });
        line.in_order([&](unit_in_work& unit) {
            std::span<const double> probabilities = unit.probabilities;
            auto scores = unit.scores.begin();
            for (std::size_t i = 0; i < unit.bytes.size(); ++i) {
                document& d = unit.parsed.documents[i];
                if (unit.bytes[i] > long_bytes_) {
                    score_long(d, corpus.record());
                    release(d.text);
                    continue;
                }
                begin_document(unit.bytes[i]);
                for (const text_score& of : *scores) {
                    write(d.id, of, unit.bytes[i]);
                    if (!probabilities_) continue;
                    const std::size_t size = of.scored * models_.models.size();
                    keep(probabilities.first(size));
                    probabilities = probabilities.subspan(size);
                }
                ++scores;
            }
        });
        corpus.run(line);
        if (probabilities_) {
            probabilities_->append(std::exchange(kept_, {}));
            tune();
        }
        return finished(corpus);
    }

  private:
    std::function<void(std::span<const double>)> probability_sink(std::vector<double>& to) const {
        if (!options_.tune) return {};
        return
            [&to](std::span<const double> of_word) { to.insert(to.end(), of_word.begin(), of_word.end()); };
    }

    void tune() {
        reading_.report({"tune", 0, 0, "words"});
        models_.weights = tuned_weights(*probabilities_, models_.weights.size(), reading_);
        // The total of all texts, with these weights.
        constexpr double ln10 = 0x1.26bb1bbb55516p+1, least = -99;
        std::size_t m = 0;
        double word = 0, sum = 0;
        probabilities_->for_each([&](std::span<const double> part) {
            for (const double p : part) {
                word += models_.weights[m] * p;
                if (++m != models_.weights.size()) continue;
                sum += word > 0 ? canonical_log(word) / ln10 : least;
                m = 0;
                word = 0;
            }
        });
        all_.logarithm = sum;
        clock_.end_stage("tune", 0);
    }

    void score_long(const document& d, reading_record& record) {
        document_scorer::long_text scorer(scorer_, reading_);
        constexpr std::uint64_t a_byte = 16;  // of a piece, for a word on every second one
        const std::uint64_t needed = a_byte * scorer.largest_piece(d),
                            room = reading_memory_of(reading_).document;
        if (needed > room) {
            record.reject(d, out_of_memory("a text that cannot be cut between words", needed, room).what());
            return record.refuse_early(options_);
        }
        begin_document(d.text.size());
        std::function<void(std::span<const double>)> on_word;
        if (probabilities_) on_word = [this](std::span<const double> of_word) { keep(of_word); };
        scorer.score(
            d, [&](const text_score& of) { write(d.id, of, d.text.size()); }, on_word);
    }

    void keep(std::span<const double> probabilities) {
        kept_.insert(kept_.end(), probabilities.begin(), probabilities.end());
        constexpr std::size_t at_once = 1 << 16;
        if (kept_.size() >= at_once) probabilities_->append(std::exchange(kept_, {}));
    }

    void begin_document(std::uint64_t bytes) {
        ++result_.documents;
        result_.text_bytes += bytes;
        row_number_ = 0;
    }

    void write(std::string_view id, const text_score& of, std::uint64_t bytes) {
        all_.add(of);
        ++row_number_;
        if (options_.tune) return;
        perplexity_row row = row_of(of, options_.sentences ? 0 : bytes);
        row.id = id;
        row.number = options_.sentences ? row_number_ : 0;
        sink_(row);
    }

    perplexity_result finished(admitted_corpus& corpus) {
        reading_record& record = corpus.record();
        result_.counts = std::move(record.counts);
        result_.issues = std::move(record.issues);
        result_.sentences = all_.sentences;
        result_.words = all_.words;
        result_.unknown = all_.unknown;
        result_.has_marks = models_.marks;
        result_.weights = models_.weights;
        result_.logarithm = all_.logarithm;
        result_.perplexity = all_.perplexity();
        result_.bits_per_byte = all_.bits_per_byte(result_.text_bytes);
        clock_.end_stage("score", corpus.consumed_bytes());
        run_statistics& statistics = result_.statistics;
        statistics.threads = ctx_.thread_count();
        statistics.peak_memory_bytes = peak_memory_bytes();
        statistics.counts = {{"documents", result_.documents},   {"rejected", result_.counts.rejected},
                             {"sentences", result_.sentences},   {"words", result_.words},
                             {"unknown", result_.unknown},       {"scored", all_.scored},
                             {"text_bytes", result_.text_bytes}, {"model_order", models_.models[0].order()}};
        for (unsigned n = 1; n <= models_.models[0].order(); ++n)
            statistics.counts["model_ngrams_" + std::to_string(n)] = models_.models[0].size(n);
        statistics.measures = {{"log10", result_.logarithm},
                               {"perplexity", result_.perplexity},
                               {"bits_per_byte", result_.bits_per_byte}};
        return std::move(result_);
    }

    const perplexity_options& options_;
    const context ctx_;
    const std::function<void(const perplexity_row&)>& sink_;
    perplexity_result result_;
    stage_clock clock_{result_.statistics};
    model_mixture models_;
    context reading_;
    document_scorer scorer_;
    const std::size_t long_bytes_;
    std::optional<scratch_folder> scratch_;
    std::optional<number_stream<double>> probabilities_;
    std::vector<double> kept_;  ///< probabilities that are not there yet
    text_score all_;
    std::uint64_t row_number_ = 0;  ///< of the document's last one
};

}  // namespace

perplexity_result perplexity(const perplexity_options& options, const context& ctx,
                             const std::function<void(const perplexity_row&)>& sink) {
    require_documents(options);
    if (options.model.empty()) throw usage_error("no language model given");
    for (const auto& input : options.inputs) refuse_own_output(input);
    check_ranges(options);
    if (options.interpolate.empty() && (options.tune || !options.weights.empty()))
        throw usage_error("weights are those of several models; give another one to interpolate");
    return perplexity_run(options, ctx, sink).run();
}

}  // namespace quern
