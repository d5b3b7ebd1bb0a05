// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/weights.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "base/listed_words.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/field_names.hpp"
#include "io/corpus/json_scan.hpp"
#include "io/corpus/kept_fields.hpp"
#include "io/corpus/parse_json.hpp"

namespace quern::io {
namespace {

namespace dom = simdjson::dom;

/// Words with weights, checked one by one.
class weight_list {
  public:
    void add(std::string_view word, double weight) {
        if (!problem_.empty()) return;
        if (word.empty()) {
            problem_ = "a word is empty";
        } else if (word.find('\n') != std::string_view::npos) {
            problem_ = "a word has a line end";
        } else if (!(weight >= 0 && weight < static_cast<double>(weight_limit))) {
            problem_ =
                fmt::format("the weight of '{}' is {} (expected 0 to below {})", word, weight, weight_limit);
        } else if (const auto rounded = static_cast<float>(weight); rounded != 0) {
            words_.push_back(word);
            weights_.push_back(rounded);
        }
    }
    /// The document's text.
    std::string text() {
        std::string text;
        refuse_repeated();
        if (!problem_.empty()) return text;
        for (std::size_t i = 0; i < words_.size(); ++i) append_listed(text, words_[i], weights_[i]);
        return text;
    }
    void fail(std::string problem) { problem_ = std::move(problem); }
    const std::string& problem() const { return problem_; }

  private:
    void refuse_repeated() {
        std::vector<std::string_view> sorted = words_;
        std::ranges::sort(sorted);
        const auto twice = std::ranges::adjacent_find(sorted);
        if (twice != sorted.end() && problem_.empty())
            problem_ = fmt::format("the word '{}' occurs twice", *twice);
    }

    std::vector<std::string_view> words_;
    std::vector<float> weights_;
    std::string problem_;
};

std::optional<std::string> word_or_integer(const dom::element& value) {
    std::string_view text;
    if (value.get_string().get(text) == simdjson::SUCCESS) return std::string(text);
    std::int64_t number = 0;
    if (value.get_int64().get(number) == simdjson::SUCCESS) return std::to_string(number);
    return std::nullopt;
}

/// The members of a line that matter.
struct weighted_record {
    std::optional<dom::element> id, title, vector, indices, values;
    std::string id_name;

    weighted_record(const dom::object& object, const document_fields& fields) {
        std::uint8_t rank = UINT8_MAX;
        for (const auto& [key, value] : object) {
            const named_field named = field_named(key);
            const bool is_id =
                fields.id.empty() ? named.what == field::id && named.rank <= rank : key == fields.id;
            if (is_id) {
                id = value;
                id_name = key;
                rank = named.rank;
            }
            if (fields.title.empty() ? named.what == field::title : key == fields.title) title = value;
            if (key == "vector") vector = value;
            if (key == "indices") indices = value;
            if (key == "values") values = value;
        }
    }
    bool has_vector() const {
        return (vector && vector->is_object()) ||
               (indices && values && indices->is_array() && values->is_array());
    }
};

void take_pairs(const dom::object& vector, weight_list& list) {
    for (const auto& [word, value] : vector) {
        double weight = 0;
        if (value.get_double().get(weight) != simdjson::SUCCESS)
            return list.fail(fmt::format("the weight of '{}' is not a number", word));
        list.add(word, weight);
    }
}

/// `words` holds what the list refers to.
void take_columns(const dom::array& indices, const dom::array& values, std::vector<std::string>& words,
                  weight_list& list) {
    words.reserve(indices.size());
    for (const auto& index : indices) {
        auto word = word_or_integer(index);
        if (!word) return list.fail("an index is neither a string nor an integer");
        words.push_back(std::move(*word));
    }
    std::size_t i = 0;
    for (const auto& value : values) {
        double weight = 0;
        if (value.get_double().get(weight) != simdjson::SUCCESS) return list.fail("a value is not a number");
        if (i < words.size()) list.add(words[i], weight);
        ++i;
    }
    if (i != words.size()) list.fail(fmt::format("{} indices, but {} values", words.size(), i));
}

std::string text_of(const weighted_record& record, std::string& problem) {
    weight_list list;
    std::vector<std::string> words;
    if (record.vector && record.vector->is_object()) {
        take_pairs(record.vector->get_object().value_unsafe(), list);
    } else {
        take_columns(record.indices->get_array().value_unsafe(), record.values->get_array().value_unsafe(),
                     words, list);
    }
    std::string text = list.text();
    problem = list.problem();
    return text;
}

class weights final : public line_form {
  public:
    explicit weights(document_fields fields) : fields_(std::move(fields)) {}

