/**
 * How discord.js runs its only shard (`ws.buildStrategy`). Adds what a daemon needs to the strategy of discord.js: a dead
 * connection is replaced at once, connection attempts are delayed, and a faulty payload cannot end the process.
 */
import { GatewayOpcodes, type IShardingStrategy, SimpleShardingStrategy } from 'discord.js'
import { HermesError, type Logger, messageOf, toError } from '#sdk'
import { describeSessionLimit } from './identify-throttler.ts'

/** The `WebSocketManager` of @discordjs/ws. discord.js exports another class under that name. */
export type Manager = ConstructorParameters<typeof SimpleShardingStrategy>[0]
type GatewayInfo = Awaited<ReturnType<Manager['fetchGatewayInformation']>>

export interface ShardListener {
  /** Delays each attempt to connect. May stay pending for ever, which ends the attempts. */
  beforeConnect(): Promise<void>
  /** An event of the shard: `hello`, `ready`, `resumed`, `dispatch`, `heartbeat`, `closed`, `error` or `debug`. */
  onEvent(event: string, payload: unknown): void
}

export interface ReplaceableStrategy extends IShardingStrategy {
  /** Sends a heartbeat out of turn. Never rejects. */
  sendHeartbeat(): Promise<void>
  /** Abandons the connection without waiting for a closing handshake, and resumes its session on another one. */
  replace(): Promise<void>
}

interface ReplaceableShard {
  readonly strategy: SimpleShardingStrategy
  /** Ignores the shard from now on, and closes its connection. Never rejects. */
  retire(code: number): Promise<void>
}

const shardId = 0
/** A client that closes with 1000 or 1001 ends its session; with another code the session can be resumed. */
const resumableClose = 4_200

export function createReplaceableStrategy(manager: Manager, log: Logger, listener: ShardListener): ReplaceableStrategy {
  const gatewayInfo = createGatewayInfoCache(manager, log)
  const create = () => createShard(manager, gatewayInfo, log, listener)
  let shard = create()

  return {
    async spawn(ids) {
      const { session_start_limit: limit } = await gatewayInfo.fetch()
      if (limit.remaining <= 0) throw new HermesError('platform/connect-failed', `${describeSessionLimit(limit)}.`)
      shard = create()
      await shard.strategy.spawn(ids)
    },
    connect: () => shard.strategy.connect(),
    destroy: ({ code = resumableClose } = {}) => shard.retire(code),
    send: (id, payload) => shard.strategy.send(id, payload),
    fetchStatus: () => shard.strategy.fetchStatus(),
    async sendHeartbeat() {
      try {
        const session = await manager.options.retrieveSessionInfo(shardId)
        await shard.strategy.send(shardId, { op: GatewayOpcodes.Heartbeat, d: session?.sequence ?? null })
      } catch (error) {
        log.debug({ event: 'discord.heartbeat_failed', reason: messageOf(error) }, 'heartbeat could not be sent')
      }
    },
    async replace() {
      void shard.retire(resumableClose)
      shard = create()
      await shard.strategy.spawn([shardId])
      await shard.strategy.connect()
    },
  }
}

interface GatewayInfoCache {
  /** Returns the last known information where the REST API cannot be reached, so that reconnecting depends on the gateway only. */
  readonly fetch: Manager['fetchGatewayInformation']
  url(): string
}

function createGatewayInfoCache(manager: Manager, log: Logger): GatewayInfoCache {
  let last: GatewayInfo | undefined
  return {
    async fetch(force) {
      try {
        last = validateGatewayInfo(await manager.fetchGatewayInformation(force))
      } catch (error) {
        if (last === undefined) throw error
        log.debug({ event: 'discord.gateway_info_failed', reason: messageOf(error) }, 'gateway information is outdated')
      }
      return last
    },
    url: () => last?.url ?? '',
  }
}

/** discord.js throws into an unobserved promise, and stops, when it is given an address that cannot be parsed. */
function validateGatewayInfo(info: GatewayInfo): GatewayInfo {
  if (isGatewayUrl(info.url)) return info
  throw new HermesError('platform/connect-failed', 'The address of the gateway is missing: is api_url right?')
}

function createShard(
  manager: Manager,
  gatewayInfo: GatewayInfoCache,
  log: Logger,
  { beforeConnect, onEvent }: ShardListener,
): ReplaceableShard {
  let isRetired = false
  /** From `hello` to `closed`. */
  let isOpen = false

  const options: Manager['options'] = {
    ...manager.options,
    // Called before each attempt to connect and, while the connection is open, for each event.
    retrieveSessionInfo(id) {
      if (isRetired) return neverSettles()
      if (isOpen) return manager.options.retrieveSessionInfo(id)
      return beforeConnect().then(() => (isRetired ? neverSettles() : manager.options.retrieveSessionInfo(id)))
    },
    updateSessionInfo(id, info) {
      if (isRetired) return
      // `validateGatewayInfo` makes the same check.
      const isUsable = info === null || isGatewayUrl(info.resumeURL)
      return manager.options.updateSessionInfo(id, isUsable ? info : { ...info, resumeURL: gatewayInfo.url() })
    },
  }

  /** Called by discord.js for each event of the shard. What a listener throws must not reach the socket. */
  function emit(event: string, payload: unknown): boolean {
    if (event === 'hello') isOpen = true
    if (event === 'closed') isOpen = false
    if (isRetired) {
      // A handshake cannot be cancelled, so the connection is closed as soon as it is complete.
      if (event === 'hello') void close(resumableClose)
      return true
    }
    // Payloads bypass the `Client`: it would build structures of them, and a faulty one could end the process.
    if (event !== 'dispatch') contain(event, () => void manager.emit(event, payload))
    contain(event, () => onEvent(event, payload))
    return true
  }

  function contain(name: string, act: () => void): void {
    try {
      act()
    } catch (error) {
      log.error({ event: 'discord.event_failed', name, err: toError(error) }, 'event of Discord could not be handled')
    }
  }

  async function close(code: number): Promise<void> {
    isOpen = false
    try {
      await strategy.destroy({ code })
    } catch (error) {
      log.debug({ event: 'discord.close_failed', reason: messageOf(error) }, 'connection could not be closed in order')
    }
  }

  const view: Manager = Object.create(manager, {
    options: { value: options },
    emit: { value: emit },
    fetchGatewayInformation: { value: gatewayInfo.fetch },
  })
  const strategy = new SimpleShardingStrategy(view)
  return {
    strategy,
    async retire(code) {
      isRetired = true
      if (isOpen) await close(code)
    },
  }
}

/** A promise without a resolver is collected together with the code that awaits it. */
export function neverSettles(): Promise<never> {
  return new Promise(() => undefined)
}

function isGatewayUrl(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hash } = new URL(url)
  return (protocol === 'wss:' || protocol === 'ws:') && hash === ''
}
