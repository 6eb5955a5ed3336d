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
  /** Empty if the first field is not `event` with a literal, or with a choice between two literals. */
  readonly events: readonly string[]
  /** The message, if it is a literal. */
  readonly message: string | undefined
  /** Whether a field is called `error`. */
  readonly hasErrorField: boolean
}

/**
 * The calls of `<…>log.<level>({ … }, message)`, found in the text of a file. A call with a text as its only argument, which
 * only the log of a hook accepts, occurs in the templates of `hermes hooks new`.
 */
function logCallsIn(text: string, file: string): LogCall[] {
  return [...text.matchAll(/\b(?:log|logger)\.(?:debug|info|warn|error)\((?!\\?`|f")/g)].map((call) => {
    const rest = text.slice(call.index + call[0].length)
    const line = text.slice(0, call.index).split('\n').length
    const [, one, other] = /^\s*\{\s*event: (?:\w+ \? )?'([^']*)'(?: : '([^']*)')?/.exec(rest) ?? []
    const message = /^\s*\{[^{}]*\},\s*'([^']*)'/.exec(rest)?.[1]
    const hasErrorField = /^\s*\{[^}]*[{,]\s*error\s*[:,}]/.test(rest)
    return {
      location: `${file}:${line}`,
      events: [one, other].filter((event) => event !== undefined),
      message,
      hasErrorField,
    }
  })
}

const calls = globSync(['src/**/*.ts', 'platforms/**/*.ts', 'plugins/**/*.ts'], { cwd: root }).flatMap((file) =>
  logCallsIn(readFileSync(`${root}/${file}`, 'utf8'), file),
)

test('every log call has an event of the form module.name as its first field', () => {
  assert.ok(calls.length > 100, 'the calls of the sources are found')
  const isName = (event: string) => /^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$/.test(event)
  const wrong = calls.filter(({ events }) => events.length === 0 || !events.every(isName))
  assert.deepEqual(
    wrong.map(({ location, events }) => [location, ...events].join(' ')),
    [],
  )
})

test('an error is always in the field err, which log tools of pino know', () => {
  assert.deepEqual(
    calls.filter(({ hasErrorField }) => hasErrorField).map(({ location }) => location),
    [],
  )
})

test('an event always has the same message', () => {
  const messages = new Map<string, Set<string>>()
  for (const { events, message } of calls) {
    if (message === undefined) continue
    for (const event of events) messages.set(event, (messages.get(event) ?? new Set()).add(message))
  }
  const ambiguous = [...messages].filter(([, texts]) => texts.size > 1)
  assert.deepEqual(
    ambiguous.map(([event, texts]) => `${event}: ${[...texts].join(' | ')}`),
    [],
  )
})