  private:
    void parse_line(std::string_view line, const unit_position& position, std::uint64_t number,
                    parsed_unit& out) const override {
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
        constexpr std::uint64_t tables = 8;  // of the parser, and the list
        if (tables * line.size() > position.budget.bytes)
            return reject_or_put_off(out, position, number,
                                     out_of_memory("a line", tables * line.size(), position.budget.bytes));
        static thread_local dom::parser parser;
        dom::element root;
        dom::object object;
        const auto code = parse_json(parser, line, root);
        if (code != simdjson::SUCCESS)
            return reject(out, position.path, number,
                          std::string("malformed JSON: ") + simdjson::error_message(code));
        if (root.get_object().get(object) != simdjson::SUCCESS)
            return reject(out, position.path, number, "not a JSON object");
        const weighted_record record(object, fields_);
        document made;
        std::string problem = take(record, position, number, made);
        if (problem.empty() && !fields_.kept.empty()) {
            named_members named;
            const std::vector<std::string> used = {"vector", "indices", "values", record.id_name,
                                                   fields_.title.empty() ? "title" : fields_.title};
            auto kept = keep_members(json_value::of_line(line), fields_, used, named);
            named.any_record = true;
            out.named.add(named);
            made.fields = std::move(kept.fields);
            problem = std::move(kept.problem);
        }
        if (!problem.empty()) return reject(out, position.path, number, std::move(problem));
        keep(out, std::move(made), position.path, number);
    }

    static std::string take(const weighted_record& record, const unit_position& position,
                            std::uint64_t number, document& made) {
        if (!record.has_vector())
            return "no weights: expected \"vector\": {word: weight} or \"indices\" and \"values\"";
        made.listed = word_listing::weights;
        made.verbatim = true;
        made.is_numbered = !record.id || record.id->is_null();
        if (made.is_numbered) {
            made.id = position.id_of_line(number);
        } else {
            auto id = word_or_integer(*record.id);
            if (!id) return "the id is neither a string nor an integer";
            if (id->empty()) return "the id is empty";
            made.id = std::move(*id);
        }
        if (record.title && !record.title->is_null()) {
            std::string_view title;
            if (record.title->get_string().get(title) != simdjson::SUCCESS)
                return "the title is not a string";
            made.title = title;
        }
        std::string problem;
        made.text = text_of(record, problem);
        return problem;
    }

    document_fields fields_;
};

}  // namespace

std::shared_ptr<const record_form> weights_form(const document_fields& fields) {
    return std::make_shared<weights>(fields);
}

bool opens_as_weights(std::string_view head, bool whole) {
    head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
    if (!head.starts_with('{')) return false;
    const std::size_t end = head.find('\n');
    if (end == std::string_view::npos && !whole) {  // a long line: what can be seen of it
        const std::size_t at = head.find("\"vector\"");
        if (at == std::string_view::npos) return false;
        head.remove_prefix(at + std::string_view("\"vector\"").size());
        head.remove_prefix(std::min(head.find_first_not_of(" \t:"), head.size()));
        return head.starts_with('{');
    }
    dom::parser parser;
    dom::object object;
    const std::string line(head.substr(0, end));
    const auto code = parser.parse(line).get_object().get(object);
    if (code == simdjson::MEMALLOC) throw std::bad_alloc();
    if (code != simdjson::SUCCESS) return false;
    return weighted_record(object, {}).has_vector();
}

std::string checked_weights(std::string_view listed, std::string& problem) {
    weight_list list;
    each_listed<double>(listed, [&](std::string_view word, double weight) { list.add(word, weight); });
    std::string text = list.text();
    problem = list.problem();
    return text;
}

}  // namespace quern::io
