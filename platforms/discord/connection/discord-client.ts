/**
 * discord.js' `Client` as a transport: it owns login, identify, resume, heartbeats and close codes. Payloads are
 * passed on as Discord sends them; none reaches the caches of the `Client`.
 */
import { Client, Events, GatewayIntentBits, type IIdentifyThrottler } from 'discord.js'
import { type Logger, messageOf } from '#sdk'
import type { DiscordAccount } from '../account.ts'
import { asRecord, numberAt } from '../inbound/payload.ts'
import { createIdentifyThrottler, type SessionLimit } from './identify-throttler.ts'
import { restOptions } from './rest.ts'
import { createReplaceableStrategy, type Manager, type ReplaceableStrategy } from './sharding-strategy.ts'
import type { GatewayTiming } from './timing.ts'

export interface ClientListener {
  /** Delays each attempt to connect. May stay pending for ever, which ends the attempts. */
  beforeConnect(): Promise<void>
  /** Something arrived, including heartbeat acknowledgements. Called before the other callbacks. */
  onActivity(): void
  onReady(data: unknown): void
  onResumed(): void
  onDispatch(payload: unknown): void
  /** The connection closed; discord.js reconnects, unless the call before was `onFatalClose`. */
  onClosed(code: number): void
  /** The connection closed with a code after which discord.js does not reconnect. */
  onFatalClose(code: number): void
  onError(error: Error): void
  /** No session can be started before the daily limit is reset. */
  onSessionLimit(reason: string): void
}

/** The events of a shard that prove a live connection. */
const arrivalEvents: ReadonlySet<string> = new Set(['hello', 'heartbeat', 'ready', 'resumed', 'dispatch'])

/** Only `MessageContent` has to be turned on in the Developer Portal. */
const intents = [
  GatewayIntentBits.Guilds,
  GatewayIntentBits.GuildMessages,
  GatewayIntentBits.GuildMessageReactions,
  GatewayIntentBits.DirectMessages,
  GatewayIntentBits.DirectMessageReactions,
  GatewayIntentBits.MessageContent,
]

const identifyProperties = { browser: 'hermes-gateway', device: 'hermes-gateway', os: process.platform }

export function createDiscordClient(
  { context: { log }, options }: DiscordAccount,
  timing: GatewayTiming,
  listener: ClientListener,
) {
  let strategy: ReplaceableStrategy | undefined
  let throttler: IIdentifyThrottler | undefined
  const client = new Client({
    intents,
    // By default discord.js reads SHARDS from the environment.
    shards: [0],
    sweepers: { threads: { interval: 0, lifetime: 1 } },
    rest: restOptions(options),
    ws: {
      buildStrategy(manager) {
        // Options that the `Client` has no name for. It also reads SHARD_COUNT from the environment.
        const managerOptions: Partial<Manager['options']> = {
          shardCount: 1,
          identifyProperties,
          initialPresence: null,
          largeThreshold: null,
          handshakeTimeout: timing.handshakeMs,
          helloTimeout: timing.handshakeMs * 2,
        }
        Object.assign(manager.options, managerOptions)
        strategy = createReplaceableStrategy(manager, log, {
          beforeConnect: listener.beforeConnect,
          onEvent: (event, payload) => notify(listener, event, payload),
        })
        return strategy
      },
      buildIdentifyThrottler(manager) {
        throttler ??= createIdentifyThrottler({
          gapMs: timing.identifyGapMs,
          fetchLimit: () => fetchSessionLimit(manager, log),
          onLimit: listener.onSessionLimit,
        })
        return throttler
      },
    },
  })
  // An `error` event without a listener would end the process.
  client.on(Events.Error, listener.onError)
  client.on(Events.ShardDisconnect, ({ code }) => listener.onFatalClose(code))

  return {
    /** Resolves when the first session is ready. Rejects when the first attempt fails, or when discord.js gives up. */
    async login() {
      await client.login(options.token)
    },
    sendHeartbeat: () => void strategy?.sendHeartbeat(),
    /** Abandons the connection without waiting for a closing handshake, and resumes its session on another one. */
    replaceConnection: () => void strategy?.replace().catch(listener.onError),
    /** Ends the session. Waits for the closing handshake. */
    destroy: () => client.destroy(),
  }
}

async function fetchSessionLimit(manager: Manager, log: Logger): Promise<SessionLimit | undefined> {
  try {
    return (await manager.fetchGatewayInformation(true)).session_start_limit
  } catch (error) {
    log.debug({ event: 'discord.session_limit_failed', reason: messageOf(error) }, 'session limit is unknown')
    return undefined
  }
}

function notify(listener: ClientListener, event: string, payload: unknown): void {
  const data = asRecord(payload)
  if (arrivalEvents.has(event)) listener.onActivity()
  if (event === 'ready') listener.onReady(data['data'])
  else if (event === 'resumed') listener.onResumed()
  else if (event === 'dispatch') listener.onDispatch(data['data'])
  else if (event === 'closed') listener.onClosed(numberAt(data, 'code') ?? 0)
  else if (event === 'error' && data['error'] instanceof Error) listener.onError(data['error'])
}
