"use strict";
// Sorting and filtering of tables. Cells carry the full value in data-key; an empty key is undefined and stays last.
(() => {
  const text = new Intl.Collator("en", { numeric: true });

  function compare(a, b, numeric, direction) {
    if (a === "" || b === "") return (a === "") - (b === "");
    return direction * (numeric ? Number(a) - Number(b) : text.compare(a, b));
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    const original = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const numeric = !head.classList.contains("text");
      // Large numbers are what one looks for first, and names from A.
      const cycle = numeric ? ["descending", "ascending", "none"] : ["ascending", "descending", "none"];
      head.querySelector("button").addEventListener("click", () => {
        const now = cycle[(cycle.indexOf(head.getAttribute("aria-sort")) + 1) % 3];
        for (const other of heads) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", now);
        const direction = now === "descending" ? -1 : 1;
        const keyed = original.map((row) => [row.cells[column].dataset.key, row]);
        if (now !== "none") keyed.sort((one, two) => compare(one[0], two[0], numeric, direction));
        body.append(...keyed.map(([, row]) => row));
      });
    });
  }

  for (const box of document.querySelectorAll("input.filter")) {
    const table = document.querySelector(`table[data-table="${box.dataset.table}"]`);
    const count = box.closest("p").querySelector(".count");
    const rows = [...table.tBodies[0].rows].map((row) => [row, row.textContent.toLowerCase()]);
    const apply = () => {
      const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const [row, content] of rows) {
        row.hidden = !words.every((word) => content.includes(word));
        shown += !row.hidden;
      }
      count.textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
    };
    box.addEventListener("input", apply);
    apply();
  }
})();
