/**
 * Parses updates of the fake platform. Pure functions.
 */
import {
  type Attachment,
  type ButtonPress,
  brand,
  type ChatType,
  type EventKey,
  type MessageChange,
  type MessageEvent,
  type PlatformContext,
  type SessionSource,
} from '#sdk'

/** An update: a message of a user, unless another field is set. */
export interface FakeUpdate {
  readonly update: number
  /** The message id. */
  readonly id: string
  readonly chat: string
  readonly chatType: ChatType
  readonly user: string
  readonly text: string
  readonly thread?: string
  /** The title of the chat. */
  readonly title?: string
  readonly isBot?: boolean
  /** When it was written, ms; default: when it is received. */
  readonly at?: number
  /** A message of the bot itself. */
  readonly own?: boolean
  /** A button was pressed. */
  readonly press?: { readonly button: string; readonly message: string }
  /** The message with this id was edited or deleted. */
  readonly change?: 'edited' | 'deleted'
  /** A reaction to the message with this id. */
  readonly reaction?: string
  readonly file?: FakeFile
}

export interface FakeFile {
  readonly id: string
  readonly kind: 'photo' | 'voice' | 'audio' | 'document'
  readonly fileName: string
  readonly mimeType: string
  readonly bytes: number
}

type EventKeys = readonly [EventKey, ...EventKey[]]

export type ParsedUpdate =
  | { readonly kind: 'message'; readonly event: MessageEvent; readonly keys: EventKeys }
  | { readonly kind: 'change'; readonly change: MessageChange; readonly keys: EventKeys }
  | { readonly kind: 'press'; readonly press: ButtonPress }
  | { readonly kind: 'nothing' }

export function parseUpdate(
  update: FakeUpdate,
  context: Pick<PlatformContext, 'platform' | 'account' | 'clock'>,
): ParsedUpdate {
  if (update.own === true) return { kind: 'nothing' }
  const { platform, account, clock } = context
  const source = sourceOf(update, platform, account)
  if (update.press !== undefined) {
    return { kind: 'press', press: { source, buttonId: update.press.button, messageId: update.press.message } }
  }
  const of = brand<EventKey>(`${platform}:${account}:${update.chat}:${update.id}`)
  const keys: EventKeys = [brand<EventKey>(`${of}:${update.update}`)]
  const timestamp = update.at ?? clock()
  const event = eventOf(update, source, timestamp)
  if (update.change === 'edited') return { kind: 'change', change: { kind: 'edited', of, event }, keys }
  if (update.change === 'deleted') return { kind: 'change', change: { kind: 'deleted', of, source, timestamp }, keys }
  if (update.reaction !== undefined) {
    const { reaction, id: messageId } = update
    const change = { kind: 'reaction' as const, source, added: true, reaction, messageId, timestamp, raw: {} }
    return { kind: 'change', change, keys }
  }
  return { kind: 'message', event, keys: [of] }
}

function sourceOf(update: FakeUpdate, platform: string, account: string): SessionSource {
  const { chat: chatId, chatType, user, thread, title, isBot } = update
  return {
    platform,
    account,
    chatId,
    chatType,
    userId: user,
    userName: user,
    ...(title === undefined ? {} : { chatName: title }),
    ...(thread === undefined ? {} : { threadId: thread }),
    ...(isBot === undefined ? {} : { isBot }),
  }
}

function eventOf({ id, text, file }: FakeUpdate, source: SessionSource, timestamp: number): MessageEvent {
  const messageType = file?.kind ?? (text.startsWith('/') ? 'command' : 'text')
  const attachments = file === undefined ? {} : { attachments: [attachmentOf(file)] }
  return { source, text, messageType, messageId: id, timestamp, ...attachments }
}

function attachmentOf({ id, ...file }: FakeFile): Attachment {
  return { ...file, ref: id }
}
