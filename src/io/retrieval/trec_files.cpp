// SPDX-License-Identifier: Apache-2.0
// One line reader for the parsers of topics and judgements; runs are read by ranked_run. TREC topics are SGML with
// optional closing tags, which no XML parser accepts; only four tags matter, so that a scan by lines is a sufficient
// parser.
#include "io/retrieval/trec_files.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_set>

#include "base/ascii.hpp"
#include "io/corpus/field_names.hpp"
#include "io/corpus/json_repairs.hpp"
#include "io/retrieval/indexed_run.hpp"
#include "io/retrieval/ranked_run.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

using namespace std::string_view_literals;

/// Non-empty lines, with their numbers.
class line_reader {
  public:
    explicit line_reader(byte_source& source) : source_(source) {}

    /// The next line, without its end; valid until the next call.
    std::optional<std::string_view> next() {
        for (;;) {
            const auto line = next_of_any_kind();
            if (!line) return std::nullopt;
            if (!trimmed(*line).empty()) return line;
        }
    }
    [[noreturn]] void refuse(std::string_view reason) const {
        throw invalid_input(source_.name(), number_, reason);
    }

  private:
    std::optional<std::string_view> next_of_any_kind() {
        std::size_t searched = begin_, end;
        while ((end = buffer_.find('\n', searched)) == std::string::npos && !at_end_) {
            searched = buffer_.size() - begin_;
            buffer_.erase(0, begin_);
            begin_ = 0;
            if (buffer_.size() > longest_trec_line) break;
            fill();
        }
        if (begin_ == buffer_.size()) return std::nullopt;
        ++number_;
        const std::size_t stop = std::min(end, buffer_.size());
        std::string_view line(buffer_.data() + begin_, stop - begin_);
        if (line.size() > longest_trec_line) refuse("a line is longer than 1 MiB");
        begin_ = std::min(stop + 1, buffer_.size());
        if (number_ == 1 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
        return line;
    }
    void fill() {
        constexpr std::size_t step = std::size_t{1} << 18;
        const std::size_t old = buffer_.size();
        buffer_.resize(old + step);
        const std::size_t got = source_.read({buffer_.data() + old, step});
        buffer_.resize(old + got);
        at_end_ = got == 0;
    }

    byte_source& source_;
    std::string buffer_;
    std::size_t begin_ = 0;
    std::uint64_t number_ = 0;
    bool at_end_ = false;
};

/// Removes the next field from `line`; empty if there is none.
std::string_view take_field(std::string_view& line) {
    line = trimmed(line);
    const auto end = std::find_if(line.begin(), line.end(), is_space);
    const std::string_view field(line.begin(), end);
    line.remove_prefix(field.size());
    return field;
}

template <typename Number>
std::from_chars_result parse_number(std::string_view text, Number& value) {
    if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
    auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    if (result.ec == std::errc{} && result.ptr != text.data() + text.size())
        result.ec = std::errc::invalid_argument;
    return result;
}

/// Topics collected so far; refuses duplicate ids.
class topic_list {
  public:
    explicit topic_list(const line_reader& lines) : lines_(lines) {}
    void add(std::string_view id, std::string query, std::string weights = {}) {
        if (id.empty()) lines_.refuse("a topic without an id");
        if (std::any_of(id.begin(), id.end(), is_space))
            lines_.refuse("white space in the topic's id " + quoted_field(id));
        if (!seen_.emplace(id).second) lines_.refuse("duplicate topic " + quoted_field(id));
        topics_.push_back({std::string(id), std::move(query), std::move(weights)});
    }
    std::vector<topic> take() { return std::move(topics_); }

