/**
 * Finds the chats that a target means: home channels, of which `all` names every one, and names of channels, which the adapter and
 * the conversations so far know.
 */
import { findClosestMatch } from '../../lib/did-you-mean.ts'
import { messageOf } from '../../lib/errors.ts'
import type { SessionSource, Target } from '../../message/source.ts'
import { toLabel } from '../../message/untrusted-text.ts'
import type { PlatformAccount } from '../../platforms/accounts.ts'
import type { FoundChat, PlatformAdapter } from '../../platforms/adapter.ts'
import type { Runtime } from '../../store/runtime.ts'
import type { AccountDirectory } from '../access/account-directory.ts'
import type { DeliveryConfig } from './config.ts'
import { findHomeChannels } from './home-channels.ts'
import { findKnownChats } from './known-chats.ts'
import { parseTarget } from './parse-target.ts'

/** Where messages can be sent, and who may send there. */
export interface Destinations extends Pick<Runtime, 'store' | 'clock' | 'log'> {
  readonly accountDirectory: Pick<AccountDirectory, 'list' | 'access' | 'authorityOf'>
  readonly platforms: {
    /** Undefined while the account is not connected. */
    adapter(of: Pick<Target, 'platform' | 'account'>): Pick<PlatformAdapter, 'findChats'> | undefined
  }
  readonly settings: () => DeliveryConfig
}

export type Destination =
  /** A file of the home. */
  { readonly kind: 'local' } | { readonly kind: 'chat'; readonly target: Target; readonly name?: string | undefined }

export type Resolution = Destination | { readonly problem: string }

const lookupTimeoutMs = 10_000

/**
 * @param origin the chat of the person who asks; without one `origin` is `local`
 */
export async function resolveTarget(
  destinations: Destinations,
  text: string,
  origin: Target | undefined,
  signal: AbortSignal,
): Promise<Resolution> {
  const accounts = destinations.accountDirectory.list()
  const parsed = parseTarget(text, accounts)
  if ('problem' in parsed) return parsed
  switch (parsed.kind) {
    case 'local':
      return { kind: 'local' }
    case 'origin':
      return origin === undefined ? { kind: 'local' } : { kind: 'chat', target: origin }
    case 'home':
      return await resolveHome(destinations, parsed.accounts, parsed.platform)
    case 'chat':
      return await resolveChat(destinations, parsed.account, toTarget(parsed.account, parsed.chatId, parsed.threadId))
    case 'name':
      return await resolveName(destinations, parsed, signal)
  }
}

async function resolveHome(
  { store }: Destinations,
  accounts: readonly PlatformAccount[],
  platform: string | undefined,
): Promise<Resolution> {
  const [home] = await store.run(() => findHomeChannels(accounts))
  if (home !== undefined) return { kind: 'chat', target: home.target, name: home.name }
  if (platform === undefined)
    return { problem: 'there is no home channel: write /sethome in a chat, or set platforms.<name>.home_channel' }
  return {
    problem: `${platform} has no home channel: write /sethome in a chat, set platforms.${platform}.home_channel, or name a chat: ${platform}:<chat_id>`,
  }
}

/** A chat of the web page or the terminal begins with its first message; one that never began has no reader. */
async function resolveChat(
  { store }: Destinations,
  { platform }: PlatformAccount,
  target: Target,
): Promise<Resolution> {
  if (!platform.takesMessages)
    return { problem: `${platform.name} takes no messages: its chats are requests of programs` }
  if (platform.access !== 'token') return { kind: 'chat', target }
  const known = await store.run(() => findKnownChats(target))
  if (known.some((chat) => chat.target.chatId === target.chatId)) return { kind: 'chat', target }
  const shown = JSON.stringify(target.chatId.slice(0, 100))
  return { problem: `${platform.name} has no conversation ${shown}: it begins with the first message of a person` }
}

interface NamedTarget {
  readonly account: PlatformAccount
  readonly name: string
  readonly threadId: string | undefined
}

/** What the platform lists has precedence: a title of a chat may have been chosen by anybody. */
async function resolveName(destinations: Destinations, named: NamedTarget, signal: AbortSignal): Promise<Resolution> {
  const { account, name, threadId } = named
  const platform = account.platform.name
  const of = { platform, account: account.account }
  const listed = await listChats(destinations, of, name, signal)
  const known = await trustedChats(destinations, account)
  const isNamed = (chat: FoundChat) => normalized(chat.name) === normalized(name)
  const inList = distinct(listed.chats).filter(isNamed)
  const matches = inList.length > 0 ? inList : distinct(known.filter(isNamed))
  const [match, ...others] = matches
  if (match === undefined)
    return { problem: unknownName(platform, name, distinct([...listed.chats, ...known]), listed.problem) }
  if (others.length > 0) return { problem: ambiguousName(platform, name, matches) }
  return { kind: 'chat', target: toTarget(account, match.chatId, threadId), name: match.name }
}

