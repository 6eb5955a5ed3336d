/**
 * The adapter against a Discord on this machine, in front of a gateway that only remembers.
 */
import type { TestContext } from 'node:test'
import { type AdapterTiming, createAdapter } from '../../../platforms/discord/adapter.ts'
import { withTimeout } from '../../../src/lib/timers.ts'
import type { OutboundMessage } from '../../../src/message/outbound.ts'
import type { Target } from '../../../src/message/source.ts'
import type { PlatformAdapter, PlatformContext } from '../../../src/platforms/adapter.ts'
import { createRecordingContext, type IngestedEvent, type RecordingContext } from '../../kit/recording-context.ts'
import type { Bot } from '../../kit/servers/discord/gateway.ts'
import { type DiscordServer, type DiscordServerOptions, startDiscordServer } from '../../kit/servers/discord/server.ts'
import type { Channel, User } from '../../kit/servers/discord/world.ts'

/** Pauses that a test can wait for. */
export const fastTiming: Partial<AdapterTiming> = {
  graceMs: 20,
  maxBackoffMs: 100,
  handshakeMs: 2_000,
  identifyGapMs: 0,
}

export interface DiscordTest {
  readonly discord: DiscordServer
  readonly gateway: RecordingContext
  readonly adapter: PlatformAdapter
  readonly ada: User
  /** Ada's direct chat with the bot. */
  readonly dm: Channel
  /** `<@…>` of the bot. */
  readonly mention: string
  /** Addresses of this account. */
  targetFor(chatId: string, threadId?: string): Target
  /** One more adapter of the same account. */
  createAnother(options?: Readonly<Record<string, unknown>>): PlatformAdapter
}

export interface DiscordTestOptions {
  readonly server?: DiscordServerOptions
  readonly options?: Readonly<Record<string, unknown>>
  readonly timing?: Partial<AdapterTiming>
  readonly clock?: () => number
  /** The rate limiter of the gateway; without it every call is made at once. */
  readonly rateLimited?: PlatformContext['rateLimited']
  /** After so long an interaction is announced before it is answered. */
  readonly deferAfterMs?: number
  /** False: the test connects it. */
  readonly connect?: boolean
}

/** Everything is taken down when the test ends. */
export async function startDiscordTest(t: TestContext, given: DiscordTestOptions = {}): Promise<DiscordTest> {
  const discord = await startDiscordServer(given.server)
  const adapters: PlatformAdapter[] = []
  t.after(async () => {
    for (const adapter of adapters) await adapter.disconnect()
    await discord.close()
  })
  const gateway = createRecordingContext({
    platform: 'discord',
    options: optionsFor(discord, discord.bot, given.options),
  })
  const { clock, rateLimited } = { ...gateway.context, ...given }
  const make = (options: Readonly<Record<string, unknown>> = gateway.context.options) => {
    const adapter = createAdapter(
      { ...gateway.context, clock, rateLimited, options },
      {
        ...fastTiming,
        ...given.timing,
        ...(given.deferAfterMs === undefined ? {} : { deferAfterMs: given.deferAfterMs }),
      },
    )
    adapters.push(adapter)
    return adapter
  }
  const adapter = make()
  if (given.connect !== false) await adapter.connect(neverAborted)
  const ada = discord.person('Ada')
  return {
    discord,
    gateway,
    adapter,
    ada,
    dm: discord.dm(ada),
    mention: `<@${discord.bot.user.id}>`,
    targetFor: (chatId, threadId) => ({
      platform: 'discord',
      account: 'default',
      chatId,
      ...(threadId === undefined ? {} : { threadId }),
    }),
    createAnother: (options) => make({ ...gateway.context.options, ...options }),
  }
}

export function optionsFor(discord: DiscordServer, bot: Bot, more: Readonly<Record<string, unknown>> = {}) {
  return { token: bot.token, api_url: discord.apiUrl, ...more }
}

export const neverAborted = new AbortController().signal

/** Nothing takes so long: whoever waits in vain shall say for what. */
const waitTimeoutMs = 60_000

let deliveries = 0

export function messageTo(target: Target, text: string, more: Partial<OutboundMessage> = {}): OutboundMessage {
  deliveries += 1
  return { deliveryId: `delivery-${deliveries}`, target, text, kind: 'reply', ...more }
}

/** Resolves when something with this text was handed in, before or after. */
export async function waitForEvent(
  { ingestedEvents: handedIn, nextEvent: next }: RecordingContext,
  text: string,
): Promise<IngestedEvent> {
  const find = () => handedIn.find(({ event }) => event.text === text)
  for (;;) {
    const known = find()
    if (known !== undefined) return known
    const { done } = await withTimeout(next(), waitTimeoutMs)
    if (!done && find() === undefined) throw new Error(`waited in vain for "${text}"`)
  }
}

export function acceptedTexts({ ingestedEvents: handedIn }: RecordingContext): string[] {
  return handedIn.flatMap(({ event, accepted }) => (accepted.status === 'accepted' ? [event.text] : []))
}

/** What tells of its changes: the local Discord, the gateway that remembers. */
export interface Observable {
  onChange(look: () => void): () => void
}

/** Resolves when it is so; looks now, and after every change of what it is about. */
export async function until(isSo: () => boolean, ...about: readonly Observable[]): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const look = () => {
    if (isSo()) resolve()
  }
  const ends = about.map((one) => one.onChange(look))
  look()
  const { done } = await withTimeout(promise, waitTimeoutMs)
  for (const end of ends) end()
  if (!done) throw new Error(`waited in vain for ${isSo}`)
}
