/**
 * The chats of a bot and what stands in them, as the people there see it.
 */
import { type Entity, ParseError, parseHtml, trimmed } from './html.ts'
import {
  type ApiError,
  asRecord,
  badRequest,
  type JsonRecord,
  nestedOf,
  numberOf,
  textOf,
  type Uploaded,
} from './params.ts'

export interface Chat {
  readonly id: number
  readonly type: 'private' | 'group' | 'supergroup' | 'channel'
  readonly title?: string
  readonly is_forum?: boolean
  /** Message ids of the topics that exist. */
  readonly topics: Set<number>
  /** What Telegram answers instead of taking a message. */
  gone?: ApiError
}

/** A message of the bot, as people see it now. */
export interface ShownMessage {
  readonly id: number
  readonly chat: number
  readonly thread?: number
  readonly replyTo?: number
  text: string
  entities: readonly Entity[]
  /** Rows of labels and data. */
  keyboard: readonly (readonly { readonly text: string; readonly callback_data?: string }[])[]
  /** The file it carries: `photo`, `document` …, and its bytes or the address it was taken from. */
  readonly file?: { readonly field: string; readonly name: string; readonly bytes?: Uint8Array; readonly url?: string }
  /** `media_group_id`: the same for all messages of an album. */
  readonly album?: string
  /** Every text it had. */
  readonly versions: string[]
  /** The call that made it, as it came. */
  readonly sent: JsonRecord
}

export interface Chats {
  chat(id: number): Chat
  add(chat: Omit<Chat, 'topics'> & { readonly topics?: readonly number[] }): Chat
  /** A number for what a person writes. */
  nextId(chat: number): number
  readonly shown: readonly ShownMessage[]
  /** A text, or a file with a caption. Throws `ApiError`. */
  send(params: JsonRecord, file?: SentFile): ShownMessage
  /** All files of `media`, or none. Throws `ApiError`. */
  sendAlbum(params: JsonRecord, uploads: ReadonlyMap<string, Uploaded>): readonly ShownMessage[]
  /** The drafts that people see now: chat → id and text. A message of the bot removes the draft of its chat. */
  readonly drafts: ReadonlyMap<number, { readonly id: number; readonly text: string }>
  /** Shows or replaces the draft of a private chat. Throws `ApiError`. */
  draft(params: JsonRecord): void
  edit(params: JsonRecord): ShownMessage
  remove(params: JsonRecord): void
  /** What `sendChatAction` needs: the chat is there. */
  check(params: JsonRecord): Chat
  /** Resolves with the message that fits, now or later. */
  until(fits: (message: ShownMessage) => boolean): Promise<ShownMessage>
  /** A user removes a message of the bot. */
  forget(chat: number, id: number): void
}

export interface SentFile {
  readonly field: string
  readonly uploaded?: Uploaded
}

const textLimit = 4_096
const captionLimit = 1_024

