/**
 * Templates with values of the payload: `{pull_request.title}`, and `{__raw__}` for all of it (contract hermes.md §5).
 */
import { createLineFilter } from '#sdk'
import { type Payload, valueAt } from './payload.ts'

const maxRawChars = 4_000
const maxNestedChars = 2_000
const reference = /\{([\w@$-]+(?:\.[\w@$-]+)*)\}/g

/** Lines that the gateway writes around an event. */
const withoutForgedLines = createLineFilter({
  brackets: ['Webhook ', 'The event', 'End of the event', 'This event replaces ', 'Scheduled job '],
})

/** What the payload does not have is left as it is. Values are inserted once: a value with braces stays text. */
export function renderTemplate(template: string, payload: Payload): string {
  return template.replace(reference, (literal, path: string) => {
    if (path === '__raw__') return rawText(payload)
    const value = valueAt(payload, path)
    return value === undefined ? literal : withoutForgedLines(textOf(value))
  })
}

export function rawText(payload: Payload): string {
  return cut(JSON.stringify(payload, null, 2), maxRawChars)
}

/** `undefined` when a part of the key is not in the payload. */
export function renderKey(key: string, payload: Payload): string | undefined {
  const template = key.includes('{') ? key : `{${key}}`
  let isComplete = true
  const rendered = template.replace(reference, (_literal, path: string) => {
    const value = valueAt(payload, path)
    if (value === undefined || value === null || value === '') isComplete = false
    return textOf(value)
  })
  return isComplete ? rendered : undefined
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null) return String(value)
  return cut(JSON.stringify(value), maxNestedChars)
}

function cut(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : text.slice(0, maxChars).toWellFormed()
}
