/**
 * MCP servers of single conversations, which a front end brings along, such as those of an editor. Only their conversation has their
 * tools. They are held in memory: the front end names them again after a restart. Loaded with the first of them.
 */
import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { McpServerConfig } from '../agent/mcp/config.ts'
import { createToolRegistry, type LoadedTools } from '../agent/tools/registry.ts'
import { findSecrets } from '../config/secrets.ts'
import type { SessionKey } from '../message/ids.ts'
import { type McpRuntime, type McpRuntimeDeps, openMcpServers } from './mcp-servers.ts'

export type SessionServerConfig = Readonly<Record<string, McpServerConfig>>

export interface SessionServers {
  /** Replaces the servers of a conversation; none ends them. `directory`: where they start. Never rejects. */
  set(key: SessionKey, servers: SessionServerConfig, directory: string | undefined): Promise<void>
  /** Undefined where there are none. Waits a while for servers that were never asked. Never rejects. */
  tools(key: SessionKey): Promise<LoadedTools | undefined>
  close(): Promise<void>
}

interface Entry {
  /** Of the servers and the directory. */
  readonly fingerprint: string
  readonly runtime: McpRuntime
  /** What is known of the servers, and their `/tmp`. */
  readonly folder: string
}

/** Conversations with servers. Those of the conversation that has them for longest end. */
const maxConversations = 100

export function createSessionServers(deps: Omit<McpRuntimeDeps, 'onToolsChanged'>): SessionServers {
  const { home, secrets, log } = deps
  const entries = new Map<SessionKey, Entry>()

  async function end(key: SessionKey): Promise<void> {
    const found = entries.get(key)
    if (found === undefined) return
    entries.delete(key)
    secrets.set(`session-servers:${key}`, [])
    await found.runtime.close()
    await rm(found.folder, { recursive: true, force: true }).catch((error: unknown) => {
      log.warn(
        { event: 'mcp.cache_left', err: error },
        'what was known of the MCP servers of a session was not removed',
      )
    })
  }

  return {
    async set(key, servers, directory) {
      const fingerprint = JSON.stringify([servers, directory])
      if (entries.get(key)?.fingerprint === fingerprint) return
      await end(key)
      if (Object.keys(servers).length === 0) return
      secrets.set(`session-servers:${key}`, findSecrets({ mcp_servers: servers }))
      const folder = join(home.mcpCache, 'sessions', createHash('sha256').update(key).digest('hex').slice(0, 32))
      const settings: McpRuntimeDeps['settings'] = () => {
        const current = deps.settings()
        const terminal = directory === undefined ? current.terminal : { ...current.terminal, cwd: directory }
        return { ...current, terminal, mcp_servers: { ...servers } }
      }
      const runtime = openMcpServers({
        ...deps,
        home: { ...home, mcpCache: folder },
        settings,
        onToolsChanged: () => undefined,
      })
      entries.set(key, { fingerprint, runtime, folder })
      for (const oldest of entries.keys()) if (entries.size > maxConversations) await end(oldest)
    },
    async tools(key) {
      const definitions = await entries.get(key)?.runtime.tools()
      return definitions === undefined ? undefined : await createToolRegistry({ definitions, log }).load()
    },
    async close() {
      await Promise.all([...entries.keys()].map(end))
    },
  }
}
