/**
 * Certificates for the tests of TLS, made by `openssl`: an authority, and what it has signed.
 *
 * @module
 */
import { join } from "node:path";

/** Whose certificate, and the names that it is good for, as in `DNS:localhost,IP:127.0.0.1`; none for a client's. */
export interface Holder {
  readonly name: string;
  readonly names?: string;
  /** For how long it is valid from now on; -1 for one that has expired. */
  readonly days?: number;
}

/** An authority of its own, in a directory. */
export class TestAuthority {
  /** Its certificate. */
  readonly caFile: string;
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
    this.caFile = join(directory, "ca.pem");
  }

  static async make(directory: string): Promise<TestAuthority> {
    await Deno.mkdir(directory, { recursive: true });
    const authority = new TestAuthority(directory);
    const subject = ["-subj", "/CN=An authority of the tests"];
    await authority.#openssl(["req", "-x509", "-days", "2", ...NEW_KEY, ...subject, ...files("ca")]);
    return authority;
  }

  /** Signs a certificate. Returns its file, that of its key, and one with both, as brokers take them. */
  async sign(
    { name, names, days = 2 }: Holder,
  ): Promise<{ certFile: string; keyFile: string; storeFile: string }> {
    const path = (suffix: string): string => join(this.#directory, `${name}${suffix}`);
    await this.#openssl(["req", ...NEW_KEY, "-subj", `/CN=${name}`, ...files(name)]);
    const extensions = `basicConstraints=CA:FALSE\n${names === undefined ? "" : `subjectAltName=${names}\n`}`;
    await Deno.writeTextFile(path(".ext"), extensions);
    const by = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", String(days)];
    await this.#openssl([
      "x509",
      "-req",
      "-in",
      `${name}.pem`,
      ...by,
      "-extfile",
      `${name}.ext`,
      "-out",
      `${name}.crt`,
    ]);
    const both = await Deno.readTextFile(path(".key")) + await Deno.readTextFile(path(".crt"));
    await Deno.writeTextFile(path(".store"), both);
    return { certFile: path(".crt"), keyFile: path(".key"), storeFile: path(".store") };
  }

  async #openssl(args: readonly string[]): Promise<void> {
    const { success, stderr } = await new Deno.Command("openssl", {
      args: [...args],
      cwd: this.#directory,
      stdin: "null",
    }).output();
    if (!success) throw new Error(`openssl ${args[0]}: ${new TextDecoder().decode(stderr)}`);
  }
}

const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"] as const;

function files(name: string): string[] {
  return ["-keyout", `${name}.key`, "-out", `${name}.pem`];
}
