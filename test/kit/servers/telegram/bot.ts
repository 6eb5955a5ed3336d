/**
 * One bot on the local server: the methods it may call, and the people who talk with it.
 */
import type { ServerResponse } from 'node:http'
import { type Chats, createChats, type ShownMessage } from './chats.ts'
import { createDelivery, type Delivery, type Update } from './delivery.ts'
import { createFiles, type Files } from './files.ts'
import { ApiError, badRequest, type JsonRecord, nestedOf, type Params, succeed, textOf } from './params.ts'

export interface BotSetup {
  readonly id?: number
  readonly username?: string
  readonly token?: string
  /** Privacy mode is off. */
  readonly readsAll?: boolean
  /** The status of a user in a chat; undefined for a user whom Telegram does not know. */
  memberStatus?(chatId: number, userId: number): string | undefined
  /** The ids of public chats by name, without `@`. */
  readonly publicChats?: Readonly<Record<string, number>>
  readonly joinsGroups?: boolean
  /** False: a server before Bot API 9.5. Default: true. */
  readonly hasDrafts?: boolean
}

/** The person who writes, and the chat. */
export interface UserMessage {
  readonly chat?: number
  readonly from?: Person
  readonly thread?: number
  /** Further fields of the message: a photo, a reply, entities. */
  readonly fields?: JsonRecord
}

export interface Person {
  readonly id: number
  readonly is_bot?: boolean
  readonly first_name: string
  readonly username?: string
}

export interface TelegramBot {
  readonly id: number
  readonly token: string
  readonly username: string
  readonly chats: Chats
  readonly files: Files
  readonly delivery: Delivery
  /** A user writes. Resolves when the bot has confirmed it; `update` is it. */
  say(text: string, writing?: UserMessage): SentUpdate
  /** Any update: `{callback_query: …}`. Resolves when the bot has confirmed it. */
  push(fields: JsonRecord): SentUpdate
  /** A person presses a button of a message. Resolves with what the bot answers. */
  press(messageId: number, data: string, writing?: UserMessage): Promise<string>
  /** Everything the bot has called, oldest first. */
  readonly calls: readonly { readonly method: string; readonly fields: JsonRecord }[]
  /** Resolves when this method has been called, now or before, and carried out; a poll may still wait. */
  called(method: string): Promise<void>
  /** The menu as people see it. */
  menu(): readonly unknown[]
  /** The next answers to presses are refused as too old. */
  forgetPresses(): void
  handle(method: string, params: Params, response: ServerResponse): void
}

export interface SentUpdate {
  readonly update: Update
  readonly confirmed: Promise<void>
}

export const defaultUser: Person = { id: 42, first_name: 'Ada', username: 'ada' }

