/**
 * Snowflakes: Discord's ids, which are ordered by their creation time and contain it.
 */
const discordEpochMs = 1_420_070_400_000n

/** Creation time of an id, ms since 1970. */
export function snowflakeToTime(id: string): number {
  return Number((BigInt(id) >> 22n) + discordEpochMs)
}

/** The smallest id of a time. */
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
