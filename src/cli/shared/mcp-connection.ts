/**
 * Connects a command with an MCP server, as the gateway would.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { ServerCatalogue } from '../../agent/mcp/catalogue.ts'
import { createCatalogueCache } from '../../agent/mcp/catalogue-cache.ts'
import type { McpServerConfig } from '../../agent/mcp/config.ts'
import { routeSdkWarnings } from '../../agent/mcp/sdk-warnings.ts'
import { createServerOpener } from '../../flows/mcp/mcp-servers.ts'
import { HermesError } from '../../lib/errors.ts'
import { silentLog } from '../../lib/log.ts'
import { toSingleLine } from '../../lib/visible-text.ts'
import type { CliContext } from '../kit/context.ts'
import type { Settings } from '../kit/settings.ts'

/** Throws `cli/not-found` with the names that exist. */
export function findServer(name: string, { config }: Pick<Settings, 'config'>): McpServerConfig {
  const { mcp_servers: servers } = config.current()
  const server = Object.hasOwn(servers, name) ? servers[name] : undefined
  if (server !== undefined) return server
  const names = Object.keys(servers).join(', ')
  throw new HermesError('cli/not-found', `There is no MCP server ${JSON.stringify(name)}.`, {
    hint: names === '' ? '`hermes mcp add` adds one.' : `The servers are: ${names}.`,
  })
}

/**
 * Starts the server, reads what it offers and stops it. What it offers is stored, so that the gateway knows it.
 * Rejects with `McpServerError`, or with the reason of the signal.
 */
export async function askServer(
  context: Pick<CliContext, 'home' | 'version' | 'errors'>,
  { config, secrets }: Pick<Settings, 'config' | 'secrets'>,
  [name, settings]: readonly [string, McpServerConfig],
  signal: AbortSignal,
): Promise<ServerCatalogue> {
  const { home, version } = context
  const { createServerConnection } = await import('../../agent/mcp/connection.ts')
  const opener = createServerOpener({
    home,
    settings: config.current,
    environment: config.environment,
    secrets,
    openProxy: (directory) => openProxy(directory, config),
    log: silentLog,
  })
  const connection = createServerConnection({
    name,
    settings,
    version,
    open: (onErrorLine) => opener.open(name, settings, onErrorLine),
    onCatalogue: (catalogue) => createCatalogueCache(home.mcpCache).write(name, settings, catalogue),
    clock: Date.now,
    random: Math.random,
    log: silentLog,
  })
  const stopRouting = routeSdkWarnings(console, (text) =>
    context.errors.write(`hermes: ${name}: ${toSingleLine(text)}\n`),
  )
  try {
    return await connection.catalogue(signal)
  } finally {
    await connection.close()
    stopRouting()
  }
}

/** A running gateway has opened it. */
async function openProxy(directory: string, config: Settings['config']): Promise<void> {
  if (existsSync(join(directory, 'proxy.sock'))) return
  const { openSandboxProxy } = await import('../../flows/environments/sandbox-proxy.ts')
  await openSandboxProxy(directory, config.current, silentLog)
}
