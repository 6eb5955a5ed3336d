/**
 * Composes the MCP servers. Their code is imported when one is configured and a turn, a status or a command needs it.
 */

import type { ServerReport } from '../agent/mcp/servers.ts'
import type { ToolDefinition } from '../agent/tools/tool.ts'
import type { SelectableTool } from '../agent/toolsets/select-tools.ts'
import type { McpRuntime, McpRuntimeDeps } from '../flows/mcp/mcp-servers.ts'
import type { SessionServerConfig, SessionServers } from '../flows/mcp/session-servers.ts'
import type { AgentServices } from '../flows/tools/agent-services.ts'
import { lazy } from '../lib/lazy.ts'
import type { SessionKey } from '../message/ids.ts'
import type { AppContext } from './context.ts'

export interface McpAccess {
  /** The tools of the configured servers. Never rejects. */
  tools(): Promise<readonly ToolDefinition[]>
  /** The tools as they are known from earlier starts. Starts no server. */
  knownTools(): Promise<readonly SelectableTool[]>
  /** Asks the servers whose tools are not known, in the background. */
  discover(): Promise<void>
  /** Replaces the servers of one conversation; none ends them. `directory`: where they start. Rejects when the code cannot be loaded. */
  setSessionServers(key: SessionKey, servers: SessionServerConfig, directory: string | undefined): Promise<void>
  /** Read for each message; `opened` is absent until a conversation brings servers along. */
  readonly sessionServers: { opened?: Pick<SessionServers, 'tools'> }
  /** What is wrong with servers, for the owner. */
  problems(): readonly string[]
  /** Stops all servers and asks each one again. Rejects with the reason of the signal. */
  reload(signal: AbortSignal): Promise<readonly ServerReport[]>
  /** The configuration has changed. */
  reconfigured(): void
  /** Stops all servers. */
  close(): Promise<void>
}

export function composeMcp(
  { options, settings, config, secrets, clock, random, log }: AppContext,
  services: () => Pick<AgentServices, 'models' | 'environments' | 'tools'>,
  askUserOf: NonNullable<McpRuntimeDeps['askUserOf']>,
): McpAccess {
  let loaded: McpRuntime | undefined
  let isClosed = false
  const sessionServers: McpAccess['sessionServers'] = {}

  const runtimeDeps = () => {
    const { auxiliary } = services().models
    const { openProxy } = services().environments
    const { home, version } = options
    return {
      home,
      version,
      settings,
      environment: config.environment,
      secrets,
      openProxy,
      auxiliary,
      askUserOf,
      clock,
      random,
      log,
    }
  }
  const create = lazy(async (): Promise<McpRuntime> => {
    const { openMcpServers } = await import('../flows/mcp/mcp-servers.ts')
    loaded = openMcpServers({ ...runtimeDeps(), onToolsChanged: services().tools.changed })
    return loaded
  })
  const openSessionServers = lazy(async (): Promise<SessionServers> => {
    const { createSessionServers } = await import('../flows/mcp/session-servers.ts')
    const opened = createSessionServers(runtimeDeps())
    sessionServers.opened = opened
    return opened
  })
  /** Undefined where no server is configured. */
  const load = async (): Promise<McpRuntime | undefined> => {
    if (isClosed || (create.made() === undefined && Object.keys(settings().mcp_servers).length === 0)) return undefined
    return await create()
  }

  return {
    async tools() {
      try {
        return (await (await load())?.tools()) ?? []
      } catch (error) {
        log.error({ event: 'mcp.unavailable', err: error }, 'the tools of MCP servers are missing')
        return []
      }
    },
    async knownTools() {
      if (Object.keys(settings().mcp_servers).length === 0) return []
      const { readKnownServers } = await import('../agent/mcp/known-tools.ts')
      return readKnownServers(options.home.mcpCache, settings()).flatMap(({ tools = [] }) => tools)
    },
    discover: async () => (await load())?.discover(),
    async setSessionServers(key, servers, directory) {
      if (isClosed || (openSessionServers.made() === undefined && Object.keys(servers).length === 0)) return
      await (await openSessionServers()).set(key, servers, directory)
    },
    sessionServers,
    problems: () => loaded?.problems() ?? [],
    reload: async (signal) => (await (await load())?.reload(signal)) ?? [],
    reconfigured: () => loaded?.reconfigured(),
    async close() {
      isClosed = true
      // The callers that wait for code that cannot be loaded get its error.
      await (await create.made()?.catch(() => undefined))?.close()
      await (await openSessionServers.made()?.catch(() => undefined))?.close()
    },
  }
}
