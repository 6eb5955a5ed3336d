/**
 * Registers the tools of a memory provider with the tools of plugins, so that they pass guardrails, approvals and the ceiling
 * of the role as all tools do.
 */
import { messageOf } from '../../lib/errors.ts'
import { isRecord } from '../../lib/json.ts'
import { raceAbort, withTimeout } from '../../lib/timers.ts'
import type { Fields, Registration } from '../../middleware/contract.ts'
import type { PluginTool } from '../contract.ts'
import type { MemoryContext, MemoryProvider, MemoryToolContext } from '../memory-provider.ts'
import type { ProviderMemoryDeps } from './contract.ts'

/** The toolset of all tools of a provider: what withholds the memory withholds them. */
const memoryToolset = 'memory'
const maxTools = 32
const maxToolMs = 120_000

/** The conversation of a session whose turn is running; undefined where the provider is not used. */
type ContextOf = (sessionId: string) => MemoryContext | undefined

/** Registers what can be registered, and logs the rest. @param schemas as the provider returned them */
export function registerProviderTools(
  deps: ProviderMemoryDeps,
  { owner, provider }: { readonly owner: string; readonly provider: MemoryProvider },
  schemas: unknown,
  contextOf: ContextOf,
): readonly Registration[] {
  const registrations: Registration[] = []
  for (const schema of Array.isArray(schemas) ? schemas.slice(0, maxTools) : []) {
    try {
      const tool = toPluginTool(deps, provider, schema, contextOf)
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

function toPluginTool(
  deps: ProviderMemoryDeps,
  provider: MemoryProvider,
  schema: unknown,
  contextOf: ContextOf,
): PluginTool {
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
    async run(args, { sessionId, turnId, toolCallId, signal }) {
      if (!isRecord(args)) throw new TypeError(`${name}: expected an object`)
      const memory = contextOf(sessionId)
      if (memory === undefined) throw new Error('the long-term memory is used in conversations with its user only')
      return await callTool(deps, provider, name, args, { ...memory, turnId, toolCallId, signal })
    },
  }
}

async function callTool(
  { redact, sleep }: ProviderMemoryDeps,
  provider: MemoryProvider,
  name: string,
  args: Fields,
  context: MemoryToolContext,
): Promise<unknown> {
  if (provider.handleToolCall === undefined) throw new Error(`${provider.name} does not handle ${name}`)
  const called = provider.handleToolCall(name, redactStrings(args, redact), context)
  const result = await raceAbort(withTimeout(Promise.resolve(called), maxToolMs, context.signal, sleep), context.signal)
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
