/**
 * `hermes hooks test`: calls one hook as the gateway would, and shows what it returns, what went wrong and how long it took.
 */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { sampleOf } from '../hooks/samples.ts'
import { HermesError, messageOf } from '../lib/errors.ts'
import type { CliContext } from './context.ts'
import { createDisplay, oneLine } from './display.ts'
import { exitCodes } from './failure.ts'
import { hookCalled, type KnownHooks, knownHooks } from './hooks-known.ts'

export interface HooksTestOptions {
  readonly event?: string
  /** A file with the context as JSON. */
  readonly context?: string
  readonly json: boolean
}

const answerShape = z.looseObject({
  ok: z.boolean(),
  ms: z.number(),
  value: z.unknown().optional(),
  error: z.string().default(''),
  stack: z.string().default(''),
})
type Answer = z.output<typeof answerShape>

/** Exit code 1 when the handler failed. Throws `cli/not-found`, `cli/usage`. */
export async function hooksTest(context: CliContext, name: string, options: HooksTestOptions): Promise<void> {
  const known = await knownHooks(context)
  const hook = hookCalled(name, known.hooks)
  const event = options.event ?? hook.events.find((one) => !one.endsWith('*')) ?? 'agent:end'
  const given = options.context === undefined ? sampleOf(event) : contextIn(options.context)
  if (!/^[^\s:]+:\S+$/.test(event))
    throw new HermesError('cli/usage', `Expected an event such as agent:end, found ${JSON.stringify(event)}.`)
  const answer = await tryOut(known, name, event, given)
  if (!answer.ok) context.exitCode = exitCodes.failed
  const display = createDisplay(context.output, context.environment)
  if (options.json) return display.json({ event, ...answer })
  const took = `${answer.ms.toFixed(1)} ms`
  if (answer.ok) {
    display.line(`${display.tone('good', '✓')} ${name} handled ${event} in ${took}`)
    if (answer.value !== null && answer.value !== undefined)
      display.line(`  returned ${oneLine(JSON.stringify(answer.value))}`)
    return
  }
  display.line(`${display.tone('bad', '✗')} ${name} failed at ${event} after ${took}: ${oneLine(answer.error)}`)
  for (const line of answer.stack.split('\n').slice(0, 20)) if (line !== '') display.line(`  ${oneLine(line)}`)
}

async function tryOut({ daemon, own }: KnownHooks, name: string, event: string, context: unknown): Promise<Answer> {
  if (daemon !== undefined) return answerShape.parse(await daemon.ask('/api/hooks/test', { name, event, context }))
  const registry = own()
  try {
    const result = await registry.tryOut(name, event, context)
    if (result === undefined)
      throw new HermesError('cli/failed', `${name} cannot be used as it is.`, { hint: '`hermes hooks list` says why.' })
    const { outcome, ms } = result
    return outcome.ok
      ? { ok: true, ms, value: outcome.value ?? null, error: '', stack: '' }
      : { ok: false, ms, error: outcome.text, stack: outcome.stack }
  } finally {
    await registry.stop(0)
  }
}

function contextIn(file: string): unknown {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (cause) {
    throw new HermesError('cli/usage', `--context: expected a file with a JSON object (${messageOf(cause)})`, { cause })
  }
}
