/**
 * Whether an address is on the public internet: a webhook's URL is often not the operator's own, and must not make this
 * host ask its own services, its neighbours' or the cloud's metadata server (169.254.169.254).
 *
 * `ipaddr.js` knows the ranges of the registries; only what it calls `unicast` is public. An IPv4 address that is carried
 * in IPv6, mapped, compatible or for NAT64 (64:ff9b::/96), is what it is alone. 6to4, Teredo and networks' own NAT64
 * prefixes are never public, since nobody needs them. Names are looked up by who connects, and each of their addresses is
 * asked for here.
 *
 * @module
 */
import ipaddr from "ipaddr.js";

/**
 * What an address is: `public`, or the range that it is in (`private`, `loopback`, `linkLocal`, …).
 *
 * @returns null where the text is no address
 */
export function classifyAddress(text: string): string | null {
  // A zone (fe80::1%eth0) makes it no less link-local.
  const bare = text.replace(/%.*$/, "");
  if (!ipaddr.isValid(bare)) return null;
  const address = ipaddr.process(bare);
  const range = address.range() === "rfc6052" ? carriedRange(address.toByteArray()) : address.range();
  return range === "unicast" ? "public" : range;
}

/** Of an address for NAT64, the range of the IPv4 address in its last 32 bits. */
function carriedRange(bytes: number[]): string {
  const isWellKnown = bytes.slice(4, 12).every((byte) => byte === 0);
  return isWellKnown ? ipaddr.fromByteArray(bytes.slice(12)).range() : "private";
}