  private:
    const line_reader& lines_;
    std::set<std::string, std::less<>> seen_;
    std::vector<topic> topics_;
};

// White space collapsed to single blanks, entities decoded.
std::string plain(std::string_view text) {
    constexpr std::array<std::pair<std::string_view, char>, 5> entities{
        {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}};
    std::string result;
    for (text = trimmed(text); !text.empty();) {
        if (is_space(text.front())) {
            result += ' ';
            while (is_space(text.front())) text.remove_prefix(1);  // text is trimmed: it does not end here
            continue;
        }
        const auto* entity = std::find_if(entities.begin(), entities.end(),
                                          [&](const auto& e) { return text.starts_with(e.first); });
        result += entity == entities.end() ? text.front() : entity->second;
        text.remove_prefix(entity == entities.end() ? 1 : entity->first.size());
    }
    return result;
}

std::string_view without_label(std::string_view text, std::string_view label) {
    text = trimmed(text);
    return text.starts_with(label) ? trimmed(text.substr(label.size())) : text;
}

/// <top> … <num> Number: 301 … <title> words … <desc> … </top>: tags by lines, in any case.
class trec_topic_parser {
  public:
    trec_topic_parser(line_reader& lines, topic_fields taken) : lines_(lines), topics_(lines) {
        fields_[0].taken = true;
        fields_[1].taken = taken.title;
        fields_[2].taken = taken.description;
        fields_[3].taken = taken.narrative;
    }

    std::vector<topic> parse(std::string_view first_line) {
        for (std::optional<std::string_view> line = first_line; line; line = lines_.next()) take_line(*line);
        finish_topic();
        return topics_.take();
    }

  private:
    void take_line(std::string_view line) {
        while (!line.empty()) {
            const std::size_t length = tag_length(line);
            if (length != 0) {
                take_tag(line.substr(1, length - 2));
                line.remove_prefix(length);
                continue;
            }
            const std::size_t end = std::min(line.find('<', 1), line.size());
            if (field_ != nullptr) {
                if (field_->size() + end > longest_trec_line) lines_.refuse("a topic is longer than 1 MiB");
                field_->append(line.substr(0, end));
            }
            line.remove_prefix(end);
        }
        if (field_ != nullptr) field_->push_back(' ');
    }

    // `<` followed by a letter, `/`, `?` or `!`, up to the `>` on the same line; 0 for any other text.
    static std::size_t tag_length(std::string_view text) {
        if (text.size() < 3 || text[0] != '<') return 0;
        const char c = text[1];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && c != '/' && c != '?' && c != '!') return 0;
        const std::size_t end = text.find('>');
        return end == std::string_view::npos ? 0 : end + 1;
    }

    void take_tag(std::string_view tag) {
        std::string name(tag.substr(
            0, static_cast<std::size_t>(std::find_if(tag.begin(), tag.end(), is_space) - tag.begin())));
        for (char& c : name)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        field_ = nullptr;
        if (name == "top") {
            finish_topic();
            open_ = true;
        } else if (name == "/top") {
            finish_topic();
        } else if (open_) {
            const auto field = std::ranges::find(fields_, name, &topic_field::tag);
            if (field != fields_.end() && field->taken) begin_field(*field);
        }
    }

    struct topic_field {
        std::string_view tag, label;
        bool taken = false, is_present = false;
        std::string text = {};
    };

    void begin_field(topic_field& field) {
        if (field.is_present) lines_.refuse("a topic with two fields <" + std::string(field.tag) + ">");
        field.is_present = true;
        field_ = &field.text;
    }

    void finish_topic() {
        if (open_) {
            std::string query;
            for (const topic_field& field : fields_) {
                if (!field.taken) continue;
                if (!field.is_present)
                    lines_.refuse("a topic without <" + std::string(field.tag) + "> ends here");
                if (&field == &fields_.front()) continue;
                if (!query.empty()) query += ' ';
                query += plain(without_label(field.text, field.label));
            }
            topics_.add(without_label(fields_.front().text, fields_.front().label), std::move(query));
        }
        field_ = nullptr;
        open_ = false;
        for (topic_field& field : fields_) {
            field.is_present = false;
            field.text.clear();
        }
    }

    line_reader& lines_;
    topic_list topics_;
    std::array<topic_field, 4> fields_{
        topic_field{"num", "Number:"}, {"title", "Topic:"}, {"desc", "Description:"}, {"narr", "Narrative:"}};
    std::string* field_ = nullptr;  // the current field, null outside those taken
    bool open_ = false;
};

/// Column and member names in addition to those of documents, in order of preference.
constexpr std::array query_id_names = {"qid"sv,     "query_id"sv, "query-id"sv,
                                       "queryid"sv, "topic"sv,    "topic_id"sv};
constexpr std::array query_text_names = {"query"sv, "question"sv, "title"sv};

template <class Names>
bool is_one_of(std::string_view name, const Names& names) {
    return std::ranges::find(names, name) != names.end();
}

