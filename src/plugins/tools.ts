/**
 * Tools of plugins, as the agent takes tools. The agent's own are opened long after plugins are loaded, and again whenever
 * the configuration changes: so they are kept here, and handed over each time.
 */
import { z } from 'zod'
import type { ToolDefinition, ToolMode } from '../agent/tool.ts'
import { HermesError, messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { isRecord } from '../lib/record.ts'
import { within } from '../lib/wait.ts'
import type { Fields, Registration } from '../middleware/contract.ts'
import type { PluginTool } from './contract.ts'

export interface PluginToolsDeps {
  /** The names of the agent's own tools. */
  readonly builtIn: ReadonlySet<string>
  /** `plugins.entries.<id>.allow_tool_override`. */
  mayOverride(owner: string): boolean
  /** The tools are others now. */
  onChange(): void
  readonly log: Logger
}

export interface OfferedTool {
  readonly definition: ToolDefinition
  readonly override: boolean
}

export interface PluginTools {
  /** Throws `plugins/tool-taken`, or `plugins/invalid-registration`. */
  register(owner: string, tool: PluginTool, run: PluginTool['run']): Registration
  /** In the order of registration. */
  list(): readonly OfferedTool[]
}

export function createPluginTools({ builtIn, mayOverride, onChange, log }: PluginToolsDeps): PluginTools {
  let offered: readonly OfferedTool[] = []

  function checkName(owner: string, { name, override = false }: PluginTool): void {
    if (!/^[\w-]{1,64}$/.test(name)) {
      throw invalid(
        `a tool is named with at most 64 letters, digits, _ and -, found ${JSON.stringify(name)} (${owner})`,
      )
    }
    const taken = builtIn.has(name) || offered.some(({ definition }) => definition.name === name)
    if (!taken) return
    if (!override) throw new HermesError('plugins/tool-taken', `(${name}, wanted by ${owner})`)
    if (mayOverride(owner)) return
    throw new HermesError('plugins/tool-taken', `(${name}, wanted by ${owner})`, {
      hint: `\`plugins.entries.${owner}.allow_tool_override: true\` in config.yaml lets it take that place.`,
    })
  }

  return {
    register(owner, tool, run) {
      checkName(owner, tool)
      const entry: OfferedTool = { definition: definitionOf(owner, tool, run, log), override: tool.override ?? false }
      offered = [...offered, entry]
      onChange()
      return {
        name: tool.name,
        remove() {
          const left = offered.filter((one) => one !== entry)
          const removed = left.length < offered.length
          offered = left
          if (removed) onChange()
          return removed
        },
      }
    },
    list: () => offered,
  }
}

/** How long a tool may look whether it can be used; every turn waits for it. */
const checkMs = 10_000

function definitionOf(owner: string, tool: PluginTool, run: PluginTool['run'], log: Logger): ToolDefinition {
  const { name, description } = tool
  if (typeof description !== 'string') throw invalid(`the tool ${name} of ${owner} needs a description`)
  return {
    name,
    toolset: tool.toolset ?? owner,
    description,
    ...argumentsOf(owner, tool, log),
    mode: modeOf(owner, tool),
    ...(tool.check === undefined ? {} : { check: () => inTime(tool) }),
    async run(args, { sessionId, turnId, callId: toolCallId, signal, log: callLog }) {
      const result = await run(args, { sessionId, turnId, toolCallId, signal, log: callLog.child({ plugin: owner }) })
      return asText(result)
    },
  }
}

/** Rejects when it takes too long. */
async function inTime(tool: PluginTool): Promise<boolean> {
  const looked = await within(Promise.resolve(tool.check?.()), checkMs)
  if (!looked.done) throw new Error(`check() took longer than ${checkMs} ms`)
  return looked.value ?? true
}

/** Plugins may be written without types. */
function modeOf(owner: string, { name, mode = 'effect' }: PluginTool): ToolMode {
  if (mode === 'pure' || mode === 'idempotent' || mode === 'effect') return mode
  throw invalid(`the tool ${name} of ${owner} has mode ${JSON.stringify(mode)}; expected pure, idempotent or effect`)
}

type ArgumentsOf = Pick<ToolDefinition, 'parameters' | 'jsonSchema'>

function argumentsOf(owner: string, { name, parameters: given }: PluginTool, log: Logger): ArgumentsOf {
  if (isZod(given)) return { parameters: given }
  const parameters = jsonOf(given, `the \`parameters\` of the tool ${name} of ${owner} are no JSON`)
  if (parameters['type'] !== 'object') {
    throw invalid(`the tool ${name} of ${owner} needs \`parameters\`: a zod object, or JSON Schema of type object`)
  }
  try {
    return { parameters: z.fromJSONSchema(parameters), jsonSchema: parameters }
  } catch (error) {
    const reason = messageOf(error)
    log.warn(
      { plugin: owner, tool: name },
      `the arguments of ${name} are not checked, its schema says too much: ${reason}`,
    )
    return { parameters: z.looseObject({}), jsonSchema: parameters }
  }
}

/** A copy: what goes out with every request must stay the same, and must be JSON. */
function jsonOf(given: unknown, complaint: string): Fields {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(given ?? null))
    return isRecord(copy) ? copy : {}
  } catch (error) {
    throw invalid(`${complaint}: ${messageOf(error)}`)
  }
}

/** By its looks: a plugin may bring a zod of its own. */
function isZod(value: unknown): value is z.ZodType {
  return typeof value === 'object' && value !== null && '_zod' in value && 'safeParse' in value
}

/** What the model reads. */
function asText(result: unknown): string {
  if (typeof result === 'string') return result
  return JSON.stringify(result) ?? 'null'
}

function invalid(detail: string): HermesError {
  return new HermesError('plugins/invalid-registration', detail)
}
