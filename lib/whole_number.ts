/**
 * Whether a JSON number, as it was written, is an integer: `1.0`, `1e3` and `10e-1` are. `JSON.parse` can't tell: it makes
 * the nearest double of it, and of `1777881600250.00001` that is one.
 *
 * @module
 */

/** Whether a number, as JSON has it, is an integer, of whatever size. */
export function isWholeNumber(source: string): boolean {
  const [, whole = "", fraction = "", exponent = "0"] =
    /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source) ??
      [];
  // No regular expression for the zeros at the end: it would begin anew at each of them.
  const digits = whole + fraction;
  let end = digits.length;
  while (end > 0 && digits[end - 1] === "0") end--;
  return digits.length > 0 && (end === 0 || Number(exponent) >= end - whole.length);
}
