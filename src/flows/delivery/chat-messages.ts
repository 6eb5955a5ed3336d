/**
 * The messages that the agent sends to other chats (the tool `send_message`): to which chats it may send for the person who
 * caused the turn, and which it is told of.
 */
import type { ChatMessages, MessageTarget } from '../../agent/tools/send-message.ts'
import { messageOf } from '../../lib/errors.ts'
import type { Authority } from '../../message/authority.ts'
import type { MessageEvent } from '../../message/event.ts'
import { type Target, targetOf } from '../../message/source.ts'
import { toLabel } from '../../message/untrusted-text.ts'
import { findDeadTarget } from '../../outbox/dead-targets.ts'
import { extractMedia } from '../../outbox/extract-media.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import { chatOf } from '../../outbox/queries.ts'
import type { Turn } from '../../sessions/turn.ts'
import { afterCommit, enlist, type TransactionPart } from '../../store/query.ts'
import type { Runtime } from '../../store/runtime.ts'
import { mediaProblem, prepareDelivery } from './deliver.ts'
import { type ListedTarget, listAllTargets } from './list-targets.ts'
import { writeLocalOutput } from './local-output.ts'
import { type PermittedChat, permittedChats, resolvePermitted, rulesOf } from './permitted-chats.ts'
import { type Destinations, formatTarget } from './resolve-target.ts'

/** The turn that sends. A plugin outside of turns has neither a session nor a chat. */
export type SendingTurn = Pick<Turn, 'id' | 'authority'> & Partial<Pick<Turn, 'sessionKey' | 'event'>>

const maxListed = 100
const maxNameChars = 200

/** @param callId names the messages, so that a repeated call sends nothing twice */
export function createChatMessages(
  gateway: Destinations & Pick<Runtime, 'home' | 'failpoint'>,
  outbox: Pick<Outbox, 'prepare' | 'fileProblem'>,
  turn: SendingTurn,
  callId: string,
): ChatMessages {
  const { authority, event } = turn
  const origin = originOf(event)

  return {
    async prepare({ target: wanted, text, media }, signal) {
      if (authority.role === 'guest')
        return { problem: 'The person who caused this turn is a guest, and nothing is sent for guests.' }
      const problem = media.map(mediaProblem).find((problemText) => problemText !== undefined)
      if (problem !== undefined) return { problem }
      const permitted = await resolvePermitted(gateway, authority, origin, wanted, signal)
      if (permitted === undefined) return { problem: refusal(wanted) }
      if ('problem' in permitted) return permitted
      if (permitted.kind === 'local') return saveLocally(gateway, text, media)
      const { target } = permitted
      const refused = await fileProblem(outbox, text, media, authority)
      if (refused !== undefined) return { problem: refused }
      const dead = await gateway.store.run(() => findDeadTarget(chatOf(target)))
      if (dead !== undefined)
        return {
          problem: `${formatTarget(target)} takes no messages since ${new Date(dead.since).toISOString()}: ${dead.reason}`,
        }
      const key = `send:${turn.id}:${callId}`
      const message = prepareDelivery(outbox, target, {
        key,
        kind: 'reply',
        text,
        media,
        authority,
        sessionKey: turn.sessionKey,
      })
      gateway.failpoint?.('send:prepared')
      const write: TransactionPart = {
        *write(now) {
          yield* afterCommit(() => gateway.failpoint?.('send:stored'))
          yield* enlist(message, now)
        },
      }
      const isConnected = gateway.platforms.adapter(target) !== undefined
      const note = isConnected ? {} : { note: `${target.platform} is not connected; it is sent when it is` }
      return {
        write,
        target: formatTarget(target),
        name: permitted.name && toLabel(permitted.name, maxNameChars),
        ...note,
      }
    },
    list: (signal) => listTargets(gateway, authority, origin, signal),
  }
}

/** Judged before the message is stored, so that the agent does not tell its user that a file was sent. */
async function fileProblem(
  outbox: Pick<Outbox, 'fileProblem'>,
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

function refusal(wanted: string): string {
  return `${JSON.stringify(wanted.slice(0, 100))} is no chat to which messages may be sent for this person. {"action":"list"} shows the targets.`
}

type MessageChat = PermittedChat | ListedTarget

async function listTargets(
  destinations: Destinations,
  authority: Authority,
  origin: Target | undefined,
  signal: AbortSignal,
): Promise<readonly MessageTarget[]> {
  const originChats: readonly PermittedChat[] = origin === undefined ? [] : [{ target: origin, kind: 'origin' }]
  const chats: readonly MessageChat[] = rulesOf(destinations, authority).includes('*')
    ? [...originChats, ...(await listAllTargets(destinations, {}, signal))]
    : await permittedChats(destinations, authority, origin)
  const listed = new Map<string, MessageTarget>()
  for (const { target, name, kind } of chats) {
    const text = formatTarget(target)
    if (!listed.has(text)) listed.set(text, { target: text, kind, name: name && toLabel(name, maxNameChars) })
  }
  return [...listed.values()].slice(0, maxListed)
}

function saveLocally({ home, clock }: Pick<Runtime, 'home' | 'clock'>, text: string, media: readonly string[]) {
  try {
    return { target: 'local', path: writeLocalOutput(home, 'misc', [text, ...media].join('\n').trim(), clock()) }
  } catch (error) {
    return { problem: `The file could not be written: ${messageOf(error)}` }
  }
}