export function createChats(): Chats {
  const chats = new Map<number, Chat>()
  const counters = new Map<number, number>()
  const known = new Map<number, Set<number>>()
  const shown: ShownMessage[] = []
  const drafts = new Map<number, { id: number; text: string }>()
  let albums = 0
  let watchers: {
    readonly fits: (message: ShownMessage) => boolean
    readonly resolve: (message: ShownMessage) => void
  }[] = []

  const self: Chats = {
    shown,
    drafts,
    chat(id) {
      const chat = chats.get(id)
      if (chat === undefined) throw badRequest('chat not found')
      return chat
    },
    add({ topics = [], ...chat }) {
      const added = { ...chat, topics: new Set(topics) }
      chats.set(chat.id, added)
      return added
    },
    nextId(chat) {
      const id = (counters.get(chat) ?? 0) + 1
      counters.set(chat, id)
      known.set(chat, (known.get(chat) ?? new Set()).add(id))
      return id
    },
    check(params) {
      const given = textOf(params['chat_id'])
      const id = Number(given)
      if (given === '') throw badRequest('chat_id is empty')
      const chat = self.chat(Number.isInteger(id) ? id : Number.NaN)
      if (chat.gone !== undefined) throw chat.gone
      const thread = numberOf(params['message_thread_id'])
      if (thread !== undefined && !chat.topics.has(thread)) throw badRequest('message thread not found')
      return chat
    },
    send: (params, file) => show(newMessage(params, file)),
    sendAlbum(params, uploads) {
      self.check(params)
      const media = albumIn(params, uploads)
      albums += 1
      const album = `album-${albums}`
      const messages = media.map(({ fields, file }) => ({ ...newMessage({ ...params, ...fields }, file), album }))
      return messages.map(show)
    },
    draft(params) {
      const chat = self.check(params)
      // The texts of these errors are not documented; clients know TEXTDRAFT_PEER_INVALID from groups.
      if (chat.type !== 'private') throw badRequest('TEXTDRAFT_PEER_INVALID')
      const id = numberOf(params['draft_id'])
      if (id === undefined || id === 0) throw badRequest('DRAFT_ID_INVALID')
      drafts.set(chat.id, { id, text: textIn(params, 'text', textLimit).text })
    },
    edit(params) {
      const chat = self.check(params)
      const message = shown.find(({ chat: place, id }) => place === chat.id && id === numberOf(params['message_id']))
      if (message === undefined) {
        const isOfPerson = known.get(chat.id)?.has(numberOf(params['message_id']) ?? 0) === true
        throw badRequest(isOfPerson ? "message can't be edited" : 'message to edit not found')
      }
      const { text, entities } = textIn(params, 'text', textLimit)
      if (text === '') throw badRequest('message text is empty')
      const keyboard = keyboardIn(params)
      const isSame =
        text === message.text &&
        JSON.stringify(entities) === JSON.stringify(message.entities) &&
        JSON.stringify(keyboard) === JSON.stringify(message.keyboard)
      if (isSame) {
        const what =
          'specified new message content and reply markup are exactly the same as a current content and reply markup of the message'
        throw badRequest(`message is not modified: ${what}`)
      }
      Object.assign(message, { text, entities, keyboard })
      message.versions.push(text)
      announce(message)
      return message
    },
    remove(params) {
      const chat = self.check(params)
      const at = shown.findIndex(({ chat: place, id }) => place === chat.id && id === numberOf(params['message_id']))
      if (at === -1) throw badRequest('message to delete not found')
      forget(shown[at])
    },
    until(fits) {
      const found = shown.find(fits)
      if (found !== undefined) return Promise.resolve(found)
      return new Promise((resolve) => watchers.push({ fits, resolve }))
    },
    forget: (chat, id) => forget(shown.find((message) => message.chat === chat && message.id === id)),
  }
  return self

  function newMessage(params: JsonRecord, file: SentFile | undefined): ShownMessage {
    const chat = self.check(params)
    const thread = numberOf(params['message_thread_id'])
    const { text, entities } =
      file === undefined ? textIn(params, 'text', textLimit) : textIn(params, 'caption', captionLimit)
    if (file === undefined && text === '') throw badRequest('message text is empty')
    const replyTo = answeredIn(chat, params)
    return {
      id: self.nextId(chat.id),
      chat: chat.id,
      ...(thread === undefined ? {} : { thread }),
      ...(replyTo === undefined ? {} : { replyTo }),
      text,
      entities,
      keyboard: keyboardIn(params),
      ...(file === undefined ? {} : { file: fileIn(params, file) }),
      versions: [text],
      sent: params,
    }
  }

  function show(message: ShownMessage): ShownMessage {
    shown.push(message)
    drafts.delete(message.chat)
    announce(message)
    return message
  }

  function forget(message: ShownMessage | undefined): void {
    if (message === undefined) return
    shown.splice(shown.indexOf(message), 1)
    known.get(message.chat)?.delete(message.id)
  }

  function announce(message: ShownMessage): void {
    const told = watchers.filter(({ fits }) => fits(message))
    watchers = watchers.filter((watcher) => !told.includes(watcher))
    for (const { resolve } of told) resolve(message)
  }

  function answeredIn(chat: Chat, params: JsonRecord): number | undefined {
    const reply = asRecord(nestedOf(params['reply_parameters']))
    const id = numberOf(reply['message_id'])
    if (id === undefined || known.get(chat.id)?.has(id) === true) return id
    if (reply['allow_sending_without_reply'] === true) return undefined
    throw badRequest('message to be replied not found')
  }
}

