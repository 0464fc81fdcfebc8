// The browser of texts. Everything that comes from data is set as text content, never as markup.
(() => {
  const list = document.getElementById("list");
  if (!list) return;
  const MOST_TEXTS = 25;
  const MOST_WORDS = 6000;
  const form = document.getElementById("browse");
  const field = (name) => form.elements.namedItem(name);
  const tip = document.getElementById("tip");
  const sets = JSON.parse(document.getElementById("data").textContent).map(unpack);
  let current = sets[0];
  let chosen = [];
  let starts = [0];
  let page = 0;

  function bytes(text) {
    return Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  }

  function read(text, width, method) {
    if (text === null) return null;
    const view = new DataView(bytes(text).buffer);
    return Array.from({ length: view.byteLength / width }, (_, i) => view[method](i * width, true));
  }

  function floats(text) {
    return text === null ? null : Float32Array.from(read(text, 4, "getFloat32"));
  }

  function unpack(packed) {
    const lengths = read(packed.lengths, 4, "getUint32");
    const offsets = [0];
    for (const length of lengths) offsets.push(offsets.at(-1) + length);
    return {
      title: packed.title,
      note: packed.note,
      vocabulary: packed.vocabulary,
      offsets,
      n: lengths.length,
      ids: packed.wideIds ? read(packed.ids, 4, "getUint32") : read(packed.ids, 2, "getUint16"),
      attention: floats(packed.attention),
      informativeness: floats(packed.informativeness),
      label: read(packed.label, 4, "getUint32"),
      prediction: read(packed.prediction, 4, "getUint32"),
      probability: floats(packed.probability),
      classes: packed.classes,
      measures: packed.measures.map(({ name, values }) => ({ name, values: floats(values) })),
      lower: null,
    };
  }

  const count = (number) => number.toLocaleString("en");
  const className = (set, number) => set.classes[number] ?? String(number);

  function number(value, digits = 3) {
    if (Number.isNaN(value)) return "undefined";
    if (value !== 0 && Math.abs(value) < 0.5 * 10 ** -digits) return value.toExponential(1).replace("-", "−");
    return value.toFixed(digits).replace("-", "−");
  }

  function make(tag, kind, content) {
    const element = document.createElement(tag);
    if (kind) element.className = kind;
    if (content !== undefined) element.textContent = content;
    return element;
  }

  function option(value, content) {
    const element = make("option", "", content);
    element.value = value;
    return element;
  }

  function words(set, i) {
    return set.ids.slice(set.offsets[i], set.offsets[i + 1]).map((id) => set.vocabulary[id]);
  }

  // Values of the words of a text: attention, informativeness, and the difference of their shares.
  function values(set, i) {
    const [from, to] = [set.offsets[i], set.offsets[i + 1]];
    const attention = set.attention.subarray(from, to);
    const informativeness = set.informativeness.subarray(from, to);
    const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);
    const [all, told] = [sum(attention), sum(informativeness)];
    const known = all > 0 && told > 0;
    const difference = Array.from(attention, (one, t) => (known ? one / all - informativeness[t] / told : NaN));
    return { attention, informativeness, difference };
  }

  function shade(word, value, most, diverging) {
    const depth = most > 0 && !Number.isNaN(value) ? Math.abs(value) / most : 0;
    word.style.setProperty("--depth", `${(68 * depth).toFixed(1)}%`);
    word.classList.toggle("more", diverging && value > 0 && depth > 0.1);
    word.classList.toggle("less", diverging && value < 0 && depth > 0.1);
    word.classList.toggle("negative", diverging && value < 0);
  }

  function paint(item) {
    const view = field("view").value;
    const shown = item.values[view];
    const most = shown.reduce((top, one) => (Number.isNaN(one) ? top : Math.max(top, Math.abs(one))), 0);
    item.words.forEach((word, t) => shade(word, shown[t], most, view === "difference"));
    item.undefined.hidden = !shown.every((one) => Number.isNaN(one));
  }

  function draw(set, i) {
    const row = make("li");
    const head = make("p", "head");
    head.append(make("span", "index", `#${count(i)}`));
    const fact = (name, value) => {
      const part = make("span", "fact");
      part.append(make("span", "name", name), " ", make("bdi", "", value));
      head.append(part);
    };
    if (set.label) fact("label", className(set, set.label[i]));
    if (set.prediction) {
      const sure = set.probability ? ` (${number(set.probability[i], 2)})` : "";
      fact("prediction", className(set, set.prediction[i]) + sure);
    }
    if (set.label && set.prediction && set.label[i] !== set.prediction[i]) head.append(make("span", "wrong", "wrong"));
    for (const measure of set.measures) fact(measure.name, number(measure.values[i], 2));
    const undefined_ = make("span", "wrong", "undefined in this text");
    head.append(undefined_);
    const content = make("p", "words");
    content.dir = "auto";
    const item = { set, i, values: values(set, i), words: [], undefined: undefined_ };
    words(set, i).forEach((text, t) => {
      // Not bdi, which the automatic direction of the text would pass over.
      const word = make("span", "word", text);
      word.tabIndex = t ? -1 : 0;
      word.dataset.place = t;
      item.words.push(word);
      content.append(word, " ");
    });
    row.append(head, content);
    row.item = item;
    paint(item);
    return row;
  }

  const items = () => [...list.children].map((row) => row.item);

  // Pages hold so many words at most, so that long texts do not stall the browser.
  function paginate() {
    starts = [0];
    let load = 0;
    chosen.forEach((i, place) => {
      load += current.offsets[i + 1] - current.offsets[i];
      const begin = starts.at(-1);
      if (place > begin && (place - begin >= MOST_TEXTS || load > MOST_WORDS)) {
        starts.push(place);
        load = current.offsets[i + 1] - current.offsets[i];
      }
    });
  }

  function show(wanted) {
    page = Math.min(Math.max(wanted, 0), starts.length - 1);
    hide();
    list.replaceChildren(...chosen.slice(starts[page], starts[page + 1]).map((i) => draw(current, i)));
    const pages = chosen.length ? `; page ${count(page + 1)} of ${count(starts.length)}` : "";
    document.getElementById("where").textContent = `${count(chosen.length)} of ${count(current.n)} texts${pages}`;
    for (const button of document.querySelectorAll("[data-go]")) {
      const next = page + Number(button.dataset.go);
      button.disabled = next < 0 || next >= starts.length;
    }
  }

  function matches(i, query) {
    return query === "" || current.lower[i].includes(query);
  }

  function select() {
    const query = field("query").value.toLowerCase().trim().replace(/\s+/g, " ");
    if (query && !current.lower) {
      current.lower = Array.from({ length: current.n }, (_, i) => words(current, i).join(" ").toLowerCase());
    }
    const [label, prediction, correct] = ["label", "prediction", "correct"].map((name) => field(name).value);
    chosen = [];
    for (let i = 0; i < current.n; i += 1) {
      if (label !== "" && current.label[i] !== Number(label)) continue;
      if (prediction !== "" && current.prediction[i] !== Number(prediction)) continue;
      if (correct !== "" && (current.label[i] === current.prediction[i]) !== (correct === "yes")) continue;
      if (matches(i, query)) chosen.push(i);
    }
    const [kind, place, direction] = field("order").value.split(":");
    if (kind !== "index") {
      const key = kind === "length" ? (i) => current.offsets[i + 1] - current.offsets[i] : null;
      const of = key ?? ((i) => current.measures[Number(place)].values[i]);
      const sign = direction === "up" ? 1 : -1;
      chosen.sort((a, b) => {
        const [one, two] = [of(a), of(b)];
        if (Number.isNaN(one) || Number.isNaN(two)) return Number.isNaN(one) - Number.isNaN(two) || a - b;
        return sign * (one - two) || a - b;
      });
    }
    paginate();
    show(0);
  }

  function fillClasses(name, numbers) {
    const found = numbers ? [...new Set(numbers)].sort((a, b) => a - b) : [];
    const options = found.map((one) => option(String(one), className(current, one)));
    field(name).replaceChildren(option("", "all"), ...options);
  }

  function change() {
    current = sets[Number(field("set").value)];
    fillClasses("label", current.label);
    fillClasses("prediction", current.prediction);
    const has = { label: current.label, prediction: current.prediction, both: current.label && current.prediction };
    for (const label of form.querySelectorAll("[data-needs]")) label.hidden = !has[label.dataset.needs];
    field("correct").value = "";
    const orders = [option("index", "as in the data"), option("length::down", "longest"), option("length::up", "shortest")];
    current.measures.forEach(({ name }, place) => {
      orders.push(option(`measure:${place}:down`, `${name}, highest`), option(`measure:${place}:up`, `${name}, lowest`));
    });
    field("order").replaceChildren(...orders);
    document.getElementById("set-note").textContent = current.note;
    select();
  }

  function legend() {
    const view = field("view").value;
    const target = document.getElementById("legend");
    const ramp = make("span", `ramp ${view}`);
    ramp.setAttribute("aria-hidden", "true");
    const ends = view === "difference" ? ["attended less than informative", "attended more"] : ["0", "largest of the text"];
    target.replaceChildren(make("span", "", ends[0]), ramp, make("span", "", ends[1]));
    list.dataset.view = view;
  }

  let told = null;

  function tell(word) {
    told = word;
    const item = word.closest("li").item;
    const t = Number(word.dataset.place);
    const { attention, informativeness, difference } = item.values;
    const sign = difference[t] > 0 ? "+" : "";
    tip.replaceChildren(make("bdi", "told", word.textContent), make("span", "", `position ${count(t)}`));
    const row = (name, value) => {
      const part = make("span", "pair");
      part.append(make("span", "name", name), " ", make("span", "value", value));
      tip.append(part);
    };
    row("attention", number(attention[t]));
    row("informativeness", Number.isNaN(informativeness[t]) ? "undefined" : `${number(informativeness[t])} nats`);
    row("difference of shares", sign + number(difference[t]));
    tip.hidden = false;
    const place = word.getBoundingClientRect();
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    const above = place.top - tip.offsetHeight - 6;
    tip.style.left = `${Math.max(8, Math.min(place.left, room))}px`;
    tip.style.top = `${above > 4 ? above : place.bottom + 6}px`;
  }

  function hide() {
    told = null;
    tip.hidden = true;
  }

  const wordOf = (event) => (event.target instanceof Element ? event.target.closest(".word") : null);

  list.addEventListener("pointerover", (event) => (wordOf(event) ? tell(wordOf(event)) : hide()));
  list.addEventListener("pointerleave", hide);
  list.addEventListener("focusin", (event) => wordOf(event) && tell(wordOf(event)));
  list.addEventListener("focusout", hide);
  // Reaching a word by key scrolls to it, and its numbers go along.
  window.addEventListener("scroll", () => (told && told === document.activeElement ? tell(told) : hide()), { passive: true });
  // One word of a text is a tab stop, arrows move between its words.
  list.addEventListener("keydown", (event) => {
    const word = wordOf(event);
    if (!word) return;
    const all = word.closest("li").item.words;
    const at = all.indexOf(word);
    const right = getComputedStyle(word.parentElement).direction === "rtl" ? -1 : 1;
    const moves = { ArrowRight: at + right, ArrowLeft: at - right, Home: 0, End: all.length - 1 };
    if (event.key === "Escape") hide();
    if (!(event.key in moves)) return;
    event.preventDefault();
    const next = all[Math.min(Math.max(moves[event.key], 0), all.length - 1)];
    word.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });

  let waiting = 0;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", (event) => {
    const name = event.target.name;
    if (name === "view") {
      legend();
      items().forEach(paint);
    } else if (name === "set") {
      change();
    } else {
      clearTimeout(waiting);
      waiting = setTimeout(select, name === "query" ? 120 : 0);
    }
  });
  for (const button of document.querySelectorAll("[data-go]")) {
    button.addEventListener("click", () => {
      show(page + Number(button.dataset.go));
      document.getElementById("browse").scrollIntoView({ block: "start" });
    });
  }

  field("set").replaceChildren(...sets.map((set, place) => option(String(place), set.title)));
  document.getElementById("choose-set").hidden = sets.length < 2;
  legend();
  change();
})();
