/**
 * Snowflakes: Discord's ids, which grow with time and hold the moment they were made.
 */
const discordEpochMs = 1_420_070_400_000n

/** When an id was made, ms since 1970. */
export function snowflakeToTime(id: string): number {
  return Number((BigInt(id) >> 22n) + discordEpochMs)
}

/** The smallest id of a moment. */
export function timeToSnowflake(ms: number): string {
  const since = BigInt(Math.trunc(ms)) - discordEpochMs
  return String((since < 0n ? 0n : since) << 22n)
}

export function isNewer(id: string, than: string): boolean {
  return id.length === than.length ? id > than : id.length > than.length
}

export function newest(ids: Iterable<string>): string | undefined {
  let best: string | undefined
  for (const id of ids) if (best === undefined || isNewer(id, best)) best = id
  return best
}
