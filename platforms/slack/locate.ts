/**
 * Where the bytes of a file lie that somebody sent, and what must be shown to get them.
 */
import type { Attachment, AttachmentAddress } from '#sdk'
import { fieldsIn, textIn } from './payload.ts'
import type { SlackCall } from './web.ts'

export interface LocateDeps {
  readonly call: SlackCall
  readonly botToken: string
  /** The origin of `api_url`, where the operator has set one. */
  readonly trustedOrigin: string | undefined
}

/** Rejects where Slack does not tell the address. */
export async function locateFile(
  { ref = '' }: Attachment,
  deps: LocateDeps,
  signal: AbortSignal,
): Promise<AttachmentAddress> {
  const url = URL.canParse(ref) ? ref : await addressOf(ref, deps.call, signal)
  const { trustedOrigin, botToken } = deps
  const trusted = trustedOrigin === undefined ? {} : { trusted: trustedOrigin }
  // A file may lie elsewhere (a drive that was shared): nobody but Slack gets the token.
  if (!isSlacks(new URL(url), trustedOrigin)) return { url, ...trusted }
  // Slack answers a token that it does not accept with a page to sign in.
  return { url, headers: { authorization: `Bearer ${botToken}` }, refusedType: 'text/html', ...trusted }
}

export function isSlacks({ protocol, hostname, origin }: URL, trustedOrigin: string | undefined): boolean {
  if (origin === trustedOrigin) return true
  return protocol === 'https:' && /(^|\.)(slack|slack-files|slack-gov)\.com$/.test(hostname)
}

async function addressOf(id: string, call: SlackCall, signal: AbortSignal): Promise<string> {
  const answer = await call('files.info', { file: id }, signal)
  if (!answer.ok) throw new Error(answer.failure.error)
  const file = fieldsIn(answer.data, 'file')
  const url = textIn(file, 'url_private_download') ?? textIn(file, 'url_private')
  if (url === undefined || !URL.canParse(url)) throw new Error('Slack named no address for the file')
  return url
}
