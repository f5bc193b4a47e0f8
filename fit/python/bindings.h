// Parts of gpucast._core that have sources of their own.
#pragma once

#include <nanobind/nanobind.h>

void bind_components(nanobind::module_& m);
void bind_scaling(nanobind::module_& m);
