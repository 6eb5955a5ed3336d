/**
 * Registers the tools of a memory provider with the tools of plugins, so that they pass guardrails, approvals and the ceiling
 * of the role as all tools do.
 */
import { messageOf } from '../../lib/errors.ts'
import { isRecord } from '../../lib/json.ts'
import type { Logger } from '../../lib/log.ts'
import { raceAbort, withTimeout } from '../../lib/timers.ts'
import type { Fields, Registration } from '../../middleware/contract.ts'
import type { PluginTool, PluginToolContext } from '../contract.ts'
import type { MemoryContext, MemoryProvider } from '../memory-provider.ts'

export interface ProviderToolsDeps {
  readonly tools: { register(owner: string, tool: PluginTool, run: PluginTool['run']): Registration }
  readonly log: Logger
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  /** The conversation of a session whose turn is running; undefined where the provider is not used. */
  contextOf(sessionId: string): MemoryContext | undefined
  /** Takes secrets of the gateway out of arguments. */
  redact(text: string): string
}

/** The toolset of all tools of a provider: what withholds the memory withholds them. */
const memoryToolset = 'memory'
const maxTools = 32
const maxToolMs = 120_000

/** Registers what can be registered, and logs the rest. @param schemas as the provider returned them */
export function registerProviderTools(
  deps: ProviderToolsDeps,
  owner: string,
  provider: MemoryProvider,
  schemas: unknown,
): readonly Registration[] {
  const registrations: Registration[] = []
  for (const schema of Array.isArray(schemas) ? schemas.slice(0, maxTools) : []) {
    try {
      const tool = toPluginTool(deps, provider, schema)
      registrations.push(deps.tools.register(owner, tool, (args, context) => tool.run(args, context)))
    } catch (error) {
      deps.log.warn(
        { event: 'plugin.memory_tool_ignored', plugin: owner, reason: messageOf(error) },
        'a tool of the memory provider cannot be registered',
      )
    }
  }
  return registrations
}

function toPluginTool(deps: ProviderToolsDeps, provider: MemoryProvider, schema: unknown): PluginTool {
  // Either `{name, description, parameters}`, or the same within the wire format of OpenAI.
  const inner = isRecord(schema) && isRecord(schema['function']) ? schema['function'] : schema
  if (!isRecord(inner) || typeof inner['name'] !== 'string') throw new TypeError('the schema of a tool has no name')
  const { name, description, parameters, mode } = inner
  return {
    name,
    toolset: memoryToolset,
    description: typeof description === 'string' ? description : name,
    parameters: isRecord(parameters) ? parameters : { type: 'object', properties: {} },
    ...(mode === 'pure' || mode === 'idempotent' ? { mode } : {}),
    async run(args, context) {
      if (!isRecord(args)) throw new TypeError(`${name}: expected an object`)
      return await callTool(deps, provider, name, args, context)
    },
  }
}

async function callTool(
  { contextOf, redact, sleep }: ProviderToolsDeps,
  provider: MemoryProvider,
  name: string,
  args: Fields,
  { sessionId, turnId, toolCallId, signal }: PluginToolContext,
): Promise<unknown> {
  const context = contextOf(sessionId)
  if (context === undefined) throw new Error('the long-term memory is used in conversations with its user only')
  if (provider.handleToolCall === undefined) throw new Error(`${provider.name} does not handle ${name}`)
  const called = provider.handleToolCall(name, redactStrings(args, redact), { ...context, turnId, toolCallId, signal })
  const result = await raceAbort(withTimeout(Promise.resolve(called), maxToolMs, signal, sleep), signal)
  if (!result.done) throw new Error(`${name} took longer than ${maxToolMs} ms`)
  return result.value
}

/** A copy with other strings. */
export function redactStrings(value: Fields, redact: (text: string) => string): Fields {
  const visit = (node: unknown): unknown => {
    if (typeof node === 'string') return redact(node)
    if (Array.isArray(node)) return node.map(visit)
    return isRecord(node) ? Object.fromEntries(Object.entries(node).map(([key, inner]) => [key, visit(inner)])) : node
  }
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, visit(inner)]))
}
