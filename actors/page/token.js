// @ts-check
/// <reference lib="dom" />
/**
 * The form for a token: there where the service asks for one. It is kept in the tab and sent as a header, so that it is in
 * no address, no history and no log.
 */
import { setToken, token } from "./api.js";
import { byId, setText } from "./text.js";

/** See above. */
export class TokenForm {
  /** @param {() => void} given is told that there is one */
  constructor(given) {
    this.form = byId("token-form");
    this.input = /** @type {HTMLInputElement} */ (byId("token"));
    this.forget = byId("forget");
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      // A line end that came along from where it was copied is none of it.
      setToken(this.input.value.trim());
      this.input.value = "";
      given();
    });
    this.forget.addEventListener("click", () => {
      setToken(null);
      // What it has shown goes with it.
      location.reload();
    });
  }

  /** @param {string} why */
  ask(why) {
    setText(byId("token-why"), why);
    this.forget.hidden = token() === null;
    document.documentElement.classList.add("locked");
    if (!this.form.hidden) return;
    this.form.hidden = false;
    this.input.focus();
  }

  /** It is not asked for, or it is right. */
  done() {
    this.form.hidden = true;
    document.documentElement.classList.remove("locked");
    this.forget.hidden = token() === null;
  }
}
