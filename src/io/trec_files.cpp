// SPDX-License-Identifier: Apache-2.0
// One line reader below the parsers of topics and judgements; runs are read by ranked_run. TREC topics are SGML whose
// closing tags are optional and which no XML parser takes; all that matters of them are four tags, so that a scan by
// lines is the whole parser.
#include "io/trec_files.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_set>

#include "base/ascii.hpp"
#include "io/ranked_run.hpp"
#include "io/trec_messages.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

/// Lines that are not empty, with their numbers.
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

/// The next field of `line`, taken off it; empty where there is none.
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

/// Topics collected so far; refuses a second one of the same id.
class topic_list {
  public:
    explicit topic_list(const line_reader& lines) : lines_(lines) {}
    void add(std::string_view id, std::string query) {
        if (id.empty()) lines_.refuse("a topic without an id");
        if (std::any_of(id.begin(), id.end(), is_space))
            lines_.refuse("white space in the topic's id " + quoted_field(id));
        if (!seen_.emplace(id).second) lines_.refuse("topic " + quoted_field(id) + " again");
        topics_.push_back({std::string(id), std::move(query)});
    }
    std::vector<topic> take() { return std::move(topics_); }

  private:
    const line_reader& lines_;
    std::set<std::string, std::less<>> seen_;
    std::vector<topic> topics_;
};

// White space made single blanks, entities decoded.
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
    explicit trec_topic_parser(line_reader& lines) : lines_(lines), topics_(lines) {}

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

    // `<` with a letter, `/`, `?` or `!` behind it, to the `>` on the same line; 0 for any other text.
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
        } else if (open_ && name == "num") {
            begin_field(number_, has_number_, "<num>");
        } else if (open_ && name == "title") {
            begin_field(title_, has_title_, "<title>");
        }
    }

    void begin_field(std::string& field, bool& present, std::string_view name) {
        if (present) lines_.refuse("a topic with two fields " + std::string(name));
        present = true;
        field_ = &field;
    }

    void finish_topic() {
        if (open_) {
            if (!has_number_) lines_.refuse("a topic without <num> ends here");
            if (!has_title_) lines_.refuse("a topic without <title> ends here");
            topics_.add(without_label(number_, "Number:"), plain(without_label(title_, "Topic:")));
        }
        field_ = nullptr;
        open_ = has_number_ = has_title_ = false;
        number_.clear();
        title_.clear();
    }

    line_reader& lines_;
    topic_list topics_;
    std::string number_, title_;
    std::string* field_ = nullptr;  // the field being read, null outside the two that matter
    bool open_ = false, has_number_ = false, has_title_ = false;
};

retrieval_run copy_of(const ranked_run& ranked) {
    retrieval_run run;
    for (const ranked_topic& topic : ranked.topics()) {
        std::vector<retrieved_document>& documents = run[std::string(topic.id)];
        documents.reserve(topic.entries.size());
        std::unordered_set<std::string_view> seen(topic.entries.size());
        for (const ranked_entry& entry : topic.entries) {
            if (!seen.insert(entry.document()).second) ranked.refuse_repeated(topic, entry);
            documents.push_back({std::string(entry.document()), static_cast<float>(entry.score)});
        }
    }
    return run;
}

}  // namespace

std::vector<topic> read_topics(byte_source& source) {
    line_reader lines(source);
    auto line = lines.next();
    if (line && trimmed(*line).front() == '<') return trec_topic_parser(lines).parse(*line);
    topic_list topics(lines);
    for (; line; line = lines.next()) {
        const std::size_t tab = line->find('\t');
        if (tab == std::string_view::npos) lines.refuse("a topic is `id TAB text`; this line has no tab");
        topics.add(trimmed(line->substr(0, tab)), std::string(trimmed(line->substr(tab))));
    }
    return topics.take();
}

relevance_judgements read_judgements(byte_source& source) {
    relevance_judgements judgements;
    line_reader lines(source);
    while (auto line = lines.next()) {
        const std::string_view topic = take_field(*line);
        take_field(*line);  // the iteration
        const std::string_view document = take_field(*line), grade_text = take_field(*line);
        if (grade_text.empty() || !trimmed(*line).empty())
            lines.refuse("a judgement is `topic 0 document grade`");
        int grade = 0;
        if (parse_number(grade_text, grade).ec != std::errc{})
            lines.refuse("the grade " + quoted_field(grade_text) + " is no whole number");
        if (!judgements[std::string(topic)].emplace(document, grade).second)
            lines.refuse(repeated_document(document, topic));
    }
    return judgements;
}

retrieval_run read_run(byte_source& source) {
    return copy_of(ranked_run(source, {}));
}

std::vector<topic> read_topics(const std::filesystem::path& path, const context& run) {
    return read_topics(*open_bytes(path, run));
}
relevance_judgements read_judgements(const std::filesystem::path& path, const context& run) {
    return read_judgements(*open_bytes(path, run));
}
retrieval_run read_run(const std::filesystem::path& path, const context& run) {
    return copy_of(ranked_run(path, run));
}

}  // namespace quern::io
