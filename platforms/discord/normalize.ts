/**
 * From an event of Discord's gateway to what the gateway of ours takes in: messages, edits, deletions, reactions. Pure, and
 * it never throws: whatever does not look as documented is nothing.
 */
import {
  brand,
  type EventKey,
  type MessageChange,
  type MessageEvent,
  type MessageType,
  parseCommand,
  type ReadMark,
  type SessionSource,
} from '#sdk'
import { isForUs, listensIn, type Me, opensThread } from './addressing.ts'
import { attachmentsOf, isBotMessage, isForward, type Names, nameOf, quoteOf, textOf } from './content.ts'
import type { Directory } from './directory.ts'
import type { Options } from './options.ts'
import { type Place, placeOf } from './place.ts'
import { timeOf } from './snowflake.ts'
import { type Dispatch, idAt, idsAt, type Json, numberAt, objectAt, objectsAt, textAt, wordsAt } from './wire.ts'

/** What a payload is seen with. */
export interface View {
  readonly platform: string
  readonly account: string
  readonly options: Options
  readonly directory: Pick<Directory, 'me' | 'channel' | 'roleName' | 'isMyRole'>
  /** The session of the gateway: events without an id of their own are named after it and their number in it. */
  readonly session: string
  /** For what Discord gives no time, ms since 1970. */
  readonly now: number
}

export type Inbound =
  | {
      readonly kind: 'message'
      readonly event: MessageEvent
      readonly keys: readonly [EventKey]
      readonly mark: ReadMark
    }
  | { readonly kind: 'change'; readonly change: MessageChange; readonly keys: readonly [EventKey] }

/** Discord's message types that people write: plain, reply, and the two that stand for a command. */
const writtenTypes: readonly number[] = [0, 19, 20, 23]
const replyType = 19

export function normalize(event: Dispatch, view: View): readonly Inbound[] {
  switch (event.t) {
    case 'MESSAGE_CREATE':
      return written(event.d, view)
    case 'MESSAGE_UPDATE':
      return edited(event.d, view)
    case 'MESSAGE_DELETE':
      return deleted(event.d, [idAt(event.d, 'id') ?? ''], view)
    case 'MESSAGE_DELETE_BULK':
      return deleted(event.d, idsAt(event.d, 'ids'), view)
    case 'MESSAGE_REACTION_ADD':
    case 'MESSAGE_REACTION_REMOVE':
      return reacted(event, view)
    default:
      return []
  }
}

export function messageKey(id: string): EventKey {
  return brand<EventKey>(`dc:${id}`)
}

/** The source of whoever did something at a place. */
export function sourceOf(place: Place, user: Json | undefined, member: Json | undefined, view: View): SessionSource {
  const userId = idAt(user, 'id')
  const userName = nameOf(user, member)
  const roles = idsAt(member, 'roles')
  return {
    platform: view.platform,
    account: view.account,
    ...place.source,
    ...(place.kind === 'dm' && userName !== undefined ? { chatName: userName } : {}),
    ...(userId === undefined ? {} : { userId }),
    ...(userName === undefined ? {} : { userName }),
    ...(view.options.allowedRoles.some((role) => roles.includes(role)) ? { roleAuthorized: true } : {}),
  }
}

function written(message: Json, view: View): readonly Inbound[] {
  const found = readMessage(message, view)
  if (found === undefined || !isForUs(message, found.place, found.me, view.options)) return []
  const event = toEvent(message, found, view)
  // A bare mention in answer to something asks about that; a bare mention alone asks nothing.
  const isEmpty = event.text === '' && event.attachments === undefined && !event.replyTo?.text
  if (isEmpty) return []
  const mark = { place: found.place.channelId, id: found.id }
  return [{ kind: 'message', event, keys: [messageKey(found.id)], mark }]
}

/** Whether the message was for us is asked no more: an edit may take the mention away. An unknown one changes nothing. */
function edited(message: Json, view: View): readonly Inbound[] {
  const found = readMessage(message, view)
  // Without it Discord itself has changed the message: it added a preview, or a thread.
  const at = wordsAt(message, 'edited_timestamp')
  if (found === undefined || at === undefined || !listensIn(found.place, view.options)) return []
  const event = toEvent(message, found, view)
  const of = messageKey(found.id)
  return [{ kind: 'change', change: { kind: 'edited', of, event }, keys: [brand<EventKey>(`${of}:e:${at}`)] }]
}

function deleted(data: Json, ids: readonly string[], view: View): readonly Inbound[] {
  const place = placeOf(data, view.directory.channel(idAt(data, 'channel_id') ?? ''))
  if (place === undefined || !listensIn(place, view.options)) return []
  return ids
    .filter((id) => id !== '')
    .map((id) => {
      const of = messageKey(id)
      const source = { ...sourceOf(place, undefined, undefined, view), messageId: id }
      const change = { kind: 'deleted' as const, of, source, timestamp: view.now }
      return { kind: 'change', change, keys: [brand<EventKey>(`${of}:d`)] }
    })
}

