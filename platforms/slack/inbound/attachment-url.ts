/**
 * Where the bytes of a file lie that somebody sent, and what must be shown to get them.
 */
import type { Attachment, AttachmentAddress } from '#sdk'
import type { ApiCall } from '../connection/api.ts'
import { recordAt, textAt } from './payload.ts'

export interface AttachmentUrlDeps {
  readonly call: ApiCall
  readonly botToken: string
  /** The origin of `api_url`, where the operator has set one. */
  readonly trustedOrigin: string | undefined
}

/** Rejects where Slack does not tell the address. */
export async function resolveAttachmentUrl(
  { ref = '' }: Attachment,
  deps: AttachmentUrlDeps,
  signal: AbortSignal,
): Promise<AttachmentAddress> {
  const url = URL.canParse(ref) ? ref : await fetchFileUrl(ref, deps.call, signal)
  const { trustedOrigin, botToken } = deps
  const trusted = trustedOrigin === undefined ? {} : { trusted: trustedOrigin }
  // A file may lie elsewhere (a drive that was shared): nobody but Slack gets the token.
  if (!isSlackUrl(new URL(url), trustedOrigin)) return { url, ...trusted }
  // Slack answers a token that it does not accept with a page to sign in.
  return { url, headers: { authorization: `Bearer ${botToken}` }, refusedType: 'text/html', ...trusted }
}

export function isSlackUrl({ protocol, hostname, origin }: URL, trustedOrigin: string | undefined): boolean {
  if (origin === trustedOrigin) return true
  return protocol === 'https:' && /(^|\.)(slack|slack-files|slack-gov)\.com$/.test(hostname)
}

async function fetchFileUrl(id: string, call: ApiCall, signal: AbortSignal): Promise<string> {
  const answer = await call('files.info', { file: id }, signal)
  if (!answer.ok) throw new Error(answer.failure.error)
  const file = recordAt(answer.data, 'file')
  const url = textAt(file, 'url_private_download') ?? textAt(file, 'url_private')
  if (url === undefined || !URL.canParse(url)) throw new Error('Slack named no address for the file')
  return url
}
