// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/documents/xml_events.hpp"

#include <expat.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "io/corpus/documents/converter.hpp"

namespace quern::io {
namespace {

constexpr char separator = '\n';  // never in the name of a namespace: white space there becomes blanks

std::string_view local_part(std::string_view name) {
    return name.substr(name.rfind(separator) + 1);
}

/// Memory that expat takes on this thread, limited: names of elements and attributes stay for as long as a parser.
struct memory_account {
    std::uint64_t used = 0, limit = UINT64_MAX;
    bool exceeded = false;
};
thread_local memory_account account;
constexpr std::size_t size_bytes = alignof(std::max_align_t);

void* take_memory(std::size_t bytes) {
    if (bytes > account.limit || account.used > account.limit - bytes) {
        account.exceeded = true;
        return nullptr;
    }
    auto* const block = static_cast<char*>(std::malloc(bytes + size_bytes));
    if (block == nullptr) return nullptr;
    std::memcpy(block, &bytes, sizeof bytes);
    account.used += bytes;
    return block + size_bytes;
}

std::size_t size_of(void* memory) {
    std::size_t bytes = 0;
    std::memcpy(&bytes, static_cast<char*>(memory) - size_bytes, sizeof bytes);
    return bytes;
}

void give_memory(void* memory) {
    if (memory == nullptr) return;
    account.used -= size_of(memory);
    std::free(static_cast<char*>(memory) - size_bytes);
}

void* resize_memory(void* memory, std::size_t bytes) {
    void* const result = take_memory(bytes);
    if (result == nullptr || memory == nullptr) return result;
    const std::size_t before = size_of(memory);
    std::memcpy(result, memory, before < bytes ? before : bytes);
    give_memory(memory);
    return result;
}

struct parser_deleter {
    void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
};
using parser_handle = std::unique_ptr<std::remove_pointer_t<XML_Parser>, parser_deleter>;

/// The callbacks of expat. An exception must not pass through C code: it is kept, and thrown when the parser has
/// stopped.
struct listener {
    xml_handler* handler = nullptr;
    XML_Parser parser = nullptr;
    std::exception_ptr thrown;
    std::size_t depth = 0;
    const char* refused = nullptr;

    void stop() { XML_StopParser(parser, XML_FALSE); }
    void refuse(const char* why) {
        if (refused == nullptr) refused = why;
        stop();
    }
    template <typename Handle>
    void guarded(Handle&& handle) {
        if (thrown || refused != nullptr) return;
        try {
            handle();
        } catch (...) {
            thrown = std::current_exception();
            stop();
        }
    }

    static void start(void* user, const XML_Char* name, const XML_Char** attributes) {
        constexpr std::size_t deepest = 1000;
        auto& self = *static_cast<listener*>(user);
        if (++self.depth > deepest) return self.refuse("is nested more than 1,000 deep");
        self.guarded([&] { self.handler->start(local_part(name), xml_attributes(attributes)); });
    }
    static void end(void* user, const XML_Char* name) {
        auto& self = *static_cast<listener*>(user);
        --self.depth;
        self.guarded([&] { self.handler->end(local_part(name)); });
    }
    static void text(void* user, const XML_Char* text, int bytes) {
        auto& self = *static_cast<listener*>(user);
        self.guarded([&] { self.handler->text({text, static_cast<std::size_t>(bytes)}); });
    }
    static void entity(void* user, const XML_Char*, int, const XML_Char*, int, const XML_Char*,
                       const XML_Char*, const XML_Char*, const XML_Char*) {
        static_cast<listener*>(user)->refuse("declares entities");
    }
};

}  // namespace

std::string_view xml_attributes::value(std::string_view name) const {
    std::string_view found;
    for (const char** each = list_; *each != nullptr; each += 2) {
        if (std::string_view(each[0]) == name) return each[1];
        if (found.data() == nullptr && local_part(each[0]) == name) found = each[1];
    }
    return found;
}

std::string_view xml_attributes::value(std::string_view part_of_namespace, std::string_view name) const {
    for (const char** each = list_; *each != nullptr; each += 2) {
        const std::string_view whole = each[0];
        if (local_part(whole) == name &&
            whole.substr(0, whole.size() - name.size()).find(part_of_namespace) != std::string_view::npos)
            return each[1];
    }
    return {};
}

void read_xml(const byte_reader& read, std::string_view part, const reading_budget& budget,
              const context& ctx, xml_handler& handler) {
    constexpr std::size_t piece_bytes = 256 << 10;
    constexpr std::uint64_t max_tag = 2 << 20;
    // The memory of a parser for the pieces of its input, and for a tag.
    constexpr std::uint64_t min_bytes = 1 << 20, max_bytes = 256 << 20;
    const std::uint64_t quarter = budget.bytes / 4;
    account = {0, quarter < min_bytes ? min_bytes : quarter > max_bytes ? max_bytes : quarter, false};
    const XML_Memory_Handling_Suite memory{take_memory, resize_memory, give_memory};
    const char separators[] = {separator, '\0'};
    const auto exhausted = [&] {
        return out_of_memory("the names of the XML", account.limit, budget.bytes / 4);
    };
    const parser_handle parser(XML_ParserCreate_MM(nullptr, &memory, separators));
    if (!parser) throw exhausted();
    listener to{&handler, parser.get(), nullptr, 0, nullptr};
    XML_SetUserData(parser.get(), &to);
    XML_SetElementHandler(parser.get(), listener::start, listener::end);
    XML_SetCharacterDataHandler(parser.get(), listener::text);
    XML_SetEntityDeclHandler(parser.get(), listener::entity);
    const auto refuse = [&](const std::string& why) {
        throw not_convertible("damaged", "damaged: the XML of " + std::string(part) + ' ' + why);
    };
    std::uint64_t fed = 0;
    for (bool ended = false; !ended;) {
        ctx.check_stop();
        void* const room = XML_GetBuffer(parser.get(), static_cast<int>(piece_bytes));
        if (room == nullptr) throw exhausted();
        const std::size_t bytes_read = read({static_cast<char*>(room), piece_bytes});
        ended = bytes_read < piece_bytes;
        fed += bytes_read;
        const bool good =
            XML_ParseBuffer(parser.get(), static_cast<int>(bytes_read), ended ? 1 : 0) == XML_STATUS_OK;
        if (to.thrown) std::rethrow_exception(to.thrown);
        if (to.refused != nullptr) refuse(to.refused);
        if (!good) {
            if (account.exceeded) throw exhausted();
            if (XML_GetErrorCode(parser.get()) == XML_ERROR_NO_MEMORY) throw std::bad_alloc();
            refuse("is not well-formed at line " + std::to_string(XML_GetCurrentLineNumber(parser.get())) +
                   ": " + XML_ErrorString(XML_GetErrorCode(parser.get())));
        }
        const XML_Index at = XML_GetCurrentByteIndex(parser.get());
        if (!ended && at >= 0 && fed - static_cast<std::uint64_t>(at) > max_tag + piece_bytes)
            refuse("has a tag of more than 2 MiB");
    }
}

}  // namespace quern::io
