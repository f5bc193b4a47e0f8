// Colours of the charts, on light and on dark panels; tests/report measure how far apart they are.
"use strict";
const Colours = {
  // The colour of the i-th of some GPU counts, in their order.
  of(i, count, dark) {
    const at = count > 1 ? i / (count - 1) : 0;
    return dark ? d3.interpolatePlasma(0.45 + 0.55 * at) : d3.interpolatePlasma(0.6 * at);
  },
  // Colours of things without an order (after Okabe and Ito, darker or lighter where panels need it).
  several: (dark) => (dark
    ? ["#56B4E9", "#F0C04A", "#E8743B", "#2FC49A", "#E39AC4", "#B9C3CF"]
    : ["#0072B2", "#B88600", "#C0392B", "#008060", "#B0568C", "#566273"]),
};
