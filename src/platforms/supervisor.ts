/**
 * Connects the accounts of all platforms and keeps each of them connected, apart from each other and from the process.
 */

import { isDeepStrictEqual } from 'node:util'
import { messageOf } from '../lib/errors.ts'
import type { PlatformAccount } from './accounts.ts'
import type { PlatformAdapter, PlatformModule } from './adapter.ts'
import { type Connection, type ConnectionDeps, createConnection, type Health } from './connection.ts'
import type { InstalledPlatform } from './registry.ts'

export interface SupervisorDeps extends ConnectionDeps {
  /** Every account, those that are off too: they show as `disabled`. */
  readonly accounts: readonly PlatformAccount[]
  /** `loadPlatform`. */
  load(platform: InstalledPlatform): Promise<PlatformModule>
}

interface AccountHealth extends Health {
  readonly platform: string
  readonly account: string
}

export interface Supervisor {
  /** Begins to connect and returns at once: adapters are imported one after another, and connect side by side. */
  start(): void
  /** By platform: the worst of its accounts; `receiving` when all of them are. */
  health(): Record<string, Health>
  accounts(): AccountHealth[]
  /** Undefined while the account is not connected. */
  adapter(platform: string, account: string): PlatformAdapter | undefined
  /** Resolves when every first connect has ended, well or not, or after ten seconds. */
  settled(): Promise<void>
  /** Takes over a changed config: connects, disconnects and reconnects only what changed. Resolves when the old ones are gone. */
  apply(accounts: readonly PlatformAccount[]): Promise<void>
  /** The platform refused the credentials in the middle of the work: ends the account until its config changes. */
  refuse(platform: string, account: string, reason: string): void
  /** Disconnects all side by side, each within five seconds. May be called twice. */
  stop(): Promise<void>
}

const settleLimitMs = 10_000
/** An import that takes longer lets the others pass; it is given up. */
const importLimitMs = 30_000

export function createSupervisor(deps: SupervisorDeps): Supervisor {
  const connections = new Map<string, Connection>()
  const settled = Promise.withResolvers<void>()
  let imports: Promise<void> = Promise.resolve()
  let applying: Promise<void> = Promise.resolve()
  let started = false
  let stopped: Promise<void> | undefined
  for (const account of deps.accounts) add(account)

  return {
    start() {
      if (started || stopped !== undefined) return
      started = true
      for (const connection of connections.values()) queueImport(connection)
      void settle()
    },
    health() {
      const platforms: Record<string, Health> = {}
      for (const [name, all] of Object.entries(Object.groupBy(report(), ({ platform }) => platform))) {
        platforms[name] = worstOf(all ?? [])
      }
      return platforms
    },
    accounts: report,
    adapter: (platform, account) => connections.get(keyOf(platform, account))?.adapter(),
    settled: () => settled.promise,
    apply(accounts) {
      const applied = applying.then(() => applyNow(accounts))
      // A failure is the caller's to tell; the next change must not inherit it.
      applying = applied.catch(() => undefined)
      return applied
    },
    refuse: (platform, account, reason) => connections.get(keyOf(platform, account))?.refuse(reason),
    stop() {
      settled.resolve()
      stopped ??= Promise.all([...connections.values()].map((connection) => connection.stop())).then(() => applying)
      return stopped
    },
  }

  function add(account: PlatformAccount): Connection {
    const connection = createConnection(account, deps)
    connections.set(keyOf(account.platform.name, account.account), connection)
    if (account.blocked?.kind === 'unusable') connection.refuse(account.blocked.reason)
    return connection
  }

  function queueImport(connection: Connection): void {
    if (started && connection.account.blocked === undefined) imports = imports.then(() => importFor(connection))
  }

  /** Never rejects: one adapter that cannot be imported must not hold up the queue. */
  async function importFor(connection: Connection): Promise<void> {
    const limit = new AbortController()
    try {
      const module = await Promise.race([
        deps.load(connection.account.platform),
        deps.pause(importLimitMs, limit.signal).then(() => undefined),
      ])
      if (module === undefined) connection.refuse(`the adapter was not imported within ${importLimitMs / 1000} s`)
      else connection.start(module)
    } catch (error) {
      connection.refuse(messageOf(error))
    } finally {
      limit.abort()
    }
  }

  async function settle(): Promise<void> {
    const limit = new AbortController()
    const wanted = [...connections.values()].filter(({ account }) => account.blocked === undefined)
    const all = Promise.all(wanted.map((connection) => connection.settled))
    await Promise.race([all, deps.pause(settleLimitMs, limit.signal)])
    limit.abort()
    settled.resolve()
  }

  async function applyNow(accounts: readonly PlatformAccount[]): Promise<void> {
    const wanted = new Map(accounts.map((account) => [keyOf(account.platform.name, account.account), account]))
    const leaving = [...connections].filter(([key, { account }]) => !isSame(account, wanted.get(key)))
    // The old one goes first: two connections with one token would fight over the messages.
    await Promise.all(leaving.map(([, connection]) => connection.stop()))
    for (const [key] of leaving) connections.delete(key)
    if (stopped !== undefined) return
    for (const [key, account] of wanted) if (!connections.has(key)) queueImport(add(account))
  }

  function report(): AccountHealth[] {
    return [...connections.values()].map(({ account, health }) => {
      const { platform, blocked } = account
      const state: Health = blocked?.kind === 'off' ? { state: 'disabled', reason: blocked.reason } : health()
      return { platform: platform.name, account: account.account, ...state }
    })
  }
}

const severity = { disabled: 0, connected: 1, connecting: 2, failed: 3 } as const

function worstOf(all: readonly AccountHealth[]): Health {
  const wanted = all.filter(({ state }) => state !== 'disabled')
  const shown = wanted.length === 0 ? all : wanted
  const worst = shown.reduce((state: Health['state'], one) => {
    return severity[one.state] > severity[state] ? one.state : state
  }, 'disabled')
  const reasons = shown.flatMap(({ account, reason }) => {
    return reason === undefined ? [] : [shown.length === 1 ? reason : `${account}: ${reason}`]
  })
  const told = shown.some(({ receiving }) => receiving !== undefined)
  return {
    state: worst,
    ...(reasons.length === 0 ? {} : { reason: reasons.join('; ') }),
    // One account that hears nothing must not hide behind another that does.
    ...(told ? { receiving: shown.every(({ receiving }) => receiving === true) } : {}),
  }
}

/** Who may come in and where notices go is read anew for every message: changing that needs no reconnect. */
function isSame(one: PlatformAccount, other: PlatformAccount | undefined): boolean {
  const essence = (account: PlatformAccount) => [account.options, account.blocked, account.platform.adapterFile]
  return other !== undefined && isDeepStrictEqual(essence(one), essence(other))
}

function keyOf(platform: string, account: string): string {
  return `${platform}:${account}`
}
