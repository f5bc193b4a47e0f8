// Answers and charts of the report, from the numbers that the page carries.
//
// No step time is computed here: forecasts are looked up in the models' own points, and
// interpolated between them (log time over log n). What is computed is what follows from step
// times: whole runs, cost, efficiency.
"use strict";

// Colours of the charts, on light and on dark panels; tests/show/report measure how far apart they are.
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

(() => {
  const C = JSON.parse(document.getElementById("content").textContent);
  const byId = (id) => document.getElementById(id);
  const asked = Question(C);
  const [leastN, mostN] = [C.n.values[0], C.n.values.at(-1)];
  const TERMS = ["GPU", "CPU", "communication"];

  // ---- words ----------------------------------------------------------------------------------

  const digits = (value, count = 4) => String(Number(value.toPrecision(count)));
  const count = (value) => Number(value).toLocaleString("en");
  const percent = (share, places = 0) => `${(100 * share).toFixed(places)} %`;

  // The largest of the units that a value reaches.
  const inUnits = (units, value, count) => {
    const [unit, size] = units.find(([, size]) => value >= size) ?? units.at(-1);
    return `${digits(value / size, count)} ${unit}`;
  };
  // As gpucast.util.units.duration; whole runs go on to minutes, hours and days.
  const SECONDS = [["s", 1], ["ms", 1e-3], ["µs", 1e-6], ["ns", 1e-9]];
  const duration = (seconds) => inUnits(SECONDS, seconds);
  function long(seconds) {
    const unit = [["days", 86400], ["h", 3600], ["min", 60]].find(([, size]) => seconds >= 2 * size);
    return unit ? inUnits([unit], seconds, 3) : duration(Number(seconds.toPrecision(3)));
  }
  // Some hundred refits know no chance beyond these.
  const chance = (share) => (share > 0.99 ? "> 99 %" : share < 0.01 ? "< 1 %" : percent(share));
  const gpusInWords = (gpus) => `${gpus} GPU${gpus === 1 ? "" : "s"}`;

  // ---- forecasts ------------------------------------------------------------------------------

  // Index of the last value that is at most x.
  const below = (values, x) => Math.max(0, d3.bisectRight(values, x) - 1);

  function forecast(model, at, n) {
    const curve = C.models[model].curves[at];
    const i = below(curve.n, n);
    const j = Math.min(i + 1, curve.n.length - 1);
    const exact = curve.n[i] === n || i === j;
    const w = exact ? 0 : Math.log(n / curve.n[i]) / Math.log(curve.n[j] / curve.n[i]);
    const linear = (key) => curve[key][i] * (1 - w) + curve[key][j] * w;
    const seconds = curve.seconds[i] ** (1 - w) * curve.seconds[j] ** w;
    const gpu = linear("gpu");
    const com = linear("com");
    return {
      seconds,
      low: seconds * linear("low"), high: seconds * linear("high"),
      meanLow: seconds * linear("mean_low"), meanHigh: seconds * linear("mean_high"),
      sure: seconds * linear("sure"),
      parts: [gpu * seconds, Math.max(0, 1 - gpu - com) * seconds, com * seconds],
      extrapolated: extrapolated(model, curve.gpus, n),
    };
  }

  // The measured time of a cell that is believed rather than its forecast, which chooses no count.
  const believed = C.models.map(({ believed: { n, gpus, seconds } }) => new Map(
    n.map((size, i) => [`${size}:${gpus[i]}`, seconds[i]]),
  ));

  // The cells that the page shows: measured, whether they were fitted or not.
  const measuredAt = (model, gpus, n) =>
    C.models[model].cells.find((cell) => cell.n === n && cell.gpus === gpus) ?? null;

  // Where an answer lies, as the caveats of the page name it.
  function place(model, gpus, n) {
    const { n: sizes, gpus: counts } = C.models[model].domain;
    const word = (value, [least, most]) => (value < least || value > most ? "beyond" : "inside");
    return `n ${word(n, sizes)}, gpus ${word(gpus, counts)}`;
  }
  const extrapolated = (model, gpus, n) => place(model, gpus, n).includes("beyond")
    || n / gpus > (C.models[model].domain.per_gpu ?? Infinity);

  // Index of the stop of the slider that is nearest to n.
  const nearest = (n) => d3.leastIndex(C.n.values, (value) => Math.abs(Math.log(value / n)));

  // Against the fewest GPUs of the page.
  const reference = C.gpus[0];
  const efficiency = (model, seconds, gpus, n) =>
    (reference * forecast(model, 0, n).seconds) / (gpus * seconds);

  // ---- the question ---------------------------------------------------------------------------

  // Every GPU count of every path asked about, with what follows from its step time.
  function choices(q) {
    const priced = q.models.every((model) => q.prices[model] !== null);
    return q.models.flatMap((model) => q.counts.map((at) => {
      const gpus = C.gpus[at];
      const step = forecast(model, at, q.n);
      const hours = (gpus * q.steps * step.seconds) / 3600;
      const price = q.prices[model];
      const shares = C.models[model].shares;
      return {
        model, at, gpus, ...step, hours, trusted: believed[model].get(`${q.n}:${gpus}`) ?? step.seconds,
        run: [step.seconds, step.meanLow, step.meanHigh].map((seconds) => seconds * q.steps),
        surely: step.sure * q.steps,
        measured: measuredAt(model, gpus, q.n),
        cost: price === null ? null : hours * price,
        rank: priced ? hours * price : hours,
        efficiency: efficiency(model, step.seconds, gpus, q.n),
        probability: shares && !q.only ? shares[q.counts.length - 1][nearest(q.n)][at] : null,
      };
    }));
  }

  function answer(q) {
    const rows = choices(q);
    const fastest = d3.least(rows, (row) => row.trusted);
    // The most GPUs that are efficient enough; on several paths those that are the fastest.
    const sensible = q.efficiency === null || q.only ? null : d3.least(
      q.models.map((model) => rows.findLast((row) => row.model === model
        && row.efficiency >= q.efficiency * (1 - 1e-9))), (row) => row.seconds,
    );
    // The cheapest whose run, as far as ``seconds`` tells, ends before the deadline.
    const cheapestBy = (seconds) => d3.least(
      rows.filter((row) => q.deadline === null || seconds(row) <= q.deadline), (row) => row.rank,
    ) ?? null;
    const cheapest = cheapestBy((row) => row.run[0]);
    // As a plan's "in time": with the probability that counts as sure.
    const surest = cheapestBy((row) => row.surely);
    const chosen = q.deadline === null ? sensible ?? fastest : cheapest ?? fastest;
    return { rows, sensible, fastest, cheapest, surest, chosen };
  }

  // ---- the answer -----------------------------------------------------------------------------

  function element(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  const label = (row) => C.models[row.model].label;
  const who = (row) => gpusInWords(row.gpus) + (C.models.length > 1 ? `, ${label(row)}` : "");
  const hours = (row) => `${digits(row.hours, 3)} GPU-hours`;
  const cost = (row) => (row.cost === null ? hours(row) : `${digits(row.cost, 3)} (${hours(row)})`);
  const costs = (row) => (row.cost === null ? "" : "cost ") + cost(row);

  function inTime(row, deadline) {
    if (deadline === null) return "";
    if (row.surely <= deadline) return `meets the deadline with ${percent(C.sure)}`;
    if (row.run[0] <= deadline) return "probably meets the deadline";
    return row.run[1] <= deadline ? "probably misses the deadline" : "misses the deadline";
  }

  function showVerdict(q, { rows, sensible, fastest, cheapest, surest, chosen: row }) {
    const missed = q.deadline !== null && cheapest === null;
    const aim = missed ? "Nothing asked about meets the deadline; the fastest"
      : q.deadline !== null ? "The cheapest in time"
        : sensible ? `The most GPUs that are at least ${percent(q.efficiency)} efficient` : "The fastest";
    byId("verdict-question").textContent = `${aim} for n = ${count(q.n)}`;
    const big = byId("verdict");
    big.replaceChildren(element("strong", gpusInWords(row.gpus)));
    if (C.models.length > 1) big.append(", ", element("strong", label(row)));
    big.append(`: ${duration(row.seconds)} a step`);
    Object.assign(big.dataset, {
      n: q.n, gpus: row.gpus, model: row.model, seconds: row.seconds, low: row.low, high: row.high,
    });
    const sentences = [`90 % of ${C.steps} take ${duration(row.low)} to ${duration(row.high)}.`];
    if (row === sensible) {
      sentences.push(`Efficiency ${percent(row.efficiency)} (N_ref = ${reference}).`);
    }
    const isSure = fastest.probability === null ? "" : ` with probability ${chance(fastest.probability)}`;
    if (row === fastest) {
      if (isSure) sentences.push(`The fastest count${isSure}.`);
    } else if (row === sensible) {
      sentences.push(`The fastest${isSure}: ${who(fastest)}, ${duration(fastest.seconds)} a step.`);
    }
    const close = rows.filter((other) => other.model === row.model && other !== row
      && other.seconds <= 1.02 * row.seconds && other.seconds >= row.seconds).map(({ gpus }) => gpus);
    if (close.length) {
      sentences.push(`${close.join(", ")} GPU${close.length > 1 || close[0] > 1 ? "s" : ""} within 2 %.`);
    }
    const steps = `${count(q.steps)} step${q.steps === 1 ? "" : "s"}`;
    const { timestep } = C.models[row.model];
    if (timestep) sentences.push(`${digits((timestep * 86400e9) / row.seconds)} ns a day.`);
    sentences.push(`${steps}: ${long(row.run[0])} (${long(row.run[1])} to ${long(row.run[2])})`
      + `, ${costs(row)}${q.deadline === null ? "" : `; ${inTime(row, q.deadline)}`}.`);
    if (q.deadline !== null && row !== surest) {
      const sure = percent(C.sure);
      sentences.push(surest === null ? `No count asked about is in time with ${sure}.`
        : `In time with ${sure}: ${who(surest)}, ${long(surest.run[0])}, ${costs(surest)}.`);
    }
    byId("verdict-detail").textContent = sentences.join(" ");
    byId("verdict-flag").hidden = !row.extrapolated;
    flag("verdict-refused", q.refused.length ? `Not as the fields say: ${q.refused.join("; ")}.` : "");
    flag("verdict-measured", row.measured === null || row.measured.covered ? ""
      : `Measured here: ${duration(row.measured.measured)} a step, outside the 90 % interval of the forecast for it.`);
    for (const caveat of document.querySelectorAll(".caveat")) {
      const model = Number(caveat.dataset.model);
      const own = model === row.model ? row : rows.find((other) => other.model === model);
      caveat.hidden = !own || caveat.dataset.place !== place(model, own.gpus, q.n);
    }
  }

  function flag(place, text) {
    byId(place).textContent = text;
    byId(place).hidden = text === "";
  }

  function card(heading, row) {
    const panel = element("div", undefined, "panel");
    panel.append(element("h3", heading), ...(row === null
      ? [element("p", "none of those asked about")]
      : [element("b", who(row)),
        element("p", `${duration(row.seconds)} a step${row.extrapolated ? " (extrapolated)" : ""}`),
        element("p", `${long(row.run[0])} in all, ${costs(row)}`)]));
    return panel;
  }

  function showCards(q, { rows, sensible, fastest, cheapest }) {
    const others = q.models.filter((model) => model !== fastest.model);
    byId("cards").replaceChildren(
      ...(sensible ? [card(`${percent(q.efficiency)} efficient`, sensible)] : []),
      card("Fastest", fastest),
      card(q.deadline === null ? "Cheapest" : "Cheapest in time", cheapest),
      ...others.map((model) => card(`Fastest, ${C.models[model].label}`,
        d3.least(rows.filter((row) => row.model === model), (row) => row.seconds))),
    );
  }

  function showChoices(q, { rows, chosen }) {
    const several = q.models.length > 1;
    const line = (name, cells, className) => {
      const made = element("tr", undefined, className);
      cells.slice(several ? 0 : 1).forEach((text, i) => {
        const isHead = name === "col" || i === (several ? 1 : 0);
        const cell = element(isHead ? "th" : "td", text, several && i === 0 ? "" : "r");
        if (isHead) cell.scope = name;
        if (Array.isArray(text)) cell.replaceChildren(text[0], ...(text[1] ? [element("small", text[1])] : []));
        made.append(cell);
      });
      return made;
    };
    const head = element("thead");
    head.append(line("col", ["path", "GPUs", "a step", "90 % of steps", "fastest", `efficiency (N_ref = ${reference})`,
      `${count(q.steps)} steps`, "cost"]));
    const body = element("tbody");
    body.append(...rows.map((row) => line("row", [
      label(row),
      String(row.gpus),
      [duration(row.seconds) + (row.extrapolated ? "*" : ""),
        row.measured && `measured ${duration(row.measured.measured)}`],
      `${duration(row.low)} – ${duration(row.high)}`,
      row.probability === null ? "-" : chance(row.probability),
      percent(row.efficiency),
      long(row.run[0]) + (q.deadline !== null && row.run[0] > q.deadline ? " (late)" : ""),
      cost(row),
    ], [row === chosen ? "win" : "", row.extrapolated ? "beyond" : ""].join(" ").trim())));
    byId("choices").replaceChildren(head, body);
  }

  // ---- charts ---------------------------------------------------------------------------------

  let printing = false;
  const darkness = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => darkness.matches && !printing;

  // Curves are drawn of the GPUs that there are, and of more where the question asks about more.
  let drawn = C.gpus;
  const colourOf = (gpus, counts = drawn) => Colours.of(counts.indexOf(gpus), counts.length, dark());
  const gpuScale = (counts = drawn) => ({
    type: "ordinal", domain: counts, range: counts.map((gpus) => colourOf(gpus, counts)), label: "GPUs",
    legend: true, tickFormat: gpusInWords,
  });

  // 1, 2 and 5 of each decade where there is room for them, else powers of ten.
  function ticks(low, high, room) {
    const decades = Math.log10(high / low);
    const steps = decades * 3 <= room ? [1, 2, 5] : [1];
    const every = steps.length > 1 ? 1 : Math.max(1, Math.ceil(decades / room));
    return d3.range(Math.floor(Math.log10(low)), Math.log10(high) + 1e-9)
      .filter((power) => power % every === 0)
      .flatMap((power) => steps.map((step) => Number(`${step}e${power}`)))
      .filter((value) => value >= low * 0.999 && value <= high * 1.001);
  }
  const shortCount = (value) => Intl.NumberFormat("en", { notation: "compact" }).format(value).replace("K", "k");

  // Charts that take long to draw and stay the same while only n changes are kept: ``key`` says
  // what they are about.
  const kept = {};
  function draw(place, options, key) {
    const chart = byId(place);
    const width = printing ? (chart.closest(".wide, .js") ? 640 : 320) : Math.max(260, chart.clientWidth);
    const about = [key, width, dark(), printing].join();
    if (key !== undefined && kept[place]?.about === about) return kept[place].made;
    const made = Plot.plot({
      width, height: 320, marginLeft: 58, marginBottom: 40, marginTop: 26, marginRight: 16,
      style: { background: "transparent", fontSize: "12px" },
      ...(typeof options === "function" ? options(width) : options),
    });
    chart.replaceChildren(made);
    kept[place] = { about, made };
    return made;
  }

  // Puts the n chosen, and the value there, into a chart that was drawn without them.
  function point(made, n, value, colour) {
    const svg = made.querySelector(":scope > svg");
    const [x, y] = [made.scale("x"), made.scale("y")];
    const at = x.apply(n);
    d3.select(svg).selectAll("g.chosen").data([0]).join("g").attr("class", "chosen")
      .attr("aria-hidden", "true").attr("pointer-events", "none")
      .html("").call((g) => {
        g.append("line").attr("x1", at).attr("x2", at).attr("y1", y.range[0]).attr("y2", y.range[1])
          .attr("stroke", "currentColor").attr("stroke-opacity", 0.5);
        g.append("circle").attr("cx", at).attr("cy", y.apply(value)).attr("r", 5.5)
          .attr("fill", colour).attr("stroke", "currentColor").attr("stroke-width", 1.5);
      });
  }

  // Axes of their own: Plot's logarithmic ones leave out labels of the ticks they are given.
  const axis = (which, at, format) => [
    Plot[`grid${which}`](at), Plot[`axis${which}`](at, { text: format }),
  ];
  const nScale = (low, high) => ({
    type: "log", domain: [low, high], label: C.unit ? `n, ${C.unit}` : "n",
  });
  const nAxis = (width, low, high) => axis("X", ticks(low, high, width / 60), shortCount);

  // A chart over all n: curves of every GPU count, the band of the chosen one, and what ``options``
  // add: the domain and label of y, marks below (its axis) and above, and the words of points.
  function overN(place, rows, key, chosen, options) {
    return draw(place, (width) => ({
      height: options.height?.(width) ?? 320,
      x: nScale(leastN, mostN),
      y: { type: "log", domain: options.domain, label: options.label },
      color: gpuScale(),
      ariaLabel: options.ariaLabel,
      marks: [
        ...nAxis(width, leastN, mostN),
        ...options.below,
        Plot.areaY(rows.filter((row) => row.gpus === chosen.gpus), {
          x: "n", y1: "low", y2: "high", fill: "gpus", fillOpacity: 0.22, clip: true,
        }),
        ...lines(rows, key, chosen.gpus),
        ...(options.above ?? []),
        Plot.tip(rows, Plot.pointer({
          x: "n", y: key, maxRadius: 30,
          title: (row) => `n = ${count(row.n)}, ${gpusInWords(row.gpus)}\n${options.words(row)}`
            + `${row.extrapolated ? "\nextrapolated" : ""}`,
        })),
      ],
    }), `${chosen.model}:${chosen.gpus}:${drawn.length}`);
  }

  // A line a GPU count, solid where it is fitted, dashed where it is extrapolated.
  const lines = (rows, y, chosen) => drawn.flatMap((gpus) => {
    const own = rows.filter((row) => row.gpus === gpus);
    const width = gpus === chosen ? 3 : 1.4;
    const line = (part, options) => Plot.line(part, { x: "n", y, stroke: "gpus", ...options });
    return [
      line(own, { strokeWidth: Math.max(1, width * 0.7), strokeDasharray: "3,4" }),
      line(own.filter((row) => !row.extrapolated), { strokeWidth: width }),
    ];
  });

  const timeRows = C.models.map((_, model) => C.gpus.flatMap((gpus, at) =>
    C.n.values.map((n) => ({ n, gpus, ...forecast(model, at, n) }))));

  function drawTime(q, row) {
    const rows = timeRows[row.model].filter((time) => drawn.includes(time.gpus));
    const cells = C.models[row.model].cells.filter((cell) =>
      drawn.includes(cell.gpus) && cell.n >= leastN && cell.n <= mostN);
    const [low, high] = d3.extent([...rows.map((time) => time.seconds), ...cells.map((c) => c.measured)]);
    const made = overN("chart-time", rows, "seconds", row, {
      height: (width) => Math.min(460, Math.max(300, width * 0.55)),
      domain: [low * 0.8, high * 1.2],
      label: "time of a step",
      ariaLabel: "Step time against n, a line a GPU count",
      below: axis("Y", ticks(low * 0.8, high * 1.2, 14), duration),
      above: [Plot.dot(cells, { x: "n", y: "measured", stroke: "gpus", fill: "var(--panel)", r: 3.5 })],
      words: (time) => `${duration(time.seconds)} (${duration(time.low)} – ${duration(time.high)})`,
    });
    point(made, q.n, row.seconds, colourOf(row.gpus));
  }

  function drawParts(q, row) {
    const rows = drawn.map((gpus, at) => ({ gpus, ...forecast(row.model, at, q.n) }));
    // Nobody measured the parts of a program that is known by its step times alone.
    const terms = C.models[row.model].parts ? TERMS : ["step"];
    const parts = rows.flatMap((bar) => terms.map((term, i) => ({
      ...bar, term, part: terms.length > 1 ? bar.parts[i] : bar.seconds,
    })));
    const cells = C.models[row.model].cells.filter((cell) => cell.n === q.n && drawn.includes(cell.gpus));
    draw("chart-parts", {
      x: { type: "band", domain: drawn, label: "N, GPUs", tickFormat: String },
      y: { label: "time of a step", grid: true, tickFormat: (v) => (v === 0 ? "0" : duration(v)), ticks: 5, nice: true },
      color: {
        domain: terms, range: Colours.several(dark()),
        legend: terms.length > 1,
      },
      ariaLabel: "Step time against the GPU count, by term",
      marks: [
        Plot.barY(parts, Plot.stackY({
          x: "gpus", y: "part", fill: "term", order: terms,
          fillOpacity: (bar) => (bar.extrapolated ? 0.5 : 1),
          title: (bar) => `${gpusInWords(bar.gpus)}: ${bar.term} ${duration(bar.part)}, `
            + `${percent(bar.part / bar.seconds)}`, tip: true,
        })),
        Plot.ruleX(rows, { x: "gpus", y1: "low", y2: "high", stroke: "currentColor", strokeWidth: 1.5 }),
        Plot.dot(cells, { x: "gpus", y: "measured", stroke: "currentColor", fill: "var(--panel)", r: 4.5, strokeWidth: 1.5 }),
        Plot.text([row], { x: "gpus", y: "high", text: () => "▼", dy: -9, fill: "currentColor" }),
        Plot.ruleY([0]),
      ],
    });
  }

  function drawEfficiency(q) {
    const least = q.efficiency === null ? [] : [q.efficiency];
    const rows = C.models.flatMap((model, m) => drawn.map((gpus, at) => {
      const { seconds, extrapolated } = forecast(m, at, q.n);
      return { path: model.label, gpus, extrapolated, efficiency: efficiency(m, seconds, gpus, q.n) };
    }));
    draw("chart-efficiency", {
      x: { type: "point", domain: drawn, label: "N, GPUs", tickFormat: String },
      y: { domain: [0, Math.max(1, d3.max(rows, (row) => row.efficiency))], label: `efficiency (N_ref = ${reference})`, grid: true, tickFormat: (v) => percent(v) },
      color: { domain: C.models.map((m) => m.label), range: Colours.several(dark()), legend: C.models.length > 1 },
      ariaLabel: "Parallel efficiency against the GPU count",
      marks: [
        Plot.ruleY([0]),
        Plot.ruleY([1], { strokeOpacity: 0.35, strokeDasharray: "3,4" }),
        Plot.ruleY(least, { strokeDasharray: "1,3" }),
        Plot.line(rows, { x: "gpus", y: "efficiency", stroke: "path", strokeWidth: 2 }),
        Plot.dot(rows.filter((row) => row.extrapolated), {
          x: "gpus", y: "efficiency", stroke: "path", r: 4.5, strokeWidth: 2, fill: "var(--panel)",
        }),
        Plot.dot(rows.filter((row) => !row.extrapolated), {
          x: "gpus", y: "efficiency", fill: "path", r: 5.5,
        }),
        Plot.tip(rows, Plot.pointer({
          x: "gpus", y: "efficiency",
          title: (row) => `${row.path}, ${gpusInWords(row.gpus)}: ${percent(row.efficiency, 1)}`,
        })),
      ],
    });
  }

  const extraRows = C.extra.map((extra) => C.n.values.flatMap((n, i) => C.gpus.map((gpus, at) => ({
    n, gpus, ratio: extra.ratio[i][at], low: extra.low[i][at], high: extra.high[i][at],
    extrapolated: extrapolated(0, gpus, n) || extrapolated(extra.model, gpus, n),
  }))));

  function drawExtra(q, row) {
    extraRows.forEach((every, index) => {
      const rows = every.filter((entry) => drawn.includes(entry.gpus));
      const [low, high] = d3.extent([...rows.map((entry) => entry.ratio), 1]);
      const made = overN(`chart-extra-${index}`, rows, "ratio", row, {
        domain: [low * 0.9, high * 1.15],
        label: "times as long",
        ariaLabel: "Ratio of step times against n, a line a GPU count",
        below: [
          ...axis("Y", d3.ticks(low * 0.9, high * 1.15, 6), (v) => `${digits(v, 3)}×`),
          Plot.ruleY([1], { stroke: "currentColor", strokeWidth: 1.5 }),
        ],
        words: (entry) => `${digits(entry.ratio, 3)} times (${digits(entry.low, 3)} – ${digits(entry.high, 3)})`,
      });
      const at = nearest(q.n);
      const { ratio, low: lows, high: highs, probability_first_faster: first } = C.extra[index];
      const i = C.gpus.indexOf(row.gpus);
      point(made, C.n.values[at], ratio[at][i], colourOf(row.gpus));
      byId(`extra-${index}`).textContent = `At n = ${count(C.n.values[at])} on ${gpusInWords(row.gpus)}: `
        + `${digits(ratio[at][i], 3)} times as long (${digits(lows[at][i], 3)} to `
        + `${digits(highs[at][i], 3)}); ${C.models[0].label} the faster with probability `
        + `${chance(first[at][i])}.`;
    });
  }

  function drawResiduals() {
    C.models.forEach((model, index) => {
      const { cells } = model;
      if (!cells.length) return;
      const counts = C.gpus.filter((gpus) => cells.some((cell) => cell.gpus === gpus));
      const [low, high] = d3.extent(cells, (cell) => cell.n);
      draw(`chart-residuals-${index}`, (width) => ({
        height: 260,
        x: nScale(low / 1.2, high * 1.2),
        y: { label: "forecast against measured", grid: true, nice: true, zero: true,
          tickFormat: (v) => `${v > 0 ? "+" : ""}${digits(100 * v, 2)} %` },
        color: gpuScale(counts),
        ariaLabel: "Relative error of the forecast against n",
        marks: [
          ...nAxis(width, low / 1.2, high * 1.2),
          Plot.ruleY([0], { stroke: "currentColor", strokeWidth: 1.5 }),
          Plot.dot(cells, {
            x: "n", y: "relative_error", stroke: "gpus", r: 4.5, strokeWidth: 1.8,
            fill: (cell) => (cell.covered ? colourOf(cell.gpus, counts) : "var(--panel)"), tip: true,
            title: (cell) => `n = ${count(cell.n)}, ${gpusInWords(cell.gpus)}: ${(100 * cell.relative_error).toFixed(1)} %`
              + `\nmeasured ${duration(cell.measured)}, forecast ${duration(cell.predicted)}`,
          }),
        ],
      }));
    });
  }

  function drawProfiles() {
    C.models.forEach((model, index) => {
      if (!model.k_profile.length) return;
      const best = d3.min(model.k_profile, (fit) => fit.cost);
      const rows = model.k_profile.map(({ k, cost: own }) => ({ k, above: own - best }));
      draw(`chart-k-${index}`, {
        height: 240,
        x: { label: "k", grid: true },
        y: { type: "symlog", label: "cost above the least", grid: true, ticks: 5, tickFormat: (v) => digits(v, 3) },
        ariaLabel: "Cost of the fit against k",
        marks: [
          Plot.ruleY([0]),
          Plot.line(rows, { x: "k", y: "above", stroke: "currentColor", strokeOpacity: 0.4 }),
          Plot.dot(rows, {
            x: "k", y: "above", stroke: Colours.several(dark())[0], r: 4,
            fill: (fit) => (model.k_plausible.includes(fit.k) ? Colours.several(dark())[0] : "var(--panel)"),
            title: (fit) => `k = ${fit.k}: ${digits(fit.above, 3)}`, tip: true,
          }),
        ],
      });
    });
  }

  // ---- at work --------------------------------------------------------------------------------

  function update() {
    const q = asked.read();
    const reply = answer(q);
    const { chosen } = reply;
    drawn = C.gpus.filter((gpus) => gpus <= Math.max(C.most, q.most));
    byId("link").href = asked.link();
    showVerdict(q, reply);
    showCards(q, reply);
    showChoices(q, reply);
    for (const name of document.querySelectorAll(".of-model")) {
      name.textContent = C.models.length > 1 ? `, ${label(chosen)}` : "";
    }
    drawTime(q, chosen);
    drawParts(q, chosen);
    drawEfficiency(q);
    drawExtra(q, chosen);
  }
  function everything() {
    update();
    drawResiduals();
    drawProfiles();
  }

  let waiting = false;
  function soon(what) {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      what();
    });
  }

  // Tables that are wider than the page say so, and fade where they go on.
  function markWhatIsCut(part) {
    const mark = () => {
      const left = part.scrollWidth - part.clientWidth;
      part.classList.toggle("cut", left > 1);
      part.classList.toggle("goes-on", left > 1 && part.scrollLeft < left - 1);
      if (left > 1) part.tabIndex = 0;
    };
    part.addEventListener("scroll", mark);
    const watch = new ResizeObserver(mark);
    watch.observe(part);
    watch.observe(part.firstElementChild);
  }

  function start() {
    for (const part of document.querySelectorAll("#controls, #cards, #choices-part, #charts, #link-part, .js")) {
      part.hidden = false;
    }
    const slider = byId("n-slider");
    const say = () => slider.setAttribute("aria-valuetext", `n = ${count(C.n.values[slider.value])}`);
    slider.addEventListener("input", () => {
      byId("n").value = C.n.values[slider.value];
      say();
    });
    byId("n").addEventListener("input", () => {
      slider.value = nearest(asked.read().n);
      say();
    });
    const restore = () => {
      asked.restore();
      slider.value = nearest(asked.read().n);
      say();
    };
    restore();
    byId("controls").addEventListener("input", () => {
      asked.keep();
      soon(update);
    });
    addEventListener("hashchange", () => {
      restore();
      soon(update);
    });
    byId("controls").addEventListener("submit", (event) => event.preventDefault());
    darkness.addEventListener("change", () => soon(everything));
    let width = innerWidth;
    addEventListener("resize", () => {
      if (innerWidth !== width) soon(everything);
      width = innerWidth;
    });
    let closed = [];
    addEventListener("beforeprint", () => {
      closed = [...document.querySelectorAll("details:not([open])")];
      for (const part of closed) part.open = true;
      printing = true;
      everything();
    });
    addEventListener("afterprint", () => {
      for (const part of closed) part.open = false;
      printing = false;
      everything();
    });
    document.querySelectorAll(".scroll").forEach(markWhatIsCut);
    everything();
    document.documentElement.dataset.ready = "yes";
  }

  start();
})();
