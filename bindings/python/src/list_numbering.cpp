// SPDX-License-Identifier: Apache-2.0
#include "list_numbering.hpp"

#include <algorithm>

#include "errors.hpp"

namespace quern::python {
namespace {

bool is_written_as_integer(const std::string& text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }) &&
           (text.size() == 1 || text[0] != '0') && text.size() <= 19;
}

template <class Ids>
std::uint32_t distinct_size(Ids& ids) {
    std::ranges::sort(ids);
    const auto rest = std::ranges::unique(ids);
    ids.erase(rest.begin(), rest.end());
    if (ids.size() > max_objects)
        refuse("lists: more than " + std::to_string(max_objects) + " different ids");
    return static_cast<std::uint32_t>(ids.size());
}

numbering number_texts(std::deque<held_list>& lists) {
    numbering made;
    bool integers = true;
    for (const held_list& list : lists) {
        if (list.texts.size() != list.size())
            refuse("lists: the ids of some are texts, those of others whole numbers (expected one kind)");
        for (const std::string& text : list.texts) {
            integers = integers && is_written_as_integer(text);
            made.texts.push_back(text);
        }
    }
    made.size = distinct_size(made.texts);
    const auto less = [&](const std::string& a, const std::string& b) {
        return integers && a.size() != b.size() ? a.size() < b.size() : a < b;
    };
    std::ranges::sort(made.texts, less);
    for (held_list& list : lists) {
        list.is_numbered = true;
        for (const std::string& text : list.texts)
            list.numbers.push_back(static_cast<std::uint32_t>(
                std::ranges::lower_bound(made.texts, text, less) - made.texts.begin()));
    }
    return made;
}

/// Ids up to a few times their count stay as they are; others are numbered.
numbering number_integers(std::deque<held_list>& lists, const std::optional<std::uint32_t>& objects) {
    numbering made;
    std::uint64_t end = 0, entries = 0;
    for (const held_list& list : lists) {
        for (const std::uint64_t id : list.wide) end = std::max(end, id + 1 == 0 ? id : id + 1);
        for (const std::uint32_t id : list.narrow) end = std::max(end, std::uint64_t{id} + 1);
        entries += list.size();
    }
    constexpr std::uint64_t small = std::uint64_t{1} << 24;
    if (objects || end <= std::max(small, 4 * entries)) {
        const std::uint64_t size = objects ? *objects : end;
        if (size <= max_objects) {
            made.size = static_cast<std::uint32_t>(size);
            for (std::size_t i = 0; i < lists.size(); ++i) {
                held_list& list = lists[i];
                list.is_numbered = list.narrow.empty();
                list.numbers.reserve(list.wide.size());
                for (std::size_t at = 0; at < list.wide.size(); ++at) {
                    if (list.wide[at] >= size)
                        refuse(name_of_list(i) + ": id " + std::to_string(list.wide[at]) + " at position " +
                               std::to_string(at) + " (expected ids below objects, " + std::to_string(size) +
                               ")");
                    list.numbers.push_back(static_cast<std::uint32_t>(list.wide[at]));
                }
            }
            return made;
        }
    }
    made.integers.reserve(entries);
    for (const held_list& list : lists) {
        made.integers.insert(made.integers.end(), list.wide.begin(), list.wide.end());
        made.integers.insert(made.integers.end(), list.narrow.begin(), list.narrow.end());
    }
    made.size = distinct_size(made.integers);
    for (held_list& list : lists) {
        const auto number = [&](std::uint64_t id) {
            list.numbers.push_back(static_cast<std::uint32_t>(std::ranges::lower_bound(made.integers, id) -
                                                              made.integers.begin()));
        };
        for (const std::uint64_t id : list.wide) number(id);
        for (const std::uint32_t id : list.narrow) number(id);
        list.is_numbered = true;
    }
    return made;
}

}  // namespace

numbering number_ids(std::deque<held_list>& lists, const std::optional<std::uint32_t>& objects) {
    if (std::ranges::any_of(lists, [](const held_list& list) { return !list.texts.empty(); }))
        return number_texts(lists);
    return number_integers(lists, objects);
}

}  // namespace quern::python
