/**
 * Checks the MCP servers: starts each one, or asks it, and stops it again.
 */
import { enabledServers } from '../../agent/mcp/config.ts'
import { inspectServers } from '../../agent/mcp/inspect.ts'
import { messageOf } from '../../lib/errors.ts'
import { askServer } from '../shared/mcp-connection.ts'
import { type Check, type CheckResult, ok, problem } from './check-result.ts'

const subject = 'MCP'

/** A server that takes longer to start is named. */
const maxStartMs = 20_000

export const checkMcpServers: Check = async ({ context, settings, offline }) => {
  const config = settings.config.current()
  const servers = enabledServers(config)
  if (servers.length === 0) return []
  const searchPath = settings.config.environment().values['PATH']
  const known = inspectServers(config, { tokens: context.home.mcpTokens, searchPath })
  if (offline) return known.map((text) => problem(subject, text, 'Correct it in config.yaml.'))
  return await Promise.all(
    servers.map(async ([name, server]): Promise<CheckResult> => {
      const connect_timeout = Math.min(server.connect_timeout, maxStartMs / 1_000)
      try {
        const signal = AbortSignal.timeout(maxStartMs * 2)
        const { tools } = await askServer(context, settings, [name, { ...server, connect_timeout }], signal)
        return ok(subject, `${name}: ${tools.length === 1 ? '1 tool' : `${tools.length} tools`}`)
      } catch (error) {
        return problem(
          subject,
          messageOf(error),
          `Correct mcp_servers.${name} in config.yaml, or set its enabled: false.`,
        )
      }
    }),
  )
}
