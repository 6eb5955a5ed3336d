/**
 * Connects the accounts of all platforms and keeps them connected, independently of each other.
 */

import { isDeepStrictEqual } from 'node:util'
import { messageOf } from '../lib/errors.ts'
import type { PlatformAccount } from './accounts.ts'
import type { PlatformModule } from './adapter.ts'
import { type Connection, type ConnectionDeps, type ConnectionHealth, createConnection } from './connection.ts'
import type { InstalledPlatform } from './registry.ts'

interface AccountHealth extends ConnectionHealth {
  readonly platform: string
  readonly account: string
}

export interface Supervisor {
  /** Starts to connect and returns at once. Adapters are imported one after another and connect concurrently. */
  start(): void
  /** By platform: the worst state of its accounts; `receiving` when all of them are. */
  health(): Record<string, ConnectionHealth>
  accounts(): AccountHealth[]
  /** Resolves when every first attempt has ended, successful or not, or after ten seconds. */
  initialConnectsDone(): Promise<void>
  /** Applies a changed configuration to the accounts that it changes. Resolves when the old connections have ended. */
  apply(accounts: readonly PlatformAccount[]): Promise<void>
  /** The platform rejected the credentials: stops the account until its configuration changes. */
  failAccount(platform: string, account: string, reason: string): void
  /** Disconnects all accounts concurrently, each within five seconds. May be called twice. */
  stop(): Promise<void>
}

const initialConnectsTimeoutMs = 10_000
/** An import that takes longer fails, so that it does not block the others. */
const importTimeoutMs = 30_000

/**
 * @param initialAccounts every account; those that are off have the state `disabled`
 * @param load imports the adapter of a platform
 */
export function createSupervisor(
  initialAccounts: readonly PlatformAccount[],
  load: (platform: InstalledPlatform) => Promise<PlatformModule>,
  deps: ConnectionDeps,
): Supervisor {
  const connections = new Map<string, Connection>()
  const settled = Promise.withResolvers<void>()
  let imports: Promise<void> = Promise.resolve()
  let applying: Promise<void> = Promise.resolve()
  let started = false
  let stopped: Promise<void> | undefined
  for (const account of initialAccounts) add(account)

  return {
    start() {
      if (started || stopped !== undefined) return
      started = true
      for (const connection of connections.values()) queueImport(connection)
      void waitForInitialConnects()
    },
    health() {
      const platforms: Record<string, ConnectionHealth> = {}
      for (const [name, all] of Object.entries(Object.groupBy(accountHealth(), ({ platform }) => platform))) {
        platforms[name] = worstHealth(all ?? [])
      }
      return platforms
    },
    accounts: accountHealth,
    initialConnectsDone: () => settled.promise,
    apply(accounts) {
      const applied = applying.then(() => applyNow(accounts))
      // The caller handles a failure; the next change must not inherit it.
      applying = applied.catch(() => undefined)
      return applied
    },
    failAccount: (platform, account, reason) => connections.get(accountKey(platform, account))?.fail(reason),
    stop() {
      settled.resolve()
      stopped ??= Promise.all([...connections.values()].map((connection) => connection.stop())).then(() => applying)
      return stopped
    },
  }

  function add(account: PlatformAccount): Connection {
    const connection = createConnection(account, deps)
    connections.set(accountKey(account.platform.name, account.account), connection)
    if (account.blocked?.kind === 'unusable') connection.fail(account.blocked.reason)
    return connection
  }

  function queueImport(connection: Connection): void {
    if (started && connection.account.blocked === undefined) imports = imports.then(() => importAdapter(connection))
  }

  /** Never rejects: one adapter that cannot be imported must not block the queue. */
  async function importAdapter(connection: Connection): Promise<void> {
    const limit = new AbortController()
    try {
      const module = await Promise.race([
        load(connection.account.platform),
        deps.sleep(importTimeoutMs, limit.signal).then(() => undefined),
      ])
      if (module === undefined) connection.fail(`the adapter was not imported within ${importTimeoutMs / 1000} s`)
      else connection.start(module)
    } catch (error) {
      connection.fail(messageOf(error))
    } finally {
      limit.abort()
    }
  }

  async function waitForInitialConnects(): Promise<void> {
    const limit = new AbortController()
    const enabled = [...connections.values()].filter(({ account }) => account.blocked === undefined)
    const all = Promise.all(enabled.map((connection) => connection.firstAttemptDone))
    await Promise.race([all, deps.sleep(initialConnectsTimeoutMs, limit.signal)])
    limit.abort()
    settled.resolve()
  }

  async function applyNow(accounts: readonly PlatformAccount[]): Promise<void> {
    const configured = new Map(accounts.map((account) => [accountKey(account.platform.name, account.account), account]))
    const removed = [...connections].filter(([key, { account }]) => !isUnchanged(account, configured.get(key)))
    // The old connection ends first: two connections with one token would compete for the messages.
    await Promise.all(removed.map(([, connection]) => connection.stop()))
    for (const [key] of removed) connections.delete(key)
    if (stopped !== undefined) return
    for (const [key, account] of configured) if (!connections.has(key)) queueImport(add(account))
  }

  function accountHealth(): AccountHealth[] {
    return [...connections.values()].map(({ account, health }) => {
      const { platform, blocked } = account
      const state: ConnectionHealth = blocked?.kind === 'off' ? { state: 'disabled', reason: blocked.reason } : health()
      return { platform: platform.name, account: account.account, ...state }
    })
  }
}

const severity = { disabled: 0, connected: 1, connecting: 2, failed: 3 } as const

function worstHealth(all: readonly AccountHealth[]): ConnectionHealth {
  const enabled = all.filter(({ state }) => state !== 'disabled')
  const shown = enabled.length === 0 ? all : enabled
  const worst = shown.reduce((state: ConnectionHealth['state'], account) => {
    return severity[account.state] > severity[state] ? account.state : state
  }, 'disabled')
  const reasons = shown.flatMap(({ account, reason }) => {
    return reason === undefined ? [] : [shown.length === 1 ? reason : `${account}: ${reason}`]
  })
  const reportsReceiving = shown.some(({ receiving }) => receiving !== undefined)
  return {
    state: worst,
    ...(reasons.length === 0 ? {} : { reason: reasons.join('; ') }),
    // An account that receives nothing must not be hidden by another that does.
    ...(reportsReceiving ? { receiving: shown.every(({ receiving }) => receiving === true) } : {}),
  }
}

/** Access rules and the home channel are read for every message, so their change needs no reconnect. */
function isUnchanged(a: PlatformAccount, b: PlatformAccount | undefined): boolean {
  const connectionSettings = (account: PlatformAccount) => [
    account.options,
    account.blocked,
    account.platform.adapterFile,
  ]
  return b !== undefined && isDeepStrictEqual(connectionSettings(a), connectionSettings(b))
}

function accountKey(platform: string, account: string): string {
  return `${platform}:${account}`
}
