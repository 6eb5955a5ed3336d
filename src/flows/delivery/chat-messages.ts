/**
 * The messages that the agent sends to other chats (the tool `send_message`): to which chats it may send for the person who
 * caused the turn, and which it is told of.
 */
import type { ChatMessages, MessageTarget } from '../../agent/tools/tool.ts'
import { messageOf } from '../../lib/errors.ts'
import type { HomeLayout } from '../../lib/home.ts'
import type { Authority } from '../../message/authority.ts'
import type { MessageEvent } from '../../message/event.ts'
import { type Target, targetOf } from '../../message/source.ts'
import { toLabel } from '../../message/untrusted-text.ts'
import { findDeadTarget } from '../../outbox/dead-targets.ts'
import { extractMedia } from '../../outbox/extract-media.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import { chatOf } from '../../outbox/queries.ts'
import type { AccountDirectory } from '../account-directory.ts'
import type { Turn } from '../turn/claim.ts'
import type { DeliveryConfig } from './config.ts'
import { mediaProblem, prepareDelivery } from './deliver.ts'
import { findHomeChannels } from './home-channels.ts'
import { findKnownChats } from './known-chats.ts'
import { type ListedTarget, listAllTargets } from './list-targets.ts'
import { writeLocalOutput } from './local-output.ts'
import {
  type Destination,
  formatTarget,
  type Resolution,
  type ResolveTargetDeps,
  resolveTarget,
} from './resolve-target.ts'

export interface ChatMessagesDeps extends ResolveTargetDeps {
  readonly accountDirectory: Pick<AccountDirectory, 'list' | 'access' | 'authorityOf'>
  readonly outbox: Pick<Outbox, 'prepare' | 'fileProblem'>
  readonly settings: () => DeliveryConfig
  readonly home: HomeLayout
  readonly clock: () => number
  /** Named points for crash tests; does nothing in production. */
  failpoint(point: string): void
}

/** The turn that sends. A plugin outside of turns has neither a session nor a chat. */
export type SendingTurn = Pick<Turn, 'id' | 'authority'> & Partial<Pick<Turn, 'sessionKey' | 'event'>>

const maxListed = 100
const maxNameChars = 200

interface PermittedChat {
  readonly target: Target
  readonly name?: string
  readonly kind: 'origin' | 'home' | 'known'
}

/** @param callId names the messages, so that a repeated call sends nothing twice */
export function createChatMessages(deps: ChatMessagesDeps, turn: SendingTurn, callId: string): ChatMessages {
  const { authority, event } = turn
  const origin = originOf(event)

  return {
    async prepare({ target: wanted, text, media }, signal) {
      if (authority.role === 'guest')
        return { problem: 'The person who caused this turn is a guest, and nothing is sent for guests.' }
      const problem = media.map(mediaProblem).find((one) => one !== undefined)
      if (problem !== undefined) return { problem }
      const found = await resolvePermitted(deps, authority, origin, wanted, signal)
      if ('problem' in found) return found
      if (found.kind === 'local') return saveLocally(deps, text, media)
      const { target } = found
      const refused = await fileProblem(deps, text, media, authority)
      if (refused !== undefined) return { problem: refused }
      const dead = await deps.store.run(() => findDeadTarget(chatOf(target)))
      if (dead !== undefined)
        return {
          problem: `${formatTarget(target)} takes no messages since ${new Date(dead.since).toISOString()}: ${dead.reason}`,
        }
      const key = `send:${turn.id}:${callId}`
      const message = prepareDelivery(deps.outbox, target, {
        key,
        kind: 'reply',
        text,
        media,
        authority,
        ...(turn.sessionKey === undefined ? {} : { sessionKey: turn.sessionKey }),
      })
      deps.failpoint('send:prepared')
      const committed = () => {
        deps.failpoint('send:stored')
        message.committed()
      }
      const isConnected = deps.adapter(target) !== undefined
      const note = isConnected ? {} : { note: `${target.platform} is not connected; it is sent when it is` }
      return {
        write: { ...message, committed },
        target: formatTarget(target),
        ...named(found.name),
        ...note,
      }
    },
    list: (signal) => listTargets(deps, authority, origin, signal),
  }
}

/** Judged before the message is stored, so that the agent does not tell its user that a file was sent. */
async function fileProblem(
  { outbox }: ChatMessagesDeps,
  text: string,
  media: readonly string[],
  authority: Authority,
): Promise<string | undefined> {
  const named = extractMedia(text).items.flatMap(({ source }) => (source.kind === 'file' ? [source.path] : []))
  for (const path of [...media, ...named]) {
    const reason = await outbox.fileProblem(path, authority)
    if (reason !== undefined) return `${path.slice(0, 500)} cannot be sent: ${reason}. Nothing was sent.`
  }
  return undefined
}

/** The chat that waits for the turn. */
function originOf(event: MessageEvent | undefined): Target | undefined {
  if (event === undefined) return undefined
  return event.task === undefined ? targetOf(event.source) : (event.task.deliver ?? undefined)
}

