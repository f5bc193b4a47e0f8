// The fields of a struct, in their order, without a list of them: as many as an initializer may
// name.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

namespace gpucast::remote {

template <class T>
struct is_array : std::false_type {};
template <class T, std::size_t n>
struct is_array<std::array<T, n>> : std::true_type {};

template <class T>
concept Fields = std::is_class_v<T> && std::is_aggregate_v<T> && !is_array<T>::value;

namespace detail {

struct Anything {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor): it stands for a field's value
};

template <class T, class... Known>
consteval std::size_t count_fields() {
  if constexpr (requires { T{Known{}..., Anything{}}; }) {
    return count_fields<T, Known..., Anything>();
  } else {
    return sizeof...(Known);
  }
}

}  // namespace detail

// Calls `visit` with each of them.
template <class T, class Visit>
  requires Fields<std::remove_const_t<T>>
void for_each_field(T& value, Visit& visit) {
  constexpr std::size_t count = detail::count_fields<std::remove_const_t<T>>();
  static_assert(count <= 8, "one more line below");
  if constexpr (count == 1) {
    auto& [a] = value;
    visit(a);
  } else if constexpr (count == 2) {
    auto& [a, b] = value;
    visit(a), visit(b);
  } else if constexpr (count == 3) {
    auto& [a, b, c] = value;
    visit(a), visit(b), visit(c);
  } else if constexpr (count == 4) {
    auto& [a, b, c, d] = value;
    visit(a), visit(b), visit(c), visit(d);
  } else if constexpr (count == 5) {
    auto& [a, b, c, d, e] = value;
    visit(a), visit(b), visit(c), visit(d), visit(e);
  } else if constexpr (count == 6) {
    auto& [a, b, c, d, e, f] = value;
    visit(a), visit(b), visit(c), visit(d), visit(e), visit(f);
  } else if constexpr (count == 7) {
    auto& [a, b, c, d, e, f, g] = value;
    visit(a), visit(b), visit(c), visit(d), visit(e), visit(f), visit(g);
  } else if constexpr (count == 8) {
    auto& [a, b, c, d, e, f, g, h] = value;
    visit(a), visit(b), visit(c), visit(d), visit(e), visit(f), visit(g), visit(h);
  }
}

}  // namespace gpucast::remote
