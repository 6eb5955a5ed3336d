/**
 * The chats to which a person may let the gateway send: by the tool `send_message` and by scheduled jobs (`send_message` of the
 * configuration).
 */
import type { Authority } from '../../message/authority.ts'
import type { Target } from '../../message/source.ts'
import { findHomeChannels } from './home-channels.ts'
import { findKnownChats } from './known-chats.ts'
import { type Destination, type Destinations, type Resolution, resolveTarget } from './resolve-target.ts'

export interface PermittedChat {
  readonly target: Target
  readonly name?: string | undefined
  readonly kind: 'origin' | 'home' | 'known'
}

/**
 * Owners may name every chat. For other people a name is looked up among the chats that they may use. Undefined for a chat that
 * the person may not use. Rejects `store/…`.
 */
export async function resolvePermitted(
  destinations: Destinations,
  authority: Authority,
  origin: Target | undefined,
  wanted: string,
  signal: AbortSignal,
): Promise<Resolution | undefined> {
  const rules = rulesOf(destinations, authority)
  if (rules.includes('*')) return await resolveTarget(destinations, wanted, origin, signal)
  const permitted = await permittedChats(destinations, authority, origin)
  const named = /^[^:]+:[#@]/.test(wanted.trim())
  const resolution = named ? findByName(permitted, wanted) : await resolveTarget(destinations, wanted, origin, signal)
  if (resolution === undefined || 'problem' in resolution) return resolution
  if (resolution.kind === 'local') return rules.includes('local') ? resolution : undefined
  if (!isPermittedChat(rules, permitted, resolution.target)) return undefined
  return (await isPermittedThread(destinations, rules, permitted, resolution.target)) ? resolution : undefined
}

export function rulesOf({ settings }: Pick<Destinations, 'settings'>, { role }: Authority): readonly string[] {
  return role === 'guest' ? [] : settings().send_message[role]
}

function isPermittedChat(rules: readonly string[], permitted: readonly PermittedChat[], target: Target): boolean {
  const { platform, chatId, threadId } = target
  if (rules.includes(platform) || rules.includes(`${platform}:${chatId}`)) return true
  if (threadId !== undefined && rules.includes(`${platform}:${chatId}:${threadId}`)) return true
  return permitted.some((chat) => isSameChat(chat.target, target))
}

/**
 * The id of a thread may be that of any other chat (on Discord a thread is a channel), so that it must be known to belong to
 * the chat: by its name in a rule, or by a message that came from it.
 */
async function isPermittedThread(
  { store }: Destinations,
  rules: readonly string[],
  permitted: readonly PermittedChat[],
  target: Target,
): Promise<boolean> {
  const { platform, account, chatId, threadId } = target
  if (threadId === undefined || rules.includes(platform)) return true
  if (rules.includes(`${platform}:${chatId}:${threadId}`)) return true
  const isTarget = (chat: { readonly target: Target }) =>
    isSameChat(chat.target, target) && chat.target.threadId === threadId
  if (permitted.some(isTarget)) return true
  return (await store.run(() => findKnownChats({ platform, account }))).some(isTarget)
}

function isSameChat(a: Target, b: Target): boolean {
  return a.platform === b.platform && a.account === b.account && a.chatId === b.chatId
}

function findByName(permitted: readonly PermittedChat[], wanted: string): Destination | undefined {
  const [platform = '', ...rest] = wanted.trim().split(':')
  const name = rest.join(':').slice(1).toLowerCase()
  const matches = permitted.filter(
    (chat) => chat.target.platform === platform.toLowerCase() && chat.name?.replace(/^[#@]/, '').toLowerCase() === name,
  )
  const [match] = matches
  const chats = new Set(matches.map(({ target }) => `${target.account}\n${target.chatId}`))
  return match === undefined || chats.size > 1 ? undefined : { kind: 'chat', target: match.target }
}

/** The chats that the rules `origin`, `home` and `known` permit. */
export async function permittedChats(
  destinations: Destinations,
  authority: Authority,
  origin: Target | undefined,
): Promise<readonly PermittedChat[]> {
  const rules = rulesOf(destinations, authority)
  const chats: PermittedChat[] = []
  if (origin !== undefined && rules.includes('origin')) chats.push({ target: origin, kind: 'origin' })
  const { home, known } = await destinations.store.run(function* () {
    return {
      home: rules.includes('home') ? yield* findHomeChannels(destinations.accountDirectory.list()) : [],
      known: yield* knownTo(authority, rules),
    }
  })
  for (const { target, name } of home) chats.push({ target, kind: 'home', name })
  for (const { target, name, source } of known) {
    // The last message there may be another person's.
    const requester = authority.userId === undefined ? source : { ...source, userId: authority.userId }
    if (!destinations.accountDirectory.access({ source: requester }).allowed) continue
    chats.push({ target, kind: 'known', name })
  }
  return chats
}

function* knownTo({ platform, account, userId }: Authority, rules: readonly string[]) {
  if (!rules.includes('known') || userId === undefined) return []
  return yield* findKnownChats({ platform, userId, account })
}
