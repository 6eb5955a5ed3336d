/**
 * Data that no other form fits, as an outline with indented lines instead of JSON.
 */
import { isRecord } from '../../lib/json.ts'

const maxDepth = 6
const maxLines = 5_000

/** `name: value` lines; lists have a dash before each item. Deep data is left out with a mark. */
export function toOutline(value: unknown): string {
  const lines: string[] = []
  write(value, 0, '', lines)
  return lines.join('\n')
}

/** A value in one line; undefined for a list or an object with items. */
export function toScalar(value: unknown): string | undefined {
  if (value === null || value === undefined) return 'none'
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value !== 'object') return String(value)
  const isEmpty = Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0
  if (isEmpty) return 'none'
  const isPlainList =
    Array.isArray(value) && value.every((item) => typeof item !== 'object' && !/[\n,]/.test(String(item)))
  return isPlainList && value.join(', ').length <= 120 ? value.join(', ') : undefined
}

function write(value: unknown, depth: number, bullet: string, lines: string[]): void {
  if (lines.length >= maxLines) return
  const indent = '  '.repeat(Math.max(0, depth))
  const scalar = toScalar(value)
  if (scalar !== undefined) {
    lines.push(`${indent}${bullet}${scalar.replaceAll('\n', `\n${indent}${' '.repeat(bullet.length)}`)}`)
    return
  }
  if (depth >= maxDepth) {
    lines.push(`${indent}${bullet}…`)
    return
  }
  if (Array.isArray(value)) {
    for (const item of value) writeItem(item, depth, lines)
    return
  }
  if (!isRecord(value)) return
  for (const [name, field] of Object.entries(value)) writeField(name, field, depth, indent, lines)
}

function writeItem(item: unknown, depth: number, lines: string[]): void {
  if (toScalar(item) !== undefined) {
    write(item, depth, '- ', lines)
    return
  }
  const start = lines.length
  write(item, depth + 1, '', lines)
  const first = lines[start]
  if (first !== undefined) lines[start] = `${'  '.repeat(depth)}- ${first.trimStart()}`
}

function writeField(name: string, field: unknown, depth: number, indent: string, lines: string[]): void {
  const scalar = toScalar(field)
  if (scalar !== undefined && !scalar.includes('\n')) {
    lines.push(`${indent}${name}: ${scalar}`)
    return
  }
  lines.push(`${indent}${name}:`)
  write(field, depth + 1, '', lines)
}
