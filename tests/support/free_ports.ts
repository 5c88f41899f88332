/** Ports of loopback that nobody listens on, right now: all different. */
export function freePorts(count: number): number[] {
  const listeners = Array.from({ length: count }, () => Deno.listen({ hostname: "127.0.0.1", port: 0 }));
  const ports = listeners.map(({ addr }) => (addr as Deno.NetAddr).port);
  for (const listener of listeners) listener.close();
  return ports;
}
