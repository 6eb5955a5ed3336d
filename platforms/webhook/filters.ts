/**
 * Filters of a route: which payloads it takes (contract hermes.md §5). All filters of a route must match.
 */
import { readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { createContext, Script } from 'node:vm'
import { z } from 'zod'
import { isRecord, parseJson } from '#sdk'
import { type Payload, valueAt } from './payload.ts'

export interface Filter {
  readonly field?: string | undefined
  readonly exists?: boolean | undefined
  readonly missing?: boolean | undefined
  readonly equals?: unknown
  readonly not_equals?: unknown
  readonly contains?: unknown
  readonly in?: readonly unknown[] | undefined
  readonly in_file?: string | undefined
  readonly regex?: string | undefined
  readonly all?: readonly Filter[] | undefined
  readonly any?: readonly Filter[] | undefined
  readonly not?: Filter | undefined
}

export const filterSchema: z.ZodType<Filter> = z.lazy(() =>
  z.strictObject({
    field: z.string().min(1).optional(),
    exists: z.boolean().optional(),
    missing: z.boolean().optional(),
    equals: z.unknown().optional(),
    not_equals: z.unknown().optional(),
    contains: z.unknown().optional(),
    in: z.array(z.unknown()).optional(),
    in_file: z.string().min(1).optional(),
    regex: z.string().max(1_000).optional(),
    all: z.array(filterSchema).optional(),
    any: z.array(filterSchema).optional(),
    not: filterSchema.optional(),
  }),
)

/** What filters compare. */
export interface FilterSubject {
  readonly payload: Payload
  readonly event: string
  readonly headers: Headers
  /** The home, for relative paths of `in_file`. */
  readonly home: string
}

const groups = ['all', 'any', 'not'] as const
const operators = ['exists', 'missing', 'equals', 'not_equals', 'contains', 'in', 'in_file', 'regex'] as const
const maxListBytes = 1_048_576
/** A longer text matches by its beginning. */
const maxPatternChars = 20_000
const maxPatternMs = 250

/** Why a filter cannot be used. */
export function filterProblem(filter: Filter): string | undefined {
  const used = operators.filter((name) => filter[name] !== undefined)
  const nested = groups.filter((name) => filter[name] !== undefined)
  if (used.length + nested.length === 0) return 'a filter compares nothing'
  if (used.length > 0 && filter.field === undefined) return `a filter with ${used[0]} has no field`
  if (filter.regex !== undefined && compile(filter.regex) === undefined)
    return `${JSON.stringify(filter.regex)} is not a regular expression`
  const inner = [...(filter.all ?? []), ...(filter.any ?? []), ...(filter.not === undefined ? [] : [filter.not])]
  return inner.map(filterProblem).find((problem) => problem !== undefined)
}

/** Rejects when a file of `in_file` cannot be read, or a pattern takes too long. */
export async function matchesAll(filters: readonly Filter[], subject: FilterSubject): Promise<boolean> {
  for (const filter of filters) if (!(await matches(filter, subject))) return false
  return true
}

async function matches(filter: Filter, subject: FilterSubject): Promise<boolean> {
  if (filter.all !== undefined && !(await matchesAll(filter.all, subject))) return false
  if (filter.any !== undefined && !(await matchesAny(filter.any, subject))) return false
  if (filter.not !== undefined && (await matches(filter.not, subject))) return false
  if (filter.field === undefined) return true
  const value = fieldOf(filter.field, subject)
  if (filter.exists !== undefined && (value !== undefined) !== filter.exists) return false
  if (filter.missing !== undefined && (value === undefined) !== filter.missing) return false
  if (filter.equals !== undefined && !isSame(value, filter.equals)) return false
  if (filter.not_equals !== undefined && isSame(value, filter.not_equals)) return false
  if (filter.contains !== undefined && !contains(value, filter.contains)) return false
  if (filter.in !== undefined && !filter.in.some((allowed) => isSame(value, allowed))) return false
  if (filter.in_file !== undefined && !(await isInFile(value, filter.in_file, subject.home))) return false
  return filter.regex === undefined || matchesPattern(value, filter.regex)
}

async function matchesAny(filters: readonly Filter[], subject: FilterSubject): Promise<boolean> {
  for (const filter of filters) if (await matches(filter, subject)) return true
  return false
}

/** `payload.x` is `x` of the body, unless that has an object `payload` itself. */
function fieldOf(field: string, { payload, event, headers }: FilterSubject): unknown {
  if (field === 'event' || field === 'event_type') return event
  if (/^headers\.[\w-]+$/.test(field)) return headers.get(field.slice('headers.'.length)) ?? undefined
  const hasOwn = isRecord(payload['payload'])
  return valueAt(payload, field.startsWith('payload.') && !hasOwn ? field.slice('payload.'.length) : field)
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true
  // A number in YAML is often a text in JSON, and the other way round.
  if (isScalar(a) && isScalar(b)) return String(a) === String(b)
  if (typeof a !== 'object' || typeof b !== 'object') return false
  return JSON.stringify(a) === JSON.stringify(b)
}

function isScalar(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number'
}

function contains(value: unknown, wanted: unknown): boolean {
  if (typeof value === 'string') return value.includes(String(wanted))
  if (Array.isArray(value)) return value.some((item) => isSame(item, wanted))
  return isRecord(value) && Object.hasOwn(value, String(wanted))
}

/** A list or the keys of an object in JSON, or lines of text. */
async function isInFile(value: unknown, file: string, home: string): Promise<boolean> {
  const path = pathOf(file, home)
  const { size } = await stat(path)
  if (size > maxListBytes) throw new Error(`${path} has more than ${maxListBytes} bytes`)
  const text = await readFile(path, 'utf8')
  return listOf(text).some((item) => isSame(value, item))
}

function pathOf(file: string, home: string): string {
  if (file.startsWith('~/.hermes/')) return join(home, file.slice('~/.hermes/'.length))
  if (file.startsWith('~/')) return join(homedir(), file.slice(2))
  return isAbsolute(file) ? file : resolve(home, file)
}

function listOf(text: string): readonly unknown[] {
  const value = parseJson(text)
  if (Array.isArray(value)) return value
  if (isRecord(value)) return Object.keys(value)
  // Lines of text.
  return text.split(/\r?\n/).flatMap((line) => (line.trim() === '' ? [] : [line.trim()]))
}

function compile(pattern: string): RegExp | undefined {
  try {
    return new RegExp(pattern, 'u')
  } catch {
    try {
      // Patterns that are valid without the flag only, such as `\-`.
      return new RegExp(pattern)
    } catch {
      return undefined
    }
  }
}

const searchScript = new Script('pattern.test(text)')

/** Throws when the pattern backtracks for too long. */
function matchesPattern(value: unknown, source: string): boolean {
  if (!isScalar(value) && typeof value !== 'boolean') return false
  const pattern = compile(source)
  const context = createContext({ pattern, text: String(value).slice(0, maxPatternChars) })
  return searchScript.runInContext(context, { timeout: maxPatternMs }) === true
}
