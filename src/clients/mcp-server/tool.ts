/**
 * What a tool of the MCP server is made of, and how its result looks.
 */
import type { CallToolResult, ContentBlock, ToolAnnotations } from '@modelcontextprotocol/server'
import type { z } from 'zod'
import type { HermesError } from '../../lib/errors.ts'
import { isRecord, type JsonObject } from '../../lib/json.ts'
import { toVisibleText } from '../../lib/visible-text.ts'
import type { McpGateway } from './gateway.ts'

export interface ServedTool<Shape extends z.ZodObject = z.ZodObject> {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: Shape
  readonly annotations: ToolAnnotations
  /** Rejects with the errors of the gateway, and `cli/no-daemon`. */
  call(gateway: McpGateway, input: z.output<Shape>, signal: AbortSignal): Promise<ServedResult>
}

export interface ServedResult {
  readonly value: JsonObject
  /** Pictures, sounds and files beside the value. */
  readonly files?: readonly ContentBlock[]
}

/** Keeps the type of the input of one tool. */
export function defineTool<Shape extends z.ZodObject>(tool: ServedTool<Shape>): ServedTool<Shape> {
  return tool
}

export function toToolResult({ value, files = [] }: ServedResult): CallToolResult {
  const shown = clean(value)
  return {
    content: [{ type: 'text', text: JSON.stringify(shown) }, ...files],
    structuredContent: isRecord(shown) ? { ...shown } : {},
  }
}

/** Errors are results, so that the model reads them. */
export function toErrorResult(error: HermesError): CallToolResult {
  const value = { error: error.message, code: error.code, ...(error.hint === '' ? {} : { hint: error.hint }) }
  return { ...toToolResult({ value }), isError: true }
}

/** Ids and addresses are given back to the gateway, so they stay as they are. */
const exactKeys = new Set(['session_key', 'session_id', 'id', 'message_id', 'chat_id', 'thread_id', 'target', 'chat'])

/** Characters that cannot be seen can carry words for a model. Texts of people show them as escapes. */
function clean(value: unknown): unknown {
  if (typeof value === 'string') return toVisibleText(value)
  if (Array.isArray(value)) return value.map(clean)
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, exactKeys.has(key) ? inner : clean(inner)]),
  )
}

/** A number of the client within its bounds, as clients of Hermes expect. */
export function clamp(value: number | undefined, fallback: number, [min, max]: readonly [number, number]): number {
  const whole = Math.trunc(value ?? fallback)
  return Number.isNaN(whole) ? fallback : Math.min(max, Math.max(min, whole))
}