function textIn(params: JsonRecord, key: 'text' | 'caption', limit: number) {
  const source = textOf(params[key])
  const parsed = textOf(params['parse_mode']).toLowerCase() === 'html' ? readHtml(source) : trimmed(source, [])
  if (parsed.text.length > limit)
    throw badRequest(key === 'text' ? 'message is too long' : 'message caption is too long')
  return parsed
}

function readHtml(source: string) {
  try {
    return parseHtml(source)
  } catch (error) {
    if (error instanceof ParseError) throw badRequest(`can't parse entities: ${error.message}`)
    throw error
  }
}

function keyboardIn(params: JsonRecord): ShownMessage['keyboard'] {
  const rows = asRecord(nestedOf(params['reply_markup']))['inline_keyboard']
  if (!Array.isArray(rows)) return []
  return rows.map((row) => {
    if (!Array.isArray(row))
      throw badRequest('can\'t parse inline keyboard button: Field "inline_keyboard" must be of type Array')
    return row.map((button) => {
      const { text, callback_data: data } = asRecord(button)
      if (textOf(text) === '') throw badRequest("can't parse inline keyboard button: Text can't be empty")
      const bytes = Buffer.byteLength(textOf(data))
      if (bytes < 1 || bytes > 64) throw badRequest('BUTTON_DATA_INVALID')
      return { text: textOf(text), callback_data: textOf(data) }
    })
  })
}

const albumTypes = new Set(['photo', 'video', 'audio', 'document'])

/** The media of an album with their own captions. */
function albumIn(params: JsonRecord, uploads: ReadonlyMap<string, Uploaded>) {
  const media = nestedOf(params['media'])
  if (!Array.isArray(media) || media.length === 0) throw badRequest('there are no messages to send')
  if (media.length > 10) throw badRequest('too many messages to send as an album')
  const items = media.map(asRecord)
  const types = new Set(items.map(({ type }) => textOf(type)))
  for (const type of types)
    if (!albumTypes.has(type))
      throw badRequest(`can't parse InputMedia: type "${type}" can't be used in sendMediaGroup`)
  for (const type of ['audio', 'document']) {
    if (types.has(type) && types.size > 1) throw badRequest(`${type} can't be mixed with other media types`)
  }
  return items.map(({ type, media: reference, caption, parse_mode }) => {
    const field = textOf(type)
    const name = /^attach:\/\/(.+)$/.exec(textOf(reference))?.[1]
    const uploaded = name === undefined ? undefined : uploads.get(name)
    if (name !== undefined && uploaded === undefined) throw badRequest("can't parse InputMedia: media not found")
    const fields = { [field]: textOf(reference), caption: textOf(caption), parse_mode: textOf(parse_mode) }
    return { fields, file: uploaded === undefined ? { field } : { field, uploaded } }
  })
}

function fileIn(params: JsonRecord, { field, uploaded }: SentFile) {
  if (uploaded !== undefined) return { field, name: uploaded.name, bytes: uploaded.bytes }
  const url = textOf(params[field])
  if (!/^https?:\/\//.test(url)) throw badRequest('wrong file identifier/HTTP URL specified')
  return { field, name: url.slice(url.lastIndexOf('/') + 1), url }
}
