/**
 * Tools of plugins, as the agent takes tools. The agent's own are opened long after plugins are loaded, and again whenever
 * the configuration changes: so they are kept here, and handed over each time.
 */
import { z } from 'zod'
import type { ToolDefinition } from '../agent/tool.ts'
import { HermesError, messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { Registration } from '../middleware/contract.ts'
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

function definitionOf(owner: string, tool: PluginTool, run: PluginTool['run'], log: Logger): ToolDefinition {
  const { name, description } = tool
  if (typeof description !== 'string') throw invalid(`the tool ${name} of ${owner} needs a description`)
  return {
    name,
    toolset: tool.toolset ?? owner,
    description,
    ...argumentsOf(owner, tool, log),
    mode: tool.mode ?? 'effect',
    ...(tool.check === undefined ? {} : { check: async () => (await tool.check?.()) ?? true }),
    async run(args, { sessionId, turnId, callId: toolCallId, signal, log: callLog }) {
      const result = await run(args, { sessionId, turnId, toolCallId, signal, log: callLog.child({ plugin: owner }) })
      return asText(result)
    },
  }
}

type ArgumentsOf = Pick<ToolDefinition, 'parameters' | 'jsonSchema'>

function argumentsOf(owner: string, { name, parameters }: PluginTool, log: Logger): ArgumentsOf {
  if (isZod(parameters)) return { parameters }
  if (typeof parameters !== 'object' || parameters === null || parameters['type'] !== 'object') {
    throw invalid(`the tool ${name} of ${owner} needs \`parameters\`: a zod object, or JSON Schema of type object`)
  }
  try {
    return { parameters: z.fromJSONSchema({ ...parameters }), jsonSchema: parameters }
  } catch (error) {
    const reason = messageOf(error)
    log.warn(
      { plugin: owner, tool: name },
      `the arguments of ${name} are not checked, its schema says too much: ${reason}`,
    )
    return { parameters: z.looseObject({}), jsonSchema: parameters }
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
