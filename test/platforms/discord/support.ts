/**
 * Runs the adapter between a local Discord server and a context that records events.
 */
import type { TestContext } from 'node:test'
import { type AdapterTiming, createAdapter } from '../../../platforms/discord/adapter.ts'
import { withTimeout } from '../../../src/lib/timers.ts'
import type { OutboundMessage } from '../../../src/message/outbound.ts'
import type { Target } from '../../../src/message/source.ts'
import type { PlatformAdapter } from '../../../src/platforms/adapter.ts'
import type { PlatformContext } from '../../../src/platforms/context.ts'
import { createRecordingContext, type IngestedEvent, type RecordingContext } from '../../kit/recording-context.ts'
import type { Bot } from '../../kit/servers/discord/gateway.ts'
import { type DiscordServer, type DiscordServerOptions, startDiscordServer } from '../../kit/servers/discord/server.ts'
import type { Channel, User } from '../../kit/servers/discord/world.ts'

/** Short timing for tests. */
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
  /** The direct chat of Ada and the bot. */
  readonly dm: Channel
  /** `<@…>` of the bot. */
  readonly mention: string
  /** Targets of this account. */
  targetFor(chatId: string, threadId?: string): Target
  /** One more adapter of the same account. */
  createAnother(options?: Readonly<Record<string, unknown>>): PlatformAdapter
}

export interface DiscordTestOptions {
  readonly server?: DiscordServerOptions
  readonly options?: Readonly<Record<string, unknown>>
  readonly timing?: Partial<AdapterTiming>
  readonly clock?: () => number
  /** `catch_up.max`. */
  readonly catchUpLimit?: number
  /** The rate limiter of the gateway; without it every call is made at once. */
  readonly rateLimited?: PlatformContext['rateLimited']
  /** An interaction is deferred when its response takes longer. */
  readonly deferAfterMs?: number
  /** False: the test connects the adapter itself. */
  readonly connect?: boolean
}

/** Disconnects and closes everything when the test ends. */
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
    catchUpLimit: given.catchUpLimit,
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

/** Far longer than any wait, so that a failing test says what it waited for. */
const waitTimeoutMs = 60_000

let deliveries = 0

export function messageTo(target: Target, text: string, more: Partial<OutboundMessage> = {}): OutboundMessage {
  deliveries += 1
  return { deliveryId: `delivery-${deliveries}`, target, text, kind: 'reply', ...more }
}

/** Resolves when an event with this text was ingested, before or after the call. */
export async function waitForEvent(
  { ingestedEvents, nextEvent }: RecordingContext,
  text: string,
): Promise<IngestedEvent> {
  const find = () => ingestedEvents.find(({ event }) => event.text === text)
  for (;;) {
    const known = find()
    if (known !== undefined) return known
    const { done } = await withTimeout(nextEvent(), waitTimeoutMs)
    if (!done && find() === undefined) throw new Error(`timed out waiting for "${text}"`)
  }
}

export function acceptedTexts({ ingestedEvents }: RecordingContext): string[] {
  return ingestedEvents.flatMap(({ event, accepted }) => (accepted.status === 'accepted' ? [event.text] : []))
}

/** Something that notifies of its changes: the local Discord server, the recording context. */
export interface Observable {
  onChange(listener: () => void): () => void
}

/** Resolves when the condition holds. Checks it now, and after every change of the observed objects. */
export async function until(condition: () => boolean, ...observed: readonly Observable[]): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const check = () => {
    if (condition()) resolve()
  }
  const unsubscribes = observed.map((one) => one.onChange(check))
  check()
  const { done } = await withTimeout(promise, waitTimeoutMs)
  for (const unsubscribe of unsubscribes) unsubscribe()
  if (!done) throw new Error(`timed out waiting for ${condition}`)
}