/** Owners may name every chat. For other people a name is looked up among the chats that they may use. */
async function resolvePermitted(
  deps: ChatMessagesDeps,
  authority: Authority,
  origin: Target | undefined,
  wanted: string,
  signal: AbortSignal,
): Promise<Resolution> {
  const rules = rulesOf(deps, authority)
  if (rules.includes('*')) return await resolveTarget(deps, wanted, origin, signal)
  const permitted = await permittedChats(deps, authority, origin)
  const named = /^[^:]+:[#@]/.test(wanted.trim())
  const found = named ? findByName(permitted, wanted) : await resolveTarget(deps, wanted, origin, signal)
  if (found === undefined || 'problem' in found) return found ?? { problem: refusal(wanted) }
  if (found.kind === 'local') return rules.includes('local') ? found : { problem: refusal(wanted) }
  if (!isPermittedChat(rules, permitted, found.target)) return { problem: refusal(wanted) }
  const mayWrite = await isPermittedThread(deps, rules, permitted, found.target)
  return mayWrite ? found : { problem: refusal(wanted) }
}

function refusal(wanted: string): string {
  return `${JSON.stringify(wanted.slice(0, 100))} is no chat to which messages may be sent for this person. {"action":"list"} shows the targets.`
}

function rulesOf({ settings }: ChatMessagesDeps, { role }: Authority): readonly string[] {
  return role === 'guest' ? [] : settings().send_message[role]
}

function isPermittedChat(rules: readonly string[], permitted: readonly PermittedChat[], target: Target): boolean {
  const { platform, chatId, threadId } = target
  if (rules.includes(platform) || rules.includes(`${platform}:${chatId}`)) return true
  if (threadId !== undefined && rules.includes(`${platform}:${chatId}:${threadId}`)) return true
  return permitted.some((one) => isSameChat(one.target, target))
}

/**
 * The id of a thread may be that of any other chat (on Discord a thread is a channel), so that it must be known to belong to
 * the chat: by its name in a rule, or by a message that came from it.
 */
async function isPermittedThread(
  { store }: ChatMessagesDeps,
  rules: readonly string[],
  permitted: readonly PermittedChat[],
  target: Target,
): Promise<boolean> {
  const { platform, account, chatId, threadId } = target
  if (threadId === undefined || rules.includes(platform)) return true
  if (rules.includes(`${platform}:${chatId}:${threadId}`)) return true
  const isTarget = (one: { readonly target: Target }) =>
    isSameChat(one.target, target) && one.target.threadId === threadId
  if (permitted.some(isTarget)) return true
  return (await store.run(() => findKnownChats({ platform, account }))).some(isTarget)
}

function isSameChat(one: Target, other: Target): boolean {
  return one.platform === other.platform && one.account === other.account && one.chatId === other.chatId
}

function findByName(permitted: readonly PermittedChat[], wanted: string): Destination | undefined {
  const [platform = '', ...rest] = wanted.trim().split(':')
  const name = rest.join(':').slice(1).toLowerCase()
  const matches = permitted.filter(
    (one) => one.target.platform === platform.toLowerCase() && one.name?.replace(/^[#@]/, '').toLowerCase() === name,
  )
  const [match] = matches
  const chats = new Set(matches.map(({ target }) => `${target.account}\n${target.chatId}`))
  return match === undefined || chats.size > 1 ? undefined : { kind: 'chat', target: match.target }
}

/** The chats that the rules `origin`, `home` and `known` permit. */
async function permittedChats(
  deps: ChatMessagesDeps,
  authority: Authority,
  origin: Target | undefined,
): Promise<readonly PermittedChat[]> {
  const rules = rulesOf(deps, authority)
  const chats: PermittedChat[] = []
  if (origin !== undefined && rules.includes('origin')) chats.push({ target: origin, kind: 'origin' })
  const { home, known } = await deps.store.run(function* () {
    return {
      home: rules.includes('home') ? yield* findHomeChannels(deps.accountDirectory.list()) : [],
      known: yield* knownTo(authority, rules),
    }
  })
  for (const { target, name } of home) chats.push({ target, kind: 'home', ...(name === undefined ? {} : { name }) })
  for (const { target, name, source } of known) {
    // The last message there may be another person's.
    const own = authority.userId === undefined ? source : { ...source, userId: authority.userId }
    if (!deps.accountDirectory.access({ source: own }).allowed) continue
    chats.push({ target, kind: 'known', ...(name === undefined ? {} : { name }) })
  }
  return chats
}

function* knownTo({ platform, account, userId }: Authority, rules: readonly string[]) {
  if (!rules.includes('known') || userId === undefined) return []
  return yield* findKnownChats({ platform, userId, ...(account === undefined ? {} : { account }) })
}

type MessageChat = PermittedChat | ListedTarget

async function listTargets(
  deps: ChatMessagesDeps,
  authority: Authority,
  origin: Target | undefined,
  signal: AbortSignal,
): Promise<readonly MessageTarget[]> {
  const own: readonly PermittedChat[] = origin === undefined ? [] : [{ target: origin, kind: 'origin' }]
  const chats: readonly MessageChat[] = rulesOf(deps, authority).includes('*')
    ? [...own, ...(await listAllTargets(deps, {}, signal))]
    : await permittedChats(deps, authority, origin)
  const listed = new Map<string, MessageTarget>()
  for (const { target, name, kind } of chats) {
    const text = formatTarget(target)
    if (!listed.has(text)) listed.set(text, { target: text, kind, ...named(name) })
  }
  return [...listed.values()].slice(0, maxListed)
}

/** People choose these names. */
function named(name: string | undefined): { readonly name?: string } {
  return name === undefined ? {} : { name: toLabel(name, maxNameChars) }
}

function saveLocally({ home, clock }: ChatMessagesDeps, text: string, media: readonly string[]) {
  try {
    return { target: 'local', path: writeLocalOutput(home, 'misc', [text, ...media].join('\n').trim(), clock()) }
  } catch (error) {
    return { problem: `The file could not be written: ${messageOf(error)}` }
  }
}