/// The first of these members that exists: a string, or an integer as its digits.
template <class... Lists>
std::optional<std::string> member_of(const nlohmann::json& object, const Lists&... lists) {
    std::optional<std::string> found;
    const auto look = [&](std::string_view name) {
        const auto at = object.find(std::string(name));
        if (found || at == object.end()) return;
        if (at->is_string()) found = at->get_ref<const std::string&>();
        if (at->is_number_integer()) found = at->dump();
    };
    (std::ranges::for_each(lists, look), ...);
    return found;
}

/// Of the member "vector", if it is an object.
std::string weights_of(const nlohmann::json& object, const line_reader& lines) {
    std::string weights;
    const auto at = object.find("vector");
    if (at == object.end() || !at->is_object()) return weights;
    for (const auto& [word, weight] : at->items()) {
        if (word.empty() || word.find_first_of("\t\n\r") != std::string::npos)
            lines.refuse("a word of the vector is empty, or has a tab or line end");
        if (!weight.is_number()) lines.refuse("the weight of " + quoted_field(word) + " is not a number");
        weights.append(weights.empty() ? "" : "\t").append(word).append("^").append(weight.dump());
    }
    return weights.find('\t') == std::string::npos && !weights.empty() ? weights + '\t' : weights;
}

/// JSON lines, as BEIR's queries.jsonl: `_id` and `text`.
std::vector<topic> parse_json_topics(line_reader& lines, std::optional<std::string_view> line) {
    topic_list topics(lines);
    for (; line; line = lines.next()) {
        if (has_nul(*line)) lines.refuse("a NUL, which JSON does not have");
        const nlohmann::json object = nlohmann::json::parse(line->begin(), line->end(), nullptr, false);
        if (!object.is_object()) lines.refuse("not a JSON object, as the lines before");
        const auto id = member_of(object, id_names, query_id_names);
        auto query = member_of(object, text_names, query_text_names);
        std::string weights = weights_of(object, lines);
        if (!weights.empty() && !query) query.emplace();
        if (!id || !query) {
            lines.refuse(std::string(id ? "no text" : "no id") +
                         ": a topic needs \"id\" (or \"_id\", \"qid\") and " + "\"text\" (or \"query\")");
        }
        std::ranges::replace_if(*query, is_space, ' ');
        topics.add(*id, std::string(trimmed(*query)), std::move(weights));
    }
    return topics.take();
}

/// `query-id TAB text` before the topics.
bool is_topic_heading(std::string_view line) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos) return false;
    const std::string id = lower(trimmed(line.substr(0, tab))), text = lower(trimmed(line.substr(tab)));
    return (is_one_of(id, id_names) || is_one_of(id, query_id_names)) &&
           (is_one_of(text, text_names) || is_one_of(text, query_text_names));
}

/// The positions of a judgement's fields: `topic 0 document grade`, or as a heading names them.
struct judgement_columns {
    std::size_t topic = 0, document = 2, grade = 3, count = 4;

    /// A heading such as BEIR's `query-id corpus-id score`; nothing if the line is a judgement.
    static std::optional<judgement_columns> of_heading(std::string_view line) {
        constexpr std::array documents = {"corpus-id"sv, "corpus_id"sv, "document"sv, "document_id"sv,
                                          "doc-id"sv,    "docno"sv,     "pid"sv,      "passage_id"sv};
        constexpr std::array grades = {"score"sv, "grade"sv,     "relevance"sv, "rel"sv,
                                       "label"sv, "judgement"sv, "judgment"sv};
        constexpr std::size_t absent = std::string_view::npos;
        judgement_columns found{absent, absent, absent, 0};
        for (std::string_view field = take_field(line); !field.empty(); field = take_field(line)) {
            const std::string name = lower(field);
            const std::size_t here = found.count++;
            if (is_one_of(name, query_id_names)) found.topic = here;
            if (is_one_of(name, documents) || name == "docid" || name == "doc_id") found.document = here;
            if (is_one_of(name, grades)) found.grade = here;
        }
        const bool all = found.topic != absent && found.document != absent && found.grade != absent;
        return all ? std::optional(found) : std::nullopt;
    }
};

}  // namespace

