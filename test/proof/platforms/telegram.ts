/**
 * Telegram for the proof: direct chats with several users, and a group.
 */
import type { SentMessage } from '../../crash/chat-server.ts'
import type { SentUpdate, UserMessage } from '../../kit/servers/telegram/bot.ts'
import { ApiError, badRequest, refuse } from '../../kit/servers/telegram/params.ts'
import { startTelegramServer, type TelegramServer } from '../../kit/servers/telegram-server.ts'
import { allChats, chatsOf, draftCursor, newestOf, type PlatformFault, type TestPlatform } from './test-platform.ts'

const chats = chatsOf('t')
/** The last busy chat is a group in which every message starts a turn. */
const group = -1_007_000

export async function startTelegramPlatform(): Promise<TestPlatform> {
  const server = await startTelegramServer()
  const { bot, faults, url } = server
  const chatsByName = new Map<string, UserMessage & { readonly chat: number }>()
  const names = allChats(chats)
  for (const [index, name] of names.entries()) {
    const from = { id: 7_001 + index, first_name: `Person ${index + 1}` }
    const inGroup = index === names.length - 1
    const chat = inGroup ? group : from.id
    bot.chats.add(inGroup ? { id: group, type: 'supergroup', title: 'Group' } : { id: chat, type: 'private' })
    chatsByName.set(name, { chat, from })
  }
  const newest = new Map<string, SentUpdate>()
  const chatOf = (name: string) => {
    const chat = chatsByName.get(name)
    if (chat === undefined) throw new Error(`Telegram has no chat ${name}`)
    return chat
  }
  const say = (chat: string, text: string, fields = {}) => {
    newest.set(chat, bot.say(text, { ...chatOf(chat), fields }))
  }

  return {
    platform: 'telegram',
    config: { token: bot.token, api_root: url, allow_from: ['*'], free_response_chats: [String(group)] },
    chats,
    faults,
    calls: { send: /^sendMessage$/, edit: /^editMessageText$/, counted: /^(sendMessage|editMessageText)$/ },
    responses: {
      broken: { status: 502, body: '<html><body>502 Bad Gateway</body></html>' },
      unauthorised: { status: 401, body: { ok: false, error_code: 401, description: 'Unauthorized' } },
    },
    reportsScope: false,
    findsDrafts: false,
    longChars: 9_000,
    vendorIdOf: (chat) => String(chatOf(chat).chat),
    say,
    repeat(chat) {
      const said = newest.get(chat)
      if (said !== undefined) void bot.delivery.repeat(said.update)
    },
    sayReordered(chat, first, second) {
      const { chat: id } = chatOf(chat)
      const [earlier, later] = [bot.chats.nextId(id), bot.chats.nextId(id)]
      say(chat, first, { message_id: later })
      say(chat, second, { message_id: earlier })
    },
    revokeAccess(chat) {
      const known = bot.chats.chat(chatOf(chat).chat)
      known.gone = new ApiError(403, 'Forbidden: bot was blocked by the user')
      return () => {
        delete known.gone
      }
    },
    sentMessages: (chat, last) => sentMessagesOf(server, chatOf(chat).chat, chat, last),
    ownFaults: platformFaultsOf(server),
    close: server.close,
  }
}

function sentMessagesOf({ bot }: TelegramServer, id: number, chat: string, last?: number): SentMessage[] {
  return newestOf(bot.chats.shown, (message) => message.chat === id, last).map(({ id: message, text }) => {
    return { id: `${chat}:${message}`, chat, text, draft: text.endsWith(draftCursor) }
  })
}

function platformFaultsOf(server: TelegramServer): PlatformFault[] {
  const { bot, url } = server
  return [
    {
      name: '409, another poller',
      durationMs: 1_500,
      async start() {
        const end = new AbortController()
        const otherPoller = pollRepeatedly(`${url}/bot${bot.token}/getUpdates?timeout=1`, end.signal)
        return async () => {
          end.abort()
          await otherPoller
        }
      },
    },
    {
      name: 'parse errors',
      durationMs: 700,
      start: async () => refuseHtml(bot, 'can\'t parse entities: Can\'t find end tag corresponding to start tag "b"'),
    },
    {
      name: 'reported as too long',
      durationMs: 700,
      start: async () => refuseHtml(bot, 'message is too long'),
    },
  ]
}

/** Refuses messages with markup and accepts messages without. */
function refuseHtml(bot: TelegramServer['bot'], description: string): () => void {
  const handle = bot.handle.bind(bot)
  bot.handle = (method, params, response) => {
    if (params.fields['parse_mode'] === 'HTML') refuse(response, badRequest(description))
    else handle(method, params, response)
  }
  return () => {
    bot.handle = handle
  }
}

/** Requests updates again and again without confirming one, as a forgotten second bot does. */
async function pollRepeatedly(address: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await (await fetch(address, { signal })).text()
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }
}
