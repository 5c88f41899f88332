// @ts-check
/// <reference lib="dom" />
/**
 * Numbers, times and foreign text, as a person reads them. Whatever comes from outside goes into the page as text, never as
 * markup, and what would not be seen in it (controls, marks that turn the direction) is made to be seen.
 */

const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/**
 * A whole number, grouped.
 * @param {number} value
 * @returns {string}
 */
export function count(value) {
  return NUMBER.format(value);
}

/**
 * A number that has to fit: `12,345`, `1.23 M`.
 * @param {number} value
 * @returns {string}
 */
export function short(value) {
  if (value >= 1e9) return `${(value / 1e9).toPrecision(3)} G`;
  if (value >= 1e6) return `${(value / 1e6).toPrecision(3)} M`;
  return NUMBER.format(value);
}

/**
 * So many a second.
 * @param {number} value
 * @returns {string}
 */
export function rate(value) {
  if (value > 0 && value < 10) return value.toFixed(1);
  return short(value);
}

/**
 * A share of one.
 * @param {number} value
 * @returns {string}
 */
export function percent(value) {
  if (value === 0) return "0 %";
  if (value < 0.001) return "< 0.1 %";
  return `${(value * 100).toFixed(value < 0.1 ? 1 : 0)} %`;
}

/**
 * @param {number} value
 * @returns {string}
 */
export function bytes(value) {
  if (value < 1024) return `${value} B`;
  if (value < 1 << 20) return `${(value / 1024).toFixed(0)} KiB`;
  return `${(value / (1 << 20)).toFixed(1)} MiB`;
}

/**
 * A length of time, in its two largest units.
 * @param {number} seconds
 * @returns {string}
 */
export function duration(seconds) {
  if (seconds < 0) return `−${duration(-seconds)}`;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const units = /** @type {const} */ ([["d", 86400], ["h", 3600], ["min", 60], ["s", 1]]);
  const parts = [];
  let rest = whole;
  for (const [name, size] of units) {
    const part = Math.floor(rest / size);
    rest -= part * size;
    if (part > 0 || parts.length > 0) parts.push(`${part} ${name}`);
    if (parts.length === 2) break;
  }
  return parts.filter((part, i) => i === 0 || !part.startsWith("0 ")).join(" ");
}

/**
 * The time of day where the reader is; the date too where it is not today's.
 * @param {number} ms
 * @returns {string}
 */
export function clockTime(ms) {
  const date = new Date(ms);
  if (Number.isNaN(ms)) return "—";
  /** @param {number} part */
  const two = (part) => String(part).padStart(2, "0");
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? time : `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}`;
}

/**
 * Foreign text with all of it to be seen: controls as their pictures, invisible and turning marks by their number.
 * @param {string} text
 * @returns {string}
 */
export function visible(text) {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (code === 0x7f) return "␡";
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

/**
 * An element, with attributes and children; strings become text.
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/**
 * The same for a drawing.
 * @param {string} name
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string)} children
 * @returns {SVGElement}
 */
export function drawn(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/**
 * An id that somebody else has made, kept apart from the direction of the text around it.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function idText(id) {
  return element("bdi", { class: "id", title: visible(id) }, visible(id));
}

/**
 * The element of the page that has this id.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`The page has no #${id}`);
  return found;
}

/**
 * Sets text where it is another one: what does not change is not touched, and not read out.
 * @param {Element} target
 * @param {string} text
 */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/**
 * A table; the first cell of each row is its header.
 * @param {string} caption
 * @param {readonly string[]} head
 * @param {readonly (readonly string[])[]} rows
 * @returns {HTMLTableElement}
 */
export function table(caption, head, rows) {
  return element(
    "table",
    {},
    element("caption", { class: "unseen" }, caption),
    element("thead", {}, element("tr", {}, ...head.map((text) => element("th", { scope: "col" }, text)))),
    element(
      "tbody",
      {},
      ...rows.map(([first = "", ...rest]) =>
        element(
          "tr",
          {},
          element("th", { scope: "row" }, first),
          ...rest.map((text) => element("td", {}, text)),
        )
      ),
    ),
  );
}
