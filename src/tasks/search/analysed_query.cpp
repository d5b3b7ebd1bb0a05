// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/analysed_query.hpp"

#include <algorithm>
#include <utility>

#include "tasks/search/parsed_query.hpp"

namespace quern {
namespace {

using kind = syntax_node::kind;

/// The groups and parts of a tree. What has no word after analysis is omitted.
class tree_analysis {
  public:
    tree_analysis(std::string_view query, const syntax_node& tree, const query_analysis& by,
                  analysed_query& into)
        : query_(query), by_(by), into_(into) {
        const syntax_node* last = &tree;
        while (!last->members.empty()) last = &last->members.back();
        if (by.unfinished && last->what == kind::words && last->edits == 0 && query.ends_with(last->text))
            last_ = last;
    }

    std::optional<query_group> group_of(const syntax_node& node, bool in_list, bool excluded) {
        excluded = excluded || node.occurs == occurrence::excluded;
        query_group result;
        result.what = node.what;
        result.occurs = node.occurs;
        switch (node.what) {
            case kind::words:
            case kind::phrase:
            case kind::prefix:
                if (node.what == kind::phrase && in_list && node.occurs == occurrence::optional)
                    result.occurs = occurrence::required;
                result.part = part_of(node, in_list && node.occurs == occurrence::optional, excluded);
                if (!result.part) return std::nullopt;
                return result;
            case kind::all:
            case kind::any:
            case kind::list:
                break;
        }
        for (const syntax_node& member : node.members)
            if (auto group = group_of(member, node.what == kind::list, excluded))
                result.members.push_back(std::move(*group));
        if (result.members.empty()) return std::nullopt;
        return result;
    }

  private:
    std::optional<std::size_t> part_of(const syntax_node& node, bool loose, bool excluded) {
        query_part part;
        part.quoted = node.what == kind::phrase;
        part.prefix = node.what == kind::prefix;
        part.joined = !part.quoted && !part.prefix && !loose;
        part.field = node.field;
        part.slop = node.slop;
        part.edits = node.edits;
        if (const auto number = indexed_number(node.field)) part.field_name = by_.fields[*number];
        part.excluded = excluded;
        if (part.prefix) {
            part.words = by_.words_of_prefix(node.text);
            if (part.words.size() != 1)
                throw query_error(query_, node.position, "a * must follow the beginning of one word");
        } else {
            part.words = by_.words_of_part(node.text, part.quoted);
            if (part.edits != 0 && part.words.size() > 1)
                throw query_error(query_, node.position, "a ~ and a number must follow one word");
            if (&node == last_ && !excluded) add_beginning(part, node.text);
        }
        if (part.words.empty()) return std::nullopt;
        into_.parts.push_back(std::move(part));
        return into_.parts.size() - 1;
    }

    void add_beginning(query_part& part, std::string_view text) {
        if (part.words.size() > 1) return;
        auto unfinished = by_.unfinished(text);
        if (!unfinished || unfinished->begin != 0) return;
        if (part.words.empty()) part.words.push_back(unfinished->beginning);
        part.beginning = std::move(unfinished->beginning);
    }

    std::string_view query_;
    const query_analysis& by_;
    analysed_query& into_;
    const syntax_node* last_ = nullptr;  // the word that is still being typed
};

analysed_query with_operators(std::string_view query, const syntax_node& tree, const query_analysis& by) {
    analysed_query result;
    result.syntax = query_syntax::operators;
    if (auto whole = tree_analysis(query, tree, by, result).group_of(tree, true, false))
        result.whole = std::move(*whole);
    return result;
}

analysed_query with_words(std::string_view query, bool phrases, const query_analysis& by) {
    analysed_query result;
    const auto add_part = [&](const query_piece& piece, std::string beginning) {
        query_part part;
        part.words = by.words_of(piece.text);
        part.quoted = piece.quoted;
        if (!beginning.empty() && part.words.size() != 1) part.words = {beginning};
        part.beginning = std::move(beginning);
        if (part.words.empty()) return;
        query_group of;
        of.part = result.parts.size();
        of.occurs = piece.quoted ? occurrence::required : occurrence::optional;
        result.whole.members.push_back(std::move(of));
        result.parts.push_back(std::move(part));
    };
    const auto add = [&](const query_piece& piece) {
        const bool last =
            !piece.quoted && piece.text.data() + piece.text.size() == query.data() + query.size();
        auto unfinished = last && by.unfinished ? by.unfinished(piece.text) : std::nullopt;
        if (!unfinished) return add_part(piece, {});
        if (unfinished->begin != 0) add_part({piece.text.substr(0, unfinished->begin), false}, {});
        add_part({piece.text.substr(unfinished->begin), false}, std::move(unfinished->beginning));
    };
    if (phrases) {
        std::ranges::for_each(split_at_quotes(query), add);
    } else {
        add({query, false});
    }
    return result;
}

}  // namespace

void fold_accents(analysed_query& query, const std::function<bool(std::string_view word)>& has_others) {
    // Only lists have parts of several words that are not phrases.
    const std::function<void(query_group&)> split = [&](query_group& group) {
        std::vector<query_group> members;
        for (query_group& member : group.members) {
            split(member);
            const auto at = member.part;
            const bool splits = at && query.parts[*at].words.size() > 1 && !query.parts[*at].is_phrase() &&
                                std::ranges::any_of(query.parts[*at].words, has_others);
            if (!splits) {
                members.push_back(std::move(member));
                continue;
            }
            const std::vector<std::string> words = query.parts[*at].words;
            for (std::size_t i = 0; i < words.size(); ++i) {
                query_group of = member;
                if (i != 0) {
                    of.part = query.parts.size();
                    query.parts.push_back(query.parts[*at]);
                }
                query.parts[*of.part].words = {words[i]};
                members.push_back(std::move(of));
            }
        }
        group.members = std::move(members);
    };
    split(query.whole);
    for (query_part& part : query.parts)
        part.folded = part.prefix || std::ranges::any_of(part.words, has_others);
}

std::string query_part::name() const {
    std::string text = field == query_field::title  ? "title:"
                       : field == query_field::text ? "text:"
                       : field_name.empty()         ? ""
                                                    : field_name + ":";
    if (!is_phrase()) {
        text.append(words.front()).append(prefix ? "*" : "");
        return edits == 0 ? text : text + '~' + std::to_string(edits);
    }
    text += '"';
    for (std::size_t i = 0; i < words.size(); ++i) text.append(i == 0 ? "" : " ").append(words[i]);
    text += '"';
    return slop == 0 ? text : text + '~' + std::to_string(slop);
}

analysed_query analyse(std::string_view query, query_syntax syntax, bool phrases, const query_analysis& by) {
    if (syntax == query_syntax::operators)
        return with_operators(query, parse_operators(query, by.fields, by.kept), by);
    if (syntax == query_syntax::words || !phrases) return with_words(query, phrases, by);
    automatic_syntax read = read_automatically(query, by.fields, by.kept);
    if (read.tree) {
        try {
            analysed_query result = with_operators(query, *read.tree, by);
            result.note = std::move(read.note);
            return result;
        } catch (const query_error& e) {
            read.note = e.what();
        }
    }
    analysed_query result = with_words(query, phrases, by);
    result.note = std::move(read.note);
    return result;
}

}  // namespace quern
