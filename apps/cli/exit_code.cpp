// SPDX-License-Identifier: Apache-2.0
#include "exit_code.hpp"

#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

#include "output.hpp"
#include "quern/base/document.hpp"
#include "quern/base/error.hpp"
#include "session.hpp"

namespace quern::cli {

ending ending_for(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const closed_pipe&) {
        return {0, {}};
    } catch (const usage_error& e) {
        return {2, e.what()};
    } catch (const too_much_lost& e) {
        std::vector<std::string> others;
        for (const input_issue& issue : e.issues()) others.push_back(in_words(issue));
        if (others.size() == 1) others.clear();  // the message has it
        return {3, e.what(), std::move(others)};
    } catch (const invalid_input& e) {
        return {3, e.what()};
    } catch (const invalid_value& e) {
        return {3, e.what()};
    } catch (const io_error& e) {
        if (e.code() == EPIPE) return {0, {}};  // a FIFO given as --output, whose reader has gone
        return {4, e.what()};
    } catch (const out_of_memory& e) {
        return {4, e.what()};
    } catch (const device_error& e) {
        return {4, e.what()};
    } catch (const damaged_store& e) {
        return {5, e.what()};
    } catch (const interrupted& e) {
        return {128 + e.signal(), "interrupted; nothing half-written is left"};
    } catch (const std::bad_alloc&) {
        return {4, "out of memory; a smaller --memory makes the run spill to disk earlier"};
    } catch (const std::system_error& e) {  // threads or files the system refuses
        return {4, e.what()};
    } catch (const std::exception& e) {
        return {70, std::string("internal error: ") + e.what() + "; please report it"};
    }
}

}  // namespace quern::cli
