/** Reads a command line of flags that all take a number, named as the options that they set: `--broker-kills 3`. */
export function readNumberFlags<Name extends string>(
  args: readonly string[],
  names: readonly Name[],
  hint = "",
): Partial<Record<Name, number>> {
  const flags = new Map(
    names.map((name) => [`--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`, name]),
  );
  const numbers: Partial<Record<Name, number>> = {};
  for (let i = 0; i < args.length; i += 2) {
    const flag = args[i] as string;
    const value = args[i + 1] ?? "";
    const name = flags.get(flag);
    if (name === undefined || !/^\d{1,9}$/.test(value)) {
      throw new RangeError(
        `Cannot read ${flag} ${value}: give a number to ${[...flags.keys()].join(", ")}${hint}`,
      );
    }
    numbers[name] = Number(value);
  }
  return numbers;
}
