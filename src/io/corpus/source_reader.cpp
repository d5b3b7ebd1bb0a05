// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/source_reader.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "io/corpus/encoding.hpp"
#include "io/corpus/json_repairs.hpp"
#include "io/corpus/kept_fields.hpp"
#include "io/corpus/record_reader.hpp"
#include "io/corpus/weights.hpp"

namespace quern::io {
namespace {

class source_unit final : public corpus_unit {
  public:
    source_unit(parsed_unit copied, std::uint64_t bytes, const document_fields& fields)
        : copied_(std::move(copied)), bytes_(bytes), fields_(fields) {}

    bool parse_within(const reading_budget&, parsed_unit& out) override {
        std::erase_if(copied_.documents, [this](document& d) { return !keep_fields(d); });
        for (document& d : copied_.documents) {
            std::string repaired = repair_utf8(d.text);
            if (std::string of_title = repair_utf8(d.title); repaired.empty()) repaired = std::move(of_title);
            for (std::string& link : d.links) repair_utf8(link);
            if (!repaired.empty()) repair(copied_, d.path, d.line, std::move(repaired));
        }
        copied_.counts.documents += copied_.documents.size();
        out = std::move(copied_);
        return true;
    }
    std::uint64_t raw_bytes() const override { return bytes_; }

  private:
    /// False if they are malformed, which is noted.
    bool keep_fields(document& d) {
        if (fields_.kept.empty()) d.fields.clear();
        if (d.fields.empty()) return true;
        const json_value given = json_value::of_line(d.fields);
        kept_members kept;
        if (!is_json(d.fields) || !given.is_object()) {
            kept.problem = "the fields are not a JSON object";
        } else {
            kept = keep_members(given, fields_, {}, copied_.named);
        }
        d.fields = std::move(kept.fields);
        if (kept.problem.empty()) return true;
        reject(copied_, d.path, d.line, std::move(kept.problem));
        return false;
    }

    parsed_unit copied_;
    std::uint64_t bytes_;
    const document_fields& fields_;  ///< of the reader
};

class source_reader final : public corpus_reader {
  public:
    source_reader(document_source& source, const corpus_options& options)
        : source_(source),
          unit_bytes_(std::max<std::uint64_t>(1, options.unit_bytes)),
          fields_(options.fields) {
        position_.path = source.name();
        position_.name = {.scope = 1, .name_at = 0};
        position_.limit = limit_of(options, options.document_memory);
    }

    std::unique_ptr<corpus_unit> next() override {
        parsed_unit unit;
        const std::uint64_t before = consumed_;
        while (!ended_ && consumed_ - before < unit_bytes_) {
            source_document given;
            ended_ = !source_.next(given);
            if (!ended_) take(given, unit);
        }
        if (unit.documents.empty() && unit.issues.empty()) return nullptr;
        return std::make_unique<source_unit>(std::move(unit), consumed_ - before, fields_);
    }
    std::uint64_t consumed_bytes() const override { return consumed_; }
    std::uint64_t total_bytes() const override { return 0; }

  private:
    void take(const source_document& given, parsed_unit& unit) {
        ++number_;
        std::uint64_t bytes =
            given.id.size() + given.title.size() + given.text.size() + given.fields.size() + sizeof(document);
        for (const std::string& link : given.links) bytes += link.size() + sizeof(std::string);
        consumed_ += bytes;
        if (bytes > position_.limit.bytes + sizeof(document))
            return reject(unit, position_.path, number_, position_.limit.reason(bytes));
        if (!is_utf8(given.id)) return reject(unit, position_.path, number_, "the id is not UTF-8");
        document made;
        made.is_numbered = given.id.empty();
        made.id = made.is_numbered ? position_.id_of_line(number_) : std::string(given.id);
        made.title = given.title;
        made.listed = source_.listed();
        made.verbatim = made.listed == word_listing::weights;
        if (made.verbatim) {
            std::string problem;
            made.text = checked_weights(given.text, problem);
            if (!problem.empty()) return reject(unit, position_.path, number_, std::move(problem));
        } else {
            made.text = given.text;
        }
        made.fields = given.fields;
        made.links.assign(given.links.begin(), given.links.end());
        keep(unit, std::move(made), position_.path, number_);
        position_.name.give(unit.documents, unit.documents.size() - 1);
    }

    document_source& source_;
    std::uint64_t unit_bytes_;
    document_fields fields_;
    unit_position position_;
    std::uint64_t number_ = 0, consumed_ = 0;
    bool ended_ = false;
};

}  // namespace

std::unique_ptr<corpus_reader> read_documents(document_source& source, const corpus_options& options) {
    return std::make_unique<source_reader>(source, options);
}

}  // namespace quern::io
