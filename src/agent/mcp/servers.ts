/**
 * The configured MCP servers: which tools they have, and the connections that calls use. A server whose tools are known from an
 * earlier start is not started before its first call.
 */

import { messageOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { backoffMs, sleep, withTimeout } from '../../lib/timers.ts'
import type { Authority } from '../../message/authority.ts'
import type { ToolDefinition } from '../tools/tool.ts'
import type { ServerCatalogue } from './catalogue.ts'
import { type CatalogueCache, fingerprintOf } from './catalogue-cache.ts'
import { enabledServers, type McpConfig, type McpServerConfig } from './config.ts'
import type { ServerConnection } from './connection.ts'
import { lazyConnection } from './lazy-connection.ts'
import type { StorePicture } from './result-pictures.ts'
import type { AnswerSampling } from './sampling.ts'
import { createServerTools, type ServerToolsDeps } from './server-tools.ts'
import type { ServerTransport } from './transport.ts'

export interface McpServersDeps {
  readonly settings: () => McpConfig
  readonly version: string
  readonly cache: CatalogueCache
  openTransport(
    server: string,
    settings: McpServerConfig,
    onErrorLine: (line: string) => void,
  ): Promise<ServerTransport>
  /** Absent: no server may ask for texts. */
  createSampling?(server: string, settings: McpServerConfig): AnswerSampling
  /** Why this person may not use the server; undefined if they may. */
  refuse(server: string, settings: McpServerConfig, authority: Authority): Promise<string | undefined>
  /** The settings of the sandbox, as text: programs that run with others are stopped. */
  surroundings(): string
  /** Stores the pictures in results, which are then shown to models. */
  readonly storePicture?: StorePicture
  /** Asks the user of the turn to which the call belongs; undefined where there is none. */
  readonly askUserOf?: ServerToolsDeps['askUserOf']
  /** The tools are others than before. */
  onToolsChanged(): void
  /** ms */
  readonly clock: () => number
  readonly random: () => number
  /** Between two tries to start a server. Default: a timer. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>
  readonly log: Logger
}

export interface McpServers {
  /** The tools of the enabled servers. Waits a while for servers that were never asked. Never rejects. */
  tools(): Promise<readonly ToolDefinition[]>
  /** Asks the servers whose tools are not known, in the background. */
  discover(): void
  /** Sentences for the owner. */
  problems(): readonly string[]
  /** Stops all servers and asks each of them again. Resolves with one entry per server. */
  reload(signal: AbortSignal): Promise<readonly ServerReport[]>
  /** The configuration has changed: servers with other settings are stopped. */
  reconfigured(): void
  close(): Promise<void>
}

export interface ServerReport {
  readonly server: string
  readonly tools: number
  /** Why it cannot be used; '' if it can. */
  readonly problem: string
}

interface Entry {
  /** Identifies all settings with which it runs. */
  readonly key: string
  readonly settings: McpServerConfig
  readonly connection: ServerConnection
  /** Undefined until the server has listed its tools. */
  catalogue: ServerCatalogue | undefined
  /** The first try to read its tools. */
  discovery: Promise<void> | undefined
  isDiscovering: boolean
}

/** A message waits no longer for a server that was never asked. Its tools are then offered to later conversations. */
const maxWaitMs = 10_000
const minRetryMs = 1_000
const maxRetryMs = 600_000
/** They take about ten minutes. The next message begins again, and does not wait. */
const maxTries = 10

export function createMcpServers(deps: McpServersDeps): McpServers {
  const { version, cache, clock, random, log } = deps
  const entries = new Map<string, Entry>()
  const stopping = new AbortController()
  /** Closing connections of former settings. */
  const closing = new Set<Promise<void>>()
  let toolProblems = new Map<string, readonly string[]>()

  const close = (connection: ServerConnection) => {
    const work = connection.close().finally(() => closing.delete(work))
    closing.add(work)
  }

  const entryOf = (server: string, settings: McpServerConfig): Entry => {
    const known = entries.get(server)
    const key = keyOf(settings, deps.surroundings())
    if (known?.key === key) return known
    if (known !== undefined) close(known.connection)
    const entry: Entry = {
      key,
      settings,
      catalogue: cache.read(server, settings),
      discovery: undefined,
      isDiscovering: false,
      connection: lazyConnection({
        version,
        clock,
        random,
        log,
        name: server,
        settings,
        open: (onErrorLine) => deps.openTransport(server, settings, onErrorLine),
        answerSampling: settings.sampling.enabled ? deps.createSampling?.(server, settings) : undefined,
        onCatalogue: (catalogue) => keep(server, entry, catalogue),
      }),
    }
    entries.set(server, entry)
    return entry
  }

  const keep = (server: string, entry: Entry, catalogue: ServerCatalogue) => {
    const isSame = JSON.stringify(entry.catalogue) === JSON.stringify(catalogue)
    entry.catalogue = catalogue
    if (isSame || entries.get(server) !== entry) return
    try {
      cache.write(server, entry.settings, catalogue)
    } catch (error) {
      log.warn({ event: 'mcp.cache_failed', server, err: error }, 'the tools of an MCP server could not be stored')
    }
    deps.onToolsChanged()
  }

  const current = () => {
    const enabled = enabledServers(deps.settings())
    const names = new Set(enabled.map(([server]) => server))
    for (const [server, { connection }] of entries) {
      if (names.has(server)) continue
      entries.delete(server)
      close(connection)
    }
    return enabled.map(([server, settings]) => ({ server, entry: entryOf(server, settings) }))
  }

  const discoverUnknown = () =>
    current().flatMap(({ server, entry }) => {
      if (entry.catalogue !== undefined) return []
      const isCurrent = () => entries.get(server) === entry && entry.catalogue === undefined
      if (!entry.isDiscovering) {
        entry.isDiscovering = true
        const { first, ended } = discover(deps, server, entry.connection, { isCurrent, stopping: stopping.signal })
        entry.discovery ??= first
        void ended.then(() => {
          entry.isDiscovering = false
        })
      }
      return entry.discovery === undefined ? [] : [entry.discovery]
    })

  return {
    async tools() {
      await withTimeout(Promise.all(discoverUnknown()), maxWaitMs, stopping.signal)
      const problems = new Map<string, readonly string[]>()
      const enabled = current()
      const servers = enabled.map(({ server }) => server)
      const definitions = enabled.flatMap(({ server, entry: { settings, catalogue, connection } }) => {
        if (catalogue === undefined) return []
        const refuse = (authority: Authority) => deps.refuse(server, settings, authority)
        const { storePicture, askUserOf } = deps
        const about = { server, servers, settings, catalogue, connection }
        const made = createServerTools({ ...about, storePicture, askUserOf, refuse })
        problems.set(server, made.problems)
        return made.definitions
      })
      toolProblems = problems
      return definitions
    },
    discover: () => void discoverUnknown(),
    problems: () => [
      ...[...entries].flatMap(([server, { connection }]) => [
        ...(connection.problem() === '' ? [] : [connection.problem()]),
        ...(toolProblems.get(server) ?? []).map((problem) => `MCP server ${server}: ${problem}`),
      ]),
    ],
    async reload(signal) {
      const before = [...entries.values()]
      for (const server of entries.keys()) cache.remove(server)
      entries.clear()
      await Promise.all(before.map(({ connection }) => connection.close()))
      const reports = await Promise.all(
        current().map(async ({ server, entry }): Promise<ServerReport> => {
          try {
            const { tools } = await entry.connection.catalogue(signal)
            return { server, tools: tools.length, problem: '' }
          } catch (error) {
            signal.throwIfAborted()
            return { server, tools: 0, problem: messageOf(error) }
          }
        }),
      )
      deps.onToolsChanged()
      return reports
    },
    reconfigured: () => void current(),
    async close() {
      stopping.abort()
      const last = [...entries.values()]
      entries.clear()
      await Promise.all([...last.map(({ connection }) => connection.close()), ...closing])
    },
  }
}

interface Discovery {
  /** Resolves after the first try. */
  readonly first: Promise<void>
  /** Resolves after the last one. */
  readonly ended: Promise<void>
}

/** Tries until the server has listed its tools, with growing pauses and at most `maxTries` times. Nothing rejects. */
function discover(
  { random, log, sleep: pause = sleep }: McpServersDeps,
  server: string,
  connection: ServerConnection,
  { isCurrent, stopping }: { isCurrent(): boolean; readonly stopping: AbortSignal },
): Discovery {
  const first = Promise.withResolvers<void>()
  const work = async () => {
    for (let attempt = 1; isCurrent() && !stopping.aborted; attempt += 1) {
      try {
        await connection.catalogue(stopping)
      } catch (error) {
        const isLast = attempt === maxTries
        log.info(
          { event: 'mcp.not_known', server, reason: messageOf(error), tries: attempt, again: !isLast },
          'the tools of an MCP server are not known yet',
        )
        first.resolve()
        if (isLast) return
        await pause(minRetryMs + backoffMs(attempt, minRetryMs, maxRetryMs, random), stopping)
      }
    }
  }
  return { first: first.promise, ended: work().finally(first.resolve) }
}

/** Identifies all settings. Only those of the connection decide whether what is stored counts. */
function keyOf(settings: McpServerConfig, surroundings: string): string {
  return `${fingerprintOf(settings)} ${JSON.stringify(settings)} ${settings.command === undefined ? '' : surroundings}`
}
