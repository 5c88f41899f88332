/** Whether a command is there and ends with status 0; what it says is not shown. */
export async function succeeds(command: string, args: readonly string[]): Promise<boolean> {
  const quiet = { stdin: "null", stdout: "null", stderr: "null" } as const;
  try {
    return (await new Deno.Command(command, { args: [...args], ...quiet }).output()).success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
