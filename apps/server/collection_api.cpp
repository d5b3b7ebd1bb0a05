// SPDX-License-Identifier: Apache-2.0
#include "server/collection_api.hpp"

#include <array>
#include <cstdint>
#include <vector>

#include "server/json_writer.hpp"
#include "server/marked_text.hpp"
#include "server/search_api.hpp"
#include "server/target.hpp"

namespace quern::server {
namespace {

struct statistics_request {
    std::uint32_t words = 30, documents = 10;
};

struct duplicates_request {
    std::uint32_t k = 20, copies = 10;
    std::uint64_t offset = 0;
};

}  // namespace
}  // namespace quern::server

namespace quern {

template <>
inline constexpr auto options_of<server::statistics_request> = std::array{
    option_for<&server::statistics_request::words>("words", "", {.max = 1000}, "Number of frequent words."),
    option_for<&server::statistics_request::documents>("documents", "", {.max = 1000},
                                                       "Number of documents with the highest link ranks.")};

template <>
inline constexpr auto options_of<server::duplicates_request> = std::array{
    option_for<&server::duplicates_request::k>("k", "", {.min = 1, .max = 1000}, "Number of documents."),
    option_for<&server::duplicates_request::offset>("offset", "", {}, "Documents to skip, for paging."),
    option_for<&server::duplicates_request::copies>("copies", "", {.max = 1000},
                                                    "Near-duplicates to list for each document.")};

}  // namespace quern

namespace quern::server {
namespace {

void write_titled(json_writer& json, std::string_view id, std::string_view title, const site_limits& limits) {
    json.member("id", id);
    json.member("title", shortened(title, limits));
}

}  // namespace

const std::vector<api_parameter>& statistics_parameters() {
    static const statistics_request defaults;
    static const std::vector<api_parameter> all{parameter_of("words", defaults, "5"),
                                                parameter_of("documents", defaults, "3"), store_parameter()};
    return all;
}

const std::vector<api_parameter>& duplicates_parameters() {
    static const duplicates_request defaults;
    static const std::vector<api_parameter> all{parameter_of("k", defaults, "5"),
                                                parameter_of("offset", defaults, "0"),
                                                parameter_of("copies", defaults, "2"), store_parameter()};
    return all;
}

std::string statistics_json(const search_engine& engine, std::string_view query, const site_limits& limits,
                            const context& ctx) {
    const parameters given(query, statistics_parameters());
    if (engine.has_remote_shards())
        throw bad_request(
            "a summary of the collection needs all shards on this machine (some are on others)");
    statistics_request request;
    given.read(request);
    const collection_summary summary = engine.summary(request.words, request.documents, ctx);

    json_writer json;
    json.begin_object();
    json.key("lengths");
    json.begin_object();
    json.member("shortest", summary.shortest);
    json.member("median", summary.median);
    json.member("longest", summary.longest);
    json.objects("documents", summary.document_lengths, [&json](const collection_summary::lengths& of) {
        json.member("from", of.from);
        json.member("documents", of.documents);
    });
    json.end_object();
    json.objects("words", summary.frequent_words, [&json](const collection_summary::word& of) {
        json.member("word", std::string_view(of.word));
        json.member("documents", of.documents);
        json.member("occurrences", of.occurrences);
    });
    json.objects("linked", summary.linked_documents, [&](const collection_summary::ranked_document& of) {
        write_titled(json, of.id, of.title, limits);
        json.member("rank", of.rank);
        check_size(json, limits, "documents");
    });
    json.end_object();
    return json.take();
}

std::string duplicates_json(const search_engine& engine, std::string_view query, const site_limits& limits,
                            const context& ctx) {
    const parameters given(query, duplicates_parameters());
    duplicates_request request;
    given.read(request);
    const duplicated_documents list = engine.duplicated(request.offset, request.k, request.copies, ctx);

    json_writer json;
    json.begin_object();
    json.member("total", list.total);
    json.member("duplicates", list.duplicates);
    json.member("offset", request.offset);
    json.objects("groups", list.groups, [&](const duplicated_document& group) {
        write_titled(json, group.id, group.title, limits);
        json.member("copy_count", group.count);
        json.objects("copies", group.copies, [&](const duplicated_document::copy& copy) {
            write_titled(json, copy.id, copy.title, limits);
            json.member("distance", std::uint64_t{copy.distance});
        });
        check_size(json, limits, "documents");
    });
    json.end_object();
    return json.take();
}

}  // namespace quern::server
