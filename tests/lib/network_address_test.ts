import { equal } from "node:assert/strict";
import { classifyAddress } from "../../lib/network_address.ts";

const PUBLIC = [
  "8.8.8.8",
  "1.1.1.1",
  "172.32.0.1",
  "100.128.0.1",
  "2606:4700::1",
  "::ffff:8.8.8.8",
  "64:ff9b::808:808",
];
const NOT_PUBLIC = [
  ...["10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.0.1", "127.0.0.1", "127.255.255.254", "0.0.0.0"],
  ...[
    "169.254.169.254",
    "100.64.1.1",
    "224.0.0.1",
    "255.255.255.255",
    "192.0.2.1",
    "198.18.0.1",
    "240.0.0.1",
  ],
  ...["0x7f.1", "2130706433", "017700000001", "127.1"],
  ...["::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "fec0::1", "ff02::1", "2001:db8::1"],
  ...["::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:10.0.0.1", "::127.0.0.1", "::ffff:169.254.169.254"],
  ...["64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", "2002:7f00:1::", "2001:0:1::"],
];

Deno.test("classifyAddress: what is public, and what is not, whatever it is written like", () => {
  for (const address of PUBLIC) equal(classifyAddress(address), "public", address);
  for (const address of NOT_PUBLIC) {
    const range = classifyAddress(address);
    equal(range !== null && range !== "public", true, `${address}: ${range}`);
  }
  for (const text of ["", "localhost", "example.com", "1.2.3.4.5", ":::", "300.1.1.1"]) {
    equal(classifyAddress(text), null, text);
  }
});
