/**
 * `hermes hooks test`: calls a hook as the gateway would, and shows its result, its error and its duration.
 */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { callRoute } from '../api/client.ts'
import { testHook as testHookRoute } from '../api/routes/extensions.ts'
import { sampleContext } from '../hooks/sample-contexts.ts'
import { HermesError, messageOf } from '../lib/errors.ts'
import { exitCodes } from '../lib/exit-codes.ts'
import type { LogFields, Logger } from '../lib/log.ts'
import { type Redactor, redactTexts } from '../lib/redact.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import { hookEventNames } from '../message/hook-events.ts'
import type { CliContext } from './kit/context.ts'
import { createDisplay } from './kit/display.ts'
import { findRunnableHook, type KnownHooks, loadKnownHooks } from './shared/known-hooks.ts'

export interface HooksTestOptions {
  readonly event?: string
  /** A file with the context as JSON. */
  readonly context?: string
  readonly json: boolean
}

interface TestResult {
  readonly ok: boolean
  readonly ms: number
  readonly value?: unknown
  readonly error: string
  readonly stack: string
  /** What the hook printed and logged. The output of a hook of the daemon is in the daemon's log. */
  readonly said: readonly string[]
}

/** Exit code 1 when the handler failed. Throws `cli/not-found`, `cli/usage`. */
export async function hooksTest(context: CliContext, name: string, options: HooksTestOptions): Promise<void> {
  const known = await loadKnownHooks(context)
  const hook = findRunnableHook(name, known.hooks)
  const event = options.event ?? chooseEvent(hook.events)
  const eventContext = options.context === undefined ? sampleContext(event) : readContextFile(options.context)
  if (!/^[^\s:]+:\S+$/.test(event))
    throw new HermesError('cli/usage', `Expected an event such as agent:end, found ${JSON.stringify(event)}.`)
  const result = withoutSecrets(await testHook(known, name, event, eventContext), known.redact)
  if (!result.ok) context.exitCode = exitCodes.failed
  const display = createDisplay(context.output, context.environment)
  if (options.json) return display.json({ event, ...result })
  for (const line of result.said) display.line(toSingleLine(line))
  const took = `${result.ms.toFixed(1)} ms`
  if (result.ok) {
    display.line(`${display.tone('good', '✓')} ${name} handled ${event} in ${took}`)
    if (result.value !== null && result.value !== undefined)
      display.line(`  returned ${toSingleLine(JSON.stringify(result.value))}`)
    return
  }
  display.line(`${display.tone('bad', '✗')} ${name} failed at ${event} after ${took}: ${toSingleLine(result.error)}`)
  for (const line of result.stack.split('\n').slice(0, 20)) if (line !== '') display.line(`  ${toSingleLine(line)}`)
}

/** A hook may print or return what it reads from its environment. */
function withoutSecrets(result: TestResult, redact: Redactor): TestResult {
  const { value, error, stack, said } = result
  return {
    ...result,
    value: redactTexts(value, redact),
    error: redact(error),
    stack: redact(stack),
    said: said.map((text) => redact(text)),
  }
}

/** The first event in the hook's manifest, or an event that matches its first pattern. */
function chooseEvent(events: readonly string[]): string {
  const named = events.find((event) => !event.endsWith(':*'))
  if (named !== undefined) return named
  const families = events.map((event) => event.slice(0, -1))
  return (
    [...hookEventNames, 'command:status'].find((event) => families.some((family) => event.startsWith(family))) ??
    'agent:end'
  )
}

async function testHook(
  { daemon, createRegistry }: KnownHooks,
  name: string,
  event: string,
  context: Readonly<Record<string, unknown>>,
): Promise<TestResult> {
  if (daemon !== undefined) {
    const fired = await callRoute(daemon, testHookRoute, { body: { name, event, context } })
    const { ok, ms } = fired
    return fired.ok
      ? { ok, ms, value: fired.value, error: '', stack: '', said: [] }
      : { ok, ms, error: fired.error, stack: fired.stack, said: [] }
  }
  const said: string[] = []
  const registry = createRegistry(createCollectingLog(said))
  try {
    const fired = await registry.testFire(name, event, context)
    // All output has arrived when the process of the hook has ended.
    await registry.stop(0)
    if (fired === undefined)
      throw new HermesError('cli/failed', `${name} is invalid.`, { hint: '`hermes hooks list` shows the reason.' })
    const { result, ms } = fired
    return result.ok
      ? { ok: true, ms, value: result.value ?? null, error: '', stack: '', said }
      : { ok: false, ms, error: result.message, stack: result.stack, said }
  } finally {
    await registry.stop(0)
  }
}

/** Collects the log lines of host processes, without those of the gateway. */
function createCollectingLog(said: string[], isHost = false): Logger {
  const add = (_fields: LogFields, message: string) => {
    if (isHost) said.push(message)
  }
  const child = (fields: LogFields) => createCollectingLog(said, isHost || fields['host'] !== undefined)
  return { debug: () => undefined, info: add, warn: add, error: add, child }
}

function readContextFile(file: string): Record<string, unknown> {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (cause) {
    throw new HermesError('cli/usage', `--context: expected a file with a JSON object (${messageOf(cause)})`, { cause })
  }
}
