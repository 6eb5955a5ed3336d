/**
 * Finds the download URL of a received file.
 */
import { type Attachment, type AttachmentAddress, HermesError } from '#sdk'
import type { DiscordAccount } from '../account.ts'

/** Discord's URLs expire after a day, so an expired one is refreshed. */
export async function resolveAttachmentUrl(
  { ref, url }: Attachment,
  { api, context, options }: DiscordAccount,
  signal: AbortSignal,
): Promise<AttachmentAddress> {
  const known = ref ?? url
  if (known === undefined) throw new HermesError('http/not-found', 'The file has no URL.')
  const address = isUrlFresh(known, context.clock()) ? known : ((await api.freshUrl(known, signal)) ?? known)
  return { url: address, trusted: options.usesOwnApi ? new URL(options.apiUrl).origin : undefined }
}

const urlMarginMs = 60_000

/** Whether the URL of a file can still be used. Discord's URLs contain the time at which they expire. Never throws. */
function isUrlFresh(url: string, now: number): boolean {
  const expiry = URL.canParse(url) ? new URL(url).searchParams.get('ex') : null
  const seconds = expiry === null ? Number.NaN : Number.parseInt(expiry, 16)
  return Number.isNaN(seconds) || seconds * 1_000 > now + urlMarginMs
}
