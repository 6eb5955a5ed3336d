/**
 * The stored form of an event: JSON, with the authority of its sender, and the queue that it joins.
 */
import { HermesError } from '../lib/errors.ts'
import type { Authority } from '../message/authority.ts'
import { hasWaitingUser, type MessageEvent, parseCommand } from '../message/event.ts'
import type { QueueKind, SessionKey } from '../message/ids.ts'
import type { Accounts } from './accounts.ts'
import type { InboxDeps, InboxSettings } from './deps.ts'

/** @param payload JSON that the inbox has written, so its shape is known. */
export function parseStoredEvent(payload: string): MessageEvent {
  return JSON.parse(payload)
}

/** The event with the authority of its sender. An adapter cannot bring one; what the gateway itself causes keeps its own. */
export async function withAuthority(
  accounts: Pick<Accounts, 'lookUpAuthority'>,
  event: MessageEvent,
): Promise<MessageEvent> {
  if (event.internal === true && event.authority !== undefined) return event
  const authority = await accounts.lookUpAuthority(event.source)
  return isRestartRequest(event, authority) ? { ...event, authority, text: '/restart' } : { ...event, authority }
}

const restartWords = /^\s*restart (?:the )?(?:hermes )?gateway[.!]?\s*$/i

/** An owner may ask for a restart in plain words in a direct message (contract §3.5). A program that waits may not. */
function isRestartRequest(event: MessageEvent, { role }: Authority): boolean {
  if (event.text.length > 100 || !restartWords.test(event.text)) return false
  if (event.allowGatewayControl === false || event.internal === true || !hasWaitingUser(event)) return false
  return event.source.chatType === 'dm' && role === 'owner'
}

/**
 * Throws `inbox/too-large`.
 * @param limits absent for what the gateway itself stores
 */
export function serializeEvent(event: MessageEvent, limits?: InboxSettings['inbox']): string {
  const payload = JSON.stringify(event, toWellFormed)
  const bytes = Buffer.byteLength(payload)
  const maxBytes = limits === undefined ? Number.POSITIVE_INFINITY : limits.max_message_kb * 1_024
  if (bytes > maxBytes) throw new HermesError('inbox/too-large', `It has ${bytes} bytes; the limit is ${maxBytes}.`)
  return payload
}

/** Whether an event may be stored now. */
export function mayStore(
  event: Pick<MessageEvent, 'source' | 'internal'>,
  { lifecycle, storesForNextStart }: Pick<InboxDeps, 'lifecycle' | 'storesForNextStart'>,
): boolean {
  return lifecycle.phase === 'ready' || storesForNextStart(event)
}

/** `control` for commands that act at once and for answers, `turn` for everything that waits in the queue of its session. */
export function queueKindOf(
  event: MessageEvent,
  { commands, questions, accounts }: Pick<InboxDeps, 'commands' | 'questions' | 'accounts'>,
): QueueKind {
  const command = parseCommand(event)
  if (command !== null) return commands.resolve(command.name)?.queue ?? 'turn'
  if (questions.open.size === 0) return 'turn'
  return questions.isPlainAnswer(accounts.sessionKey(event.source), event) ? 'control' : 'turn'
}

/** Whether an event of the control queue overtakes the others that wait there. */
export function isUrgent(
  event: MessageEvent,
  key: SessionKey,
  { commands, questions }: Pick<InboxDeps, 'commands' | 'questions'>,
): boolean {
  const command = parseCommand(event)
  // Words that answer a question.
  if (command === null) return true
  const { bypassesHooks, answersQuestion } = commands.resolve(command.name) ?? {}
  // The command before it may be the one that asks.
  return bypassesHooks === true && (answersQuestion !== true || questions.isAsking(key))
}

/** Replaces lone surrogates: JSON would escape them, and they would break whatever reads the text later. */
function toWellFormed(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value
}