/** `updates` gives numbers that grow over all bots of a server. */
export function createBot(setup: BotSetup, options: { readonly retryMs?: number } = {}): TelegramBot {
  const { id = 123_456, username = 'HermesTestBot', token = `${id}:AAtest-token_of-${username}` } = setup
  const chats = createChats()
  const files = createFiles()
  const delivery = createDelivery(options)
  const calls: { method: string; fields: JsonRecord }[] = []
  const presses = new Map<string, (text: string) => void>()
  const carriedOut = new Map<string, PromiseWithResolvers<void>>()
  const waitingFor = (method: string) => {
    const known = carriedOut.get(method) ?? Promise.withResolvers<void>()
    carriedOut.set(method, known)
    return known
  }
  let lastUpdate = 1_000
  let lastPress = 0
  let commands: readonly unknown[] = []
  chats.add({ id: defaultUser.id, type: 'private' })

  const me = {
    id,
    is_bot: true,
    first_name: 'Hermes',
    username,
    can_join_groups: setup.joinsGroups ?? true,
    can_read_all_group_messages: setup.readsAll ?? false,
    supports_inline_queries: false,
  }

  const methods: Readonly<Record<string, (params: Params) => unknown>> = {
    getMe: () => me,
    getWebhookInfo: () => delivery.webhookInfo(),
    setWebhook: ({ fields }) => done(delivery.setWebhook(fields)),
    deleteWebhook: () => done(delivery.deleteWebhook()),
    getMyCommands: () => commands,
    setMyCommands({ fields }) {
      const given = nestedOf(fields['commands'])
      if (!Array.isArray(given) || given.length > 100) throw badRequest('too much commands')
      for (const { command, description } of given) {
        if (!/^[a-z0-9_]{1,32}$/.test(command)) throw badRequest('BOT_COMMAND_INVALID')
        if (description === '' || description.length > 256) throw badRequest('BOT_COMMAND_DESCRIPTION_INVALID')
      }
      commands = given
      return true
    },
    sendMessage: ({ fields }) => messageOf(chats.send(fields)),
    sendMediaGroup: ({ fields, files: uploads }) => chats.sendAlbum(fields, uploads).map(messageOf),
    ...((setup.hasDrafts ?? true) ? { sendMessageDraft: ({ fields }: Params) => done(chats.draft(fields)) } : {}),
    editMessageText: ({ fields }) => messageOf(chats.edit(fields)),
    deleteMessage: ({ fields }) => done(chats.remove(fields)),
    sendChatAction: ({ fields }) => done(chats.check(fields)),
    getChatMember({ fields }) {
      const status = setup.memberStatus?.(Number(fields['chat_id']), Number(fields['user_id']))
      if (status === undefined) throw badRequest('PARTICIPANT_ID_INVALID')
      return { status, user: { id: Number(fields['user_id']), is_bot: false, first_name: 'Someone' } }
    },
    getChat({ fields }) {
      const name = textOf(fields['chat_id']).slice(1)
      const id = setup.publicChats?.[name]
      if (id === undefined) throw badRequest('chat not found')
      return { id, type: 'channel', title: name, username: name }
    },
    getFile: ({ fields }) => files.describe(fields),
    answerCallbackQuery({ fields }) {
      const queryId = textOf(fields['callback_query_id'])
      const answered = presses.get(queryId)
      if (answered === undefined)
        throw badRequest('query is too old and response timeout expired or query ID is invalid')
      presses.delete(queryId)
      answered(textOf(fields['text']))
      return true
    },
    ...Object.fromEntries(
      ['photo', 'animation', 'video', 'audio', 'voice', 'document'].map((field) => [
        `send${field[0]?.toUpperCase()}${field.slice(1)}`,
        (params: Params) => messageOf(chats.send(params.fields, fileOf(field, params))),
      ]),
    ),
  }

  const self: TelegramBot = {
    id,
    token,
    username,
    chats,
    files,
    delivery,
    calls,
    called: (method) => waitingFor(method).promise,
    menu: () => commands,
    forgetPresses: () => presses.clear(),
    say(text, { chat = defaultUser.id, from = defaultUser, thread, fields = {} } = {}) {
      const { topics: _topics, gone: _gone, ...place } = chats.chat(chat)
      const isText = text !== '' && !('caption' in fields)
      const entities = isText && /^\/\w+/.test(text) ? { entities: [commandIn(text)] } : {}
      return self.push({
        message: {
          message_id: chats.nextId(chat),
          ...(place.type === 'channel' ? { sender_chat: place } : { from: { is_bot: false, ...from } }),
          chat: place.type === 'private' ? { ...place, first_name: from.first_name } : place,
          date: Math.floor(Date.now() / 1_000),
          ...(thread === undefined ? {} : { message_thread_id: thread, is_topic_message: true }),
          ...(isText ? { text, ...entities } : {}),
          ...fields,
        },
      })
    },
    push(fields) {
      lastUpdate += 1
      const update = { update_id: lastUpdate, ...fields }
      return { update, confirmed: delivery.push(update) }
    },
    press(messageId, data, { chat = defaultUser.id, from = defaultUser } = {}) {
      lastPress += 1
      const queryId = `query-${lastPress}`
      const { topics: _topics, gone: _gone, ...place } = chats.chat(chat)
      const answered = new Promise<string>((resolve) => presses.set(queryId, resolve))
      const message = { message_id: messageId, from: me, chat: place, date: 1_763_000_000, text: 'a question' }
      self.push({
        callback_query: { id: queryId, from: { is_bot: false, ...from }, message, chat_instance: '1', data },
      })
      return answered
    },
    handle(method, params, response) {
      calls.push({ method, fields: params.fields })
      if (method === 'getUpdates') {
        delivery.poll(params.fields, response)
        return waitingFor(method).resolve()
      }
      const call = Object.hasOwn(methods, method) ? methods[method] : undefined
      if (call === undefined) throw new ApiError(404, 'Not Found: method not found')
      succeed(response, call(params))
      waitingFor(method).resolve()
    },
  }
  return self

  function messageOf({ id: messageId, chat, text, entities, keyboard, thread, file, album }: ShownMessage): JsonRecord {
    const { topics: _topics, gone: _gone, ...place } = chats.chat(chat)
    return {
      message_id: messageId,
      from: me,
      chat: place,
      date: Math.floor(Date.now() / 1_000),
      ...(file === undefined ? { text, entities } : { caption: text, caption_entities: entities }),
      ...(album === undefined ? {} : { media_group_id: album }),
      ...(thread === undefined ? {} : { message_thread_id: thread, is_topic_message: true }),
      ...(keyboard.length === 0 ? {} : { reply_markup: { inline_keyboard: keyboard } }),
    }
  }
}

function done(_result: unknown): true {
  return true
}

function fileOf(field: string, { files }: Params) {
  const uploaded = files.get(field)
  return uploaded === undefined ? { field } : { field, uploaded }
}

function commandIn(text: string): JsonRecord {
  const [command = ''] = /^\/\w+(?:@\w+)?/.exec(text) ?? []
  return { type: 'bot_command', offset: 0, length: command.length }
}