function reacted({ t, s, d }: Dispatch, view: View): readonly Inbound[] {
  const place = placeOf(d, view.directory.channel(idAt(d, 'channel_id') ?? ''))
  const messageId = idAt(d, 'message_id')
  const userId = idAt(d, 'user_id')
  const emoji = objectAt(d, 'emoji')
  const reaction = wordsAt(emoji, 'name') ?? idAt(emoji, 'id')
  const me = view.directory.me()
  if (place === undefined || messageId === undefined || userId === undefined || reaction === undefined) return []
  if (me === undefined || userId === me.id || !listensIn(place, view.options)) return []
  const member = objectAt(d, 'member')
  const user = objectAt(member, 'user') ?? { id: userId }
  if (idAt(user, 'id') !== userId || user['bot'] === true) return []
  const author = idAt(d, 'message_author_id')
  const change: MessageChange = {
    kind: 'reaction',
    source: { ...sourceOf(place, user, member, view), messageId },
    added: t === 'MESSAGE_REACTION_ADD',
    reaction,
    messageId,
    ...(author === undefined ? {} : { itemUserId: author }),
    timestamp: view.now,
    raw: d,
  }
  return [{ kind: 'change', change, keys: [brand<EventKey>(`${messageKey(messageId)}:r:${view.session}:${s}`)] }]
}

interface Found {
  readonly id: string
  readonly place: Place
  readonly me: Me
}

/** A message that somebody else wrote; undefined for our own, and for what Discord itself announces. */
function readMessage(message: Json, { directory }: View): Found | undefined {
  const self = directory.me()
  const id = idAt(message, 'id')
  const authorId = idAt(objectAt(message, 'author'), 'id')
  if (self === undefined || id === undefined || authorId === undefined || authorId === self.id) return undefined
  if (!writtenTypes.includes(numberAt(message, 'type') ?? 0)) return undefined
  const place = placeOf(message, directory.channel(idAt(message, 'channel_id') ?? ''))
  return place && { id, place, me: { id: self.id, isMyRole: directory.isMyRole } }
}

function toEvent(message: Json, { id, place, me }: Found, view: View): MessageEvent {
  const names = namesOf(view)
  const text = textOf(message, names)
  const attachments = attachmentsOf(message)
  const isCommand = parseCommand({ text }) !== null
  const replyTo = replyOf(message, names)
  return {
    source: {
      ...sourceOf(place, objectAt(message, 'author'), objectAt(message, 'member'), view),
      ...(isBotMessage(message) ? { isBot: true } : {}),
      ...(opensThread(message, place, me, view.options, isCommand) ? { prospectiveThreadId: id } : {}),
      messageId: id,
    },
    text,
    messageType: isCommand ? 'command' : typeOf(attachments[0]?.kind),
    messageId: id,
    timestamp: timestampOf(message, id),
    ...(attachments.length === 0 ? {} : { attachments }),
    ...(replyTo === undefined ? {} : { replyTo }),
  }
}

function namesOf({ directory }: View): Names {
  return {
    me: directory.me()?.id,
    channelName: (id) => directory.channel(id)?.name,
    roleName: directory.roleName,
    isMyRole: directory.isMyRole,
  }
}

function typeOf(kind: MessageType | undefined): MessageType {
  return kind ?? 'text'
}

function timestampOf(message: Json, id: string): number {
  const written = Date.parse(textAt(message, 'timestamp') ?? '')
  return Number.isNaN(written) ? timeOf(id) : written
}

/** What the message answers; the quoted message is missing when it was deleted. */
function replyOf(message: Json, names: Names): MessageEvent['replyTo'] {
  if (numberAt(message, 'type') !== replyType || isForward(message)) return undefined
  const messageId = idAt(objectAt(message, 'message_reference'), 'message_id')
  if (messageId === undefined) return undefined
  const quoted = objectAt(message, 'referenced_message')
  if (quoted === undefined) return { messageId }
  const author = objectAt(quoted, 'author')
  const authorId = idAt(author, 'id')
  // A mention is a user with the membership beside it; the author of a quote comes without.
  const mention = objectsAt(message, 'mentions').find((user) => idAt(user, 'id') === authorId)
  const authorName = nameOf(author, objectAt(mention, 'member'))
  return {
    messageId,
    text: quoteOf(quoted, names),
    ...(authorId === undefined ? {} : { authorId }),
    ...(authorName === undefined ? {} : { authorName }),
    ...(authorId === names.me ? { isOwnMessage: true } : {}),
  }
}