/** Chats with a title that are home channels, or in which an owner has written. */
async function trustedChats({ store, accountDirectory }: Destinations, account: PlatformAccount): Promise<FoundChat[]> {
  const of = { platform: account.platform.name, account: account.account }
  const { homes, known } = await store.run(function* () {
    return { homes: yield* findHomeChannels([account]), known: yield* findKnownChats(of) }
  })
  const isHome = (chatId: string) => homes.some(({ target }) => target.chatId === chatId)
  const isOwners = (people: readonly SessionSource[]) =>
    people.some((source) => accountDirectory.authorityOf(source).role === 'owner')
  const trusted = new Set(
    known.flatMap(({ target: { chatId }, people }) => (isHome(chatId) || isOwners(people) ? [chatId] : [])),
  )
  const titled = known.flatMap(({ target: { chatId, threadId }, type, name }): FoundChat[] =>
    name === undefined || type === 'dm' || threadId !== undefined || !trusted.has(chatId) ? [] : [{ chatId, name }],
  )
  const homeNames = homes.flatMap(({ target: { chatId }, name }) => (name === undefined ? [] : [{ chatId, name }]))
  return [...titled, ...homeNames]
}

async function listChats(
  destinations: Destinations,
  of: Pick<Target, 'platform' | 'account'>,
  name: string,
  signal: AbortSignal,
): Promise<{ readonly chats: readonly FoundChat[]; readonly problem?: string }> {
  const adapter = destinations.platforms.adapter(of)
  if (adapter === undefined) return { chats: [], problem: `${of.platform} is not connected` }
  if (adapter.findChats === undefined) return { chats: [], problem: `${of.platform} finds no chats by name` }
  try {
    return { chats: await adapter.findChats(name, AbortSignal.any([signal, AbortSignal.timeout(lookupTimeoutMs)])) }
  } catch (error) {
    if (signal.aborted) throw error
    return { chats: [], problem: `${of.platform} could not be asked: ${messageOf(error)}` }
  }
}

function unknownName(
  platform: string,
  name: string,
  candidates: readonly FoundChat[],
  problem: string | undefined,
): string {
  const plain = normalized(name)
  const closest = findClosestMatch(
    plain,
    candidates.map((chat) => normalized(chat.name)),
  )
  const similar = candidates
    .filter((chat) => normalized(chat.name) === closest || (plain.length > 2 && normalized(chat.name).includes(plain)))
    .slice(0, 5)
  const shown = JSON.stringify(name.slice(0, 100))
  const hint = similar.length === 0 ? '' : `; similar are ${similar.map((chat) => describe(platform, chat)).join(', ')}`
  const why = problem === undefined ? '' : ` (${problem})`
  return `${platform} has no chat ${shown} that the bot can write to${why}${hint}; a chat can also be named by its id: ${platform}:<chat_id>`
}

function ambiguousName(platform: string, name: string, matches: readonly FoundChat[]): string {
  const all = matches
    .slice(0, 5)
    .map((chat) => describe(platform, chat))
    .join(', ')
  return `${platform} has ${matches.length} chats ${JSON.stringify(name.slice(0, 100))}: ${all}; name one by its id`
}

function describe(platform: string, { chatId, name, server }: FoundChat): string {
  const where = server === undefined ? '' : ` in ${toLabel(server, 80)}`
  return `${toLabel(name, 80)}${where} (${platform}:${chatId})`
}

function distinct(chats: readonly FoundChat[]): FoundChat[] {
  return [...new Map(chats.toReversed().map((chat) => [chat.chatId, chat])).values()].reverse()
}

function normalized(name: string): string {
  return name.replace(/^[#@]/, '').trim().toLowerCase()
}

function toTarget({ platform, account }: PlatformAccount, chatId: string, threadId: string | undefined): Target {
  return { platform: platform.name, account, chatId, threadId }
}

/** A target in the form that `parseTarget` reads. */
export function formatTarget({ platform, account, chatId, threadId }: Target): string {
  const bot = account === 'default' ? '' : `/${account}`
  return `${platform}${bot}:${chatId}${threadId === undefined ? '' : `:${threadId}`}`
}

export type FoundTargets = { readonly targets: readonly Target[] } | { readonly problem: string }

/** `local` has no chats. Rejects `store/…`. */
export async function resolveTargets(
  destinations: Destinations,
  name: string,
  origin: Target | undefined,
  signal: AbortSignal,
): Promise<FoundTargets> {
  if (isAll(name)) {
    const homes = await destinations.store.run(() => findHomeChannels(destinations.accountDirectory.list()))
    return homes.length === 0 ? { problem: 'there is no home channel' } : { targets: homes.map(({ target }) => target) }
  }
  const resolution = await resolveTarget(destinations, name, origin, signal)
  if ('problem' in resolution) return resolution
  return { targets: resolution.kind === 'chat' ? [resolution.target] : [] }
}

export function isAll(name: string): boolean {
  return name.trim().toLowerCase() === 'all'
}

/** Each chat once, in the order in which they were named. */
export function distinctTargets(targets: readonly Target[]): readonly Target[] {
  return [...new Map(targets.map((target) => [formatTarget(target), target])).values()]
}
