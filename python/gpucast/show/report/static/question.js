// The question that a reader puts: what the fields say, what of it cannot be used, and a link that
// keeps it.
"use strict";
function Question(C) {
  const byId = (id) => document.getElementById(id);
  const [leastN, mostN] = [C.n.values[0], C.n.values.at(-1)];
  const controls = [...document.querySelectorAll("#controls :is(input, select)[id]")]
    .filter((field) => field.type !== "range");
  const count = (value) => value.toLocaleString("en", { maximumSignificantDigits: 15 });
  // Sizes are whole numbers where all that the page knows are.
  const whole = C.n.values.every(Number.isInteger);
  // The last that could be used: what is answered while a field is being written.
  const last = {
    n: C.n.start, steps: Number(byId("steps").value),
    efficiency: Number(byId("efficiency").value) / 100,
  };
  const more = byId("said-counts") ? "state it under counts, above, and fit again"
    : "gpucast report --gpus makes a page with it";
  let refused = [];
  let unknown = [];
  let waiting;

  // What is wrong with a field is said at it, and again at the answer.
  function say(id, text) {
    const field = byId(id);
    byId(`${id}-wrong`).textContent = text;
    if (text) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
    if (text) refused.push(`${document.querySelector(`label[for="${id}"]`).textContent}: ${text}`);
  }

  // A field's number; null where it is empty, NaN where it holds no number.
  function number(id) {
    const field = byId(id);
    if (field.validity.badInput) return NaN;
    return field.value === "" ? null : Number(field.value);
  }

  // What a field has at first, and where a link says nothing of it.
  const usual = (field) => (field.tagName === "SELECT"
    ? ([...field.options].find((option) => option.defaultSelected) ?? field.options[0]).value
    : field.defaultValue);

  function size() {
    const n = number("n");
    if (!(n > 0)) {
      say("n", `a size is a number greater than 0; the answer is for ${count(last.n)}`);
      return last.n;
    }
    const within = Math.min(mostN, Math.max(leastN, whole ? Math.round(n) : n));
    const range = `this page knows ${count(leastN)} to ${count(mostN)}`;
    say("n", within === n ? "" : `${n < leastN || n > mostN ? range
      : "sizes are whole numbers"}; the answer is for ${count(within)}`);
    return within;
  }

  // A field's number where it is greater than 0, else what is answered instead.
  function positive(id, what, instead, words) {
    const value = number(id);
    const empty = value === null && instead === null;
    const usable = empty || (value > 0 && value < Infinity);
    say(id, usable ? "" : `${what} greater than 0; the answer is ${words}`);
    return usable ? value : instead;
  }

  // The least efficiency that is sensible, a share; null where the field is empty.
  function efficiency() {
    const value = number("efficiency");
    const usable = value === null || (value > 0 && value <= 100);
    const instead = `${100 * last.efficiency} %`;
    say("efficiency", usable ? "" : `a number greater than 0, up to 100; the answer is for ${instead}`);
    if (usable && value !== null) last.efficiency = value / 100;
    return value === null ? null : last.efficiency;
  }

  // Costs of several paths are compared where each has its price.
  function prices(models) {
    const values = C.models.map((_, i) => number(`price-${i}`));
    const stated = models.some((i) => values[i] >= 0 && values[i] !== null);
    return values.map((price, i) => {
      const usable = price === null || price >= 0;
      const missing = price === null && stated && models.includes(i);
      say(`price-${i}`, !usable ? "a price is 0 or more; the answer is without it"
        : missing ? "not stated, so the cheapest is the one with the fewest GPU-hours" : "");
      return usable ? price : null;
    });
  }

  return {
    // What is asked; ``refused`` says what of the fields is not answered as it stands.
    read() {
      refused = [...unknown];
      const [kind, gpus] = byId("gpus").value.split(":");
      const most = Number(gpus);
      const at = C.gpus.indexOf(most);
      const path = byId("path") ? byId("path").value : "0";
      const models = path === "any" ? C.models.map((_, i) => i) : [Number(path)];
      Object.assign(last, {
        n: size(),
        steps: positive("steps", "a number", last.steps, `for ${count(last.steps)}`),
      });
      const deadline = positive("deadline", "a time", null, "without a deadline");
      return {
        ...last, models, most,
        counts: kind === "only" ? [at] : C.gpus.map((_, i) => i).slice(0, at + 1),
        only: kind === "only",
        efficiency: efficiency(),
        deadline: deadline && deadline * Number(byId("unit").value),
        prices: prices(models),
        refused,
      };
    },

    // The fields as the part of an address after #.
    link() {
      const filled = controls.filter((field) => field.value !== "");
      return `#${new URLSearchParams(filled.map((field) => [field.id, field.value]))}`;
    },

    // Puts the fields into the address, once they rest: browsers refuse to do it all the time.
    keep() {
      unknown = [];
      clearTimeout(waiting);
      waiting = setTimeout(() => history.replaceState(null, "", this.link()), 250);
    },

    // Fills the fields from the address, where it has a question; places on the page have names.
    restore() {
      const hash = location.hash.slice(1);
      if (!hash.includes("=")) {
        if (waiting) this.keep(); // a place on the page took the question's place
        return;
      }
      unknown = [];
      const linked = new URLSearchParams(hash);
      for (const field of controls) {
        const wanted = linked.get(field.id) ?? usual(field);
        // A count alone is the most that the answer may take.
        const value = field.id === "gpus" && /^[0-9]+$/.test(wanted) ? `most:${wanted}` : wanted;
        linked.delete(field.id);
        const before = field.value;
        field.value = value;
        if (field.value === value) continue;
        field.value = before;
        unknown.push(`the link's ${field.id} ${value} is not on this page${
          field.id === "gpus" ? `; ${more}` : ""}`);
      }
      for (const key of linked.keys()) unknown.push(`the link's ${key} is not on this page`);
    },
  };
}
