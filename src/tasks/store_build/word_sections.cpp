// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_build/word_sections.hpp"
#include "tasks/store/listed_section.hpp"

#include <span>
#include <string>
#include <string_view>

namespace quern {

word_sections::word_sections(const std::filesystem::path& store, const store_layout::word_index_names& names)
    : names_(names),
      dictionary_(store_layout::file_of(store, names.dictionary)),
      document_frequencies_(store_layout::file_of(store, names.document_frequencies)),
      collection_frequencies_(store_layout::file_of(store, names.collection_frequencies)),
      posting_ends_(store_layout::file_of(store, names.posting_ends)),
      postings_(store_layout::file_of(store, names.postings)) {}

void word_sections::append(const search_detail::merged_range& range) {
    const std::uint64_t before = postings_.size();
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < range.word_ends.size(); ++i) {
        words_.append(std::string_view(range.words).substr(begin, range.word_ends[i] - begin));
        begin = range.word_ends[i];
        posting_ends_.append_value(before + range.posting_ends[i]);
        count_ += range.document_frequencies[i];
    }
    document_frequencies_.append_values(std::span(range.document_frequencies));
    collection_frequencies_.append_values(std::span(range.collection_frequencies));
    postings_.append(range.postings);
}

word_sections::outcome word_sections::finish() {
    outcome result;
    result.vocabulary = words_.size();
    result.postings = count_;
    dictionary_.append(words_.finish());
    const auto close = [&](std::string_view name, io::section_writer& section) {
        result.sections.push_back(listed_section(name, section.finish()));
    };
    close(names_.dictionary, dictionary_);
    close(names_.document_frequencies, document_frequencies_);
    close(names_.collection_frequencies, collection_frequencies_);
    close(names_.posting_ends, posting_ends_);
    close(names_.postings, postings_);
    return result;
}

}  // namespace quern
