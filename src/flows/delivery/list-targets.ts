/**
 * The chats to which the owner may send: home channels, the chats with a conversation, and the channels that the platforms list.
 */

import type { Target } from '../../message/source.ts'
import { toLabel } from '../../message/untrusted-text.ts'
import type { FoundChat } from '../../platforms/adapter.ts'
import { findHomeChannels } from './home-channels.ts'
import { findKnownChats } from './known-chats.ts'
import { type Destinations, formatTarget } from './resolve-target.ts'

export interface ListedTarget {
  readonly target: Target
  readonly kind: 'home' | 'known' | 'channel'
  /** People choose these names: one line, without signs that change the text around it. */
  readonly name?: string | undefined
}

const maxNameChars = 200
const lookupTimeoutMs = 10_000

/** Each target once. A platform that does not answer has no channels, and the log says so. Rejects `store/…`. */
export async function listAllTargets(
  destinations: Destinations,
  { platform }: { readonly platform?: string | undefined },
  signal: AbortSignal,
): Promise<readonly ListedTarget[]> {
  const accounts = destinations.accountDirectory.list().filter(({ blocked, platform: { name, takesMessages } }) => {
    return blocked === undefined && takesMessages && (platform === undefined || name === platform)
  })
  const names = new Set(accounts.map((each) => each.platform.name))
  const { homes, known } = await destinations.store.run(function* () {
    const chats = []
    for (const name of names) chats.push(...(yield* findKnownChats({ platform: name })))
    return { homes: yield* findHomeChannels(accounts), known: chats }
  })
  const listed = new Map<string, ListedTarget>()
  const add = (target: Target, kind: ListedTarget['kind'], name: string | undefined) => {
    const key = formatTarget(target)
    if (listed.has(key)) return
    listed.set(key, { target, kind, name: name && toLabel(name, maxNameChars) })
  }
  for (const { target, name } of homes) add(target, 'home', name)
  for (const { target, name } of known) add(target, 'known', name)
  const until = AbortSignal.any([signal, AbortSignal.timeout(lookupTimeoutMs)])
  for (const candidate of accounts) {
    const of = { platform: candidate.platform.name, account: candidate.account }
    const channels = await findChannels(destinations, of, until)
    for (const { chatId, name } of channels) add({ ...of, chatId }, 'channel', `#${name}`)
  }
  return [...listed.values()]
}

async function findChannels(
  { platforms, log }: Destinations,
  of: Pick<Target, 'platform' | 'account'>,
  signal: AbortSignal,
): Promise<readonly FoundChat[]> {
  try {
    return (await platforms.adapter(of)?.findChats?.('#', signal)) ?? []
  } catch (err) {
    log.warn({ event: 'channels.not_listed', ...of, err }, 'the channels of a platform are not listed')
    return []
  }
}
