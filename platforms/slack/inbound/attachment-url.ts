/**
 * Finds the download URL and the headers of a received file.
 */
import { type Attachment, type AttachmentAddress, isLoopbackHost } from '#sdk'
import type { SlackAccount } from '../account.ts'
import type { ApiCall } from '../connection/api.ts'
import { recordAt, textAt } from './payload.ts'

/** Rejects when Slack returns no URL. */
export async function resolveAttachmentUrl(
  { ref = '' }: Attachment,
  { call, options }: Pick<SlackAccount, 'call' | 'options'>,
  signal: AbortSignal,
): Promise<AttachmentAddress> {
  const url = URL.canParse(ref) ? ref : await fetchFileUrl(ref, call, signal)
  const { trustedOrigin: trusted, fileHosts, botToken } = options
  if (!mayReceiveToken(new URL(url), trusted, fileHosts)) return { url, trusted }
  // Slack responds to a rejected token with the HTML of its sign-in page.
  return { url, headers: { authorization: `Bearer ${botToken}` }, refusedType: 'text/html', trusted }
}

export function isSlackUrl({ protocol, hostname, origin }: URL, trustedOrigin: string | undefined): boolean {
  if (origin === trustedOrigin) return true
  return protocol === 'https:' && /(^|\.)(slack|slack-files|slack-gov)\.com$/.test(hostname)
}

/**
 * A file may be stored elsewhere (a shared drive). Only Slack receives its token. Without `api_url` the token is Slack's own,
 * so that `file_hosts` receive it only as parts of a configured server, and only where no other machine can read it.
 */
function mayReceiveToken(address: URL, trustedOrigin: string | undefined, fileHosts: readonly string[]): boolean {
  if (isSlackUrl(address, trustedOrigin)) return true
  if (trustedOrigin === undefined || !fileHosts.includes(address.origin)) return false
  return address.protocol === 'https:' || isLoopbackHost(address.hostname)
}

async function fetchFileUrl(id: string, call: ApiCall, signal: AbortSignal): Promise<string> {
  const result = await call('files.info', { file: id }, signal)
  if (!result.ok) throw new Error(result.failure.error)
  const file = recordAt(result.data, 'file')
  const url = textAt(file, 'url_private_download') ?? textAt(file, 'url_private')
  if (url === undefined || !URL.canParse(url)) throw new Error('Slack returned no URL for the file')
  return url
}