std::vector<topic> read_topics(byte_source& source, topic_fields fields) {
    line_reader lines(source);
    auto line = lines.next();
    if (line && trimmed(*line).front() == '<') return trec_topic_parser(lines, fields).parse(*line);
    if (line && !(fields == topic_fields{}))
        lines.refuse("only TREC topics have fields (expected <top> at the beginning)");
    if (line && trimmed(*line).front() == '{') return parse_json_topics(lines, line);
    if (line && is_topic_heading(*line)) line = lines.next();
    topic_list topics(lines);
    for (; line; line = lines.next()) {
        const std::size_t tab = line->find('\t');
        if (tab == std::string_view::npos) lines.refuse("a topic is `id TAB text`; this line has no tab");
        topics.add(trimmed(line->substr(0, tab)), std::string(trimmed(line->substr(tab))));
    }
    return topics.take();
}

namespace {

/// A node of a map with an id, and its letters where they are not part of it.
std::uint64_t bytes_of_node(std::string_view id, std::uint64_t value) {
    constexpr std::uint64_t node = 32 + sizeof(std::string) + 16;
    return node + value + (id.size() < sizeof(std::string) / 2 ? 0 : id.size() + 32);
}

}  // namespace

relevance_judgements read_judgements(byte_source& source) {
    memory_budget memory(context().memory_limit());
    return read_judgements(source, memory);
}

relevance_judgements read_judgements(byte_source& source, memory_budget& memory) {
    relevance_judgements judgements;
    std::uint64_t needed = 0;  // beyond the budget the rest is counted alone
    const std::uint64_t free = memory.left();
    line_reader lines(source);
    judgement_columns columns;
    bool has_heading = false;
    std::array<std::string_view, 16> fields;
    for (auto line = lines.next(); line; line = lines.next()) {
        if (judgements.empty() && !has_heading) {
            if (const auto heading = judgement_columns::of_heading(*line);
                heading && heading->count <= fields.size()) {
                columns = *heading;
                has_heading = true;
                continue;
            }
        }
        std::size_t count = 0;
        while (count < columns.count && !(fields[count] = take_field(*line)).empty()) ++count;
        if (count != columns.count || !trimmed(*line).empty()) {
            if (has_heading) lines.refuse("a judgement has a field for each column of the heading");
            const bool is_of_run = count == columns.count && !take_field(*line).empty() &&
                                   !take_field(*line).empty() && trimmed(*line).empty();
            lines.refuse(std::string("a judgement is `topic 0 document grade`, or has columns that a heading "
                                     "names: `query-id corpus-id score`") +
                         (is_of_run ? "; six fields are a line of a run (the judgements come first)" : ""));
        }
        const std::string_view topic = fields[columns.topic], document = fields[columns.document],
                               grade_text = fields[columns.grade];
        int grade = 0;
        if (parse_number(grade_text, grade).ec != std::errc{})
            lines.refuse("the grade " + quoted_field(grade_text) + " is not an integer");
        needed += bytes_of_node(document, 0);
        if (needed > free) {
            judgements.clear();
            continue;
        }
        const auto [of_topic, is_new] = judgements.try_emplace(std::string(topic));
        if (is_new) needed += bytes_of_node(topic, sizeof(of_topic->second));
        if (!of_topic->second.emplace(document, grade).second)
            lines.refuse(repeated_document(document, topic));
    }
    memory.take(needed, "the judgements of " + source.name());
    return judgements;
}

retrieval_run read_run(byte_source& source) {
    const indexed_run indexed(source);
    retrieval_run run;
    std::vector<retrieved_view> views;
    for (const indexed_topic& topic : indexed.topics()) {
        indexed.read(topic, views);
        std::vector<retrieved_document>& documents = run[std::string(topic.id)];
        for (const retrieved_view& view : views) documents.push_back({std::string(view.id), view.score});
    }
    return run;
}

std::vector<topic> read_topics(const std::filesystem::path& path, const context& ctx, topic_fields fields) {
    return read_topics(*open_bytes(path, ctx), fields);
}
relevance_judgements read_judgements(const std::filesystem::path& path, const context& ctx) {
    memory_budget memory(ctx.memory_limit());
    return read_judgements(path, ctx, memory);
}
relevance_judgements read_judgements(const std::filesystem::path& path, const context& ctx,
                                     memory_budget& memory) {
    return read_judgements(*open_bytes(path, ctx), memory);
}

}  // namespace quern::io
