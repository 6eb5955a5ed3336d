/**
 * Addresses of files on Discord's network: they name the moment at which they end.
 */
const marginMs = 60_000

/** Whether the address can still be used; one that names no end always can. Never throws. */
export function isUrlFresh(url: string, now: number): boolean {
  const until = URL.canParse(url) ? new URL(url).searchParams.get('ex') : null
  const seconds = until === null ? Number.NaN : Number.parseInt(until, 16)
  return Number.isNaN(seconds) || seconds * 1_000 > now + marginMs
}
