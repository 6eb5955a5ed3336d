/**
 * A whole gateway whose only chat platform is the local Slack.
 */
import type { TestContext } from 'node:test'
import { withTimeout } from '../../../src/lib/timers.ts'
import {
  displayed,
  type SlackServer,
  type SlackServerOptions,
  startSlackServer,
} from '../../kit/servers/slack/slack-server.ts'
import type { Message } from '../../kit/servers/slack/workspace.ts'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../../kit/start-gateway.ts'
import { waitLimitMs } from '../../kit/wait-limit.ts'
import { populateWorkspace, tokensOf } from './support.ts'

export interface SlackGatewayTest {
  readonly server: SlackServer
  readonly gateway: TestGateway
  /** A message of the bot with this text; rejects when that takes too long. */
  shown(chat: string, text: string | RegExp): Promise<Message>
  /** What the bot has said in a chat, as it reads now. */
  said(chat: string): string[]
}

export interface SlackGatewayTestOptions extends TestGatewayOptions {
  readonly server?: SlackServerOptions
  /** Laid over the account. */
  readonly slack?: Readonly<Record<string, unknown>>
}

/** Starts both, connected; takes both down when the test ends. */
export async function startSlackGateway(
  t: TestContext,
  given: SlackGatewayTestOptions = {},
): Promise<SlackGatewayTest> {
  const { server: serverOptions, slack, ...options } = given
  let url = ''
  const overHttp = slack?.['mode'] === 'http' ? { hook: () => `${url}/webhooks/slack` } : {}
  const server = await startSlackServer({ redeliverMs: 500, ...overHttp, ...serverOptions })
  populateWorkspace(server)
  const gateway = await startTestGateway(t, {
    ...options,
    config: {
      ...options.config,
      platforms: {
        fake: { enabled: false },
        slack: { ...tokensOf(server), allow_from: ['*'], ...slack },
      },
    },
  })
  url = gateway.current().url
  // After the gateway: its last words should not be errors of a platform that is gone.
  t.after(() => server.close())
  return {
    server,
    gateway,
    said: (chat) => server.posts(chat).map(displayed),
    async shown(chat, text) {
      const fits = (post: Message) => (typeof text === 'string' ? displayed(post) === text : text.test(displayed(post)))
      const found = await withTimeout(
        server.until(() => server.posts(chat).find(fits)),
        waitLimitMs(),
      )
      if (found.done) return found.value
      const log = gateway.log.slice(-20).join('')
      throw new Error(`waited in vain for ${text}; shown: ${JSON.stringify(server.posts(chat))}; log:\n${log}`)
    },
  }
}

/** The text of a message that mentions the bot in a channel. */
export const mention = '<@U0BOT0001>'
