/**
 * Calls of plugins to tools of MCP servers (`ctx.callMcp`), as Hermes allows them: for the servers that the configuration names for
 * the plugin, and with the guardrails and approvals of every other call.
 */
import { toolNameOf } from '../../agent/mcp/names.ts'
import { HermesError } from '../../lib/errors.ts'
import { isRecord, parseJson } from '../../lib/json.ts'
import type { Fields } from '../../middleware/contract.ts'
import type { PluginConfigEntry } from '../../plugins/config.ts'
import type { McpCallResult } from '../../plugins/contract.ts'

const defaultSeconds = 30
const maxSeconds = 600
const maxResultChars = 65_536

/** Rejects `plugins/not-allowed`, `plugins/tool-refused` and `plugins/bad-request`. */
export async function callMcpTool(
  {
    entry,
    dispatch,
  }: {
    readonly entry: (owner: string) => PluginConfigEntry
    /** Resolves with the result for the model. Rejects `plugins/tool-refused` and the reason of the signal. */
    readonly dispatch: (owner: string, tool: string, args: Fields, signal: AbortSignal) => Promise<string>
  },
  owner: string,
  server: string,
  tool: string,
  args: Fields = {},
  seconds: number = defaultSeconds,
): Promise<McpCallResult> {
  if (typeof server !== 'string' || typeof tool !== 'string')
    throw new HermesError('plugins/bad-request', 'callMcp: expected the names of a server and of a tool')
  if (!entry(owner).mcp_allowlist.includes(server))
    throw new HermesError('plugins/not-allowed', `(plugins.entries.${owner}.mcp_allowlist: ${server})`)
  const limit = Number.isFinite(seconds) ? Math.min(maxSeconds, Math.max(1, seconds)) : defaultSeconds
  const timeout = AbortSignal.timeout(limit * 1_000)
  try {
    const text = await dispatch(owner, toolNameOf(server, tool), args, timeout)
    return timeout.aborted ? late(limit) : toEnvelope(text)
  } catch (error) {
    // A call that is aborted is refused like others.
    if (timeout.aborted) return late(limit)
    throw error
  }
}

function late(seconds: number): McpCallResult {
  return { ok: false, error: `The server did not answer within ${seconds} seconds.` }
}

/** The result for the model is JSON: `{result, structuredContent?}` or `{error}`. A plugin may have replaced it by a text. */
function toEnvelope(text: string): McpCallResult {
  const isCut = text.length > maxResultChars
  const shown = isCut ? `${text.slice(0, maxResultChars).toWellFormed()}… [truncated]` : text
  const cut = isCut ? { truncated: true as const } : {}
  const parsed = parseJson(shown)
  if (!isRecord(parsed)) return { ok: true, result: parsed ?? shown, ...cut }
  const { error, result, structuredContent } = parsed
  if (error !== undefined) return { ok: false, error, ...cut }
  if (result === undefined && structuredContent === undefined) return { ok: true, result: parsed, ...cut }
  return { ok: true, result: result ?? structuredContent, structuredContent, ...cut }
}
