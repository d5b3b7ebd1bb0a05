// SPDX-License-Identifier: Apache-2.0
// A parameter that is a function, for code compiled once for all callers: no template, no copy, no allocation.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace quern {

template <class Signature>
class function_ref;

/// Refers to a callable that the caller keeps: two words in size. A call is indirect, so each should do some work.
template <class Result, class... Arguments>
class function_ref<Result(Arguments...)> {
  public:
    // A lambda is passed as it is; copies are excluded by the constraint, which clang-tidy does not read.
    template <class Function>
        requires(!std::same_as<std::remove_cvref_t<Function>, function_ref> &&
                 std::is_invocable_r_v<Result, Function&, Arguments...>)
    // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload)
    function_ref(Function&& function)
        : function_(const_cast<void*>(static_cast<const volatile void*>(std::addressof(function)))),
          call_([](void* object, Arguments... arguments) -> Result {
              auto& callee = *static_cast<std::add_pointer_t<Function>>(object);
              if constexpr (std::is_void_v<Result>) {
                  callee(std::forward<Arguments>(arguments)...);
              } else {
                  return callee(std::forward<Arguments>(arguments)...);
              }
          }) {}

    Result operator()(Arguments... arguments) const {
        return call_(function_, std::forward<Arguments>(arguments)...);
    }

  private:
    void* function_;
    Result (*call_)(void*, Arguments...);
};

}  // namespace quern
