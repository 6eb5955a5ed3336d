/**
 * A tool definition joined with its schema, so that the loop can use tools of every argument type alike.
 */
import type { z } from 'zod'
import { messageOf } from '../../lib/errors.ts'
import type { JsonObject, ToolSchema } from '../models/provider.ts'
import { toJsonSchema } from './support/json-schema.ts'
import { decodeArguments, type ParsedArguments, parseArguments } from './support/parse-arguments.ts'
import { truncateMiddle } from './support/result-json.ts'
import type { ToolContext, ToolDefinition, ToolMode } from './tool.ts'

/** One call with typed arguments, ready to run. */
export interface ParsedToolCall {
  readonly name: string
  readonly toolset: string
  /** The arguments as JSON has them: what plugins see, and what may be parsed once more. */
  readonly jsonArguments: JsonObject
  readonly mode: ToolMode
  /** One short line for people who watch; '' when the name says it all. */
  readonly label: string
  /** Arguments that were ignored. */
  readonly warnings: readonly string[]
  /** A result longer than `context.limits.maxResultChars` is cut. Rejects as the tool does. */
  run(context: ToolContext): Promise<string>
}

export interface RegisteredTool {
  readonly name: string
  readonly toolset: string
  readonly schema: ToolSchema
  isAvailable(): Promise<boolean>
  /** Never throws. */
  parse(
    args: string | Readonly<Record<string, unknown>>,
  ): { readonly ok: true; readonly call: ParsedToolCall } | { readonly ok: false; readonly error: string }
}

/** Throws when the arguments cannot be described in JSON Schema. */
export function bindTool<Schema extends z.ZodType>(definition: ToolDefinition<Schema>): RegisteredTool {
  const { name, toolset, description, parameters: type, jsonSchema } = definition
  const parameters = jsonSchema ?? toJsonSchema(type)
  return {
    name,
    toolset,
    schema: { name, description, parameters },
    isAvailable: async () => (await definition.check?.()) ?? true,
    parse(given) {
      const decoded = typeof given === 'string' ? decodeArguments(name, given) : ({ ok: true, value: given } as const)
      if (!decoded.ok) return decoded
      try {
        const parsed = parseArguments(name, decoded.value, type, parameters)
        return parsed.ok ? { ok: true, call: bindCall(definition, parsed) } : parsed
      } catch (error) {
        return { ok: false, error: `The arguments of ${name} could not be checked: ${messageOf(error)}` }
      }
    },
  }
}

function bindCall<Schema extends z.ZodType>(
  definition: ToolDefinition<Schema>,
  { args, jsonArguments, warnings }: Extract<ParsedArguments<z.output<Schema>>, { ok: true }>,
): ParsedToolCall {
  return {
    name: definition.name,
    toolset: definition.toolset,
    jsonArguments,
    mode: typeof definition.mode === 'function' ? definition.mode(args) : definition.mode,
    label: definition.label?.(args) ?? '',
    warnings,
    async run(context) {
      return truncateMiddle(await definition.run(args, context), context.limits.maxResultChars)
    },
  }
}
