/**
 * Every log call names its event first, so that operators can filter by a stable name instead of a message.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

interface LogCall {
  readonly location: string
  /** `undefined` if the first field is not a literal event. */
  readonly event: string | undefined
  /** The message, if it is a literal. */
  readonly message: string | undefined
}

/** The calls of `<…>log.<level>({ … }, message)`, found in the text of a file. */
function logCallsIn(text: string, file: string): LogCall[] {
  return [...text.matchAll(/\b(?:log|logger)\.(?:debug|info|warn|error)\(/g)].map((call) => {
    const rest = text.slice(call.index + call[0].length)
    const line = text.slice(0, call.index).split('\n').length
    const event = /^\s*\{\s*event: '([^']*)'/.exec(rest)?.[1]
    const message = /^\s*\{[^{}]*\},\s*'([^']*)'/.exec(rest)?.[1]
    return { location: `${file}:${line}`, event, message }
  })
}

const calls = globSync(['src/**/*.ts', 'platforms/**/*.ts', 'plugins/**/*.ts'], { cwd: root }).flatMap((file) =>
  logCallsIn(readFileSync(`${root}/${file}`, 'utf8'), file),
)

// The plugin modules and some platforms still have calls without an event.
const todo = 'name the remaining events'

test('every log call has an event of the form module.name as its first field', { todo }, () => {
  const missing = calls.filter(({ event }) => event === undefined || !/^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$/.test(event))
  assert.deepEqual(
    missing.map(({ location, event }) => `${location} ${event ?? ''}`.trim()),
    [],
  )
})

test('an event always has the same message', { todo }, () => {
  const messages = new Map<string, Set<string>>()
  for (const { event, message } of calls) {
    if (event === undefined || message === undefined) continue
    messages.set(event, (messages.get(event) ?? new Set()).add(message))
  }
  const ambiguous = [...messages].filter(([, texts]) => texts.size > 1)
  assert.deepEqual(
    ambiguous.map(([event, texts]) => `${event}: ${[...texts].join(' | ')}`),
    [],
  )
})
