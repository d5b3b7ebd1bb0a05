// SPDX-License-Identifier: Apache-2.0
// All errors of operations. Library code throws only these; each front end maps the types in one place: the
// command line to exit codes, the server to statuses, Python to exceptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace quern {

/// The base of Quern's exceptions. `what()` is one complete sentence for the user, without a final full stop.
class error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// The request is refused before any work: an invalid argument, a missing input, an existing output.
class usage_error : public error {
  public:
    using error::error;
};

/// The content of an input is invalid. `line` counts from 1; 0 if the input has no lines.
class invalid_input : public error {
  public:
    invalid_input(std::string_view path, std::uint64_t line, std::string_view reason);
    const std::string& path() const noexcept { return path_; }
    std::uint64_t line() const noexcept { return line_; }
    const std::string& reason() const noexcept { return reason_; }

  private:
    std::string path_;
    std::uint64_t line_;
    std::string reason_;
};

/// A value of an array is invalid. `position` counts from 0.
class invalid_value : public error {
  public:
    invalid_value(std::string_view reason, std::uint64_t position)
        : error(std::string(reason)), position_(position) {}
    std::uint64_t position() const noexcept { return position_; }

  private:
    std::uint64_t position_;
};

/// One of several lists is invalid. `list` and `position` count from 0.
class list_fault : public invalid_value {
  public:
    list_fault(std::size_t list, std::uint64_t position, std::string_view reason)
        : invalid_value(reason, position), list_(list) {}
    std::size_t list() const noexcept { return list_; }

  private:
    std::size_t list_;
};

/// The operating system refused to read or write: permissions, a full disk, a broken medium.
class io_error : public error {
  public:
    /// `code` is an errno value; its text ends the message.
    io_error(std::string_view path, std::string_view action, int code);
    int code() const noexcept { return code_; }

  private:
    int code_;
};

/// The operation needs more memory than the budget or the machine has.
class out_of_memory : public error {
  public:
    out_of_memory(std::string_view what_for, std::uint64_t requested_bytes, std::uint64_t free_bytes);
};

/// A device is missing or failed.
class device_error : public error {
  public:
    using error::error;
};

/// A store, space or dictionary is damaged, truncated, or of an unsupported version.
class damaged_store : public error {
  public:
    damaged_store(std::string_view path, std::string_view section, std::string_view reason);
    const std::string& section() const noexcept { return section_; }

  private:
    std::string section_;
};

/// The user stopped the run (Ctrl-C, SIGTERM). Nothing half-written remains under a final name.
class interrupted : public error {
  public:
    explicit interrupted(int signal);
    int signal() const noexcept { return signal_; }

  private:
    int signal_;
};

}  // namespace quern
