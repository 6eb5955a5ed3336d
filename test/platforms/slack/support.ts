/**
 * The real adapter in front of a gateway that only remembers, against a local Slack.
 */
import type { TestContext } from 'node:test'
import slack from '../../../platforms/slack/adapter.ts'
import type { OutboundMessage } from '../../../src/message/outbound.ts'
import type { PlatformAdapter } from '../../../src/platforms/adapter.ts'
import type { PlatformContext } from '../../../src/platforms/context.ts'
import { createRecordingContext, type RecordingContext } from '../../kit/recording-context.ts'
import { type SlackServer, type SlackServerOptions, startSlackServer } from '../../kit/servers/slack/slack-server.ts'

export const channel = 'C0GENERAL'
export const direct = 'D0ADA00001'
export const ada = 'U0ADA00001'
export const bob = 'U0BOB00001'

export interface SlackTest {
  readonly server: SlackServer
  readonly gateway: RecordingContext
  readonly adapter: PlatformAdapter
  /** The first names of the changes that were handed in. */
  readonly changeKeys: readonly string[]
  /** One more adapter of the same account, not connected. */
  createAnother(): PlatformAdapter
}

export interface SlackTestOptions {
  readonly options?: Readonly<Record<string, unknown>>
  readonly account?: string
  readonly server?: SlackServerOptions
  /** False: the test connects. */
  readonly connect?: boolean
  /** The clock of the gateway; the real one if left out. */
  readonly clock?: () => number
  /** `catch_up.max`. */
  readonly catchUpLimit?: number
  /** The rate budget of the gateway; without it everything goes at once. */
  readonly rateLimited?: PlatformContext['rateLimited']
}

/** A workspace with Ada, Bob, a channel and Ada's direct chat. Everything is taken down when the test ends. */
export async function startSlackTest(t: TestContext, given: SlackTestOptions = {}): Promise<SlackTest> {
  const server = await startSlackServer({ redeliverMs: 300, ...given.server })
  populateWorkspace(server)
  const gateway = createRecordingContext({
    platform: 'slack',
    account: given.account ?? 'default',
    options: { ...tokensOf(server), ...given.options },
    catchUpLimit: given.catchUpLimit,
  })
  const changeKeys: string[] = []
  const { change } = gateway.context
  const context: PlatformContext = {
    ...gateway.context,
    clock: given.clock ?? Date.now,
    rateLimited: given.rateLimited ?? gateway.context.rateLimited,
    change(what, keys) {
      changeKeys.push(keys[0])
      return change(what, keys)
    },
  }
  const adapters: PlatformAdapter[] = []
  const createAnother = () => {
    const adapter = slack.createAdapter(context)
    adapters.push(adapter)
    return adapter
  }
  t.after(async () => {
    await Promise.all(adapters.map((adapter) => adapter.disconnect()))
    await server.close()
  })
  const adapter = createAnother()
  if (given.connect !== false) await adapter.connect(neverAborted)
  return { server, gateway, adapter, createAnother, changeKeys }
}

export function populateWorkspace({ workspace }: SlackServer): void {
  workspace.addUser(ada, 'Ada')
  workspace.addUser(bob, 'Bob')
  workspace.addChannel(channel, 'channel')
  workspace.addChannel(direct, 'im')
}

export function tokensOf(server: SlackServer): Readonly<Record<string, unknown>> {
  const { botToken, appToken, signingSecret, apiUrl } = server
  return { bot_token: botToken, app_token: appToken, signing_secret: signingSecret, api_url: apiUrl, mode: 'socket' }
}

/** A signal that never aborts. */
export const neverAborted = new AbortController().signal

export function reply(text: string, chatId = direct, more: Partial<OutboundMessage> & { thread?: string } = {}) {
  const { thread, ...rest } = more
  const target = {
    platform: 'slack',
    account: 'default',
    chatId,
    ...(thread === undefined ? {} : { threadId: thread }),
  }
  const message: OutboundMessage = { deliveryId: 'delivery', target, text, kind: 'reply', turnId: 'turn', ...rest }
  return message
}
