// The cursor and the selection of a table of groups and members: one tab stop, rows by keyboard.
//
// A row has `data-points`, the numbers and versions of its candidates ("12:0 13:1"). A group whose
// member got a verdict of its own loses the point of that member.

const ROWS = "tr.group, tr.member:not(.more)";

export class Grid extends EventTarget {
  constructor(table) {
    super();
    this.table = table;
    this.anchor = null; // where a range of the selection begins
    table.addEventListener("click", (event) => this.#click(event));
    table.addEventListener("focusin", (event) => {
      const row = event.target.closest(ROWS);
      if (row && row !== this.current) this.#mark(row);
    });
  }

  get rows() { return [...this.table.querySelectorAll(ROWS)]; }

  get groups() { return [...this.table.querySelectorAll("tr.group")]; }

  get current() { return this.table.querySelector('[aria-current="true"]'); }

  get selected() { return [...this.table.querySelectorAll('tr[aria-selected="true"]')]; }

  // Puts the cursor on a row; `focus` is false where the page only starts.
  go(row, { focus = true } = {}) {
    if (!row) return;
    this.#mark(row);
    if (focus) row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  move(steps) {
    const rows = this.rows;
    const place = rows.indexOf(this.current) + steps;
    this.go(rows[Math.min(Math.max(place, 0), rows.length - 1)]);
  }

  toggle(row = this.current) {
    if (!row) return;
    this.#select(row, row.getAttribute("aria-selected") !== "true");
    this.anchor = row;
    this.#announce();
  }

  // Selects all rows between the last one that was selected and the current one.
  extend() {
    const rows = this.groups.includes(this.current) ? this.groups : this.rows;
    const ends = [rows.indexOf(this.anchor), rows.indexOf(this.current)];
    if (ends[0] < 0) ends[0] = ends[1];
    const [first, last] = ends.sort((a, b) => a - b);
    for (const row of rows.slice(Math.max(first, 0), last + 1)) this.#select(row, true);
    this.#announce();
  }

  selectAll(isSelected) {
    for (const row of isSelected ? this.groups : this.selected) this.#select(row, isSelected);
    this.#announce();
  }

  members(group) {
    return [...this.table.querySelectorAll(`tr.member[data-of="${CSS.escape(group.dataset.group)}"]`)];
  }

  groupOf(row) {
    if (row.matches(".group")) return row;
    return this.table.querySelector(`tr.group[data-group="${CSS.escape(row.dataset.of)}"]`);
  }

  // Takes a row out of the page with its members, and returns a function that puts it back.
  remove(row) {
    const parts = row.matches(".group") ? [row, ...this.members(row)] : [row];
    const next = parts.at(-1).nextElementSibling;
    const body = row.parentElement;
    const follower = body.nextElementSibling;
    const table = this.table;
    this.#select(row, false);
    for (const part of parts) {
      part.removeAttribute("aria-current"); // or it would come back as a second cursor
      part.tabIndex = -1;
      part.remove();
    }
    const isEmpty = !body.querySelector("tr.group");
    if (isEmpty) body.remove();
    this.#announce();
    return () => {
      if (!body.isConnected) table.insertBefore(body, follower?.isConnected ? follower : null);
      const place = next?.isConnected && next.parentElement === body ? next : null;
      for (const part of parts) body.insertBefore(part, place);
      return row;
    };
  }

  #mark(row) {
    const before = this.current;
    before?.removeAttribute("aria-current");
    for (const other of this.table.querySelectorAll('tr[tabindex="0"]')) other.tabIndex = -1;
    row.setAttribute("aria-current", "true");
    row.tabIndex = 0;
    if (before !== row) this.dispatchEvent(new CustomEvent("cursor", { detail: row }));
  }

  #select(row, isSelected) {
    row.setAttribute("aria-selected", String(isSelected));
    const box = row.querySelector("input.check");
    if (box) box.checked = isSelected;
  }

  #announce() { this.dispatchEvent(new Event("selection")); }

  #click(event) {
    const row = event.target.closest(ROWS);
    if (!row) return;
    if (event.target.matches("input.check")) {
      event.shiftKey ? (this.#mark(row), this.extend()) : this.toggle(row);
      this.#mark(row);
      return;
    }
    if (event.target.closest("a, button")) return;
    this.go(row);
  }
}

// The points of a row: [{ id, version }].
export function pointsOf(row) {
  return (row.dataset.points ?? "").trim().split(/\s+/).filter(Boolean).map((pair) => {
    const [id, version] = pair.split(":").map(Number);
    return { id, version };
  });
}

export function setPoints(row, points) {
  row.dataset.points = points.map(({ id, version }) => `${id}:${version}`).join(" ");
  const count = row.querySelector("[data-count]");
  if (count) count.textContent = points.length.toLocaleString("en");
}
