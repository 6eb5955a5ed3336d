/**
 * The promises of a platform, kept by the real adapter against a local Slack: in a channel over sockets, and in a direct
 * chat over HTTP.
 */
import slack from '../../../platforms/slack/adapter.ts'
import { type PlatformUnderTest, platformContract } from '../../kit/contracts/platform.ts'
import type { RecordingContext } from '../../kit/recording-context.ts'
import { createRecordingContext } from '../../kit/recording-context.ts'
import { serveAdapter } from '../../kit/served-adapter.ts'
import { displayed, type SlackServer, startSlackServer } from '../../kit/servers/slack/slack-server.ts'
import { ada, bob, channel, direct, populateWorkspace, tokensOf } from './support.ts'

const thread = { root: '1763700000.000100' }

platformContract('slack, in a channel, over Socket Mode', async () => {
  // A later acknowledgement, as on a busy machine, repeats an event.
  const server = await startSlackServer({ redeliverMs: 1_000 })
  populateWorkspace(server)
  server.workspace.post(channel, { ts: thread.root, user: bob, text: 'a thread', subtype: 'hidden' })
  const gateway = createRecordingContext({
    platform: 'slack',
    // Flat, so that every message of the channel belongs to one target.
    options: { ...tokensOf(server), reply_in_thread: false, free_response_channels: [channel] },
  })
  const adapters = [slack.createAdapter(gateway.context)]
  const [adapter] = adapters
  if (adapter === undefined) throw new Error('no adapter')
  return {
    ...peopleOf(server, gateway, channel),
    adapter,
    createAnother() {
      const next = slack.createAdapter(gateway.context)
      adapters.push(next)
      return next
    },
    thread: {
      target: { platform: 'slack', account: 'default', chatId: channel, threadId: thread.root },
      async say(text) {
        return (await server.say(channel, ada, text, { thread_ts: thread.root })).acknowledged
      },
      async seen(text) {
        await server.until(() =>
          server.posts(channel).find((post) => post.thread_ts === thread.root && displayed(post) === text),
        )
      },
    },
    async interrupt() {
      server.faults.startOutage('refuse')
      await server.until(() => (server.delivery.sockets() === 0 ? true : undefined))
    },
    restore: () => server.faults.endOutage(),
    async close() {
      await Promise.all(adapters.map((one) => one.disconnect()))
      await server.close()
    },
  }
})

platformContract('slack, in a direct chat, over HTTP', async () => {
  let hook = ''
  const server = await startSlackServer({ redeliverMs: 400, hook: () => hook })
  populateWorkspace(server)
  const served = await serveAdapter('slack', (context) =>
    // The real time: Slack's signatures carry it.
    slack.createAdapter({ ...context, clock: Date.now, options: { ...tokensOf(server), mode: 'http' } }),
  )
  hook = `${served.url}/webhooks/slack`
  const { adapter, gateway } = served
  return {
    ...peopleOf(server, gateway, direct),
    adapter,
    async close() {
      await served.close()
      await server.close()
    },
  }
})

function peopleOf(server: SlackServer, gateway: RecordingContext, chatId: string) {
  const { workspace, faults } = server
  const said = new Map<string, string>()
  const target = { platform: 'slack', account: 'default', chatId }
  const posts = /^chat\.postMessage$|^files\.complete/
  const shows = /^chat\.(postMessage|update|postEphemeral|startStream|appendStream|stopStream)$|^files\.complete/
  const tsOf = (id: string) => said.get(id) ?? 'unknown'
  const outcome = (event: string) => server.outcomeOf(event)
  const people: Omit<PlatformUnderTest, 'adapter' | 'close'> = {
    gateway,
    target,
    async say(text, id) {
      const known = said.get(id)
      if (known !== undefined) return await server.repeat(known)
      const ts = workspace.nextTs()
      said.set(id, ts)
      return (await server.say(chatId, ada, text, { ts })).acknowledged
    },
    async sayAsStranger(text) {
      return (await server.say(chatId, bob, text)).acknowledged
    },
    async seen(text) {
      await server.until(() => server.posts(chatId).find((post) => displayed(post) === text))
    },
    secrets: [server.botToken, server.appToken, server.signingSecret],
    sentCalls: () => faults.calls(shows),
    edit: (id, text) => outcome(workspace.edit(chatId, tsOf(id), { text }, ada)),
    remove: (id) => outcome(workspace.remove(chatId, tsOf(id))),
    react: (id) => outcome(workspace.react(chatId, tsOf(id), ada, 'thumbsup', true)),
    async attach({ fileName, mimeType, bytes }, id) {
      const ts = workspace.nextTs()
      said.set(id, ts)
      const files = [server.addFile(fileName, mimeType, bytes)]
      return (await server.say(chatId, ada, '', { ts, files, subtype: 'file_share' })).acknowledged
    },
    async press(buttonId, messageId) {
      const before = server.ephemerals.length
      await server.press(chatId, messageId, ada, buttonId)
      return String((await server.until(() => server.ephemerals[before]))['text'])
    },
    buttonsSeen: (messageId) => buttonsOf(workspace.find(chatId, messageId)?.blocks ?? []),
    albumsShown: () =>
      server
        .posts(chatId)
        .filter(({ files = [] }) => files.length > 1)
        .map(({ files = [] }) => files.map(({ id }) => server.fileBytes(String(id)) ?? Buffer.of())),
    async fileSeen(fileName) {
      return await server.until(() => {
        for (const { files = [], blocks = [] } of server.posts(chatId)) {
          const file = files.find(({ name }) => name === fileName)
          if (file !== undefined) return server.fileBytes(String(file['id']))
          const image = blocks.find(({ type }) => type === 'image')
          if (image !== undefined) return String(image['image_url'])
        }
        return undefined
      })
    },
    async noticeSeen(text) {
      await server.until(() => server.ephemerals.find((one) => text.test(String(one['text']))))
    },
    makeUnreachable: () => faults.startOutage('refuse'),
    async sayAsSelf(text) {
      const { userId, botId } = workspace.bot
      return await server.say(chatId, userId, text, { bot_id: botId })
    },
    rateLimit: (ms) => void faults.limit({ on: posts, ms }),
    refuseToken: () => server.refuseTokens(),
    loseChat() {
      const chat = workspace.channel(chatId)
      if (chat !== undefined) chat.joined = false
    },
    dropResponse: () => faults.dropResponse(posts),
    deleteOwnMessage: (messageId) => void workspace.remove(chatId, messageId),
  }
  return people
}

function buttonsOf(blocks: readonly Readonly<Record<string, unknown>>[]): string[] {
  const text = JSON.stringify(blocks)
  const labels = text.matchAll(/"type":"button".*?"text":\{"type":"plain_text","text":("(?:[^"\\]|\\.)*")/g)
  return [...labels].map(([, label = '""']) => String(JSON.parse(label)))
}
