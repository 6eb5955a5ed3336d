/**
 * Slack for the proof: direct chats with several users, and a channel thread in which replies are streamed.
 */
import type { SentMessage } from '../../crash/chat-server.ts'
import { isJson } from '../../kit/servers/slack/call.ts'
import { type SlackServer, startSlackServer } from '../../kit/servers/slack/slack-server.ts'
import type { Message } from '../../kit/servers/slack/workspace.ts'
import { allChats, chatsOf, draftCursor, newestOf, type PlatformFault, type TestPlatform } from './test-platform.ts'

const chats = chatsOf('s')
const general = 'C0GENERAL'

interface SlackChat {
  readonly channel: string
  readonly user: string
  readonly thread?: string
}

export async function startSlackPlatform(): Promise<TestPlatform> {
  const server = await startSlackServer({ streaming: 'everywhere' })
  const { workspace, delivery, faults } = server
  const chatsByName = new Map<string, SlackChat>()
  const names = allChats(chats)
  workspace.addChannel(general, 'channel')
  for (const [index, name] of names.entries()) {
    const user = `U0PERSON${index + 1}`
    workspace.addUser(user, `Person ${index + 1}`)
    const channel = `D0PERSON${index + 1}`
    workspace.addChannel(channel, 'im')
    chatsByName.set(name, { channel, user })
    if (index < names.length - 1) continue
    // The last busy chat is a thread, so that all its messages are one conversation.
    const { ts } = workspace.post(general, { user, text: 'A thread', subtype: 'hidden' })
    chatsByName.set(name, { channel: general, user, thread: ts })
  }
  const newest = new Map<string, string>()
  const chatOf = (name: string) => {
    const chat = chatsByName.get(name)
    if (chat === undefined) throw new Error(`Slack has no chat ${name}`)
    return chat
  }
  const say = (chat: string, text: string) => {
    const { channel, user, thread } = chatOf(chat)
    const ts = workspace.nextTs()
    newest.set(chat, ts)
    void server.say(channel, user, text, { ts, ...(thread === undefined ? {} : { thread_ts: thread }) })
  }

  return {
    platform: 'slack',
    config: {
      bot_token: server.botToken,
      app_token: server.appToken,
      api_url: server.apiUrl,
      mode: 'socket',
      allow_from: ['*'],
      free_response_channels: [general],
    },
    chats,
    faults,
    calls: { send: /^chat\.(postMessage|startStream)$/, edit: /^chat\.(update|stopStream)$/, counted },
    responses: {
      broken: { status: 503, body: 'upstream connect error' },
      unauthorised: { status: 200, body: { ok: false, error: 'invalid_auth' } },
    },
    reportsScope: false,
    findsDrafts: true,
    longChars: 45_000,
    vendorIdOf: (chat) => chatOf(chat).channel,
    say,
    repeat(chat) {
      const ts = newest.get(chat)
      if (ts !== undefined) void server.repeat(ts)
    },
    sayReordered(chat, first, second) {
      const release = delivery.holdBack()
      say(chat, second)
      say(chat, first)
      release()
    },
    revokeAccess(chat) {
      const channel = workspace.channel(chatOf(chat).channel)
      if (channel === undefined) throw new Error(`Slack has no channel for ${chat}`)
      channel.archived = true
      return () => {
        channel.archived = false
      }
    },
    sentMessages: (chat, last) => sentMessagesOf(server, chatOf(chat).channel, chat, last),
    ownFaults: platformFaultsOf(server),
    close: server.close,
  }
}

/** Streams have separate rate limits, and a reply that cannot be streamed is posted. */
const counted = /^chat\.(postMessage|update)$/

function sentMessagesOf({ workspace }: SlackServer, id: string, chat: string, last?: number): SentMessage[] {
  const isOurs = ({ bot_id, deleted }: Message) => bot_id === workspace.bot.botId && deleted !== true
  return newestOf(workspace.channel(id)?.messages ?? [], isOurs, last).map((message) => {
    const text = textOf(message)
    const draft = message.streaming_state === 'in_progress' || text.endsWith(draftCursor)
    return { id: `${chat}:${message.ts}`, chat, text, draft }
  })
}

/** Slack shows blocks instead of the text. */
function textOf({ text, blocks = [] }: Message): string {
  const sections = blocks.flatMap(({ type, text: inner }) =>
    type === 'section' && isJson(inner) ? [String(inner['text'])] : [],
  )
  return sections.length > 0 ? sections.join('\n') : text
}

function platformFaultsOf({ delivery }: SlackServer): PlatformFault[] {
  const momentaryFault = (name: string, durationMs: number, act: () => () => void): PlatformFault => ({
    name,
    durationMs,
    start: async () => act(),
  })
  return [
    momentaryFault('socket to be refreshed', 0, () => {
      delivery.warn('refresh_requested')
      return () => undefined
    }),
    momentaryFault('sockets cut', 0, () => {
      delivery.cut()
      return () => undefined
    }),
    momentaryFault('envelopes delivered twice', 1_500, () => {
      delivery.double(true)
      return () => delivery.double(false)
    }),
  ]
}
