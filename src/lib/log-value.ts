/**
 * Turns anything that was handed to the log into plain, bounded JSON: a log call never throws and never floods.
 */
import { systemCode } from './errors.ts'

const maxDepth = 6
const maxItems = 50
const maxChars = 8_192
const maxCauses = 5

export interface LogValueOptions {
  /** Whether errors show where they were thrown. */
  readonly stacks: boolean
}

/** Plain data for a line of the log. Never throws, whatever getters and proxies the value has. */
export function toLogValue(value: unknown, options: LogValueOptions): unknown {
  try {
    return convert(value, options, 0, [])
  } catch {
    // Only a getter or a proxy can throw here; its error would say nothing about what was to be logged.
    return '[unreadable]'
  }
}

function convert(value: unknown, options: LogValueOptions, depth: number, open: readonly object[]): unknown {
  switch (typeof value) {
    case 'string':
      return value.length > maxChars ? `${value.slice(0, maxChars)}… (${value.length} characters)` : value
    case 'number':
      return Number.isFinite(value) ? value : String(value)
    case 'bigint':
    case 'symbol':
      return value.toString()
    case 'function':
      return '[function]'
    case 'object':
      return value === null ? null : convertObject(value, options, depth, open)
    default:
      return value
  }
}

function convertObject(value: object, options: LogValueOptions, depth: number, open: readonly object[]): unknown {
  if (open.includes(value)) return '[circular]'
  if (value instanceof Error) return convertError(value, options, depth, open)
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'invalid date' : value.toISOString()
  if (value instanceof URL) return value.href
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (depth >= maxDepth) return Array.isArray(value) ? '[list]' : '[object]'
  const within = [...open, value]
  if (Array.isArray(value) || value instanceof Set) {
    const items = [...value]
    const shown = items.slice(0, maxItems).map((item) => convert(item, options, depth + 1, within))
    return items.length > maxItems ? [...shown, `… ${items.length - maxItems} more`] : shown
  }
  const entries: [string, unknown][] =
    value instanceof Map ? [...value].map(([k, v]) => [String(k), v]) : Object.entries(value)
  const shown = entries.slice(0, maxItems).map(([key, item]) => [key, convert(item, options, depth + 1, within)])
  if (entries.length > maxItems) shown.push(['…', `${entries.length - maxItems} more`])
  return Object.fromEntries(shown)
}

/** What is worth knowing of an error: kind, code, message, advice and what caused it. */
function convertError(error: Error, options: LogValueOptions, depth: number, open: readonly object[]): unknown {
  const within = [...open, error]
  const more = (value: unknown) => convert(value, options, depth + 1, within)
  const code = systemCode(error)
  const deeper = within.length <= maxCauses
  return {
    ...(error.name === 'Error' ? {} : { name: more(error.name) }),
    ...(code === undefined ? {} : { code }),
    message: more(error.message),
    ...('hint' in error && typeof error.hint === 'string' ? { hint: more(error.hint) } : {}),
    ...('status' in error && typeof error.status === 'number' ? { status: error.status } : {}),
    ...(error.cause !== undefined && deeper ? { cause: more(error.cause) } : {}),
    ...(error instanceof AggregateError && deeper ? { errors: more(error.errors) } : {}),
    ...(options.stacks && error.stack !== undefined ? { stack: more(error.stack) } : {}),
  }
}
